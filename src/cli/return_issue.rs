//! `ait return`: returns an issue to the queue.

use anyhow::Result;
use clap::Args;

use super::options::{ClaimArgs, IssueCommentArgs};
use super::{ExitStatus, Output};
use crate::domain::{AgentName, IssueRef};
use crate::tracker::Tracker;

/// The arguments of `ait return`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait return 3f2a9c1e -m 'tried twice, the fixture is missing'\n  \
    git log -1 --format=%B | ait return 3f2a9c1e -m -")]
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
    let change =
        |id: IssueRef, comment, agent| tracker.return_issue(id.into(), comment, agent, proof);
    arguments.target.run(change, tracker, default_agent, output).await
}
