//! Small things that all parts of the store need.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use chrono::{DateTime, Utc};
use futures::future::FutureExt;

use crate::domain::Timestamp;
use crate::store::{StoreError, StoreFuture};

/// Locks a mutex, also after a panic: what that left half done is dropped by whoever looks next.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The time of the system.
pub(super) fn now() -> Timestamp {
    Timestamp::from(DateTime::<Utc>::from(SystemTime::now()))
}

/// Does something that may wait for the disk: on a thread that may do so, or at once if `in_place`.
pub(super) fn on_thread<T: Send + 'static>(
    in_place: bool,
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> StoreFuture<'static, T> {
    async move {
        if in_place {
            return work();
        }
        let done = tokio::task::spawn_blocking(work);
        // A read that panics is a defect; it is answered like a file that cannot be read.
        done.await.unwrap_or_else(|panic| Err(StoreError::Unreadable(panic.to_string())))
    }
    .boxed()
}
