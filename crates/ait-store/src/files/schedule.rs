//! When `issues.json` is published.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::support::lock;

/// Tells the publisher thread when to publish.
#[derive(Default)]
pub(crate) struct Schedule {
    state: Mutex<ScheduleState>,
    woken: Condvar,
}

#[derive(Default)]
struct ScheduleState {
    /// When the oldest unpublished change was made.
    changed: Option<Instant>,
    /// True while the publisher thread runs.
    is_running: bool,
    is_closing: bool,
}

impl Schedule {
    /// Records a change. Returns true if the caller has to start the publisher thread.
    pub fn changed(&self) -> bool {
        let mut state = lock(&self.state);
        state.changed.get_or_insert_with(Instant::now);
        self.woken.notify_all();
        !std::mem::replace(&mut state.is_running, true)
    }

    /// Ends the thread after its current work.
    pub fn close(&self) {
        lock(&self.state).is_closing = true;
        self.woken.notify_all();
    }

    /// Waits for a change, then until the change is `after` old and `not_before` is reached. Returns false if the
    /// thread has to end.
    pub fn wait(&self, after: Duration, not_before: Instant) -> bool {
        let mut state = lock(&self.state);
        loop {
            if state.is_closing {
                return false;
            }
            let now = Instant::now();
            let due = state.changed.map(|changed| (changed + after).max(not_before));
            state = match due {
                Some(due) if due <= now => {
                    state.changed = None;
                    return true;
                }
                Some(due) => {
                    let waited = self.woken.wait_timeout(state, due - now);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.woken.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}
