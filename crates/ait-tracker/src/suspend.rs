//! Notices that this process was stopped, or the machine suspended, so that no claim lapses before its client could
//! come back.

use std::time::Duration;

use tokio::time::Instant;

/// After a pause of this length the process was stopped, or the machine suspended.
const SUSPENDED_AFTER: Duration = Duration::from_secs(10);

/// Detects that this process was stopped, or the machine suspended.
pub(super) struct SuspendDetector {
    /// When it was last known to run.
    last: Instant,
    /// Until when nothing lapses.
    not_before: Option<Instant>,
}

impl SuspendDetector {
    pub fn begin(now: Instant) -> Self {
        Self { last: now, not_before: None }
    }

    /// Records that the process runs. Returns true if claims may lapse.
    pub fn record_tick(&mut self, now: Instant, grace: Duration) -> bool {
        if now.duration_since(self.last) > SUSPENDED_AFTER {
            self.not_before = now.checked_add(grace);
        }
        self.last = now;
        self.not_before.is_none_or(|not_before| now >= not_before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_lapses_for_the_grace_period_after_a_pause() {
        const GRACE: Duration = Duration::from_secs(60);
        let start = Instant::now();
        let mut detector = SuspendDetector::begin(start);
        // Seconds after the start, and whether claims may lapse.
        for (second, may_lapse) in [
            (1, true),
            (11, true),
            // A pause is longer than 10 s.
            (22, false),
            (32, false),
            (42, false),
            (52, false),
            (62, false),
            (72, false),
            (81, false),
            (82, true),
            (92, true),
            (1_000, false),
        ] {
            let now = start + Duration::from_secs(second);
            assert_eq!(detector.record_tick(now, GRACE), may_lapse, "after {second} s");
        }
    }
}
