//! The tie of an issue to an issue of a remote, and what both sides last agreed on: the base of the merge.
//!
//! It is under the unknown key [`KEY`] of the issue, by the name of the sync.

use std::collections::BTreeMap;
use std::sync::Arc;

use ait_domain::{Comment, Issue, Label, Lease, Timestamp, UnknownKeys};
use ait_tracker::{EventPosition, SnapshotVisitor};
use serde::{Deserialize, Serialize};
use serde_json::value::to_raw_value;
use xxhash_rust::xxh3::xxh3_64;

use crate::remote::{Field, RemoteIssue, RemoteLink};

pub use ait_domain::external_id::SYNC_KEY as KEY;

/// How long a value may be that is a base itself. Of a longer one the base has a hash.
const MAX_PLAIN: usize = 16;

/// The tie of an issue to one at a remote.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Link {
    /// The name of the issue there; empty while it is being filed.
    pub key: String,
    /// The time of its last change there that was merged, by the clock of the remote.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// How many comments it had then.
    #[serde(skip_serializing_if = "is_none")]
    pub comments: usize,
    /// The base of each field with one value.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub base: BTreeMap<Field, Base>,
    /// The labels here and there that were merged last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Label>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remote_labels: Vec<Label>,
    /// The links there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remote_links: Vec<RemoteLink>,
    /// Those of them that were made here.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<RemoteLink>,
    /// The marks of the comments that were sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sent_comments: Vec<String>,
    /// Whether the account of the sync was made an assignee, because an agent holds the issue.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_assigned: bool,
    /// The values there of the fields that both sides changed.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub conflicts: BTreeMap<Field, String>,
}

/// What both sides had in a field when it was merged last. The two differ where a remote cannot have the same value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Base {
    pub here: String,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub there: Option<String>,
    /// What was being sent. If the remote has it, that is an echo.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub sent: Option<String>,
}

impl Base {
    /// Returns the base of two values that were merged.
    pub fn of(here: &str, there: &str) -> Self {
        let here = digest(here);
        let there = Some(digest(there)).filter(|there| *there != here);
        Self { here, there, sent: None }
    }

    pub fn there(&self) -> &str {
        self.there.as_deref().unwrap_or(&self.here)
    }

    /// Returns the base after a remote answered with this value to what was sent.
    pub fn answered(&self, there: &str) -> Self {
        let there = Some(digest(there)).filter(|there| *there != self.here);
        Self { here: self.here.clone(), there, sent: None }
    }

    /// Returns the base if the remote has this value now.
    pub fn seen(&self, there: &str) -> Self {
        match &self.sent {
            Some(sent) if *sent == digest(there) => Self::of(there, there),
            _ => self.clone(),
        }
    }
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

/// Returns what a base has of a value.
pub fn digest(value: &str) -> String {
    if value.len() <= MAX_PLAIN {
        value.to_owned()
    } else {
        format!("{:016x}.", xxh3_64(value.as_bytes()))
    }
}

/// Returns an issue without its ties and those of its comments, for readers who look only at what they say.
pub fn untied(issue: &Arc<Issue>) -> Arc<Issue> {
    let is_tied = issue.unknown_keys.get(KEY).is_some()
        || issue.comments.iter().any(|comment| comment.unknown_keys.get(KEY).is_some());
    if !is_tied {
        return Arc::clone(issue);
    }
    let mut untied = Issue::clone(issue);
    untied.unknown_keys.remove(KEY);
    untied.comments.iter_mut().for_each(|comment| comment.unknown_keys.remove(KEY));
    untied.into()
}

impl Link {
    /// Returns the tie of an issue to the remote of a sync.
    pub fn of(issue: &Issue, sync: &str) -> Option<Self> {
        Self::all(issue).remove(sync)
    }

    /// Returns the ties of an issue by the names of the syncs.
    pub fn all(issue: &Issue) -> BTreeMap<String, Self> {
        let links = issue.unknown_keys.get(KEY).map(serde_json::from_str);
        links.and_then(Result::ok).unwrap_or_default()
    }

    /// Notes which issue it is there, and when it was read.
    pub(crate) fn note(&mut self, theirs: &RemoteIssue) {
        self.key.clone_from(&theirs.key);
        self.updated_at = Some(theirs.updated_at);
        self.comments = theirs.comments;
        self.remote_links.clone_from(&theirs.links);
    }

    /// Gives an issue this tie.
    pub fn set(&self, issue: &mut Issue, sync: &str) {
        let mut links = Self::all(issue);
        links.insert(sync.to_owned(), self.clone());
        if let Ok(links) = to_raw_value(&links) {
            issue.unknown_keys.insert(KEY.to_owned(), links);
        }
    }
}

/// Returns the id of a comment at the remote of a sync, if it came from there.
pub(crate) fn remote_id(comment: &Comment, sync: &str) -> Option<String> {
    let ids: BTreeMap<String, String> =
        serde_json::from_str(comment.unknown_keys.get(KEY)?).ok()?;
    ids.get(sync).cloned()
}

/// Says in a comment which id it has at the remote of a sync.
pub(crate) fn set_remote_id(comment: &mut Comment, sync: &str, id: &str) {
    if let Ok(ids) = to_raw_value(&BTreeMap::from([(sync, id)])) {
        comment.unknown_keys.insert(KEY.to_owned(), ids);
    }
}

/// The issues of a store that are tied or open.
#[derive(Default)]
pub(crate) struct Issues(pub Vec<Arc<Issue>>);

impl SnapshotVisitor for Issues {
    fn begin(&mut self, _: EventPosition, _: UnknownKeys) {
        self.0.clear();
    }

    fn visit(&mut self, issue: Arc<Issue>, _: Option<Lease>) {
        let is_tied = issue.unknown_keys.get(KEY).is_some();
        if is_tied || issue.status.is_open() {
            self.0.push(issue);
        }
    }
}
