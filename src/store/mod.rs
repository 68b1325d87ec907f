//! Where issues are kept: the seam between the use cases and a place to keep things.
//!
//! A store holds issues in the order in which they were filed, chooses the issue that a claim gets,
//! and makes every change durable before it answers. No lock, file or transaction shows through
//! [`Store`], so that another kind of store fits behind it. What only files have is reached through
//! [`json::Maintenance`].

pub mod backup;
mod events;
mod health;
mod identity;
pub mod json;
mod kept;
pub mod memory;
mod memory_store;
mod state;

use std::sync::Arc;

use futures::future::BoxFuture;
use tokio::sync::watch;

use crate::domain::{Command, Counts, DomainError, Issue, IssueRef, Page, Query, Timestamp};

pub use events::{Events, NumberedEvent, Position};
pub use health::{DURATION_BUCKETS_S, Probe, StoreHealth};
pub use identity::{NotAStoreId, StoreId};
pub use json::JsonStore;
pub use memory::{IssueStore, Version};
pub use memory_store::MemoryStore;
pub use state::{Document, State};

/// What an operation on a store gives, in time.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// What a command came to: the issue as it is afterwards, `None` where nothing had to change, such as for a claim
/// that found nothing to claim, or the refusal by the rules.
pub type Outcome = Result<Option<Arc<Issue>>, DomainError>;

/// A place to keep issues, shared by any number of callers.
///
/// Whoever was answered finds what it wrote in everything it reads afterwards, and so does everyone
/// who asks after that answer, through whichever process.
pub trait Store: Send + Sync {
    /// Returns the id of this store.
    ///
    /// The same in every process on this machine that shares it, and after a restart. Reads and makes
    /// nothing that is kept.
    fn id(&self) -> BoxFuture<'_, StoreId>;

    /// Decides commands, each on the state that the one before has left, and makes their events durable: all of
    /// them in one step, or none.
    ///
    /// Returns the outcome of each. An answer means that the events are durable; dropping the future before that
    /// withdraws commands that are not decided yet. A claim of a caller that is gone when it is decided lapses
    /// again at once.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`] but [`StoreError::Refused`], which is an outcome. Except for
    /// [`StoreError::Uncertain`], an error means that nothing changed.
    fn commit(&self, commands: Vec<Command>, now: Timestamp) -> StoreFuture<'_, Vec<Outcome>>;

    /// Finds the issue that a caller names.
    ///
    /// # Errors
    ///
    /// [`StoreError::Refused`] when none or more than one has such an id;
    /// [`StoreError::Unreadable`].
    fn get(&self, reference: IssueRef) -> StoreFuture<'_, Arc<Issue>>;

    /// Finds the issues that match a query.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unreadable`].
    fn list(&self, query: Query) -> StoreFuture<'_, Page>;

    /// Counts the issues in each status.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unreadable`].
    fn counts(&self) -> StoreFuture<'_, Counts>;

    /// Returns all issues at one event number: at least what was answered before the call. Costs the same at any
    /// size.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unreadable`].
    fn snapshot(&self) -> StoreFuture<'_, State>;

    /// Returns the durable events after a number, oldest first, at most `limit` of them. Events outlive restarts,
    /// as long as the store keeps them.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unreadable`].
    fn events(&self, after: u64, limit: usize) -> StoreFuture<'_, Events>;

    /// Returns a receiver of the position of the newest durable event, of whichever process. From the first call
    /// on the store watches what other processes do.
    fn watch(&self) -> watch::Receiver<Position>;

    /// Tells whether the store can be read and changed, and how it is doing.
    fn health(&self, probe: Probe) -> BoxFuture<'_, StoreHealth>;

    /// Takes no more commands and waits for those that are being written. Returns false if something is left to
    /// do that would take long.
    fn close(&self) -> BoxFuture<'_, bool>;
}

/// Why a store did not do what it was asked, by what the caller can do about it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StoreError {
    /// The rules say no: the caller has to ask for something else.
    #[error(transparent)]
    Refused(#[from] DomainError),
    /// Others kept the store busy for too long; nothing changed, and trying again is right.
    #[error("the store is busy: {0}; nothing was changed, try again")]
    Busy(String),
    /// What is kept cannot be read; somebody has to repair it, and nothing is overwritten until then.
    #[error("the store cannot be read: {0}")]
    Unreadable(String),
    /// A part of what is kept is damaged, or was made by a newer version. The rest can be read; nothing
    /// changes until somebody has looked at it.
    #[error("only reads are possible: {0}")]
    Damaged(String),
    /// This process may not change what is kept.
    #[error("the store is read-only: {0}; nothing was changed")]
    ReadOnly(String),
    /// The change could not be made durable; nothing changed.
    #[error("the change was not saved: {0}; nothing was changed, try again when that is mended")]
    NotSaved(String),
    /// The change was made, but whether it survives a power cut is not known.
    #[error(
        "it is not certain that the change is saved: {0}; look at the issue before you try again"
    )]
    Uncertain(String),
    /// The store is being closed.
    #[error("the tracker is shutting down; nothing was changed")]
    Closed,
}

impl StoreError {
    /// What is wrong, without a word on the change that was asked for.
    pub fn reason(&self) -> String {
        match self {
            Self::Busy(why)
            | Self::Unreadable(why)
            | Self::Damaged(why)
            | Self::ReadOnly(why)
            | Self::NotSaved(why)
            | Self::Uncertain(why) => why.clone(),
            Self::Refused(_) | Self::Closed => self.to_string(),
        }
    }
}
