//! Who may still change their mind: a caller that waits, or the writer that decides.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

const WAITING: u8 = 0;
const TAKEN: u8 = 1;
const WITHDRAWN: u8 = 2;

/// The caller's half: withdraws the command when it is dropped, unless the writer has taken it.
pub(super) struct CallerTicket(Arc<AtomicU8>);

/// The writer's half.
pub(super) struct WriterTicket(Arc<AtomicU8>);

/// The two halves of a new ticket.
pub(super) fn ticket() -> (CallerTicket, WriterTicket) {
    let state = Arc::new(AtomicU8::new(WAITING));
    (CallerTicket(Arc::clone(&state)), WriterTicket(state))
}

impl CallerTicket {
    /// Withdraws the command; false when it is too late and the outcome must be waited for.
    pub fn withdraw(&self) -> bool {
        settle(&self.0, WITHDRAWN)
    }
}

impl Drop for CallerTicket {
    fn drop(&mut self) {
        self.withdraw();
    }
}

impl WriterTicket {
    /// Takes the command to decide it; false when the caller has withdrawn it. What was taken stays taken.
    pub fn take(&self) -> bool {
        settle(&self.0, TAKEN) || self.0.load(Ordering::Acquire) == TAKEN
    }
}

/// Moves a waiting ticket to `to`; whoever is first wins.
fn settle(state: &AtomicU8, to: u8) -> bool {
    state.compare_exchange(WAITING, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_caller_and_writer_wins() {
        let (caller, writer) = ticket();
        assert!(caller.withdraw());
        assert!(!writer.take());
        let (caller, writer) = ticket();
        assert!(writer.take());
        assert!(!caller.withdraw());
    }

    #[test]
    fn a_caller_that_goes_away_withdraws() {
        let (caller, writer) = ticket();
        drop(caller);
        assert!(!writer.take());
    }
}
