//! `ait show`: prints one issue in full.

use anyhow::{Context, Result};
use clap::Args;
use serde::Serialize;

use super::issue_view::{Dependents, write_whole};
use super::options::{Format, issue_ref, issues_at, time_arg};
use super::{ExitStatus, Output};
use crate::domain::{IssueRef, WithClaim};
use crate::time_arg::TimeArg;
use crate::tracker::{StoreError, Tracker, external_ids};

/// The arguments of `ait show`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait show 3f2a9c1e\n  \
    ait show '#12'                      the number of an imported issue in the other tracker\n  \
    ait show 3f2a9c1e --at 2d           as of two days ago\n  \
    ait show 3f2a9c1e --json | jq -r .status")]
pub struct Arguments {
    /// The issue: its id, or at least the first 4 hex digits, or its id or number in the tracker that it is from
    #[arg(value_parser = issue_ref)]
    id: IssueRef,

    /// Show the issue as of WHEN: a duration before now, or a date and time
    #[arg(long, value_name = "WHEN", value_parser = time_arg)]
    at: Option<TimeArg>,

    #[command(flatten)]
    format: Format,
}

/// An issue, and the issues that have links to it.
#[derive(Serialize)]
struct WithDependents<'a> {
    #[serde(flatten)]
    issue: WithClaim<'a>,
    #[serde(flatten)]
    dependents: Dependents,
}

pub(super) async fn run(
    arguments: &Arguments,
    tracker: &Tracker,
    output: &mut Output,
) -> Result<ExitStatus> {
    let (issues, now) = issues_at(tracker, arguments.at).await?;
    let found = external_ids::position(&issues, &arguments.id).map_err(StoreError::from);
    let position = match arguments.at {
        None => found?,
        Some(_) => found.with_context(|| format!("at {now}"))?,
    };
    let issue = issues.at(position);
    if arguments.format.json {
        output.json(&WithDependents {
            issue: WithClaim::from(&*issue),
            dependents: Dependents::of(issue.id, &issues),
        })?;
    } else {
        write_whole(&issue, &issues, now, output)?;
    }
    Ok(ExitStatus::Done)
}
