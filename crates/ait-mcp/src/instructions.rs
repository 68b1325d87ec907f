//! The instructions of the server.

use std::num::NonZeroUsize;

use super::texts::{INSTRUCTIONS, Texts};

/// Returns the workflow across the tools, which every agent gets when it connects, by the number of failed attempts
/// after which the tracker parks an issue; or what the project says instead.
pub(super) fn instructions(texts: &Texts, max_attempts: Option<NonZeroUsize>) -> String {
    let retries = match max_attempts {
        None => "after three returns, close_issue as rejected and say why".to_owned(),
        Some(limit) => {
            format!("what was returned {limit} times is parked")
        }
    };
    texts.get(INSTRUCTIONS).unwrap_or(BUILT_IN).replace("{retries}", &retries)
}

/// The workflow, with a place for what happens to an issue that comes back again and again.
pub(super) const BUILT_IN: &str = "\
One issue queue shared by several coding agents: claim an issue before you work on it, and never let \
go of a claim without complete_issue, return_issue or close_issue.

add_issue -> created -get_next_issue-> in_progress -complete_issue-> completed -get_next_review_item-> \
in_review -close_issue-> closed or rejected (both final). return_issue: back to created, in its old place.

Work in a git worktree (`ait worktree ID`), verify, complete_issue. If you cannot finish, return_issue \
with what the next one needs to know; {retries}. Review: test the branch, \
merge it (`ait merge ID`), close_issue. Lead: list_issues with take: 0 counts what is ready.

Pass the same `agent` in every call. The first 8 digits of an id are enough. Errors say what to do next.";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_short_and_start_with_the_key_sentence() {
        for max_attempts in [None, NonZeroUsize::new(1_000)] {
            let text = instructions(&Texts::default(), max_attempts);
            assert!(text.chars().count() <= 2000, "{}", text.chars().count());
            assert!(text.lines().next().unwrap().contains("claim an issue before you work"));
            assert!(!text.contains('{'), "{text}");
        }
    }
}
