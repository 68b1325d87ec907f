//! `ait issue-ids`: lists ids, names of saved queries, labels and agents, for the scripts of `ait completions`.

use std::collections::BTreeSet;

use anyhow::Result;
use clap::Args;

use super::options::one_of;
use super::short_ids::ShortIds;
use super::{CommandContext, ExitStatus, Output, sanitize};
use crate::domain::{Condition, IssueRef, Label, Order, Query, StatusSet};
use crate::string_enum::string_enum;

/// The most ids that are offered: those of the issues that changed last. Labels and agents are those of as many issues.
const MAX_OFFERED: usize = 200;

string_enum! {
    /// What is listed instead of ids.
    pub(super) enum Kind {
        /// The labels of issues.
        Labels = "labels",
        /// Who acted on issues, and their assignees.
        Agents = "agents",
    }
}

/// The arguments of `ait issue-ids`.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// The start of an id, or @ and the start of the name of a saved query; without it, the ids of the open issues
    #[arg(default_value = "")]
    begun: String,

    /// List values of this kind instead
    #[arg(long, value_parser = one_of::<Kind>(Kind::words()))]
    kind: Option<Kind>,

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
            if arguments.titles {
                output.line(format_args!("@{name}\t{}", sanitize::line(query)))?;
            } else {
                output.line(format_args!("@{name}"))?;
            }
        }
        return Ok(ExitStatus::Done);
    }
    if let Some(kind) = arguments.kind {
        return list_values(kind, &arguments.begun, context, output).await;
    }
    let Some(range) = IssueRef::begun(&arguments.begun) else { return Ok(ExitStatus::Done) };
    let (statuses, condition) = if arguments.begun.is_empty() {
        (StatusSet::open(), Condition::default())
    } else {
        (StatusSet::ALL, Condition::Id(range))
    };
    let order = Order::LatestActivity;
    let query = Query { statuses, condition, order, take: MAX_OFFERED, ..Query::default() };
    let listed = context.tracker.list_issues(query).await?.issues;
    let ids = ShortIds::of(listed.iter().map(|issue| issue.id));
    for issue in &listed {
        let id = ids.short(issue.id);
        if arguments.titles {
            output.line(format_args!("{id}\t{}", sanitize::line(&issue.title)))?;
        } else {
            output.line(id)?;
        }
    }
    Ok(ExitStatus::Done)
}

/// Lists the labels or agents of the issues that changed last. A word of several labels is completed at its end.
async fn list_values(
    kind: Kind,
    word: &str,
    context: &CommandContext<'_>,
    output: &mut Output,
) -> Result<ExitStatus> {
    let begun = match kind {
        Kind::Labels => word.rsplit(',').next().unwrap_or_default().trim_start_matches(['+', '-']),
        Kind::Agents => word,
    };
    let before = &word[..word.len() - begun.len()];
    let query = Query { order: Order::LatestActivity, take: MAX_OFFERED, ..Query::default() };
    let listed = context.tracker.list_issues(query).await?.issues;
    let mut values = BTreeSet::new();
    for issue in &listed {
        match kind {
            Kind::Labels => values.extend(issue.attributes.labels.iter().map(Label::as_str)),
            Kind::Agents => {
                values.extend(issue.attributes.assignee.as_deref());
                values.extend(issue.history.iter().map(|entry| &*entry.agent));
            }
        }
    }
    // bash expands what it is offered, and separates words at blanks.
    let is_plain =
        |value: &str| value.chars().all(|one| one.is_alphanumeric() || ":._/@+-".contains(one));
    for value in values.into_iter().filter(|value| value.starts_with(begun) && is_plain(value)) {
        output.line(format_args!("{before}{value}"))?;
    }
    Ok(ExitStatus::Done)
}
