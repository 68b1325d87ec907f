//! `ait issue-ids`: lists ids, names of saved queries, labels, agents and the values of query terms, for the scripts of
//! `ait completions`.

use std::collections::BTreeSet;
use std::sync::Arc;

use anyhow::Result;
use clap::Args;

use super::options::one_of;
use super::short_ids::ShortIds;
use super::{CommandContext, ExitStatus, sanitize};
use ait_domain::string_enum;
use ait_domain::{Condition, Issue, IssueRef, Label, Order, Query, StatusSet};
use ait_query::{key_and_value, words_of};
use ait_tracker::{StoreError, Tracker};

/// The most ids that are offered: those of the issues that changed last. Labels and agents are those of as many issues.
const MAX_OFFERED: usize = 200;

string_enum! {
    /// What is listed.
    pub(super) enum Kind {
        /// The ids of issues.
        Ids = "ids",
        /// The labels of issues.
        Labels = "labels",
        /// Who acted on issues, and their assignees.
        Agents = "agents",
    }
}

/// The arguments of `ait issue-ids`.
#[derive(Clone, Debug, Args)]
pub struct Arguments {
    /// The start of a value, of @ and the name of a saved query, or of a query term such as label:ui; without it, the
    /// ids are those of the open issues
    #[arg(default_value = "")]
    begun: String,

    /// What to list
    #[arg(long, value_parser = one_of::<Kind>(Kind::words()), default_value = Kind::Ids.as_str())]
    kind: Kind,

    /// Print the title after each id, separated by a tab
    #[arg(long)]
    titles: bool,
}

/// A value, and the title that describes it if it has one.
type Row = (String, String);

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let output = context.output;
    let word = &*arguments.begun;
    let kind = arguments.kind;
    let tracker = context.tracker;
    let term = key_and_value(word).filter(|_| kind == Kind::Ids);
    // Terms and labels take several values. The last one is completed.
    let begun = match (term, kind) {
        (Some((_, values)), _) => last(values),
        (None, Kind::Labels) => last(word).trim_start_matches(['+', '-']),
        (None, _) => word,
    };
    let rows = match (term.map(|(key, _)| key), kind) {
        (Some("label"), _) | (None, Kind::Labels) => values(Kind::Labels, begun, tracker).await?,
        (Some("holder" | "assignee" | "filer" | "agent"), _) | (None, Kind::Agents) => {
            values(Kind::Agents, begun, tracker).await?
        }
        (Some("parent" | "blocks" | "blocked-by" | "id"), _) => ids(begun, tracker).await?,
        (Some(key), _) => {
            let words = words_of(key, tracker.now()).filter(|word| word.starts_with(begun));
            words.map(|word| (word.to_owned(), String::new())).collect()
        }
        (None, Kind::Ids) if begun.starts_with('@') => {
            let rows = context.saved_queries.iter();
            let rows = rows.map(|(name, query)| (format!("@{name}"), query.clone()));
            rows.filter(|(name, _)| name.starts_with(begun)).collect()
        }
        (None, Kind::Ids) => ids(begun, tracker).await?,
    };
    let before = &word[..word.len() - begun.len()];
    for (value, title) in rows {
        if arguments.titles && !title.is_empty() {
            output.line(format_args!("{before}{value}\t{}", sanitize::line(&title)))?;
        } else {
            output.line(format_args!("{before}{value}"))?;
        }
    }
    Ok(ExitStatus::Done)
}

fn last(values: &str) -> &str {
    values.rsplit(',').next().unwrap_or_default()
}

async fn ids(begun: &str, tracker: &Tracker) -> Result<Vec<Row>, StoreError> {
    let Some(range) = IssueRef::begun(begun) else { return Ok(Vec::new()) };
    let (statuses, condition) = if begun.is_empty() {
        (StatusSet::open(), Condition::default())
    } else {
        (StatusSet::ALL, Condition::Id(range))
    };
    let order = Order::LatestActivity;
    let query = Query { statuses, condition, order, take: MAX_OFFERED, ..Query::default() };
    let listed = tracker.list_issues(query).await?.issues;
    let ids = ShortIds::of(listed.iter().map(|issue| issue.id));
    let row = |issue: &Arc<Issue>| (ids.short(issue.id).to_owned(), issue.title.to_string());
    Ok(listed.iter().map(row).collect())
}

/// Returns the labels or agents of the issues that changed last.
async fn values(kind: Kind, begun: &str, tracker: &Tracker) -> Result<Vec<Row>, StoreError> {
    let query = Query { order: Order::LatestActivity, take: MAX_OFFERED, ..Query::default() };
    let listed = tracker.list_issues(query).await?.issues;
    let mut values = BTreeSet::new();
    for issue in &listed {
        if kind == Kind::Labels {
            values.extend(issue.attributes.labels.iter().map(Label::as_str));
        } else {
            values.extend(issue.attributes.assignee.as_deref());
            values.extend(issue.history.iter().map(|entry| &*entry.agent));
        }
    }
    // bash expands what it is offered, and separates words at blanks.
    let is_plain =
        |value: &str| value.chars().all(|one| one.is_alphanumeric() || ":._/@+-".contains(one));
    let values = values.into_iter().filter(|value| value.starts_with(begun) && is_plain(value));
    Ok(values.map(|value| (value.to_owned(), String::new())).collect())
}
