//! `ait issue-ids`: lists ids, and the names of saved queries, for the scripts of `ait completions`.

use anyhow::Result;
use clap::Args;

use super::short_ids::ShortIds;
use super::{CommandContext, ExitStatus, Output, sanitize};
use crate::domain::{Condition, IssueRef, Order, Query, StatusSet};

/// The most ids that are offered: those of the issues that changed last.
const MAX_OFFERED: usize = 200;

/// The arguments of `ait issue-ids`.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// The start of an id, or @ and the start of the name of a saved query; without it, the ids of the open issues
    #[arg(default_value = "")]
    begun: String,

    /// Print the title after each id, separated by a tab
    #[arg(long)]
    titles: bool,
}

pub(super) async fn run(
    arguments: &Arguments,
    context: &CommandContext<'_>,
    output: &mut Output,
) -> Result<ExitStatus> {
    if let Some(begun) = arguments.begun.strip_prefix('@') {
        let names = context.saved_queries.iter().filter(|(name, _)| name.starts_with(begun));
        for (name, query) in names {
            match arguments.titles {
                true => output.line(format_args!("@{name}\t{}", sanitize::line(query)))?,
                false => output.line(format_args!("@{name}"))?,
            }
        }
        return Ok(ExitStatus::Done);
    }
    let Some(range) = IssueRef::begun(&arguments.begun) else { return Ok(ExitStatus::Done) };
    let (statuses, condition) = match arguments.begun.is_empty() {
        true => (StatusSet::open(), Condition::default()),
        false => (StatusSet::ALL, Condition::Id(range)),
    };
    let order = Order::LatestActivity;
    let query = Query { statuses, condition, order, take: MAX_OFFERED, ..Query::default() };
    let listed = context.tracker.list_issues(query).await?.issues;
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
