//! The difference between two versions of an issue, field by field, with the values before and after.

use serde::{Deserialize, Serialize};

use super::{
    Attributes, Classification, Comment, HistoryEntry, Issue, Status, Timestamp, UnknownKeys,
};

/// A value that changed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Change<T> {
    /// The value before the change.
    pub before: T,
    /// The value after it.
    pub after: T,
}

/// A change within a list: the items from one position on were replaced by others.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Splice<T> {
    /// The number of unchanged items before the change.
    pub at: usize,
    /// The items before the change.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<T>,
    /// The items that replaced them.
    #[serde(default = "Vec::new", skip_serializing_if = "Vec::is_empty")]
    pub added: Vec<T>,
}

/// What changed in an issue. A field that did not change is `None`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Patch {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<Change<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<Change<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub classification: Option<Change<Classification>>,
    /// The time at which the issue was filed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Change<Timestamp>>,
    /// The time of the last change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub modified_at: Option<Change<Timestamp>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Change<Status>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub history: Option<Splice<HistoryEntry>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comments: Option<Splice<Comment>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub attributes: Option<Change<Attributes>>,
    /// All unknown keys, before and after.
    #[serde(rename = "unknown", skip_serializing_if = "Option::is_none")]
    pub unknown_keys: Option<Change<UnknownKeys>>,
}

// No field can differ from itself.
impl Eq for Patch {}

impl Patch {
    /// Returns the patch that turns `before` into `after`, two versions of one issue.
    pub fn between(before: &Issue, after: &Issue) -> Self {
        Self {
            title: change(&before.title, &after.title),
            description: change(&before.description, &after.description),
            classification: change(&before.classification, &after.classification),
            created_at: change(&before.created_at, &after.created_at),
            modified_at: change(&before.modified_at, &after.modified_at),
            status: change(&before.status, &after.status),
            history: splice(&before.history, &after.history),
            comments: splice(&before.comments, &after.comments),
            attributes: change(&before.attributes, &after.attributes),
            unknown_keys: change(&before.unknown_keys, &after.unknown_keys),
        }
    }

    /// Returns true if nothing changed.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the names of the changed fields as `issues.json` spells them. The history and the time of the last
    /// change are left out, because every change affects them.
    pub fn fields(&self) -> Vec<&'static str> {
        let changed = [
            ("title", self.title.is_some()),
            ("description", self.description.is_some()),
            ("classification", self.classification.is_some()),
            ("createdAt", self.created_at.is_some()),
            ("status", self.status.is_some()),
            ("comments", self.comments.is_some()),
            ("other keys", self.unknown_keys.is_some()),
        ];
        let attributes = self.attributes.iter();
        let attributes = attributes.flat_map(|change| change.before.changed_fields(&change.after));
        let changed =
            changed.into_iter().filter_map(|(name, is_changed)| is_changed.then_some(name));
        changed.chain(attributes).collect()
    }

    /// Applies the patch to the version before the change.
    pub fn apply(&self, issue: &mut Issue) {
        self.set(issue, Side::After);
    }

    /// Reverts the patch on the version after the change.
    pub fn revert(&self, issue: &mut Issue) {
        self.set(issue, Side::Before);
    }

    /// Gives the changed fields of the version on the other side the values of this side.
    fn set(&self, issue: &mut Issue, side: Side) {
        set(&mut issue.title, &self.title, side);
        set(&mut issue.description, &self.description, side);
        set(&mut issue.classification, &self.classification, side);
        set(&mut issue.created_at, &self.created_at, side);
        set(&mut issue.modified_at, &self.modified_at, side);
        set(&mut issue.status, &self.status, side);
        set(&mut issue.attributes, &self.attributes, side);
        set(&mut issue.unknown_keys, &self.unknown_keys, side);
        set_range(&mut issue.history, &self.history, side);
        set_range(&mut issue.comments, &self.comments, side);
    }
}

/// A side of a change.
#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

fn change<T: PartialEq + Clone>(before: &T, after: &T) -> Option<Change<T>> {
    (before != after).then(|| Change { before: before.clone(), after: after.clone() })
}

fn splice<T: PartialEq + Clone>(before: &[T], after: &[T]) -> Option<Splice<T>> {
    let common = |one: &mut dyn Iterator<Item = (&T, &T)>| one.take_while(|(a, b)| a == b).count();
    let at = common(&mut before.iter().zip(after));
    let before = &before[at..];
    let after = &after[at..];
    if before.is_empty() && after.is_empty() {
        return None;
    }
    let tail = common(&mut before.iter().rev().zip(after.iter().rev()));
    let removed = before[..before.len() - tail].to_vec();
    let added = after[..after.len() - tail].to_vec();
    Some(Splice { at, removed, added })
}

fn set<T: Clone>(field: &mut T, change: &Option<Change<T>>, side: Side) {
    let Some(Change { before, after }) = change else { return };
    field.clone_from(match side {
        Side::Before => before,
        Side::After => after,
    });
}

/// Replaces the items of the other side. In a list that is too short, the range is clamped to its end.
fn set_range<T: Clone>(list: &mut Vec<T>, splice: &Option<Splice<T>>, side: Side) {
    let Some(Splice { at, removed, added }) = splice else { return };
    let (old, new) = match side {
        Side::Before => (added, removed),
        Side::After => (removed, added),
    };
    let begin = (*at).min(list.len());
    let end = (at + old.len()).min(list.len());
    list.splice(begin..end, new.iter().cloned());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issue(title: &str, status: &str, entries: &[u32], comments: &[&str]) -> Issue {
        let time = |minute: u32| format!("2026-01-31T09:{minute:02}:00.000Z");
        let history: Vec<_> = entries
            .iter()
            .map(|minute| serde_json::json!({"timestamp": time(*minute), "agent": "a", "action": "x"}))
            .collect();
        let comments: Vec<_> = comments
            .iter()
            .map(|text| serde_json::json!({"timestamp": time(1), "agent": "a", "text": text}))
            .collect();
        let issue = serde_json::json!({
            "id": "3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73", "title": title, "description": "",
            "classification": "bug", "createdAt": time(0), "modifiedAt": time(2), "status": status,
            "history": history, "comments": comments, title: [1],
        });
        serde_json::from_str(&issue.to_string()).unwrap()
    }

    #[test]
    fn a_patch_can_be_applied_and_reverted() {
        let versions = [
            issue("a", "created", &[], &[]),
            issue("a", "created", &[1, 2, 3], &["x"]),
            issue("b", "closed", &[1, 4, 3], &["x", "y"]),
            issue("c", "created", &[5], &["y"]),
        ];
        for before in &versions {
            for after in &versions {
                let patch = Patch::between(before, after);
                assert_eq!(patch.is_empty(), before == after);
                let json = serde_json::to_string(&patch).unwrap();
                assert_eq!(serde_json::from_str::<Patch>(&json).unwrap(), patch, "{json}");
                let mut found = before.clone();
                patch.apply(&mut found);
                assert_eq!(&found, after);
                patch.revert(&mut found);
                assert_eq!(&found, before);
            }
        }
    }

    /// Logs contain patches.
    #[test]
    fn a_patch_keeps_the_key_of_unknown_keys() {
        let patch =
            Patch::between(&issue("a", "created", &[], &[]), &issue("b", "created", &[], &[]));
        let json = serde_json::to_value(&patch).unwrap();
        assert_eq!(
            json["unknown"],
            serde_json::json!({ "before": { "a": [1] }, "after": { "b": [1] } })
        );
    }

    #[test]
    fn a_list_patch_stores_only_the_changed_range() {
        let patch = Patch::between(
            &issue("a", "created", &[1, 2, 3], &[]),
            &issue("a", "created", &[1, 4, 3], &[]),
        );
        let history = patch.history.unwrap();
        assert_eq!((history.at, history.removed.len(), history.added.len()), (1, 1, 1));
    }
}
