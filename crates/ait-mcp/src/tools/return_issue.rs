//! `return_issue`: put an issue back into the queue.

use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::Deserialize;

use super::memory::Learned;
use super::{CallContext, Tool};
use crate::result::{Failure, Success, confirmation};
use ait_domain::{AgentName, ClaimProof, CommentText, IssueRef};

pub(super) struct ReturnIssue;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    issue_id: IssueRef,
    /// What the next one needs to know
    comment: CommentText,
    /// Your name
    agent: AgentName,
    /// Claim number
    claim: Option<NonZeroUsize>,
    #[schemars(extend("toolset" = "memory"))]
    learned: Option<Learned>,
    /// Another agent's claim
    #[schemars(extend("toolset" = "planning"))]
    force: Option<bool>,
}

impl Tool for ReturnIssue {
    const NAME: &'static str = "return_issue";
    const DESCRIPTION: &'static str = "Return (release) an open issue to `created`: you \
        cannot finish it, its worker is gone, or the review asks for changes.";
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let Args { issue_id, comment, agent, claim, force, learned } = args;
        let is_forced = force == Some(true);
        if is_forced && claim.is_none() {
            return Err(Failure::invalid("force needs the number of the claim that is to end"));
        }
        let proof = context.proof(claim);
        let proof = ClaimProof { is_forced: proof.is_forced || is_forced, ..proof };
        context.learn(&issue_id, learned, &agent).await?;
        let changed = context.tracker.return_issue(issue_id.into(), comment, agent, proof).await?;
        Ok(confirmation("returned", changed))
    }
}
