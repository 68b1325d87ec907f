//! `get_next_review_item`: claim the oldest `completed` issue for review.

use schemars::JsonSchema;
use serde::Deserialize;

use super::filters::Fields;
use super::{CallContext, Tool};
use crate::domain::AgentName;
use crate::mcp::result::{Failure, Success};

pub(super) struct GetNextReviewItem;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Your name
    agent: AgentName,
    /// Such as `id,title,comments.text`
    #[schemars(extend("toolset" = "planning"))]
    fields: Option<Fields>,
}

impl Tool for GetNextReviewItem {
    const NAME: &'static str = "get_next_review_item";
    const DESCRIPTION: &'static str = "Claim the oldest `completed` issue for review. Answers with \
        all of it. You owe it close_issue or return_issue.";
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        match context.tracker.get_next_review_item(args.agent).await? {
            Some(issue) => context.claimed(issue, args.fields.map(|fields| fields.0)).await,
            None => Ok(Success::nothing("No issue is waiting for review.".to_owned())),
        }
    }
}
