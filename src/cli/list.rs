//! `ait list`: the issues that match.

use std::sync::Arc;

use anstyle::Style;
use anyhow::Result;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::issue_view::words;
use super::options::{Format, agent_name, classification, time_arg};
use super::output::{FAINT, STRONG, of_classification, of_status};
use super::table::{self, Cell, Column};
use super::{Ending, Output, plain};
use crate::activity::state_at;
use crate::domain::{
    AgentName, Classification, ContentFilter, Issue, Order, Page, Query, Status, Statuses,
    Timestamp,
};
use crate::span;
use crate::time_arg::TimeArg;
use crate::tracker::Tracker;

/// How many issues a person is shown at once.
const SCREENFUL: usize = 50;

/// The arguments of `ait list`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait list                          what is open, the last changed first\n  \
    ait list --status created,in_progress -c bug\n  \
    ait list safari login --status all\n  \
    ait list --at '2026-11-21 13:00'  as it was then\n  \
    ait list --holder dev-1 --json | jq -r '.issues[].id'")]
pub struct Arguments {
    /// Only issues that say all of this, in title, description or comments
    #[arg(value_name = "TEXT")]
    texts: Vec<String>,

    /// Only these statuses
    #[arg(
        short,
        long,
        value_name = "STATUS",
        value_delimiter = ',',
        default_value = OPEN,
        value_parser = statuses()
    )]
    status: Vec<String>,

    /// Only this kind of work
    #[arg(short, long, value_name = "KIND", value_parser = classification())]
    classification: Option<Classification>,

    /// Only issues that this agent holds now
    #[arg(long, value_name = "NAME", value_parser = agent_name)]
    holder: Option<AgentName>,

    /// Only issues that this agent has ever filed, claimed or changed
    #[arg(short, long, value_name = "NAME", value_parser = agent_name)]
    agent: Option<AgentName>,

    /// What comes first
    #[arg(long, value_enum, default_value_t)]
    sort: Sort,

    /// Turn the order round
    #[arg(short, long)]
    reverse: bool,

    /// How many to show at most; 0 for all [default: 50 on a terminal, else all]
    #[arg(short = 'n', long, value_name = "COUNT")]
    limit: Option<usize>,

    /// Which page of so many
    #[arg(short, long, value_name = "NUMBER", default_value_t = 1, value_parser = page_number)]
    page: usize,

    /// As it was then: so long ago, or a date and time
    #[arg(long, value_name = "WHEN", value_parser = time_arg)]
    at: Option<TimeArg>,

    #[command(flatten)]
    format: Format,
}

/// An order of the list.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Sort {
    /// The last changed first
    #[default]
    Changed,
    /// The first filed first: the order in which they are claimed
    Filed,
    /// By title
    Title,
}

pub(super) const OPEN: &str = "open";
pub(super) const ALL: &str = "all";

pub(super) fn statuses() -> impl TypedValueParser<Value = String> {
    let words = Status::ALL.iter().map(|status| status.as_str());
    PossibleValuesParser::new([OPEN, ALL].into_iter().chain(words))
}

fn page_number(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "pages are counted from 1".to_owned())
}

#[derive(Serialize)]
struct Listing<'a> {
    total: usize,
    issues: &'a [Arc<Issue>],
}

pub(super) async fn run(
    arguments: &Arguments,
    tracker: &Tracker,
    output: &mut Output,
) -> Result<Ending> {
    let usual = if output.is_terminal() { SCREENFUL } else { usize::MAX };
    let take = arguments.limit.map_or(usual, |limit| if limit == 0 { usize::MAX } else { limit });
    let query = Query {
        statuses: statuses_of(&arguments.status),
        classification: arguments.classification,
        content: ContentFilter {
            holder: arguments.holder.clone(),
            agent: arguments.agent.clone(),
            texts: arguments.texts.iter().map(|text| text.to_lowercase()).collect(),
        },
        order: match arguments.sort {
            Sort::Changed => Order::LatestActivity,
            Sort::Filed => Order::Filed,
            Sort::Title => Order::Title,
        },
        reversed: arguments.reverse,
        skip: (arguments.page - 1).saturating_mul(take),
        take,
    };
    let skip = query.skip;
    let mut now = tracker.now();
    let page = match arguments.at {
        None => tracker.list_issues(query).await?,
        Some(at) => {
            now = at.time(now);
            state_at(tracker, now).await?.issues.list(&query)
        }
    };
    if arguments.format.json {
        output.json(&Listing { total: page.total, issues: &page.issues })?;
        return Ok(Ending::Done);
    }
    if page.issues.is_empty() {
        tracing::info!("{}", nothing(page.total, take));
        return Ok(Ending::Done);
    }
    write_table(&page.issues, now, output)?;
    let last = skip + page.issues.len();
    if last < page.total {
        // Behind the answer, so that nobody takes a part for the whole, and not in it.
        output.flush()?;
        tracing::info!("{}", more(&page, skip, arguments.page));
    }
    Ok(Ending::Done)
}

/// The statuses that words stand for.
pub(super) fn statuses_of(words: &[String]) -> Statuses {
    let of_word = |word: &String| match word.as_str() {
        ALL => Statuses::ALL,
        OPEN => Statuses::open(),
        word => Statuses::from(Status::from_word(word)),
    };
    words.iter().flat_map(|word| of_word(word).iter()).collect()
}

fn nothing(total: usize, take: usize) -> String {
    match total {
        0 => "no issue matches; `ait list --status all` shows everything".to_owned(),
        _ => format!("there is no such page: {total} issues match, {} pages", total.div_ceil(take)),
    }
}

fn more(page: &Page, skip: usize, number: usize) -> String {
    let (first, last, total) = (skip + 1, skip + page.issues.len(), page.total);
    format!("{first} to {last} of {total}: --page {} shows more, --limit 0 all", number + 1)
}

const COLUMNS: [Column; 6] = [
    Column { name: "ID", from_width: 0, at_most: 8 },
    Column { name: "STATUS", from_width: 0, at_most: 11 },
    Column { name: "KIND", from_width: 60, at_most: 11 },
    Column { name: "HELD BY", from_width: 80, at_most: 20 },
    Column { name: "CHANGED", from_width: 60, at_most: 8 },
    Column { name: "TITLE", from_width: 0, at_most: usize::MAX },
];

fn write_table(issues: &[Arc<Issue>], now: Timestamp, output: &mut Output) -> Result<()> {
    let row = |issue: &Arc<Issue>| {
        let holder = issue.holder().map_or("-".to_owned(), |holder| plain::line(holder.agent));
        [
            Cell::new(issue.id.short(), STRONG),
            Cell::new(words(issue.status), of_status(issue.status)),
            Cell::new(issue.classification.as_str(), of_classification(issue.classification)),
            Cell::new(holder, Style::new()),
            Cell::new(span::words(now.millis_since(issue.modified_at)), FAINT),
            Cell::new(plain::line(&issue.title), Style::new()),
        ]
    };
    let rows: Vec<_> = issues.iter().map(row).collect();
    table::rows(output, COLUMNS, &rows).into_iter().try_for_each(|line| output.line(line))
}
