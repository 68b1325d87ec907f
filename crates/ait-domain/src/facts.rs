//! What `ait` itself measured of an action: the branch that was handed in. The history keeps it with the action.
//!
//! An agent says what it did in a comment, and cannot say this.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::attributes::take;
use super::{ActionKind, Issue, UnknownKeys};

/// What was measured of an action. Most actions have none of it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Facts {
    /// What was handed in with a completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<Box<Work>>,
}

/// The commits on the branch of an issue.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Work {
    /// How many commits the branch adds to the main branch.
    pub commits: usize,
    /// How many files they change.
    pub files: usize,
    /// How many lines they add.
    pub added: usize,
    /// How many lines they remove.
    pub removed: usize,
    /// The last commit of the branch.
    pub head: String,
}

impl Facts {
    /// Returns true if nothing was measured.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Takes the facts out of the unknown keys of a history entry. A value of another form stays an unknown key.
    pub fn take_from(keys: &mut UnknownKeys) -> Self {
        if keys.is_empty() {
            return Self::default();
        }
        Self { work: take(keys, "work", |_: &Work| true).map(Box::new) }
    }
}

impl Work {
    /// How many digits of a commit are shown.
    const SHOWN_DIGITS: usize = 7;

    /// Returns the short name of the last commit.
    pub fn short_head(&self) -> &str {
        self.head.get(..Self::SHOWN_DIGITS).unwrap_or(&self.head)
    }
}

/// Says it on one line, such as `3 commits, 4 files, +120 -8, head 1a2b3c4`.
impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { commits, files, added, removed, .. } = self;
        if *commits == 0 {
            return f.write_str("no changes");
        }
        let of = |count: usize| if count == 1 { "" } else { "s" };
        let head = self.short_head();
        write!(
            f,
            "{commits} commit{}, {files} file{}, +{added} -{removed}, head {head}",
            of(*commits),
            of(*files)
        )
    }
}

impl Issue {
    /// Returns what was handed in with the latest completion, as long as the issue was not returned since.
    pub fn handed_in(&self) -> Option<&Work> {
        let mut newest_first = self.history.iter().rev();
        let last = newest_first.find(|entry| {
            let kind = ActionKind::of(&entry.action);
            matches!(kind, ActionKind::Completed | ActionKind::Returned | ActionKind::Reopened)
        });
        last?.facts.work.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::HistoryEntry;

    fn entry(work: Value) -> Value {
        json!({
            "timestamp": "2026-01-31T09:30:00.000Z", "agent": "a", "action": "Issue completed", "work": work,
        })
    }

    #[test]
    fn work_is_kept_with_its_entry_and_other_forms_stay_unknown_keys() {
        let work =
            json!({ "commits": 3, "files": 1, "added": 120, "removed": 8, "head": "1a2b3c4d5e6f" });
        let read: HistoryEntry = serde_json::from_value(entry(work.clone())).unwrap();
        let found = read.facts.work.as_deref().unwrap();
        assert_eq!(found.to_string(), "3 commits, 1 file, +120 -8, head 1a2b3c4");
        assert_eq!(serde_json::to_value(&read).unwrap(), entry(work));
        for other in [json!("done"), json!({ "commits": 3 }), json!({ "commits": -1 })] {
            let read: HistoryEntry = serde_json::from_value(entry(other.clone())).unwrap();
            assert!(read.facts.is_empty());
            assert_eq!(serde_json::to_value(&read).unwrap(), entry(other));
        }
    }

    #[test]
    fn only_a_completion_that_was_not_returned_hands_something_in() {
        let work =
            json!({ "commits": 1, "files": 1, "added": 1, "removed": 0, "head": "1a2b3c4d" });
        let completed = || entry(work.clone());
        let other = |action: &str| json!({ "timestamp": "2026-01-31T09:31:00.000Z", "agent": "b", "action": action });
        for (history, expected) in [
            (json!([other("Issue filed")]), false),
            (json!([completed()]), true),
            (json!([completed(), other("Issue claimed for review"), other("Comment added")]), true),
            (json!([completed(), other("Issue closed")]), true),
            (json!([completed(), other("Issue returned to created status")]), false),
            (json!([completed(), other("Issue completed")]), false),
        ] {
            let issue = json!({
                "id": "3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73", "title": "T", "description": "",
                "classification": "bug", "createdAt": "2026-01-31T09:30:00.000Z",
                "modifiedAt": "2026-01-31T09:31:00.000Z", "status": "completed",
                "history": history, "comments": [],
            });
            let issue: Issue = serde_json::from_value(issue).unwrap();
            assert_eq!(issue.handed_in().is_some(), expected, "{:?}", issue.history);
        }
    }
}
