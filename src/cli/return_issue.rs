//! `ait return`: put an issue back into the queue.

use anyhow::Result;
use clap::Args;

use super::change::answer;
use super::options::Handover;
use super::{Ending, Output};
use crate::domain::AgentName;
use crate::tracker::Tracker;

/// The arguments of `ait return`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait return 3f2a9c1e -m 'tried twice, the fixture is missing'\n  \
    git log -1 --format=%B | ait return 3f2a9c1e -m -")]
pub struct Arguments {
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
    let issue = tracker.return_issue(id.clone(), comment, acting.agent(usual)?).await?;
    answer(&issue, format.json, output)
}
