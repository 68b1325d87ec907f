//! Compares a store with a backup.

use crate::files::format::Document;
use ait_domain::{Issue, IssueId};

/// Some issues: their number, and the first of them.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct IssueSample {
    /// The number of issues.
    pub count: usize,
    /// The first issues, in the order in which they were filed.
    pub first: Vec<IssueId>,
}

/// The difference between a store and a backup.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Difference {
    /// The issues that only the store has.
    pub missing: IssueSample,
    /// The issues in both that have something in the store that the backup lacks.
    pub newer: IssueSample,
    /// The issues in both that only have more in the backup.
    pub older: IssueSample,
    /// The issues that only the backup has.
    pub returning: IssueSample,
    /// True if anything else differs: the order of the issues, or other keys.
    pub otherwise: bool,
}

impl IssueSample {
    /// The most ids that are listed.
    pub const MAX_LISTED: usize = 10;

    fn add(&mut self, id: IssueId) {
        self.count += 1;
        if self.first.len() < Self::MAX_LISTED {
            self.first.push(id);
        }
    }
}

impl Difference {
    /// Compares the content of a store with a backup.
    pub fn between(store: &Document, backup: &Document) -> Self {
        let mut difference = Self::default();
        for issue in store.issues.issues() {
            match backup.issues.find(&issue.id.into()) {
                Err(_) => difference.missing.add(issue.id),
                Ok(other) if issue == other => {}
                Ok(other) if is_earlier(&issue, &other) => difference.older.add(issue.id),
                Ok(_) => difference.newer.add(issue.id),
            }
        }
        for issue in backup.issues.issues() {
            if store.issues.find(&issue.id.into()).is_err() {
                difference.returning.add(issue.id);
            }
        }
        let ids = |document: &Document| -> Vec<IssueId> {
            document.issues.issues().map(|issue| issue.id).collect()
        };
        difference.otherwise =
            ids(store) != ids(backup) || store.unknown_keys != backup.unknown_keys;
        difference
    }

    /// Returns true if a restore would lose something.
    pub fn loses(&self) -> bool {
        self.missing.count + self.newer.count > 0
    }

    /// Returns true if store and backup are equal.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// Returns true if another version of an issue contains everything of this one, and has more history.
fn is_earlier(one: &Issue, other: &Issue) -> bool {
    let is_same = one.title == other.title
        && one.description == other.description
        && one.classification == other.classification
        && one.created_at == other.created_at
        && one.unknown_keys == other.unknown_keys;
    is_same
        && one.history.len() < other.history.len()
        && other.history.starts_with(&one.history)
        && other.comments.starts_with(&one.comments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::format;

    /// Creates a document of issues: a number, the length of the history, and the title of each.
    fn document(issues: &[(u32, usize, &str)]) -> Document {
        let time = "2026-01-31T09:30:00.000Z";
        let entry = format!(r#"{{"timestamp":"{time}","agent":"a","action":"x"}}"#);
        let issue = |&(number, entries, title): &(u32, usize, &str)| {
            let history = vec![entry.clone(); entries].join(",");
            format!(
                r#"{{"id":"{number:08x}-0000-4000-8000-000000000000","title":"{title}","description":"","classification":"bug","createdAt":"{time}","modifiedAt":"{time}","status":"created","history":[{history}],"comments":[]}}"#
            )
        };
        let issues = issues.iter().map(issue).collect::<Vec<_>>().join(",");
        format::parse(format!(r#"{{"issues":[{issues}]}}"#)).unwrap()
    }

    #[test]
    fn issues_missing_or_older_in_the_backup_would_be_lost() {
        let store =
            document(&[(1, 2, "same"), (2, 3, "on"), (3, 1, "back"), (4, 1, "new"), (5, 1, "a")]);
        let backup =
            document(&[(1, 2, "same"), (2, 2, "on"), (3, 2, "back"), (6, 1, "gone"), (5, 2, "b")]);
        let found = Difference::between(&store, &backup);
        let numbers = |differing: &IssueSample| {
            differing.first.iter().map(|id| id.short().to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(numbers(&found.missing), "00000004");
        assert_eq!(numbers(&found.newer), "00000002 00000005");
        assert_eq!(numbers(&found.older), "00000003");
        assert_eq!(numbers(&found.returning), "00000006");
        assert!(found.loses() && found.otherwise && !found.is_none());
        assert!(Difference::between(&store, &store).is_none());
        assert!(!Difference::between(&document(&[]), &backup).loses());
    }

    #[test]
    fn a_different_order_is_a_difference_without_loss() {
        let one = [(1, 1, "a"), (2, 1, "b")];
        let other = [(2, 1, "b"), (1, 1, "a")];
        let found = Difference::between(&document(&one), &document(&other));
        assert!(!found.is_none() && !found.loses());
    }
}
