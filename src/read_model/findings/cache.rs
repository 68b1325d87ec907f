//! The last findings. Every page shows their number, so they are not looked for each time.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::Findings;
use crate::domain::Timestamp;
use crate::read_model::ReadView;
use crate::tracker::Version;

/// How long the findings of an unchanged store stay: some come with time alone.
const LASTING_MS: u64 = 60_000;
/// For how many times as long as the search took its number is shown although the store has changed.
const RESTS: u64 = 20;

/// The last findings. Clones share them.
#[derive(Clone, Debug, Default)]
pub(in crate::read_model) struct FindingsCache(Arc<Mutex<Option<Cached>>>);

#[derive(Clone, Debug)]
struct Cached {
    findings: Arc<Findings>,
    revision: Version,
    at: Timestamp,
    took: Duration,
}

impl Cached {
    fn is_within(&self, now: Timestamp, ms: u64) -> bool {
        now >= self.at && now.millis_since(self.at) < ms
    }
}

impl ReadView<'_> {
    /// Returns what is wrong in the queue. The findings of an unchanged store are kept for a minute.
    pub fn findings(&self, now: Timestamp) -> Arc<Findings> {
        let revision = self.issues.revision();
        if let Some(cached) = self.cached_findings()
            && cached.revision == revision
            && cached.is_within(now, LASTING_MS)
        {
            return cached.findings;
        }
        let begun = Instant::now();
        let findings = Arc::new(Findings::of(self, now));
        let took = begun.elapsed();
        let cached = Cached { findings: Arc::clone(&findings), revision, at: now, took };
        *self.index.findings.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(cached);
        findings
    }

    /// Returns what is wrong in the queue, for every page. In a large store that changes all the time it may be some time
    /// old: looking for it takes at most a twentieth of the time.
    pub fn recent_findings(&self, now: Timestamp) -> Arc<Findings> {
        let recent = self.cached_findings().filter(|cached| {
            cached
                .is_within(now, RESTS * u64::try_from(cached.took.as_millis()).unwrap_or(u64::MAX))
        });
        recent.map_or_else(|| self.findings(now), |cached| cached.findings)
    }

    fn cached_findings(&self) -> Option<Cached> {
        self.index.findings.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
