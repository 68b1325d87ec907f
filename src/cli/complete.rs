//! `ait complete`: hand an issue to review.

use anyhow::Result;
use clap::Args;

use super::change::answer;
use super::options::Handover;
use super::{Ending, Output};
use crate::domain::AgentName;
use crate::tracker::Tracker;

/// The arguments of `ait complete`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait complete 3f2a9c1e -m 'fixed in branch fix-login'\n  \
    git log -1 --format=%B | ait complete 3f2a9c1e -m -")]
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
    let issue = tracker.complete_issue(id.clone(), comment, acting.agent(usual)?).await?;
    answer(&issue, format.json, output)
}
