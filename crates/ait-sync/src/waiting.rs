//! What waits to be sent, as the store alone tells it. No remote is asked.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ait_domain::{Issue, Lease, UnknownKeys};
use ait_tracker::{EventPosition, SnapshotVisitor, StoreError, Tracker};

use crate::plan::Rules;
use crate::settings::{Push, SyncSettings};

/// What is found in less time is looked for each time.
const QUICK: Duration = Duration::from_millis(20);
/// What took longer is shown again for so many times that long: pages ask after each change, and a look at a large
/// queue takes a second.
const PAUSE_FACTOR: u32 = 20;

/// The issues that the next run of a sync sends.
#[derive(Clone, Debug, Default)]
pub struct Waiting {
    /// The first of them, with what is sent of each.
    pub first: Vec<(Arc<Issue>, Vec<Push>)>,
    pub count: usize,
}

/// What was found last, and until when it is shown.
#[derive(Debug, Default)]
pub struct WaitingCache(tokio::sync::Mutex<Option<(Instant, Arc<[Waiting]>)>>);

impl WaitingCache {
    /// Returns what the next run of each sync sends; of each at most `take` issues are named. For a large queue, this
    /// is not older than a few seconds.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    pub async fn get(
        &self,
        tracker: &Tracker,
        syncs: &[SyncSettings],
        take: usize,
    ) -> Result<Arc<[Waiting]>, StoreError> {
        let mut last = self.0.lock().await;
        let begun = Instant::now();
        if let Some((until, waiting)) = &*last
            && begun < *until
        {
            return Ok(Arc::clone(waiting));
        }
        let found: Arc<[Waiting]> = find(tracker, syncs, take).await?.into();
        let took = begun.elapsed();
        *last = (took > QUICK).then(|| (begun + took * PAUSE_FACTOR, Arc::clone(&found)));
        Ok(found)
    }
}

async fn find(
    tracker: &Tracker,
    syncs: &[SyncSettings],
    take: usize,
) -> Result<Vec<Waiting>, StoreError> {
    let syncs = syncs.iter().cloned().map(|sync| (sync, Waiting::default())).collect();
    let visitor = Visitor { syncs, take };
    let visitor = tracker.read_with(visitor).await?;
    Ok(visitor.syncs.into_iter().map(|(_, waiting)| waiting).collect())
}

#[derive(Default)]
struct Visitor {
    syncs: Vec<(SyncSettings, Waiting)>,
    take: usize,
}

impl SnapshotVisitor for Visitor {
    fn begin(&mut self, _: EventPosition, _: UnknownKeys) {
        self.syncs.iter_mut().for_each(|(_, waiting)| *waiting = Waiting::default());
    }

    fn visit(&mut self, issue: Arc<Issue>, _: Option<Lease>) {
        for (SyncSettings { name, kind, push, .. }, waiting) in &mut self.syncs {
            // Nothing is changed, so the time does not matter.
            let now = issue.modified_at;
            let rules = Rules { kind: *kind, push, agent: name, now };
            let sent = rules.waiting(&issue);
            if sent.is_empty() {
                continue;
            }
            waiting.count += 1;
            if waiting.first.len() < self.take {
                waiting.first.push((Arc::clone(&issue), sent));
            }
        }
    }
}
