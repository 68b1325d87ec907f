//! `get_next_review_item`: claim the next `completed` issue for review.

use schemars::JsonSchema;
use serde::Deserialize;

use super::filters::Fields;
use super::{CallContext, MAX_WAIT_SECONDS, Tool};
use crate::result::{Failure, Success};
use ait_domain::AgentName;
use ait_tracker::{ClaimKind, ClaimObstacles};

pub(super) struct GetNextReviewItem;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Your name
    agent: AgentName,
    /// 50 is safe
    #[schemars(range(max = MAX_WAIT_SECONDS))]
    wait_seconds: Option<u16>,
    #[schemars(extend("toolset" = "planning"))]
    fields: Option<Fields>,
}

impl Tool for GetNextReviewItem {
    const NAME: &'static str = "get_next_review_item";
    const DESCRIPTION: &'static str = "Claim the next `completed` issue for review. You owe it \
        close_issue or return_issue.";
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let tracker = &context.tracker;
        let wait_seconds = args.wait_seconds.unwrap_or(0);
        match context.next(ClaimKind::Review, args.agent.clone(), wait_seconds).await? {
            Some(claimed) => Ok(context.claimed(claimed, args.fields.map(|fields| fields.0)).await),
            None => {
                let claim_obstacles =
                    tracker.claim_obstacles(ClaimKind::Review, &args.agent).await?;
                Ok(Success::nothing(nothing(&claim_obstacles)))
            }
        }
    }
}

fn nothing(claim_obstacles: &ClaimObstacles) -> String {
    if claim_obstacles.count == 0 {
        return "No issue is waiting for review.".to_owned();
    }
    let count = claim_obstacles.count;
    format!("{count} completed, none is for you: {claim_obstacles}")
}
