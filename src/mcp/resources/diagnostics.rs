//! `tracker://diagnostics`: the doctor's last report.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, watch};

use crate::doctor::{self, Finding, Report, Subject};
use crate::tracker::Tracker;

/// How long a report is kept. An examination reads the whole store and tries the disk.
const KEPT: Duration = Duration::from_secs(300);

/// Examines when it is asked, unless it has done so lately.
pub(in crate::mcp) struct Diagnostics {
    tracker: Tracker,
    subject: Subject,
    /// Held during an examination, so that all who ask meanwhile get its report.
    last: Mutex<Option<(Instant, Arc<Report>)>>,
    /// Counts the reports that found something else than those before them.
    found: watch::Sender<u64>,
}

impl Diagnostics {
    pub fn new(tracker: Tracker, subject: Subject) -> Self {
        Self { tracker, subject, last: Mutex::default(), found: watch::Sender::new(0) }
    }

    /// The last report, and for how many milliseconds more it is kept.
    pub async fn report(&self) -> (Arc<Report>, u64) {
        let mut last = self.last.lock().await;
        if let Some((made, report)) = &*last
            && let Some(rest) = KEPT.checked_sub(made.elapsed())
        {
            return (Arc::clone(report), millis(rest));
        }
        let now = self.tracker.now();
        let report = doctor::examine(&Subject { now, ..self.subject.clone() }).await;
        let report = Arc::new(report);
        let before = last.replace((Instant::now(), Arc::clone(&report)));
        if before.is_some_and(|(_, before)| is_other(&before, &report)) {
            self.found.send_modify(|count| *count += 1);
        }
        (report, millis(KEPT))
    }

    /// Tells when an examination has found something else than the one before it.
    pub fn news(&self) -> watch::Receiver<u64> {
        self.found.subscribe()
    }
}

/// Tells whether two reports differ in what a check came to.
fn is_other(one: &Report, other: &Report) -> bool {
    let verdicts = |report: &Report| -> Vec<_> {
        report.findings.iter().map(|Finding { check, verdict, .. }| (*check, *verdict)).collect()
    };
    verdicts(one) != verdicts(other)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
