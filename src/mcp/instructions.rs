//! The instructions of the server.

/// The workflow across the tools, which every agent gets when it connects.
pub(super) const INSTRUCTIONS: &str = "\
One issue queue shared by several coding agents: claim an issue before you work on it, and never let \
go of a claim without complete_issue, return_issue or close_issue.

add_issue -> created -get_next_issue-> in_progress -complete_issue-> completed -get_next_review_item-> \
in_review -close_issue-> closed or rejected (both final). return_issue: back to created, in its old place.

Work in a git worktree (`ait worktree ID`), verify, complete_issue. If you cannot finish, return_issue \
with what the next one needs to know; after three returns, close_issue as rejected and say why. Review: \
test the branch, merge it (`ait merge ID`), close_issue. Lead: list_issues with take: 0 counts what is ready.

Pass the same `agent` in every call. The first 8 digits of an id are enough. Errors say what to do next.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_short_and_start_with_the_key_sentence() {
        assert!(INSTRUCTIONS.chars().count() <= 2000, "{}", INSTRUCTIONS.chars().count());
        assert!(INSTRUCTIONS.lines().next().unwrap().contains("claim an issue before you work"));
    }
}
