//! Decides a race: a waiting caller withdraws its command, or the writer takes it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

const WAITING: u8 = 0;
const TAKEN: u8 = 1;
const WITHDRAWN: u8 = 2;

/// The caller's half. Dropping it withdraws the command, unless the writer has taken it.
pub(super) struct CallerTicket(Arc<AtomicU8>);

/// The writer's half.
pub(super) struct WriterTicket(Arc<AtomicU8>);

/// Returns the two halves of a new ticket.
pub(super) fn ticket() -> (CallerTicket, WriterTicket) {
    let state = Arc::new(AtomicU8::new(WAITING));
    (CallerTicket(Arc::clone(&state)), WriterTicket(state))
}

impl CallerTicket {
    /// Withdraws the command. Returns false if it is too late, and the caller has to wait for the outcome.
    pub fn withdraw(&self) -> bool {
        try_move(&self.0, WITHDRAWN)
    }
}

impl Drop for CallerTicket {
    fn drop(&mut self) {
        self.withdraw();
    }
}

impl WriterTicket {
    /// Takes the command to decide it. Returns false if the caller has withdrawn it. A second call returns the same.
    pub fn take(&self) -> bool {
        try_move(&self.0, TAKEN) || self.0.load(Ordering::Acquire) == TAKEN
    }
}

/// Moves a waiting ticket to `to`. Returns false if the other half came first.
fn try_move(state: &AtomicU8, to: u8) -> bool {
    state.compare_exchange(WAITING, to, Ordering::AcqRel, Ordering::Acquire).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_either_withdrawn_or_taken() {
        let (caller, writer) = ticket();
        assert!(caller.withdraw());
        assert!(!writer.take());
        let (caller, writer) = ticket();
        assert!(writer.take());
        assert!(!caller.withdraw());
    }

    #[test]
    fn dropping_the_caller_withdraws_the_change() {
        let (caller, writer) = ticket();
        drop(caller);
        assert!(!writer.take());
    }
}
