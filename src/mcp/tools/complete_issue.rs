//! `complete_issue`: hand an issue to review.

use super::Operation;
use super::handover::Handover;
use crate::mcp::result::{Failure, Success, confirmation};
use crate::tracker::Tracker;

pub(super) struct CompleteIssue;

impl Operation for CompleteIssue {
    const NAME: &'static str = "complete_issue";
    const TITLE: &'static str = "Complete issue";
    const DESCRIPTION: &'static str = "Hand an open issue to review: it becomes `completed`. Name \
        the branch and what you verified in the comment.";
    type Arguments = Handover;

    async fn call(tracker: Tracker, arguments: Handover) -> Result<Success, Failure> {
        let Handover { issue_id, comment, agent } = arguments;
        let issue = tracker.complete_issue(issue_id, comment, agent).await?;
        Ok(confirmation("completed", &issue))
    }
}
