//! Replies on their way from the writer of a store to its callers. A claim whose caller does not receive the reply
//! lapses.

use super::{Committed, StoreError};
use ait_domain::Command;
use ait_domain::event::UNDELIVERED_REASON;

/// The most requests in one commit.
pub(super) const MAX_REQUESTS_PER_COMMIT: usize = 256;
/// The most requests in the queue of a writer.
pub(super) const MAX_QUEUED: usize = 4096;

/// What became of one request.
pub(super) type WriterReply = Result<Committed, StoreError>;

/// Returns the error for a request that does not fit into the queue of a writer.
pub(super) fn queue_is_full() -> StoreError {
    StoreError::Busy(format!("{MAX_QUEUED} changes are queued"))
}

/// A queue for the commands that lapse claims.
pub(super) trait LapseQueue {
    /// Queues commands. Logs if that is impossible.
    fn lapse(&self, commands: Vec<Command>);
}

/// A reply that its caller has not received. If it is dropped, its claims lapse.
pub(super) struct UnreceivedReply<Q: LapseQueue> {
    /// `None` after the caller received it.
    reply: Option<WriterReply>,
    commands: Vec<Command>,
    queue: Q,
}

impl<Q: LapseQueue> UnreceivedReply<Q> {
    /// Wraps the reply to commands.
    pub fn new(reply: WriterReply, commands: Vec<Command>, queue: Q) -> Self {
        Self { reply: Some(reply), commands, queue }
    }

    /// Hands the reply to its caller.
    pub fn receive(mut self) -> WriterReply {
        self.reply.take().expect("a reply is received once")
    }

    /// Takes the commands that let claims lapse, if the caller never learned of them.
    pub fn take_lapses(&mut self) -> Vec<Command> {
        let committed = self.reply.take().and_then(Result::ok).unwrap_or_default();
        let claims =
            self.commands.iter().zip(&committed.outcomes).filter_map(|(command, outcome)| {
                let is_claim = matches!(
                    command,
                    Command::GetNextIssue { .. } | Command::GetNextReviewItem { .. }
                );
                let issue = outcome.as_ref().filter(|_| is_claim)?;
                let entry = issue.claim_entry()?;
                let reason = UNDELIVERED_REASON.to_owned();
                Some(Command::LapseClaim { issue: issue.id, entry, client: None, reason })
            });
        claims.collect()
    }
}

impl<Q: LapseQueue> Drop for UnreceivedReply<Q> {
    fn drop(&mut self) {
        let lapses = self.take_lapses();
        if !lapses.is_empty() {
            self.queue.lapse(lapses);
        }
    }
}
