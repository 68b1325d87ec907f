//! The guard of a claim until its caller knows of it.

use std::sync::Arc;

use ait_domain::Issue;
use ait_domain::event::UNDELIVERED_REASON;
use ait_tracker::Tracker;

/// A claim that its caller does not know of. It lapses when this is dropped.
pub(super) struct UndeliveredClaim {
    tracker: Tracker,
    /// `None` once the caller knows of the claim.
    issue: Option<Arc<Issue>>,
}

impl UndeliveredClaim {
    /// Wraps a claim that was just made.
    pub fn new(tracker: Tracker, issue: Arc<Issue>) -> Self {
        Self { tracker, issue: Some(issue) }
    }

    /// Keeps the claim, because the caller knows of it.
    pub fn keep(mut self) {
        self.issue = None;
    }
}

impl Drop for UndeliveredClaim {
    fn drop(&mut self) {
        if let Some(issue) = self.issue.take() {
            self.tracker.begin_lapse(issue, UNDELIVERED_REASON);
        }
    }
}
