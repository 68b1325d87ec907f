//! `ait close`: closes or rejects an issue.

use anyhow::Result;
use clap::Args;

use super::options::{ClaimArgs, IssueCommentArgs};
use super::{ExitStatus, Output};
use crate::domain::{AgentName, IssueRef, Resolution};
use crate::tracker::Tracker;

/// The arguments of `ait close`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait close 3f2a9c1e -m 'reviewed and merged'\n  \
    ait close 3f2a9c1e --reject -m 'works as intended'")]
pub struct Arguments {
    /// Reject the issue: it will not be done
    #[arg(long)]
    reject: bool,

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
    let resolution = if arguments.reject { Resolution::Rejected } else { Resolution::Closed };
    let proof = arguments.claim.proof();
    let change = |id: IssueRef, comment, agent| {
        tracker.close_issue(id.into(), resolution, comment, agent, proof)
    };
    arguments.target.run(change, tracker, default_agent, output).await
}
