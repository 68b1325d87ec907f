//! `ait list`: lists the issues that match.

use std::future::ready;
use std::sync::Arc;

use anyhow::Result;
use clap::builder::styling::Style;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::attribute_filter::AttributeFilter;
use super::issue_view::words;
use super::options::{
    Format, GivenKind, agent_name, classification, issues_at, time_arg, with_terms,
};
use super::output::{FAINT, STRONG, local, of_classification, of_status};
use super::short_ids::ShortIds;
use super::table::{self, Cell, Column};
use super::{CommandContext, ExitStatus, Output, no_issues, sanitize};
use ait_domain::{
    AgentName, Condition, Due, Issue, IssueId, Label, Order, Page, Query, Status, StatusSet,
    Timestamp,
};
use ait_query::field_selection::FieldSelection;
use ait_query::time_arg::TimeArg;
use ait_query::{NoMatch, ParsedQuery};
use ait_system::span;
use ait_tracker::{IndexedIssues, StoreError, Tracker};

/// How many issues are shown at once on a terminal.
const SCREENFUL: usize = 50;

const HELP: &str = "Examples:\n  \
    ait list                          open issues, last changed first\n  \
    ait list --status created,in_progress -c bug\n  \
    ait list safari login --status all\n  \
    ait list 'kind:bug returns:>=2 holder:none \"session expired\"'\n  \
    ait list -p 0-1 -l ui --ready\n  \
    ait list --at '2026-11-21 13:00'  as of that time\n  \
    ait list --holder dev-1 --json | jq -r '.issues[].id'";

/// The arguments of `ait list`.
#[derive(Clone, Debug, Default, Args)]
#[command(after_help = with_terms(HELP))]
pub struct Arguments {
    /// What to look for: words, "several words" in quotes, and terms such as label:ui or returns:>=2; --help lists them
    #[arg(value_name = "QUERY")]
    query: Vec<String>,

    /// Only these statuses [default: open, unless the query names others]
    #[arg(
        short,
        long,
        value_name = "STATUS",
        value_delimiter = ',',
        value_parser = statuses(),
        ignore_case = true
    )]
    status: Vec<String>,

    /// Only this kind of work
    #[arg(short, long, value_name = "KIND", value_parser = classification(), ignore_case = true)]
    classification: Option<GivenKind>,

    /// Only issues that this agent holds now
    #[arg(long, value_name = "NAME", value_parser = agent_name)]
    holder: Option<AgentName>,

    /// Only issues that this agent has filed, claimed or changed, or that are assigned to it
    #[arg(short, long, value_name = "NAME", value_parser = agent_name)]
    agent: Option<AgentName>,

    /// The sort order [default: changed, unless the query names another]
    #[arg(long, value_enum)]
    sort: Option<Sort>,

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

    /// Print how many issues match
    #[arg(long, conflicts_with = "fields")]
    count: bool,

    #[command(flatten)]
    format: Format,
}

/// The part of a list to show.
#[derive(Clone, Copy, Debug, Default, Args)]
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
    pub fn range(&self, output: &Output) -> (usize, usize) {
        let default = if output.is_terminal() { SCREENFUL } else { usize::MAX };
        let take = self.limit.map_or(default, |limit| if limit == 0 { usize::MAX } else { limit });
        ((self.page - 1).saturating_mul(take), take)
    }
}

/// A sort order.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Sort {
    /// Last changed first
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
    let words = [OPEN, ALL].into_iter().chain(Status::words());
    let hyphenated =
        |word: &str| HYPHENATED.into_iter().find(|given| given.replace('-', "_") == word);
    let values = words.map(|word| PossibleValue::new(word).aliases(hyphenated(word)));
    PossibleValuesParser::new(values).map(|word| word.to_lowercase().replace('-', "_"))
}

fn page_number(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| *number > 0);
    number.ok_or_else(|| "page numbers begin with 1".to_owned())
}

#[derive(Serialize)]
struct Listing<T> {
    total: usize,
    /// Why nothing matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    nothing: Option<String>,
    issues: Vec<T>,
}

impl Arguments {
    /// Returns the arguments that find issues of any status.
    pub(super) fn search(
        query: Vec<String>,
        classification: Option<GivenKind>,
        paging: Paging,
        format: Format,
    ) -> Self {
        Self {
            query,
            status: vec![ALL.to_owned()],
            classification,
            paging,
            format,
            ..Self::default()
        }
    }

    /// Returns the statuses to include. The open ones are meant, unless the query says otherwise.
    fn statuses(&self, parsed: &ParsedQuery) -> StatusSet {
        match &self.status[..] {
            [] if parsed.names_status() => StatusSet::ALL,
            [] => StatusSet::open(),
            words => statuses_of(words),
        }
    }

    /// Returns the query of the options alone.
    fn options_query(
        &self,
        tracker: &Tracker,
        parsed: &ParsedQuery,
        parent: Option<IssueId>,
        now: Timestamp,
    ) -> Query {
        let name = |agent: &AgentName| agent.as_str().to_owned();
        let holder = self.holder.as_ref().map(|holder| Condition::Holder(Some(name(holder))));
        let agent = self.agent.as_ref().map(|agent| Condition::Involves(name(agent)));
        let attributes = self.attributes.condition(parent, now);
        Query {
            statuses: self.statuses(parsed),
            classification: self.classification.map(|kind| kind.used_by(tracker)),
            condition: Condition::all([holder, agent, Some(attributes)].into_iter().flatten()),
            order: Order::LatestActivity,
            ..Query::default()
        }
    }

    /// Narrows a query by a parsed one. An order among the options wins.
    fn narrow(&self, query: Query, parsed: &ParsedQuery) -> Query {
        let query = parsed.narrow(query);
        let (order, reversed) = match self.sort {
            None => (query.order, query.reversed),
            Some(Sort::Changed) => (Order::LatestActivity, false),
            Some(Sort::Filed) => (Order::Filed, false),
            Some(Sort::Priority) => (Order::Priority, false),
            Some(Sort::Title) => (Order::Title, false),
        };
        Query { order, reversed: reversed != self.reverse, ..query }
    }
}

pub(super) async fn run(arguments: &Arguments, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let CommandContext { tracker, output, .. } = *context;
    // Only an earlier time needs all issues of that time.
    let (past, now) = match arguments.at {
        Some(at) => {
            let (issues, at) = issues_at(tracker, at).await?;
            (Some(issues), at)
        }
        None => (None, tracker.now()),
    };
    let parsed = ParsedQuery::parse(&arguments.query.join(" "), context.saved_queries, now)?;
    let parent = match (arguments.attributes.parent(), &past) {
        (Some(parent), Some(issues)) => Some(issues.find(parent).map_err(StoreError::from)?.id),
        (Some(parent), None) => Some(tracker.get_issue(parent.clone()).await?.id),
        (None, _) => None,
    };
    let (skip, take) = arguments.paging.range(output);
    let base = Query { skip, take, ..arguments.options_query(tracker, &parsed, parent, now) };
    let query = arguments.narrow(base.clone(), &parsed);
    let page = match &past {
        Some(issues) => issues.list(&query),
        None => tracker.list_issues(query).await?,
    };
    if arguments.count {
        output.line(page.total)?;
        return Ok(ExitStatus::Done);
    }
    let nothing = match page.total {
        0 => nothing(arguments, &parsed, &base, past.as_ref(), tracker).await?,
        _ => String::new(),
    };
    if arguments.format.json || arguments.fields.is_some() {
        let nothing = (page.total == 0).then_some(nothing);
        let total = page.total;
        let issues = page.issues.iter();
        match &arguments.fields {
            Some(fields) => {
                let issues = issues.map(|issue| fields.select(issue, now)).collect();
                output.json(&Listing { total, nothing, issues })?;
            }
            None => {
                let issues = issues.map(|issue| &**issue).collect();
                output.json(&Listing { total, nothing, issues })?;
            }
        }
        return Ok(ExitStatus::Done);
    }
    let around = match past {
        Some(issues) => issues,
        None => tracker.issues_around(page.issues.iter().map(|issue| issue.id)).await?,
    };
    print(&page, &arguments.paging, &nothing, &around, now, arguments.format, output)
}

/// Says why nothing matches.
async fn nothing(
    arguments: &Arguments,
    parsed: &ParsedQuery,
    base: &Query,
    past: Option<&IndexedIssues>,
    tracker: &Tracker,
) -> Result<String> {
    if arguments.at.is_none() && arguments.attributes.names_kind() {
        let hint = "no issue has that label; the kind of work is -c: ait list -c bug";
        return Ok(hint.to_owned());
    }
    if past.is_none() && tracker.counts().await?.total() == 0 {
        return Ok(no_issues().to_owned());
    }
    let why = match past {
        Some(issues) => {
            let list = |query| ready(Ok::<_, StoreError>(issues.list(&query)));
            NoMatch::explain(parsed, base, list).await?
        }
        None => NoMatch::explain(parsed, base, |query| tracker.list_issues(query)).await?,
    };
    let all = match arguments.statuses(parsed) {
        StatusSet::ALL => "",
        _ => "; `ait list --status all` searches all statuses",
    };
    Ok(sanitize::line(&format!("{why}{all}")))
}

/// Prints a page of a list. If the whole list is empty, logs `nothing` to stderr.
pub(super) fn print(
    page: &Page,
    paging: &Paging,
    nothing: &str,
    issues: &IndexedIssues,
    now: Timestamp,
    format: Format,
    output: &Output,
) -> Result<ExitStatus> {
    if format.json {
        let listed = page.issues.iter().map(|issue| &**issue).collect();
        output.json(&Listing { total: page.total, nothing: None, issues: listed })?;
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
    let lines = table(&page.issues, issues, now, output);
    lines.into_iter().try_for_each(|line| output.line(line))?;
    if skip + page.issues.len() < page.total {
        // Keep the note after the list, so that it is seen, and out of stdout, so that scripts do not read it.
        output.flush()?;
        tracing::info!("{}", more(page, skip, paging.page));
    }
    Ok(ExitStatus::Done)
}

/// Parses the names of statuses.
pub(super) fn statuses_of(words: &[String]) -> StatusSet {
    words.iter().filter_map(|word| StatusSet::from_word(word)).flat_map(StatusSet::iter).collect()
}

fn more(page: &Page, skip: usize, number: usize) -> String {
    let first = skip + 1;
    let last = skip + page.issues.len();
    let total = page.total;
    let or_more = if page.is_exact { "" } else { " or more" };
    format!(
        "{first} to {last} of {total}{or_more}: --page {} shows more, --limit 0 shows all",
        number + 1
    )
}

const COLUMNS: [Column; 10] = [
    Column { name: "ID", from_width: 0, at_most: 36 },
    Column { name: "STATUS", from_width: 0, at_most: 11 },
    Column { name: "WAITS", from_width: 50, at_most: 15 },
    Column { name: "P", from_width: 50, at_most: 1 },
    Column { name: "KIND", from_width: 100, at_most: 11 },
    Column { name: "HELD BY", from_width: 60, at_most: 20 },
    Column { name: "CHANGED", from_width: 90, at_most: 8 },
    Column { name: "DUE", from_width: 100, at_most: 16 },
    Column { name: "LABELS", from_width: 120, at_most: 24 },
    Column { name: "TITLE", from_width: 0, at_most: usize::MAX },
];

/// Renders the table: its head, and a line for each issue.
pub(super) fn table(
    listed: &[Arc<Issue>],
    issues: &IndexedIssues,
    now: Timestamp,
    output: &Output,
) -> Vec<String> {
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
            due(issue, now),
            Cell::new(labels.join(","), FAINT),
            Cell::new(sanitize::line(&issue.title), Style::new()),
        ]
    };
    let rows: Vec<_> = listed.iter().map(row).collect();
    table::rows(output, COLUMNS, &rows)
}

fn due(issue: &Issue, now: Timestamp) -> Cell {
    let Some(due) = issue.attributes.due else { return Cell::new("", FAINT) };
    let is_late = issue.status.is_open() && due.is_past_at(now);
    let shown = match due {
        Due::Day(_) => due.to_string(),
        Due::Time(time) => local(time, "%Y-%m-%d %H:%M"),
    };
    Cell::new(shown, if is_late { STRONG } else { FAINT })
}

/// Says why an issue waits, in words; empty if it does not.
pub(super) fn waits(issue: &Issue, issues: &IndexedIssues, now: Timestamp) -> String {
    let is_parked = issue.status.is_open() && issue.attributes.is_parked_at(now);
    let words = [
        (issues.is_blocked(issue), "blocked"),
        (issues.waits_for_parts(issue), "parts"),
        (is_parked, "parked"),
    ];
    words.iter().filter(|(is_so, _)| *is_so).map(|(_, word)| *word).collect::<Vec<_>>().join(",")
}
