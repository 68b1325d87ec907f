//! The instructions of the server.

/// The workflow across the tools, which every agent gets when it connects.
pub(super) const INSTRUCTIONS: &str = "\
One issue queue shared by several coding agents: claim an issue before you work on it, and never let \
go of a claim without complete_issue, return_issue or close_issue.

Lifecycle: add_issue -> created -get_next_issue-> in_progress -complete_issue-> completed \
-get_next_review_item-> in_review -close_issue-> closed or rejected (both final). return_issue puts \
an open issue back to created, in its old place in the queue.

Working: call get_next_issue (classification narrows it); it answers with the whole issue, which is \
then yours alone. Read its comments: they say what was tried before. Work in a git worktree of your \
own on a branch named by the first 8 digits of the id. Verify, then complete_issue with the branch \
and what you checked. If you cannot finish, return_issue with what the next one needs to know. When \
it was returned three times or more, do not try again: close_issue as rejected and say why.

Reviewing: get_next_review_item, read the branch, build and test it; then merge it and close_issue \
as closed, or return_issue with exactly what must change, or close_issue as rejected. File \
unrelated findings with add_issue.

Leading: list_issues with a status and take: 1 gives the size of that queue and claims nothing. Return claims whose worker \
is gone. get_next_issue with mine: true shows what you hold.

Pass the same `agent` name in every call. An issue may be named by its full id or by its first 8 or \
more hex digits. Errors say what to do next.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_short_and_start_with_the_key_sentence() {
        assert!(INSTRUCTIONS.chars().count() <= 2000, "{}", INSTRUCTIONS.chars().count());
        assert!(INSTRUCTIONS.lines().next().unwrap().contains("claim an issue before you work"));
    }
}
