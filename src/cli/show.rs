//! `ait show`: one issue, whole.

use anyhow::Result;
use clap::Args;

use super::issue_view::write_whole;
use super::options::{Format, issue_ref};
use super::{Ending, Output};
use crate::domain::IssueRef;
use crate::tracker::Tracker;

/// The arguments of `ait show`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait show 3f2a9c1e\n  \
    ait show 3f2a9c1e --json | jq -r .status")]
pub struct Arguments {
    /// The issue: its id, or at least the first 8 hex digits of it
    #[arg(value_parser = issue_ref)]
    id: IssueRef,

    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(
    arguments: &Arguments,
    tracker: &Tracker,
    output: &mut Output,
) -> Result<Ending> {
    let issue = tracker.get_issue(arguments.id.clone()).await?;
    if arguments.format.json {
        output.json(&*issue)?;
    } else {
        write_whole(&issue, tracker.now(), output)?;
    }
    Ok(Ending::Done)
}
