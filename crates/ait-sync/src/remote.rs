//! What a sync needs from a remote tracker.

use std::time::Duration;

use ait_domain::{IssueId, Label, LinkKind, Priority, Status, Timestamp, string_enum};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};

string_enum! {
    /// The state of an issue, as far as trackers have it in common.
    pub enum State {
        Open = "open",
        /// In progress.
        Active = "active",
        /// Done, and not accepted yet.
        Resolved = "resolved",
        Closed = "closed",
        /// Will not be done.
        Rejected = "rejected",
    }
}

impl State {
    /// Returns the state of an issue here.
    pub fn of(status: Status) -> Self {
        match status {
            Status::Created => Self::Open,
            Status::InProgress => Self::Active,
            Status::Completed | Status::InReview => Self::Resolved,
            Status::Closed | Status::Kept => Self::Closed,
            Status::Rejected => Self::Rejected,
        }
    }

    pub fn has_ended(self) -> bool {
        matches!(self, Self::Closed | Self::Rejected)
    }
}

string_enum! {
    /// A field that both sides have. Labels are a set; the others have one value each.
    pub enum Field {
        Title = "title",
        Description = "description",
        Status = "status",
        Priority = "priority",
        Labels = "labels",
    }
}

/// An issue as a remote has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemoteIssue {
    /// Its name there: a number, or a key such as `ABC-12`.
    pub key: String,
    /// Its page.
    pub url: String,
    /// The time of its last change, by the clock of the remote.
    pub updated_at: Timestamp,
    /// The number of its last change, if the remote takes it as a precondition.
    pub revision: Option<u64>,
    pub created_at: Timestamp,
    pub author: Option<String>,
    /// The kind of work, in the word of the remote. It counts once, when the issue comes in.
    pub kind: Option<String>,
    pub title: String,
    /// The description as Markdown, without the marker.
    pub description: String,
    /// The issue that was filed there from here, as the marker in the description says.
    pub marker: Option<IssueId>,
    pub state: State,
    pub priority: Option<Priority>,
    pub labels: Vec<String>,
    /// Its links to other issues there. The answer to a change may lack them.
    pub links: Vec<RemoteLink>,
    /// How many comments it has.
    pub comments: usize,
    /// Whether it is to come in.
    pub is_wanted: bool,
}

/// A link from an issue of a remote to another one there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RemoteLink {
    pub kind: LinkKind,
    /// The key of the other issue.
    pub to: String,
}

/// A comment as a remote has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RemoteComment {
    pub id: String,
    pub author: String,
    pub created_at: Timestamp,
    /// The text, with the marker if the comment was sent from here.
    pub text: String,
}

/// Which issues to list: those that changed since a time, also ended ones; without a time those that are to come in.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Listing {
    pub since: Option<Timestamp>,
    /// What the page before said about this one.
    pub next: Option<String>,
    /// What a complete read of the same listing returned as its version.
    pub version: Option<String>,
}

/// A page of a listing.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RemotePage {
    pub issues: Vec<RemoteIssue>,
    /// The next page, if there is one.
    pub next: Option<String>,
    /// The version of the listing, if the remote has versions.
    pub version: Option<String>,
    /// Whether the listing still has the version that was asked for. Then there are no issues in it.
    pub is_unchanged: bool,
}

/// The fields to change in an issue of a remote; the others stay.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RemoteChange {
    pub title: Option<String>,
    pub description: Option<String>,
    pub status: Option<State>,
    /// The new priority; `Some(None)` removes it.
    pub priority: Option<Option<Priority>>,
    pub labels_add: Vec<Label>,
    pub labels_remove: Vec<Label>,
    /// Whether the account of the sync is to be an assignee.
    pub is_assigned: Option<bool>,
}

/// An issue to file at a remote.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NewRemoteIssue {
    pub title: String,
    /// The description with the marker.
    pub description: String,
    pub priority: Option<Priority>,
    pub labels: Vec<Label>,
}

/// Why a call to a remote failed. No message has a secret.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RemoteError {
    #[error("{0} does not exist there any more")]
    Missing(String),
    /// The issue changed since it was read.
    #[error("{0} changed there meanwhile")]
    Changed(String),
    /// The remote refuses this call; others may succeed.
    #[error("{0}")]
    Refused(String),
    /// No call would succeed.
    #[error("{0}")]
    Unavailable(String),
    /// The limit of calls is reached.
    #[error("the remote allows no more calls for {} s: run the sync again then", .0.as_secs())]
    Limited(Duration),
}

impl RemoteError {
    /// Returns true if only this call failed.
    pub fn is_of_one_issue(&self) -> bool {
        matches!(self, Self::Missing(_) | Self::Changed(_) | Self::Refused(_))
    }
}

/// A remote tracker.
#[async_trait]
pub trait Remote: Send + Sync {
    /// Reads a page of a listing, in the order of the last changes.
    async fn list(&self, listing: Listing) -> Result<RemotePage, RemoteError>;

    async fn read(&self, key: &str) -> Result<RemoteIssue, RemoteError>;

    /// Reads all comments of an issue, oldest first.
    async fn comments(&self, key: &str) -> Result<Vec<RemoteComment>, RemoteError>;

    /// Changes an issue unless it changed since it was read, and returns it. Making the same change again is harmless.
    async fn change(
        &self,
        seen: &RemoteIssue,
        change: &RemoteChange,
    ) -> Result<RemoteIssue, RemoteError>;

    async fn comment(&self, key: &str, text: &str) -> Result<(), RemoteError>;

    async fn create(&self, new: &NewRemoteIssue) -> Result<RemoteIssue, RemoteError>;
}
