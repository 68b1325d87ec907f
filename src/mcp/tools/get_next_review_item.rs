//! `get_next_review_item`: claim the oldest issue that waits for a review.

use schemars::JsonSchema;
use serde::Deserialize;

use super::Operation;
use crate::domain::AgentName;
use crate::mcp::result::{Failure, Success, claimed};
use crate::tracker::Tracker;

pub(super) struct GetNextReviewItem;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Your name
    agent: AgentName,
}

impl Operation for GetNextReviewItem {
    const NAME: &'static str = "get_next_review_item";
    const TITLE: &'static str = "Claim next review";
    const DESCRIPTION: &'static str = "Claim the oldest `completed` issue for review (it becomes \
        `in_review`) and answer with all of it. You owe it a close_issue or return_issue.";
    type Arguments = Arguments;

    async fn call(tracker: Tracker, arguments: Arguments) -> Result<Success, Failure> {
        match tracker.get_next_review_item(arguments.agent).await? {
            Some(issue) => claimed(tracker, issue),
            None => Ok(Success::nothing("No issue is waiting for review.".to_owned())),
        }
    }
}
