//! Where issues are kept: the seam between the use cases and a place to keep things.
//!
//! A store holds issues in the order in which they were filed, chooses the issue that a claim gets,
//! and makes every change durable before it answers. No lock, file or transaction shows through
//! [`Store`], so that another kind of store fits behind it.

pub mod backup;
mod changes;
mod identity;
pub mod json;
mod kept;
pub mod memory;
mod memory_store;
mod vitals;

use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;

use crate::domain::{Command, Counts, DomainError, Issue, IssueRef, Page, Query, Timestamp};

use self::backup::{Consent, Holdings, Replacement};
pub use changes::{Changes, Cursor};
pub use identity::{NotAStoreId, StoreId};
pub use json::JsonStore;
pub use json::format::Document;
pub use memory::{IssueStore, Version};
pub use memory_store::MemoryStore;
pub use vitals::{DURATION_BUCKETS_S, Vitals};

/// What an operation on a store gives, in time.
pub type StoreFuture<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// A place to keep issues, shared by any number of callers.
///
/// Whoever was answered finds what it wrote in everything it reads afterwards, and so does everyone
/// who asks after that answer, through whichever process.
pub trait Store: Send + Sync {
    /// Tells which store this is.
    ///
    /// The same in every process on this machine that shares it, and after a restart. Reads and makes
    /// nothing that is kept.
    fn id(&self) -> BoxFuture<'_, StoreId>;

    /// Decides a command and makes its event durable.
    ///
    /// Gives the issue as it is afterwards; `None` for a claim that found nothing to claim, which
    /// changes nothing. An answer means that the change is durable; dropping the future before that
    /// withdraws a command that was not decided yet.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`]. Except for [`StoreError::Uncertain`], an error means that nothing changed.
    fn apply(&self, command: Command, now: Timestamp) -> StoreFuture<'_, Option<Arc<Issue>>>;

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

    /// Tells what happened since a place that an earlier answer gave; without one, where to begin.
    ///
    /// Answers at once. A store remembers at least the last 1,000 changes; [`Changes::complete`] tells
    /// whether that was enough.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unreadable`].
    fn changes(&self, after: Option<Cursor>) -> StoreFuture<'_, Changes>;

    /// Gives everything that the store holds at one moment after the call began: at least what was
    /// answered before it; of a damaged store, what can be read.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unreadable`].
    fn holdings(&self) -> StoreFuture<'_, Holdings>;

    /// Puts a document in the place of everything that the store holds, in one step: every process that
    /// shares the store goes on with it, and no change is made to what was there before.
    ///
    /// What is replaced is kept first, durably, by a store that is durable itself. A crash leaves either
    /// the one or the other, or a store that cannot be read and says what to do.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`]; see [`apply`](Self::apply). That something would be lost is none.
    fn replace(&self, document: Document, consent: Consent) -> StoreFuture<'_, Replacement>;

    /// The files that the store consists of, that of the issues first; none for one that has no files.
    fn files(&self) -> BoxFuture<'_, Vec<PathBuf>>;

    /// Tells whether the store can be read and, as far as is known without trying, changed.
    ///
    /// # Errors
    ///
    /// What the next change would be answered with.
    fn check(&self) -> StoreFuture<'_, ()>;

    /// Tries whether a change could be written now: opens what it would open, and really writes a few
    /// KiB that nobody else sees and that are gone again afterwards.
    ///
    /// Says nothing about what [`check`](Self::check) finds out.
    ///
    /// # Errors
    ///
    /// What keeps changes from being written.
    fn try_writing(&self) -> StoreFuture<'_, ()>;

    /// Tells how the store is doing, without reading its issues.
    fn vitals(&self) -> BoxFuture<'_, Vitals>;

    /// Takes note that a client's HTTP session was ended, so that no process takes it up again.
    ///
    /// A store remembers at least the last 10,000 of them. An answer does not mean that a power cut
    /// cannot take it back.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unreadable`], [`StoreError::ReadOnly`], [`StoreError::NotSaved`] and
    /// [`StoreError::Busy`]; the session counts as not ended then.
    fn end_session(&self, session: String) -> StoreFuture<'_, ()>;

    /// Tells whether any process has ended a client's HTTP session.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unreadable`].
    fn session_ended(&self, session: String) -> StoreFuture<'_, bool>;

    /// Looks what others did, so that nobody has to wait for that later. Tells whether somebody has changed by
    /// hand what is kept, so that the next change has to take that over; [`take_over_edit`](Self::take_over_edit)
    /// does so at once.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unreadable`].
    fn keep_up(&self) -> StoreFuture<'_, bool>;

    /// Takes over what somebody changed by hand, if this process knows what was there before.
    ///
    /// # Errors
    ///
    /// What keeps it from being written; nothing is lost then.
    fn take_over_edit(&self) -> StoreFuture<'_, ()>;

    /// Brings what people read up to date, where that lags behind what is kept. The commands that are
    /// being written need not be in it.
    ///
    /// # Errors
    ///
    /// What keeps it from being written; nothing is lost then.
    fn save(&self) -> StoreFuture<'_, ()>;

    /// Takes no more commands, waits for those that are being written, and leaves what is kept in
    /// its tidiest form, if that is quickly done: false leaves it to the next [`save`](Self::save).
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
