//! `ait show`: one issue, whole.

use anyhow::{Context, Result};
use clap::Args;

use super::issue_view::write_whole;
use super::options::{Format, issue_ref, time_arg};
use super::{Ending, Output};
use crate::activity::state_at;
use crate::domain::IssueRef;
use crate::time_arg::TimeArg;
use crate::tracker::{StoreError, Tracker};

/// The arguments of `ait show`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait show 3f2a9c1e\n  \
    ait show 3f2a9c1e --at 2d           as it was two days ago\n  \
    ait show 3f2a9c1e --json | jq -r .status")]
pub struct Arguments {
    /// The issue: its id, or at least the first 8 hex digits of it
    #[arg(value_parser = issue_ref)]
    id: IssueRef,

    /// As it was then: so long ago, or a date and time
    #[arg(long, value_name = "WHEN", value_parser = time_arg)]
    at: Option<TimeArg>,

    #[command(flatten)]
    format: Format,
}

pub(super) async fn run(
    arguments: &Arguments,
    tracker: &Tracker,
    output: &mut Output,
) -> Result<Ending> {
    let mut now = tracker.now();
    let issue = match arguments.at {
        None => tracker.get_issue(arguments.id.clone()).await?,
        Some(at) => {
            now = at.time(now);
            let past = state_at(tracker, now).await?;
            let found = past.issues.find(&arguments.id).map_err(StoreError::from);
            found.with_context(|| format!("at {now}"))?
        }
    };
    if arguments.format.json {
        output.json(&*issue)?;
    } else {
        write_whole(&issue, now, output)?;
    }
    Ok(Ending::Done)
}
