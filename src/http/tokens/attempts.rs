//! Attempts with a wrong token: answered late, few at a time, and told in the log.
//!
//! A good token is never kept waiting, so that those who guess cannot lock out those who know. That
//! limits what can be done against them; what makes guessing hopeless is the length of the secrets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How attempts with a wrong token are held back, those of all callers together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AttemptLimits {
    /// How long each waits for its answer.
    pub delay: Duration,
    /// How many may wait at a time, also of callers who have hung up; the next is answered with 429.
    pub waiting: usize,
}

impl Default for AttemptLimits {
    fn default() -> Self {
        Self { delay: Duration::from_secs(1), waiting: 8 }
    }
}

/// The attempts of all callers.
pub(super) struct Attempts {
    limits: AttemptLimits,
    places: Arc<Semaphore>,
    /// How many found no place since one was logged.
    untold: AtomicU64,
}

/// A place among those that wait.
pub(super) struct Place {
    permit: OwnedSemaphorePermit,
    delay: Duration,
    /// How many found no place since the last one that did.
    pub untold: u64,
}

impl Attempts {
    pub fn new(limits: AttemptLimits) -> Self {
        let places = Arc::new(Semaphore::new(limits.waiting));
        Self { limits, places, untold: AtomicU64::new(0) }
    }

    /// A place for one more attempt; `None` when there are too many.
    pub fn begin(&self) -> Option<Place> {
        let Ok(permit) = Arc::clone(&self.places).try_acquire_owned() else {
            self.untold.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        let untold = self.untold.swap(0, Ordering::Relaxed);
        Some(Place { permit, delay: self.limits.delay, untold })
    }

    /// How long somebody should wait who found no place.
    pub fn delay(&self) -> Duration {
        self.limits.delay
    }
}

impl Place {
    /// Waits until the attempt may be answered. A caller who does not wait keeps the place all the same.
    pub async fn wait(self) {
        let waiting = async move {
            tokio::time::sleep(self.delay).await;
            drop(self.permit);
        };
        let _also_at_the_end_of_the_runtime = tokio::spawn(waiting).await;
    }
}
