//! What `ait` itself measured of an action: the branch that was handed in, and how a check ended. The history keeps it
//! with the action.
//!
//! An agent says what it did in a comment, and cannot say this. Only [`Command::RecordCheck`](super::Command) makes
//! receipts: those in files are [removed](Issue::without_foreign_receipts) before anything looks at them.

use std::borrow::Cow;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::attributes::take;
use super::event::{CHECK_FAILED, CHECK_PASSED};
use super::{
    ActionKind, AgentName, DomainError, Event, EventKind, HistoryEntry, Issue, Patch, Timestamp,
    UnknownKeys,
};

/// What was measured of an action. Most actions have none of it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Facts {
    /// What was handed in with a completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<Box<Work>>,
    /// How a check ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub check: Option<Box<Receipt>>,
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
    /// The hash of the files of that commit.
    pub tree: String,
}

/// How a check ended.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// The shell command.
    pub command: String,
    /// The hash of the files that it ran on.
    pub tree: String,
    /// The exit code; 128 and the signal if one ended it. 0 if the check passed.
    pub exit: i32,
    /// How long it took, in milliseconds.
    pub ms: u64,
    /// The commit with these files on the main branch, if the branch was merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merge: Option<String>,
    /// The last lines of the output of a check that failed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
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
        Self {
            work: take(keys, "work", |_: &Work| true).map(Box::new),
            check: take(keys, "check", |_: &Receipt| true).map(Box::new),
        }
    }
}

/// Returns the short form of a hash.
pub fn short_hash(hash: &str) -> &str {
    const DIGITS: usize = 7;
    hash.get(..DIGITS).unwrap_or(hash)
}

impl Receipt {
    /// How much of the output is kept, in bytes.
    pub const MAX_OUTPUT: usize = 1_000;

    /// Returns true if the check passed.
    pub fn has_passed(&self) -> bool {
        self.exit == 0
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
        let head = short_hash(&self.head);
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

    /// Returns the last receipt for some files.
    pub fn receipt_of(&self, tree: &str) -> Option<&Receipt> {
        self.receipts().find(|receipt| receipt.tree == tree)
    }

    /// Returns true if a check passed on the merge of what was handed in last.
    pub fn is_merge_checked(&self, command: &str) -> bool {
        let since = |entry: &&HistoryEntry| ActionKind::of(&entry.action) != ActionKind::Completed;
        let later = self.history.iter().rev().take_while(since);
        let mut receipts = later.filter_map(|entry| entry.facts.check.as_deref());
        receipts.any(|receipt| {
            receipt.merge.is_some() && receipt.has_passed() && receipt.command == command
        })
    }

    /// Returns true if a check passed on some files.
    pub fn is_checked(&self, tree: &str, command: &str) -> bool {
        self.receipts().any(|receipt| {
            receipt.tree == tree && receipt.has_passed() && receipt.command == command
        })
    }

    fn receipts(&self) -> impl Iterator<Item = &Receipt> {
        self.history.iter().rev().filter_map(|entry| entry.facts.check.as_deref())
    }

    /// Returns an issue that comes from a file without the receipts that the known version lacks: any program can write
    /// them there.
    pub fn without_foreign_receipts<'a>(&'a self, known: Option<&Self>) -> Cow<'a, Self> {
        let is_foreign = |(at, entry): (usize, &HistoryEntry)| {
            entry.facts.check.is_some()
                && known.and_then(|known| known.history.get(at)) != Some(entry)
        };
        if !self.history.iter().enumerate().any(is_foreign) {
            return Cow::Borrowed(self);
        }
        let mut issue = self.clone();
        for (at, entry) in issue.history.iter_mut().enumerate() {
            if is_foreign((at, entry)) {
                entry.facts.check = None;
            }
        }
        Cow::Owned(issue)
    }
}

/// Records how a check ended.
///
/// # Errors
///
/// The issue has ended.
pub(super) fn record_check(
    issue: &Issue,
    receipt: &Receipt,
    agent: &AgentName,
    at: Timestamp,
) -> Result<Event, DomainError> {
    if issue.status.has_ended() {
        return Err(DomainError::Terminal { id: issue.id, status: issue.status });
    }
    let action = if receipt.has_passed() { CHECK_PASSED } else { CHECK_FAILED };
    let facts = Facts { check: Some(Box::new(receipt.clone())), ..Facts::default() };
    let mut after = issue.clone();
    after.modified_at = at;
    after.history.push(HistoryEntry { facts, ..HistoryEntry::new(at, agent.as_str(), action) });
    let kind = EventKind::Changed { patch: Box::new(Patch::between(issue, &after)) };
    Ok(Event::new(issue.id, at, agent.as_str(), kind))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn entry(work: Value) -> Value {
        json!({
            "timestamp": "2026-01-31T09:30:00.000Z", "agent": "a", "action": "Issue completed", "work": work,
        })
    }

    #[test]
    fn work_is_kept_with_its_entry_and_other_forms_stay_unknown_keys() {
        let work = json!({ "commits": 3, "files": 1, "added": 120, "removed": 8, "head": "1a2b3c4d5e6f", "tree": "0" });
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
        let work = json!({ "commits": 1, "files": 1, "added": 1, "removed": 0, "head": "1a2b3c4d", "tree": "0" });
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
