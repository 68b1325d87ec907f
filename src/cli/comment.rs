//! `ait comment`: comments on an issue, in any status.

use anyhow::Result;
use clap::Args;

use super::options::IssueCommentArgs;
use super::{ExitStatus, Output};
use crate::domain::AgentName;
use crate::tracker::Tracker;

/// The arguments of `ait comment`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait comment 3f2a9c1e -m 'also happens on iOS'\n  \
    tail -n 50 test.log | ait comment 3f2a9c1e -m -")]
pub struct Arguments {
    #[command(flatten)]
    target: IssueCommentArgs,
}

pub(super) async fn run(
    arguments: &Arguments,
    tracker: &Tracker,
    default_agent: Option<&AgentName>,
    output: &mut Output,
) -> Result<ExitStatus> {
    let change = |id, comment, agent| tracker.comment_issue(id, comment, agent);
    arguments.target.run(change, tracker, default_agent, output).await
}
