//! The throttle for failed authentication: a delay, a limit on concurrent attempts, and a log line.
//!
//! Valid tokens are never throttled, so guessing cannot lock anyone out. What makes guessing hopeless is the length
//! of the secrets.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The limits for failed attempts, which all callers share.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ThrottleLimits {
    /// How long each attempt waits for its response.
    pub delay: Duration,
    /// How many attempts may wait at a time, including those whose callers disconnected; the next one gets 429.
    pub waiting: usize,
}

impl Default for ThrottleLimits {
    fn default() -> Self {
        Self { delay: Duration::from_secs(1), waiting: 8 }
    }
}

pub(crate) struct AuthThrottle {
    limits: ThrottleLimits,
    semaphore: Arc<Semaphore>,
    /// How many attempts were rejected since the last permit.
    rejected: AtomicU64,
}

/// The right of one failed attempt to wait for its response.
pub(crate) struct Permit {
    permit: OwnedSemaphorePermit,
    delay: Duration,
    /// How many attempts were rejected since the permit before this one.
    pub rejected: u64,
}

impl AuthThrottle {
    pub fn new(limits: ThrottleLimits) -> Self {
        let semaphore = Arc::new(Semaphore::new(limits.waiting));
        Self { limits, semaphore, rejected: AtomicU64::new(0) }
    }

    /// Returns a permit for one more attempt; `None` if too many wait.
    pub fn acquire(&self) -> Option<Permit> {
        let Ok(permit) = Arc::clone(&self.semaphore).try_acquire_owned() else {
            self.rejected.fetch_add(1, Ordering::Relaxed);
            return None;
        };
        let rejected = self.rejected.swap(0, Ordering::Relaxed);
        Some(Permit { permit, delay: self.limits.delay, rejected })
    }

    /// Returns how long a rejected caller should wait.
    pub fn delay(&self) -> Duration {
        self.limits.delay
    }
}

impl Permit {
    /// Waits until the attempt may be answered. Holds the permit that long even if the caller disconnects.
    pub async fn wait(self) {
        let waiting = async move {
            tokio::time::sleep(self.delay).await;
            drop(self.permit);
        };
        // Fails only when the runtime shuts down.
        let _ended = tokio::spawn(waiting).await;
    }
}
