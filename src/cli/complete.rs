//! `ait complete`: hands an issue over to review.

use anyhow::Result;
use clap::Args;

use super::options::{ClaimArgs, IssueCommentArgs};
use super::{ExitStatus, Output};
use crate::domain::AgentName;
use crate::tracker::Tracker;

/// The arguments of `ait complete`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait complete 3f2a9c1e -m 'fixed in branch fix-login'\n  \
    git log -1 --format=%B | ait complete 3f2a9c1e -m -")]
pub struct Arguments {
    #[command(flatten)]
    target: IssueCommentArgs,

    #[command(flatten)]
    claim: ClaimArgs,
}

pub(super) async fn run(
    arguments: &Arguments,
    tracker: &Tracker,
    default_agent: Option<&AgentName>,
    output: &mut Output,
) -> Result<ExitStatus> {
    let proof = arguments.claim.proof();
    let change = |id, comment, agent| tracker.complete_issue(id, comment, agent, proof);
    arguments.target.run(change, tracker, default_agent, output).await
}
