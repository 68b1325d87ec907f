//! The interface between the use cases and a place that stores issues.
//!
//! A store keeps issues in the order in which they were filed, picks the issue for a claim, and makes every change
//! durable before it answers. [`Store`] exposes no lock, file or transaction, so another kind of store can implement
//! it. Operations that only a store in files has are in [`Maintenance`].
//!
//! The crate knows the domain, and nothing of tools, pages and commands.
//!
//! # The files
//!
//! * `events.rs`, `event_format.rs`, `health.rs`, `identity.rs`: what every store speaks of: events and their JSON,
//!   health, the id of a store
//! * `state.rs`, `memory.rs`, `snapshot.rs`: a state in memory, with indexes: deciding commands and applying events;
//!   reading everything in a store
//! * `sqlite/`, `files/`: the store in SQLite, and what stands beside its database: `issues.json`, locks, quarantine
//! * `postgres/`: the store in PostgreSQL: its schema, reads, transactions, event numbers; its `mod.rs` is the map
//! * `sql/`, `published/`: the columns, conditions and orders that both databases share; the plan of a merge of an
//!   edited `issues.json`
//! * `testing.rs`, `unusable.rs`: a store in memory, for unit tests; one that cannot be opened, and says why
//! * `writer_queue.rs`: the limits of the queue of a writer, and what it answers
//! * `clients.rs`, `file_clients.rs`: the clients that hold claims, and which of them live
//! * `backup/`, `transfer.rs`: the format of backups, and how one differs from the store; the move from one store to
//!   another

pub mod backup;
pub mod clients;
mod event_format;
mod events;
pub mod file_clients;
pub mod files;
mod health;
mod identity;
pub mod memory;
#[cfg(feature = "postgres")]
pub mod postgres;
mod published;
mod snapshot;
mod sql;
pub mod sqlite;
mod state;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod transfer;
mod unusable;
mod writer_queue;

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio::sync::watch;

use ait_domain::{
    AgentName, Command, Counts, DomainError, ErrorCode, Issue, IssueId, IssueRef, Lease, Page,
    Query, Timestamp,
};

use self::clients::Clients;
pub use events::{EventPosition, Events, NumberedEvent};
pub use health::{DURATION_BUCKETS_S, DatabaseHealth, Probe, StoreHealth};
pub use identity::{NotAStoreId, StoreId};
pub use memory::{ClaimObstacles, IdIndex, IndexedIssues, Links};
#[cfg(feature = "postgres")]
pub use postgres::{Password, PostgresOptions, PostgresStore};
pub use snapshot::{SnapshotVisitor, read_into, read_with};
pub use sqlite::{Maintenance, SqliteStore};
pub use state::{Document, State};
pub use unusable::UnusableStore;

/// The issues that an operation looks at. A store that has all issues at hand gives all of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Subset {
    /// These issues and those around them: those that they are linked with, in either direction, what they wait for
    /// with their wholes, and other issues whose short ids are the same. Unknown ids are left out.
    Around(Vec<IssueId>),
    /// These issues and everything that they wait for or are parts of, directly or not: what a decision on new links
    /// between them looks at. Other issues whose short ids are the same are there, too. Unknown ids are left out.
    Linking(Vec<IssueId>),
    /// What these agents could claim next, for work or for review.
    Claimable(Vec<AgentName>),
    /// What an agent holds, with the leases.
    HeldBy(AgentName),
    /// The issues with an open question to people.
    Questions,
}

/// The outcome of a command: the issue after it. A command that names an issue which already is as wanted gets that
/// issue. Otherwise `None` means that nothing had to change, for example because a claim found no issue.
pub type Outcome = Option<Arc<Issue>>;

/// What a commit did.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Committed {
    /// The outcome of each command.
    pub outcomes: Vec<Outcome>,
    /// The positions of its events, in their order. If the store numbers events after the commit, their numbers are 0
    /// here, and their hashes identify them in the log.
    pub events: Vec<EventPosition>,
}

/// A place that stores issues, shared by any number of callers.
///
/// Once a change is answered, every later read sees it, by any caller and through any process.
#[async_trait]
pub trait Store: Send + Sync {
    /// Returns the id of this store.
    ///
    /// All processes on this machine that share the store get the same id, and a restart does not change it. The
    /// call neither reads nor creates stored data.
    async fn id(&self) -> StoreId;

    /// Decides commands in order, each on the state that the previous one left, and makes their events durable: all
    /// in one step, or none.
    ///
    /// Returns the outcome of each command with the events of all of them, or the first refusal; then none of them
    /// changed anything. An answer means that the events are durable. Dropping the future before that withdraws the
    /// commands that are not decided yet. If a caller is gone when its claim is decided, the claim lapses at once.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`]. Every error except [`StoreError::Uncertain`] means that nothing changed.
    async fn commit(&self, commands: Vec<Command>, now: Timestamp)
    -> Result<Committed, StoreError>;

    /// Returns the issue that a reference names.
    ///
    /// # Errors
    ///
    /// [`StoreError::Refused`] if no issue or more than one matches; [`StoreError::Unreadable`].
    async fn get(&self, reference: IssueRef) -> Result<Arc<Issue>, StoreError>;

    /// Returns one page of the issues that match a query.
    async fn list(&self, query: Query) -> Result<Page, StoreError>;

    /// Counts the issues in each status.
    async fn counts(&self) -> Result<Counts, StoreError>;

    /// Shows a visitor everything as of one event, issue by issue. Includes every change that was answered before the
    /// call. [`read_into`] and [`State::read`] return what a visitor collected.
    async fn snapshot(&self, visitor: Arc<Mutex<dyn SnapshotVisitor>>) -> Result<(), StoreError>;

    /// Returns a subset of the issues as of one moment. Includes every change that was answered before the call. For
    /// the issues of the subset, the result equals the whole state; other issues, their counts and
    /// positions may be missing.
    async fn subset(&self, subset: Subset) -> Result<State, StoreError>;

    /// Returns the claims that live with a client.
    async fn leases(&self) -> Result<Vec<(IssueId, Lease)>, StoreError>;

    /// Returns the durable events after an event number, oldest first, at most `limit` of them. Events survive
    /// restarts for as long as the store keeps them.
    async fn events(&self, after: u64, limit: usize) -> Result<Events, StoreError>;

    /// Returns a receiver for the position of the newest durable event of any process. The first call makes the store
    /// watch the changes of other processes.
    fn watch(&self) -> watch::Receiver<EventPosition>;

    /// Returns the clients that hold claims.
    fn clients(&self) -> Arc<dyn Clients>;

    /// Returns whether the store can be read and changed, with its sizes and times.
    async fn health(&self, probe: Probe) -> StoreHealth;

    /// Returns what is damaged, or why nothing can be read. What else the store answers is older than the damage then.
    async fn damage(&self) -> Option<StoreError> {
        None
    }

    /// Refuses new commands and waits for those that are being written. Returns false if work is left that would take
    /// long.
    async fn close(&self) -> bool;
}

/// Why a store refused or failed an operation. The variants differ in what the caller can do.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// A rule refuses the command. The caller must ask for something else.
    #[error(transparent)]
    Refused(#[from] DomainError),
    /// Other processes kept the store busy for too long. Nothing changed; the caller can retry.
    #[error("the store is busy: {0}; nothing was changed, try again")]
    Busy(String),
    /// The database cannot be reached for now. Nothing changed; the caller can retry.
    #[error("the database cannot be used now: {0}; nothing was changed, try again")]
    Away(String),
    /// The store cannot be read and needs repair. Nothing is overwritten until then.
    #[error("the store cannot be read: {0}")]
    Unreadable(String),
    /// A part of the store is damaged. The rest can be read; changes are refused until it is repaired.
    #[error("the store is damaged and read-only: {0}")]
    Damaged(String),
    /// The store is so damaged that nothing can be read.
    #[error("the store is damaged and cannot be read: {0}")]
    Corrupt(String),
    /// A newer version of this program wrote a part of the store.
    #[error("{0} was written by a newer version of ait: use that version")]
    Newer(String),
    /// An earlier version of this program wrote the store, in another form.
    #[error("{0} is the store of an earlier version of ait, which this version does not read")]
    Earlier(String),
    /// The files are on a network file system, and no setting says that only one machine uses them.
    #[error("the store is read-only: {0}; nothing was changed")]
    NetworkFileSystem(String),
    /// This process may not write to the store.
    #[error("the store is read-only: {0}; nothing was changed")]
    ReadOnly(String),
    /// The change could not be made durable. Nothing changed.
    #[error(
        "the change was not saved: {0}; nothing was changed, try again when the cause is fixed"
    )]
    NotSaved(String),
    /// The change was made, but it may not survive a power failure.
    #[error(
        "it is not certain that the change is saved: {0}; look at the issue before you try again"
    )]
    Uncertain(String),
    /// The store is being closed.
    #[error("the tracker is shutting down; nothing was changed")]
    Closed,
}

impl StoreError {
    /// Returns true if a person has to repair or upgrade something before the store can be changed.
    pub fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged(_) | Self::Corrupt(_) | Self::Newer(_))
    }

    /// Returns the code of the error.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Refused(refusal) => refusal.code(),
            Self::Busy(_) | Self::Away(_) | Self::Closed => ErrorCode::Busy,
            Self::Unreadable(_) | Self::Corrupt(_) | Self::Newer(_) | Self::Earlier(_) => {
                ErrorCode::Unreadable
            }
            Self::Damaged(_) | Self::NetworkFileSystem(_) | Self::ReadOnly(_) => {
                ErrorCode::ReadOnly
            }
            Self::NotSaved(_) => ErrorCode::NotSaved,
            Self::Uncertain(_) => ErrorCode::Uncertain,
        }
    }

    /// Returns the cause alone, without what it means for the requested change.
    pub fn reason(&self) -> String {
        match self {
            Self::Busy(why)
            | Self::Away(why)
            | Self::Unreadable(why)
            | Self::Damaged(why)
            | Self::Corrupt(why)
            | Self::NetworkFileSystem(why)
            | Self::ReadOnly(why)
            | Self::NotSaved(why)
            | Self::Uncertain(why) => why.clone(),
            Self::Refused(_) | Self::Newer(_) | Self::Earlier(_) | Self::Closed => self.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ait_domain::IssueId;

    #[test]
    fn every_store_error_has_its_code() {
        let why = String::new;
        for (error, code) in [
            (StoreError::Refused(DomainError::IdTaken { id: IssueId::NIL }), "CONFLICT"),
            (StoreError::Busy(why()), "BUSY"),
            (StoreError::Away(why()), "BUSY"),
            (StoreError::Unreadable(why()), "UNREADABLE"),
            (StoreError::Damaged(why()), "READ_ONLY"),
            (StoreError::Corrupt(why()), "UNREADABLE"),
            (StoreError::Newer(why()), "UNREADABLE"),
            (StoreError::Earlier(why()), "UNREADABLE"),
            (StoreError::NetworkFileSystem(why()), "READ_ONLY"),
            (StoreError::ReadOnly(why()), "READ_ONLY"),
            (StoreError::NotSaved(why()), "NOT_SAVED"),
            (StoreError::Uncertain(why()), "UNCERTAIN"),
            (StoreError::Closed, "BUSY"),
        ] {
            assert_eq!(error.code().as_str(), code, "{error}");
        }
    }
}
