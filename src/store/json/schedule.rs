//! When `issues.json` is brought up to date.
//!
//! Soon after the last change, or when the journal has grown out of proportion, and never so often that
//! a noticeable part of the time goes into it.

use std::time::{Duration, Instant};

/// How old the first change that `issues.json` lacks may become while others follow.
const MAX_AGE: Duration = Duration::from_millis(700);
/// How many times its own duration passes before the next checkpoint.
const REST_FACTOR: u32 = 20;
/// How long a checkpoint that failed is not tried again at least; twice as long each time, up to this
/// often.
const AFTER_FAILURE: Duration = Duration::from_secs(5);
const MAX_DOUBLINGS: u32 = 6;
/// A journal that is smaller than this, or than a quarter of `issues.json`, is no reason for a
/// checkpoint; at four times that, it is a reason at any time.
const MIN_JOURNAL_BYTES: u64 = 1024 * 1024;
/// How many bytes of `issues.json` are taken to be written in a millisecond, before that was ever measured.
const BYTES_PER_MS: u64 = 64 * 1024;

/// What `issues.json` lacks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unsaved {
    pub journal_bytes: u64,
    pub snapshot_bytes: u64,
    /// How long it took to write it the last time, in whichever process, as far as that is known.
    pub took: Option<Duration>,
}

impl Unsaved {
    /// A journal that is larger is a reason for a checkpoint.
    fn limit_bytes(self) -> u64 {
        MIN_JOURNAL_BYTES.max(self.snapshot_bytes / 4)
    }

    /// How long it takes to write it, as far as that can be told.
    pub fn expected(self) -> Duration {
        self.took.unwrap_or(Duration::from_millis(self.snapshot_bytes / BYTES_PER_MS))
    }

    /// Tells whether the journal is a reason for a checkpoint at any time.
    pub fn is_urgent(self) -> bool {
        self.journal_bytes > 4 * self.limit_bytes()
    }
}

/// How long `issues.json` is left alone after a checkpoint that took so long.
pub(super) fn rest_after(took: Duration) -> Duration {
    REST_FACTOR * took
}

pub(super) struct Schedule {
    idle: Duration,
    first_change: Option<Instant>,
    last_change: Instant,
    unsaved: Unsaved,
    rest_until: Option<Instant>,
    retry_at: Option<Instant>,
    failures: u32,
}

impl Schedule {
    /// `idle`: how long after the last change.
    pub fn new(idle: Duration) -> Self {
        Self {
            idle,
            first_change: None,
            last_change: Instant::now(),
            unsaved: Unsaved { journal_bytes: 0, snapshot_bytes: 0, took: None },
            rest_until: None,
            retry_at: None,
            failures: 0,
        }
    }

    /// Takes note of a change.
    pub fn changed(&mut self, unsaved: Unsaved, now: Instant) {
        self.last_change = now;
        self.first_change.get_or_insert(now);
        self.unsaved = unsaved;
    }

    /// Takes note that a checkpoint begins: should nobody tell how it ended, there is a pause.
    pub fn begun(&mut self, now: Instant) {
        self.retry_at = Some(now + AFTER_FAILURE);
    }

    /// Takes note of a checkpoint that ended now.
    pub fn saved(&mut self, took: Duration, now: Instant) {
        self.nothing_to_save();
        self.rest_until = Some(now + rest_after(took));
    }

    /// Takes note that there is nothing to save, because somebody else has done it.
    pub fn nothing_to_save(&mut self) {
        self.first_change = None;
        (self.retry_at, self.failures) = (None, 0);
    }

    /// Takes note that somebody else has made one just before the last changes.
    pub fn postponed(&mut self, rest: Duration, unsaved: Unsaved, now: Instant) {
        self.unsaved = unsaved;
        (self.retry_at, self.failures) = (None, 0);
        self.rest_until = Some(now + rest);
    }

    /// Takes note of a checkpoint that could not be made, after so long.
    pub fn failed(&mut self, took: Duration, now: Instant) {
        let pause = AFTER_FAILURE.max(rest_after(took));
        self.retry_at = Some(now + pause * 2_u32.pow(self.failures.min(MAX_DOUBLINGS)));
        self.failures += 1;
    }

    /// When the next checkpoint is due; `None` when nothing has changed.
    pub fn due(&self) -> Option<Instant> {
        let first_change = self.first_change?;
        let idle_long = self.last_change + self.idle;
        let mut due = idle_long.min(first_change + self.idle.max(MAX_AGE));
        if self.unsaved.journal_bytes > self.unsaved.limit_bytes() {
            due = first_change;
        }
        if !self.unsaved.is_urgent() {
            due = due.max(self.rest_until.unwrap_or(due));
        }
        Some(due.max(self.retry_at.unwrap_or(due)))
    }

    /// Tells whether `issues.json` lacks something.
    pub fn is_behind(&self) -> bool {
        self.first_change.is_some()
    }

    /// Tells whether a checkpoint is likely to take no longer, or cannot be left to somebody else.
    pub fn is_worth(&self, at_most: Duration) -> bool {
        self.unsaved.expected() <= at_most || self.unsaved.is_urgent()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDLE: Duration = Duration::from_millis(300);

    fn unsaved(journal_bytes: u64) -> Unsaved {
        Unsaved { journal_bytes, snapshot_bytes: 0, took: None }
    }

    #[test]
    fn a_checkpoint_comes_soon_after_the_last_change_and_not_long_after_the_first() {
        let start = Instant::now();
        let after = |millis| start + Duration::from_millis(millis);
        let mut schedule = Schedule::new(IDLE);
        assert_eq!(schedule.due(), None);
        schedule.changed(unsaved(1), start);
        assert_eq!(schedule.due(), Some(after(300)));
        schedule.changed(unsaved(2), after(200));
        assert_eq!(schedule.due(), Some(after(500)));
        schedule.changed(unsaved(3), after(650));
        assert_eq!(schedule.due(), Some(after(700)));
        schedule.saved(Duration::from_millis(10), after(710));
        assert_eq!(schedule.due(), None);
        // Twenty times ten milliseconds are over before it would be due in any case.
        schedule.changed(unsaved(1), after(720));
        assert_eq!(schedule.due(), Some(after(1020)));
        schedule.saved(Duration::from_millis(100), after(1100));
        schedule.changed(unsaved(1), after(1101));
        assert_eq!(schedule.due(), Some(after(3100)));
    }

    #[test]
    fn a_journal_out_of_proportion_does_not_wait_and_a_failure_does() {
        let start = Instant::now();
        let mut schedule = Schedule::new(IDLE);
        schedule.changed(unsaved(MIN_JOURNAL_BYTES + 1), start);
        assert_eq!(schedule.due(), Some(start));
        schedule.saved(Duration::from_secs(1), start);
        schedule.changed(unsaved(MIN_JOURNAL_BYTES + 1), start);
        assert_eq!(schedule.due(), Some(start + Duration::from_secs(20)));
        schedule.changed(unsaved(4 * MIN_JOURNAL_BYTES + 1), start);
        assert_eq!(schedule.due(), Some(start));
        schedule.failed(Duration::ZERO, start);
        assert_eq!(schedule.due(), Some(start + AFTER_FAILURE));
        schedule.failed(Duration::from_secs(1), start);
        assert_eq!(schedule.due(), Some(start + Duration::from_secs(40)));
        schedule.nothing_to_save();
        assert_eq!(schedule.due(), None);
        // What another process has saved is no reason any more, however much it was.
        schedule.changed(unsaved(4 * MIN_JOURNAL_BYTES + 1), start);
        schedule.postponed(Duration::from_secs(7), unsaved(1), start);
        assert_eq!(schedule.due(), Some(start + Duration::from_secs(7)));
    }

    #[test]
    fn the_end_of_a_process_waits_for_quick_checkpoints_and_for_urgent_ones() {
        let at_most = Duration::from_millis(300);
        let is_worth = |unsaved| {
            let mut schedule = Schedule::new(IDLE);
            schedule.changed(unsaved, Instant::now());
            schedule.is_worth(at_most)
        };
        let small = Unsaved { journal_bytes: 1, snapshot_bytes: 1 << 20, took: None };
        let large = Unsaved { snapshot_bytes: 1 << 30, ..small };
        assert!(is_worth(small) && !is_worth(large));
        assert!(is_worth(Unsaved { took: Some(Duration::from_millis(5)), ..large }));
        assert!(!is_worth(Unsaved { took: Some(Duration::from_millis(305)), ..small }));
        assert!(is_worth(Unsaved { journal_bytes: (1 << 30) + 1, ..large }));
    }
}
