//! What waits to be sent, as the store alone tells it. No remote is asked.

use std::sync::Arc;

use ait_domain::{Issue, Lease, UnknownKeys};
use ait_tracker::{EventPosition, SnapshotVisitor, StoreError, Tracker};

use crate::plan::Rules;
use crate::settings::{Push, SyncSettings};

/// The issues that the next run of a sync sends.
#[derive(Clone, Debug, Default)]
pub struct Waiting {
    /// The first of them, with what is sent of each.
    pub first: Vec<(Arc<Issue>, Vec<Push>)>,
    pub count: usize,
}

/// Returns what the next run of each sync sends; of each at most so many issues are named.
pub async fn waiting(
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
