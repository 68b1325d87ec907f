//! `tracker://diagnostics`: the doctor's last report.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, watch};

use crate::doctor::{self, Report, Subject, Verdict};
use crate::mcp::surroundings::{FoundWhenAsked, Surroundings};
use crate::tracker::Tracker;

/// How long a report is kept. An examination reads the whole store and tries the disk.
const KEPT: Duration = Duration::from_secs(300);

/// Examines when it is asked, unless it has done so lately.
pub(in crate::mcp) struct Diagnostics {
    tracker: Tracker,
    surroundings: FoundWhenAsked,
    /// Held during an examination, so that all who ask meanwhile get its report.
    last: Mutex<Option<(Instant, Arc<Report>)>>,
    /// Counts the reports that found something else than those before them.
    found: watch::Sender<u64>,
}

impl Diagnostics {
    pub fn new(tracker: Tracker, surroundings: FoundWhenAsked) -> Self {
        Self { tracker, surroundings, last: Mutex::default(), found: watch::Sender::new(0) }
    }

    /// The last report, and for how many milliseconds more it is kept.
    pub async fn report(&self) -> (Arc<Report>, u64) {
        self.report_unless(|_| false).await
    }

    /// The same, and a new one where the last has found something: somebody may have seen to it.
    pub async fn new_report_of_trouble(&self) -> Arc<Report> {
        self.report_unless(|report| report.verdict > Verdict::Skipped).await.0
    }

    async fn report_unless(&self, is_old: impl FnOnce(&Report) -> bool) -> (Arc<Report>, u64) {
        let mut last = self.last.lock().await;
        if let Some((made, report)) = &*last
            && let Some(rest) = KEPT.checked_sub(made.elapsed())
            && !is_old(report)
        {
            return (Arc::clone(report), millis(rest));
        }
        let now = self.tracker.now();
        let Surroundings { subject, .. } = self.surroundings.get().await;
        let report = doctor::examine(&Subject { now, ..subject }).await;
        let report = Arc::new(report);
        let before = last.replace((Instant::now(), Arc::clone(&report)));
        if before.is_some_and(|(_, before)| before.findings != report.findings) {
            self.found.send_modify(|count| *count += 1);
        }
        if report.is_cut_off {
            // Another try may come further.
            *last = None;
            return (report, 0);
        }
        (report, millis(KEPT))
    }

    /// Tells when an examination has found something else than the one before it.
    pub fn news(&self) -> watch::Receiver<u64> {
        self.found.subscribe()
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
