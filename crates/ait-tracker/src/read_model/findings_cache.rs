//! The last findings. Every page shows their number, so they are not looked for each time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use super::finding::Findings;
use crate::EventPosition;
use ait_domain::Timestamp;

/// How long the findings of an unchanged store stay: some come with time alone.
const LASTING_MS: u64 = 60_000;
/// Outdated findings are shown for up to so many times the duration of the search.
const PAUSE_FACTOR: u64 = 20;

/// The last findings. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct FindingsCache(Arc<State>);

#[derive(Debug, Default)]
struct State {
    last: Mutex<Option<Cached>>,
    /// Held during a search: one reader at a time searches.
    search: Mutex<()>,
}

/// Findings, and when they were searched for.
#[derive(Clone, Debug)]
pub(super) struct Cached {
    pub(super) findings: Arc<Findings>,
    /// The newest event that the search knew of.
    pub(super) position: EventPosition,
    pub(super) at: Timestamp,
    /// How long the search took.
    pub(super) took: Duration,
}

impl Cached {
    fn is_within(&self, now: Timestamp, ms: u64) -> bool {
        now >= self.at && now.millis_since(self.at) < ms
    }
}

impl FindingsCache {
    /// Returns the last findings if no event came since, and they are not older than a minute.
    pub(super) fn current(&self, position: EventPosition, now: Timestamp) -> Option<Arc<Findings>> {
        let cached = self.get()?;
        let is_current = cached.position == position && cached.is_within(now, LASTING_MS);
        is_current.then_some(cached.findings)
    }

    /// Returns the last findings, whatever has changed since, unless it is time to search again.
    pub(super) fn recent(&self, now: Timestamp) -> Option<Arc<Findings>> {
        let cached = self.get()?;
        let took = u64::try_from(cached.took.as_millis()).unwrap_or(u64::MAX);
        cached.is_within(now, PAUSE_FACTOR.saturating_mul(took)).then_some(cached.findings)
    }

    /// Returns the last findings if they are not older than a minute, whatever has changed since.
    pub(super) fn last(&self, now: Timestamp) -> Option<Arc<Findings>> {
        self.get().filter(|cached| cached.is_within(now, LASTING_MS)).map(|cached| cached.findings)
    }

    /// Waits until no other reader searches.
    pub(super) fn begin(&self) -> MutexGuard<'_, ()> {
        self.0.search.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to search; `None` if another reader searches.
    pub(super) fn try_begin(&self) -> Option<MutexGuard<'_, ()>> {
        match self.0.search.try_lock() {
            Ok(search) => Some(search),
            Err(TryLockError::Poisoned(search)) => Some(search.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Keeps findings in the place of the last ones.
    pub(super) fn set(&self, cached: Cached) {
        *self.0.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(cached);
    }

    fn get(&self) -> Option<Cached> {
        self.0.last.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
