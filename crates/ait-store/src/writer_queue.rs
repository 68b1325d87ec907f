//! The queue of the writer of a store, and what it answers.

use super::{Committed, StoreError};

/// The most requests in one commit.
pub(super) const MAX_REQUESTS_PER_COMMIT: usize = 256;
/// The most requests in the queue of a writer.
pub(super) const MAX_QUEUED: usize = 4096;

/// What became of one request.
pub(super) type WriterReply = Result<Committed, StoreError>;

/// Returns the error for a request that does not fit into the queue of a writer.
pub(super) fn queue_is_full() -> StoreError {
    StoreError::Busy(format!("{MAX_QUEUED} changes are queued"))
}
