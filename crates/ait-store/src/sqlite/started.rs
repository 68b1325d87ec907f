//! Work that waits for the writer, and who learns what it did.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::StoreOptions;
use crate::files::support::lock;
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

/// How often a request that waits long looks whether to give up.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How long a request waits for the thread.
pub(super) struct Patience<'a> {
    options: &'a StoreOptions,
    /// Since when the thread waits for other processes.
    waits_since: &'a Mutex<Option<Instant>>,
    begun: Instant,
}

impl<'a> Patience<'a> {
    pub fn new(options: &'a StoreOptions, waits_since: &'a Mutex<Option<Instant>>) -> Self {
        Self { options, waits_since, begun: Instant::now() }
    }

    /// Returns after which time to look whether to give up.
    pub fn look_after(&self) -> Duration {
        self.options.busy_after.saturating_sub(self.begun.elapsed()).max(LOOK_EVERY)
    }

    /// Returns the error of a request that has waited too long. It waits longer while the thread is at work.
    pub fn given_up(&self) -> Option<StoreError> {
        let waited = self.begun.elapsed();
        let since = *lock(self.waits_since);
        let waits = since.is_some_and(|since| since.elapsed() >= LOOK_EVERY);
        if waits && waited >= self.options.busy_after {
            return Some(locked());
        }
        let why = "what this process does first takes long";
        (waited >= self.options.withdrawn_after).then(|| StoreError::Busy(why.to_owned()))
    }
}

pub(super) fn locked() -> StoreError {
    StoreError::Busy("other processes keep the store locked".to_owned())
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
