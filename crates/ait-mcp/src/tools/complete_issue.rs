//! `complete_issue`: hand an issue over for review.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::Deserialize;

use super::memory::Learned;
use super::{CallContext, Tool};
use crate::result::{Failure, Success, confirmation};
use ait_domain::{AgentName, CommentText, IssueRef};

pub(super) struct CompleteIssue;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    issue_id: IssueRef,
    /// Branch, and what you verified
    comment: CommentText,
    /// Your name
    agent: AgentName,
    /// Claim number
    claim: Option<NonZeroUsize>,
    /// For later agents in these files
    #[schemars(extend("toolset" = "memory"))]
    learned: Option<Learned>,
}

impl Tool for CompleteIssue {
    const NAME: &'static str = "complete_issue";
    const DESCRIPTION: &'static str = "Hand in a finished (done) issue for review.";
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let Args { issue_id, comment, agent, claim, learned } = args;
        let proof = context.proof(claim);
        context.learn(&issue_id, learned, &agent).await?;
        let facts = context.measure(&issue_id).await?;
        let changed =
            context.tracker.complete_issue(issue_id, comment, agent, proof, facts).await?;
        Ok(confirmation("completed", changed))
    }
}
