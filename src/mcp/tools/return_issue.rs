//! `return_issue`: put an issue back into the queue.

use super::Operation;
use super::handover::Handover;
use crate::mcp::result::{Failure, Success, confirmation};
use crate::tracker::Tracker;

pub(super) struct ReturnIssue;

impl Operation for ReturnIssue {
    const NAME: &'static str = "return_issue";
    const TITLE: &'static str = "Return issue";
    const DESCRIPTION: &'static str = "Put an open issue back to `created`, in its old place in the \
        queue: you cannot finish it, its worker is gone, or the review asks for changes.";
    type Arguments = Handover;

    async fn call(tracker: Tracker, arguments: Handover) -> Result<Success, Failure> {
        let Handover { issue_id, comment, agent } = arguments;
        let issue = tracker.return_issue(issue_id, comment, agent).await?;
        Ok(confirmation("returned", &issue))
    }
}
