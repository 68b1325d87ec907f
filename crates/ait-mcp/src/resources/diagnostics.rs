//! `tracker://diagnostics`: the last report of the doctor.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, watch};

use crate::context::{LazyContext, ServerContext};
use ait_doctor::{CheckContext, Report, Verdict};
use ait_tracker::Tracker;

/// How long a report is cached. An examination reads the whole store and tests the disk.
const MAX_AGE: Duration = Duration::from_secs(300);

/// Runs the doctor on demand, and caches its report.
pub(crate) struct Diagnostics {
    tracker: Tracker,
    context: LazyContext,
    /// Locked during an examination, so that concurrent requests share its report.
    last: Mutex<Option<(Instant, Arc<Report>)>>,
    /// Counts the reports with other findings than the one before.
    changed: watch::Sender<u64>,
}

impl Diagnostics {
    pub fn new(tracker: Tracker, context: LazyContext) -> Self {
        Self { tracker, context, last: Mutex::default(), changed: watch::Sender::new(0) }
    }

    /// Returns the last report, and for how many milliseconds it stays cached.
    pub async fn report(&self) -> (Arc<Report>, u64) {
        self.report_unless(|_| false).await
    }

    /// Returns the last report if it found no problem, otherwise a new one: the problem may be fixed.
    pub async fn recheck_problems(&self) -> Arc<Report> {
        self.report_unless(|report| report.verdict > Verdict::Skipped).await.0
    }

    async fn report_unless(&self, is_old: impl FnOnce(&Report) -> bool) -> (Arc<Report>, u64) {
        let mut last = self.last.lock().await;
        if let Some((made, report)) = &*last
            && let Some(rest) = MAX_AGE.checked_sub(made.elapsed())
            && !is_old(report)
        {
            return (Arc::clone(report), millis(rest));
        }
        let now = self.tracker.now();
        let ServerContext { context, .. } = self.context.get().await;
        let report = ait_doctor::examine(&CheckContext { now, ..context }).await;
        let report = Arc::new(report);
        let before = last.replace((Instant::now(), Arc::clone(&report)));
        if before.is_some_and(|(_, before)| before.findings != report.findings) {
            self.changed.send_modify(|count| *count += 1);
        }
        if report.is_cut_off {
            // The next examination may get further.
            *last = None;
            return (report, 0);
        }
        (report, millis(MAX_AGE))
    }

    /// Returns a receiver that changes when a report has other findings than the one before it.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
