//! `ait close`: end an issue.

use anyhow::Result;
use clap::Args;

use super::change::answer;
use super::options::Handover;
use super::{Ending, Output};
use crate::domain::{AgentName, Resolution};
use crate::tracker::Tracker;

/// The arguments of `ait close`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait close 3f2a9c1e -m 'reviewed and merged'\n  \
    ait close 3f2a9c1e --reject -m 'works as intended'")]
pub struct Arguments {
    /// Reject it: it is not to be done
    #[arg(long)]
    reject: bool,

    #[command(flatten)]
    handover: Handover,
}

pub(super) async fn run(
    arguments: &Arguments,
    tracker: &Tracker,
    usual: Option<&AgentName>,
    output: &mut Output,
) -> Result<Ending> {
    let Handover { id, acting, format, .. } = &arguments.handover;
    let comment = arguments.handover.comment()?;
    let resolution = if arguments.reject { Resolution::Rejected } else { Resolution::Closed };
    let issue = tracker.close_issue(id.clone(), resolution, comment, acting.agent(usual)?).await?;
    answer(&issue, format.json, output)
}
