//! `close_issue`: close or reject an issue.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::Deserialize;

use super::memory::Learned;
use super::{CallContext, Tool};
use crate::result::{Failure, Success, confirmation};
use ait_domain::{AgentName, CommentText, IssueRef, Resolution};

pub(super) struct CloseIssue;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    issue_id: IssueRef,
    /// closed: accepted; rejected: not to be done
    resolution: Resolution,
    /// Why
    comment: CommentText,
    /// Your name
    agent: AgentName,
    /// Claim number
    claim: Option<NonZeroUsize>,
    #[schemars(extend("toolset" = "memory"))]
    learned: Option<Learned>,
}

impl Tool for CloseIssue {
    const NAME: &'static str = "close_issue";
    const DESCRIPTION: &'static str = "Close or reject an open issue for good.";
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let Args { issue_id, resolution, comment, agent, claim, learned } = args;
        let proof = context.proof(claim);
        context.learn(&issue_id, learned, &agent).await?;
        let changed =
            context.tracker.close_issue(issue_id.into(), resolution, comment, agent, proof).await?;
        Ok(confirmation(resolution.as_str(), changed))
    }
}
