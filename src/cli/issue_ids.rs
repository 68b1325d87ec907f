//! `ait issue-ids`: lists ids for the scripts of `ait completions`.

use anyhow::Result;
use clap::Args;

use super::short_ids::ShortIds;
use super::{ExitStatus, Output, sanitize};
use crate::domain::{Condition, IssueRef, Order, Query, StatusSet};
use crate::tracker::Tracker;

/// The most ids that are offered: those of the issues that changed last.
const MAX_OFFERED: usize = 200;

/// The arguments of `ait issue-ids`.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// The start of an id; without it, the ids of the open issues
    #[arg(default_value = "")]
    begun: String,

    /// Print the title after each id, separated by a tab
    #[arg(long)]
    titles: bool,
}

pub(super) async fn run(
    arguments: &Arguments,
    tracker: &Tracker,
    output: &mut Output,
) -> Result<ExitStatus> {
    let Some(range) = IssueRef::begun(&arguments.begun) else { return Ok(ExitStatus::Done) };
    let (statuses, condition) = match arguments.begun.is_empty() {
        true => (StatusSet::open(), Condition::default()),
        false => (StatusSet::ALL, Condition::Id(range)),
    };
    let order = Order::LatestActivity;
    let query = Query { statuses, condition, order, take: MAX_OFFERED, ..Query::default() };
    let listed = tracker.list_issues(query).await?.issues;
    let ids = ShortIds::of(listed.iter().map(|issue| issue.id));
    for issue in &listed {
        let id = ids.short(issue.id);
        match arguments.titles {
            true => output.line(format_args!("{id}\t{}", sanitize::line(&issue.title)))?,
            false => output.line(id)?,
        }
    }
    Ok(ExitStatus::Done)
}
