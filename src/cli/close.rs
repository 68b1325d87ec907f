//! `ait close`: closes or rejects an issue.

use anyhow::Result;
use clap::Args;

use super::options::{ClaimArgs, IssueCommentArgs};
use super::print_issue::print_changed;
use super::{ExitStatus, Output};
use crate::domain::{AgentName, Resolution};
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
    handover: IssueCommentArgs,

    #[command(flatten)]
    claim: ClaimArgs,
}

pub(super) async fn run(
    arguments: &Arguments,
    tracker: &Tracker,
    default_agent: Option<&AgentName>,
    output: &mut Output,
) -> Result<ExitStatus> {
    let IssueCommentArgs { id, acting, format, .. } = &arguments.handover;
    let comment = arguments.handover.comment()?;
    let resolution = if arguments.reject { Resolution::Rejected } else { Resolution::Closed };
    let issue = tracker
        .close_issue(
            id.clone(),
            resolution,
            comment,
            acting.agent(default_agent)?,
            arguments.claim.proof(),
        )
        .await?;
    print_changed(&issue, format.json, output)
}
