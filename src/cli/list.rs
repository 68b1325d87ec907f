//! `ait list`: lists the issues that match.

use std::sync::Arc;

use anyhow::Result;
use clap::builder::styling::Style;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::attribute_filter::AttributeFilter;
use super::issue_view::words;
use super::options::{Format, agent_name, classification, issues_at, time_arg};
use super::output::{FAINT, STRONG, of_classification, of_status};
use super::short_ids::ShortIds;
use super::table::{self, Cell, Column};
use super::{ExitStatus, NO_ISSUES, Output, sanitize};
use crate::domain::{
    AgentName, Classification, ContentFilter, Issue, Label, Order, Page, Query, Status, StatusSet,
    Timestamp,
};
use crate::field_selection::FieldSelection;
use crate::span;
use crate::time_arg::TimeArg;
use crate::tracker::{IndexedIssues, StoreError, Tracker};

/// How many issues are shown at once on a terminal.
const SCREENFUL: usize = 50;

/// The arguments of `ait list`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:\n  \
    ait list                          open issues, last changed first\n  \
    ait list --status created,in_progress -c bug\n  \
    ait list safari login --status all\n  \
    ait list -p 0-1 -l ui --ready\n  \
    ait list --at '2026-11-21 13:00'  as of that time\n  \
    ait list --holder dev-1 --json | jq -r '.issues[].id'")]
pub struct Arguments {
    /// Only issues that contain all of these texts in the title, description or comments, or have them as their id in
    /// another tracker
    #[arg(value_name = "TEXT")]
    texts: Vec<String>,

    /// Only these statuses
    #[arg(
        short,
        long,
        value_name = "STATUS",
        value_delimiter = ',',
        default_value = OPEN,
        value_parser = statuses(),
        ignore_case = true
    )]
    status: Vec<String>,

    /// Only this kind of work
    #[arg(short, long, value_name = "KIND", value_parser = classification(), ignore_case = true)]
    classification: Option<Classification>,

    /// Only issues that this agent holds now
    #[arg(long, value_name = "NAME", value_parser = agent_name)]
    holder: Option<AgentName>,

    /// Only issues that this agent has filed, claimed or changed
    #[arg(short, long, value_name = "NAME", value_parser = agent_name)]
    agent: Option<AgentName>,

    /// The sort order
    #[arg(long, value_enum, default_value_t)]
    sort: Sort,

    /// Reverse the order
    #[arg(short, long)]
    reverse: bool,

    #[command(flatten)]
    attributes: AttributeFilter,

    #[command(flatten)]
    paging: Paging,

    /// Show the list as of WHEN: a duration before now, or a date and time
    #[arg(long, value_name = "WHEN", value_parser = time_arg)]
    at: Option<TimeArg>,

    /// Print JSON with these fields alone, such as id,title,comments.text
    #[arg(long, value_name = "FIELDS")]
    fields: Option<FieldSelection>,

    #[command(flatten)]
    format: Format,
}

/// The part of a list to show.
#[derive(Clone, Copy, Debug, Args)]
pub(super) struct Paging {
    /// Maximum number of issues to show; 0 for all [default: 50 on a terminal, else all]
    #[arg(short = 'n', long, value_name = "COUNT")]
    limit: Option<usize>,

    /// The page to show, of --limit issues each
    #[arg(long, value_name = "NUMBER", default_value_t = 1, value_parser = page_number)]
    page: usize,
}

impl Paging {
    /// Returns how many issues to skip, and how many to take at most.
    fn range(&self, output: &Output) -> (usize, usize) {
        let default = if output.is_terminal() { SCREENFUL } else { usize::MAX };
        let take = self.limit.map_or(default, |limit| if limit == 0 { usize::MAX } else { limit });
        ((self.page - 1).saturating_mul(take), take)
    }

    /// Cuts the page out of a list.
    pub fn page_of(&self, all: Vec<Arc<Issue>>, output: &Output) -> Page {
        let (skip, take) = self.range(output);
        Page { total: all.len(), issues: all.into_iter().skip(skip).take(take).collect() }
    }
}

/// A sort order.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
enum Sort {
    /// Last changed first
    #[default]
    Changed,
    /// First filed first
    Filed,
    /// By priority, 0 first; then first filed first
    Priority,
    /// By title
    Title,
}

pub(super) const OPEN: &str = "open";
pub(super) const ALL: &str = "all";
/// Statuses as people type them, too.
const HYPHENATED: [&str; 2] = ["in-progress", "in-review"];

/// Parses the words for statuses; `in-progress` is `in_progress`. The argument ignores the case.
pub(super) fn statuses() -> impl TypedValueParser<Value = String> {
    let words = [OPEN, ALL].into_iter().chain(Status::ALL.iter().map(|status| status.as_str()));
    let hyphenated = |word| HYPHENATED.into_iter().find(|given| given.replace('-', "_") == word);
    let values = words.map(|word: &str| PossibleValue::new(word).aliases(hyphenated(word)));
    PossibleValuesParser::new(values).map(|word| word.to_lowercase().replace('-', "_"))
}

fn page_number(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "page numbers begin with 1".to_owned())
}

#[derive(Serialize)]
struct Listing<T> {
    total: usize,
    issues: Vec<T>,
}

impl Arguments {
    /// Returns the arguments that find issues of any status by their texts.
    pub(super) fn search(
        texts: Vec<String>,
        classification: Option<Classification>,
        paging: Paging,
        format: Format,
    ) -> Self {
        Self {
            texts,
            status: vec![ALL.to_owned()],
            classification,
            holder: None,
            agent: None,
            sort: Sort::default(),
            reverse: false,
            attributes: AttributeFilter::default(),
            paging,
            at: None,
            fields: None,
            format,
        }
    }

    /// Returns the query, for all of its pages.
    fn query(&self) -> Query {
        Query {
            statuses: statuses_of(&self.status),
            classification: self.classification,
            content: ContentFilter {
                holder: self.holder.clone(),
                agent: self.agent.clone(),
                texts: self.texts.iter().map(|text| text.to_lowercase()).collect(),
                ..ContentFilter::default()
            },
            order: match self.sort {
                Sort::Changed => Order::LatestActivity,
                Sort::Filed => Order::Filed,
                Sort::Priority => Order::Priority,
                Sort::Title => Order::Title,
            },
            reversed: self.reverse,
            take: usize::MAX,
            ..Query::default()
        }
    }
}

pub(super) async fn run(
    arguments: &Arguments,
    tracker: &Tracker,
    output: &mut Output,
) -> Result<ExitStatus> {
    let (issues, now) = issues_at(tracker, arguments.at).await?;
    let query = arguments.query();
    let page = if arguments.attributes.is_empty() {
        let (skip, take) = arguments.paging.range(output);
        issues.list(&Query { skip, take, ..query })
    } else {
        let all = issues.list(&query).issues;
        let all = arguments.attributes.matching(all, &issues, now).map_err(StoreError::from)?;
        arguments.paging.page_of(all, output)
    };
    if let Some(fields) = &arguments.fields {
        let issues = page.issues.iter().map(|issue| fields.select(issue)).collect();
        output.json(&Listing { total: page.total, issues })?;
        return Ok(ExitStatus::Done);
    }
    let nothing = match arguments.at {
        None if arguments.attributes.names_kind() => {
            "no issue has that label; the kind of work is -c: ait list -c bug"
        }
        None if issues.is_empty() => NO_ISSUES,
        _ if statuses_of(&arguments.status) == StatusSet::ALL => "no issue matches",
        _ => "no issue matches; `ait list --status all` searches all statuses",
    };
    print(&page, &arguments.paging, nothing, &issues, now, arguments.format, output)
}

/// Prints a page of a list. If the whole list is empty, logs `nothing` to stderr.
pub(super) fn print(
    page: &Page,
    paging: &Paging,
    nothing: &str,
    issues: &IndexedIssues,
    now: Timestamp,
    format: Format,
    output: &mut Output,
) -> Result<ExitStatus> {
    if format.json {
        let listed = page.issues.iter().map(|issue| &**issue).collect();
        output.json(&Listing { total: page.total, issues: listed })?;
        return Ok(ExitStatus::Done);
    }
    let (skip, take) = paging.range(output);
    if page.issues.is_empty() {
        let nothing = match page.total {
            0 => nothing.to_owned(),
            total => format!("no such page: {total} issues match, {} pages", total.div_ceil(take)),
        };
        tracing::info!("{nothing}");
        return Ok(ExitStatus::Done);
    }
    write_table(&page.issues, issues, now, output)?;
    if skip + page.issues.len() < page.total {
        // Keep the note after the list, so that it is seen, and out of stdout, so that scripts do not read it.
        output.flush()?;
        tracing::info!("{}", more(page, skip, paging.page));
    }
    Ok(ExitStatus::Done)
}

/// Parses the names of statuses.
pub(super) fn statuses_of(words: &[String]) -> StatusSet {
    let of_word = |word: &String| match word.as_str() {
        ALL => StatusSet::ALL,
        OPEN => StatusSet::open(),
        word => StatusSet::from(Status::from_word(word)),
    };
    words.iter().flat_map(|word| of_word(word).iter()).collect()
}

fn more(page: &Page, skip: usize, number: usize) -> String {
    let (first, last, total) = (skip + 1, skip + page.issues.len(), page.total);
    format!("{first} to {last} of {total}: --page {} shows more, --limit 0 shows all", number + 1)
}

const COLUMNS: [Column; 9] = [
    Column { name: "ID", from_width: 0, at_most: 36 },
    Column { name: "STATUS", from_width: 0, at_most: 11 },
    Column { name: "WAITS", from_width: 50, at_most: 15 },
    Column { name: "P", from_width: 50, at_most: 1 },
    Column { name: "KIND", from_width: 80, at_most: 11 },
    Column { name: "HELD BY", from_width: 60, at_most: 20 },
    Column { name: "CHANGED", from_width: 70, at_most: 8 },
    Column { name: "LABELS", from_width: 110, at_most: 24 },
    Column { name: "TITLE", from_width: 0, at_most: usize::MAX },
];

fn write_table(
    listed: &[Arc<Issue>],
    issues: &IndexedIssues,
    now: Timestamp,
    output: &mut Output,
) -> Result<()> {
    let ids = ShortIds::of(listed.iter().map(|issue| issue.id));
    let row = |issue: &Arc<Issue>| {
        let holder = issue.holder().map_or("-".to_owned(), |holder| sanitize::line(holder.agent));
        let priority = issue.attributes.priority.map(|priority| priority.to_string());
        let labels: Vec<_> = issue.attributes.labels.iter().map(Label::as_str).collect();
        [
            Cell::new(ids.short(issue.id), STRONG),
            Cell::new(words(issue.status), of_status(issue.status)),
            Cell::new(waits(issue, issues, now), FAINT),
            Cell::new(priority.unwrap_or_default(), Style::new()),
            Cell::new(issue.classification.as_str(), of_classification(issue.classification)),
            Cell::new(holder, Style::new()),
            Cell::new(span::humanize_duration(now.millis_since(issue.modified_at)), FAINT),
            Cell::new(labels.join(","), FAINT),
            Cell::new(sanitize::line(&issue.title), Style::new()),
        ]
    };
    let rows: Vec<_> = listed.iter().map(row).collect();
    table::rows(output, COLUMNS, &rows).into_iter().try_for_each(|line| output.line(line))
}

/// Says why an issue waits, in words; empty if it does not.
pub(super) fn waits(issue: &Issue, issues: &IndexedIssues, now: Timestamp) -> String {
    let is_parked = !issue.status.is_terminal() && issue.attributes.is_parked_at(now);
    let words = [(issues.is_blocked(issue), "blocked"), (is_parked, "parked")];
    words.iter().filter(|(is_so, _)| *is_so).map(|(_, word)| *word).collect::<Vec<_>>().join(",")
}
