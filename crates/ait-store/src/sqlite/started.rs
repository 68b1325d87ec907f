//! Work that waits for the writer, and who learns what it did.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use tokio::sync::watch;

use crate::{EventPosition, StoreError};

/// Work that waits for the thread.
pub(super) struct Started<T> {
    pub reply: Receiver<Result<T, StoreError>>,
    pub is_taken: Arc<AtomicBool>,
}

impl<T> Started<T> {
    pub fn recv_timeout(&self, limit: Duration) -> Result<Result<T, StoreError>, RecvTimeoutError> {
        self.reply.recv_timeout(limit)
    }

    /// Withdraws the work. Returns false if it has begun.
    pub fn withdraw(&self) -> bool {
        !self.is_taken.swap(true, Ordering::AcqRel)
    }
}

/// Says that there are events up to this one.
pub(super) fn publish(newest: &watch::Sender<EventPosition>, position: EventPosition) {
    newest.send_if_modified(|known| {
        let is_newer = *known != position && position.number >= known.number;
        if is_newer {
            *known = position;
        }
        is_newer
    });
}
