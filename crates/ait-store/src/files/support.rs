//! Small helpers for all parts of the store.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use chrono::{DateTime, Utc};

use crate::StoreError;
use ait_domain::Timestamp;

/// Locks a mutex, even after a panic. The next user discards half-done work.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the system time.
pub(crate) fn now() -> Timestamp {
    Timestamp::from(DateTime::<Utc>::from(SystemTime::now()))
}

/// Runs work that may block on the disk: on a blocking thread, or in place if `in_place`.
pub(crate) async fn on_thread<T: Send + 'static>(
    in_place: bool,
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    if in_place {
        return work();
    }
    let done = tokio::task::spawn_blocking(work);
    // A read that panics is a bug. It is reported like an unreadable file.
    done.await.unwrap_or_else(|panic| Err(StoreError::Unreadable(panic.to_string())))
}
