//! What a store has that a backup lacks, and the other way round.

use crate::domain::{Issue, IssueId};
use crate::store::json::format::Document;

/// Some issues: how many, and which come first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Differing {
    /// How many there are.
    pub count: usize,
    /// The first of them, in the order in which they were filed.
    pub first: Vec<IssueId>,
}

/// The difference between what a store holds and a backup.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Difference {
    /// The issues that the store has and the backup lacks.
    pub missing: Differing,
    /// The issues that both have, where the store has something that the backup lacks.
    pub newer: Differing,
    /// The issues that both have, where the backup only has more.
    pub older: Differing,
    /// The issues that the backup has and the store lacks.
    pub returning: Differing,
    /// Whether the two differ in anything else: the order of the issues, or other keys.
    pub otherwise: bool,
}

impl Differing {
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
    /// Compares what a store holds with a backup.
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
        difference.otherwise = ids(store) != ids(backup) || store.extra != backup.extra;
        difference
    }

    /// Tells whether going back to the backup would lose something.
    pub fn loses(&self) -> bool {
        self.missing.count + self.newer.count > 0
    }

    /// Tells whether the two are the same.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// Tells whether everything that one form of an issue says is in the other, which has more history.
fn is_earlier(one: &Issue, other: &Issue) -> bool {
    let is_same = one.title == other.title
        && one.description == other.description
        && one.classification == other.classification
        && one.created_at == other.created_at
        && one.extra == other.extra;
    is_same
        && one.history.len() < other.history.len()
        && other.history.starts_with(&one.history)
        && other.comments.starts_with(&one.comments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::json::format;

    /// A document of issues, each a number, with so many entries in its history.
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
    fn what_only_the_store_has_is_what_would_be_lost() {
        let store =
            document(&[(1, 2, "same"), (2, 3, "on"), (3, 1, "back"), (4, 1, "new"), (5, 1, "a")]);
        let backup =
            document(&[(1, 2, "same"), (2, 2, "on"), (3, 2, "back"), (6, 1, "gone"), (5, 2, "b")]);
        let found = Difference::between(&store, &backup);
        let numbers = |differing: &Differing| {
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
    fn the_order_counts_and_loses_nothing() {
        let (one, other) = ([(1, 1, "a"), (2, 1, "b")], [(2, 1, "b"), (1, 1, "a")]);
        let found = Difference::between(&document(&one), &document(&other));
        assert!(!found.is_none() && !found.loses());
    }
}
