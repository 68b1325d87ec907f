//! `change_issues`: change the issues of a handle together.

use std::collections::BTreeSet;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::query_issues::MAX_PREVIEW;
use super::update_issue::removable;
use super::{CallContext, Tool};
use crate::options::Toolset;
use crate::reply::issue_line;
use crate::result::{Failure, Success};
use ait_domain::{
    AgentName, Classification, CommentText, Condition, FieldValues, Issue, IssueChange, IssueId,
    IssueRef, Label, LinkKind, Order, Query, Resolution,
};
use ait_tracker::hints;
use ait_tracker::{BulkChange, BulkEnd, BulkOutcome, MAX_BULK};

pub(super) struct ChangeIssues;

#[derive(Deserialize, JsonSchema)]
pub(super) struct Args {
    /// From query_issues
    handle: String,
    /// all, places such as `0,2-5`, or a query
    items: String,
    agent: AgentName,
    comment: Option<CommentText>,
    labels_add: Option<Vec<Label>>,
    labels_remove: Option<Vec<Label>>,
    classification: Option<Classification>,
    /// Reason, or none
    park: Option<String>,
    link: Option<LinkKind>,
    /// Id to link to
    to: Option<IssueRef>,
    /// With comment
    end: Option<End>,
    /// Default true
    dry_run: Option<bool>,
    #[serde(flatten)]
    values: FieldValues,
}

/// Where the issues go.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
enum End {
    Return,
    Close,
    Reject,
}

impl Tool for ChangeIssues {
    const NAME: &'static str = "change_issues";
    const DESCRIPTION: &'static str = "Change the issues of a handle in one step; refused ones are named, the others are \
        changed. First shows what would happen; then call again with dry_run false.";
    const TOOLSET: Toolset = Toolset::Bulk;
    const LOOSE: &[&str] = &["items"];
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let handle = context.query_handle(&args.handle).await?;
        let items = args.items.parse().map_err(Failure::invalid)?;
        let (bulk, agent, is_dry_run) = args.change()?;
        let ids = chosen(&context, &items, &handle.ids).await?;
        if ids.is_empty() {
            let text = "no issue of the handle fits `items`; nothing was changed";
            return Success::report(json!({ "count": 0, "warning": text }));
        }
        let proof = context.proof(None);
        let outcome = context.tracker.change_many(&ids, &bulk, &agent, proof, is_dry_run).await?;
        Success::report(report(&outcome, &bulk, is_dry_run))
    }
}

impl Args {
    /// Returns the change, who makes it, and whether it is only shown.
    fn change(self) -> Result<(BulkChange, AgentName, bool), Failure> {
        let parked = removable(self.park, CommentText::try_from)?;
        let links_add = match (self.link, self.to) {
            (Some(kind), Some(to)) => vec![(kind, to)],
            (None, None) => Vec::new(),
            _ => return Err(Failure::invalid("give `link` and `to` together")),
        };
        let (end, comment) = match (self.end, self.comment) {
            (None, comment) => (None, comment),
            (Some(_), None) => return Err(Failure::invalid("`end` needs a `comment`: the reason")),
            (Some(End::Return), Some(comment)) => (Some(BulkEnd::Return(comment)), None),
            (Some(End::Close), Some(comment)) => {
                (Some(BulkEnd::Close(Resolution::Closed, comment)), None)
            }
            (Some(End::Reject), Some(comment)) => {
                (Some(BulkEnd::Close(Resolution::Rejected, comment)), None)
            }
        };
        let change = IssueChange {
            classification: self.classification,
            values: self.values.0,
            labels_add: self.labels_add.unwrap_or_default(),
            labels_remove: self.labels_remove.unwrap_or_default(),
            parked: parked.map(|reason| reason.map(|reason| (reason, None))),
            links_add,
            comment,
            ..IssueChange::default()
        };
        let bulk = BulkChange { change, end, ..BulkChange::default() };
        if bulk == BulkChange::default() {
            return Err(Failure::invalid(
                "say what to change: labels_add, priority, comment, end or others",
            ));
        }
        Ok((bulk, self.agent, self.dry_run.unwrap_or(true)))
    }
}

/// Which issues of a handle to change.
enum Items {
    All,
    Places(BTreeSet<usize>),
    Query(String),
    Criteria(Criteria),
}

/// What issues are like, as programs say it.
#[derive(PartialEq, Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Criteria {
    statuses: Vec<String>,
    kinds: Vec<String>,
    labels: Vec<String>,
    title_contains: String,
    idle_days_min: Option<u32>,
    idle_days_max: Option<u32>,
}

impl Criteria {
    /// Returns the criteria that the query language has, as a query.
    fn query(&self) -> String {
        let lists = [("status", &self.statuses), ("kind", &self.kinds), ("label", &self.labels)]
            .map(|(key, values)| {
                (!values.is_empty()).then(|| format!("{key}:\"{}\"", values.join(",")))
            });
        let least = self.idle_days_min.map(|days| format!("idle:>={days}d"));
        let most = self.idle_days_max.map(|days| format!("idle:<={days}d"));
        let terms: Vec<_> = lists.into_iter().chain([least, most]).flatten().collect();
        terms.join(" ")
    }

    fn fits_title(&self, issue: &Issue) -> bool {
        issue.title.to_lowercase().contains(&self.title_contains.to_lowercase())
    }
}

/// What `items` takes.
const ITEMS: &str = "Invalid items: must be \"all\", an array of indices, or criteria: a query with a key such as \
    `status:created login`, or an object with some of statuses, kinds, labels, title_contains, idle_days_min and idle_days_max";

impl FromStr for Items {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "all" {
            return Ok(Self::All);
        }
        if text.starts_with('{') {
            let criteria: Criteria =
                serde_json::from_str(text).map_err(|error| format!("{ITEMS} ({error})"))?;
            return if criteria == Criteria::default() {
                Err(format!("{ITEMS} (no criteria are given; \"all\" means every issue)"))
            } else {
                Ok(Self::Criteria(criteria))
            };
        }
        // A longer number is the beginning of an id.
        let are_places = text.bytes().all(|byte| byte.is_ascii_digit() || b" ,-[]".contains(&byte))
            && text.split(|c: char| !c.is_ascii_digit()).all(|number| number.len() <= 4);
        if !are_places {
            return Ok(Self::Query(text.to_owned()));
        }
        // Lists are often written as JSON.
        let list = match text.strip_prefix('[') {
            Some(rest) => rest.strip_suffix(']').ok_or(ITEMS)?,
            None => text,
        };
        let places = list.split(',').map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let number = |text: &str| text.trim().parse::<usize>().ok().filter(|at| *at < MAX_BULK);
            let first = number(first).ok_or(ITEMS)?;
            let last = number(last).ok_or(ITEMS)?;
            if first <= last {
                Ok(first..=last)
            } else {
                Err(format!("Invalid items: {first}-{last} begins after its end"))
            }
        });
        let places: Result<Vec<_>, String> = places.collect();
        Ok(Self::Places(places?.into_iter().flatten().collect()))
    }
}

/// Returns the chosen issues of a handle.
async fn chosen(
    context: &CallContext,
    items: &Items,
    ids: &[IssueId],
) -> Result<Vec<IssueId>, Failure> {
    let (text, criteria) = match items {
        Items::All => return Ok(ids.to_vec()),
        Items::Places(places) => return at_places(places, ids),
        Items::Query(text) => (text.clone(), &Criteria::default()),
        Items::Criteria(criteria) => (criteria.query(), criteria),
    };
    let parsed = context.parse_exact_query(&text)?;
    if matches!(items, Items::Query(_)) && !parsed.names_more_than_words() {
        // A word such as `All` or `everything` is meant otherwise.
        return Err(Failure::invalid(ITEMS));
    }
    let condition = Condition::Ids(ids.iter().copied().collect());
    let base = Query { condition, order: Order::Filed, take: MAX_BULK, ..Query::default() };
    let page = context.tracker.list_issues(parsed.narrow(base)).await?;
    let fitting = page.issues.iter().filter(|issue| criteria.fits_title(issue));
    let fitting: BTreeSet<_> = fitting.map(|issue| issue.id).collect();
    Ok(ids.iter().copied().filter(|id| fitting.contains(id)).collect())
}

/// Returns the issues at some places of a handle.
fn at_places(places: &BTreeSet<usize>, ids: &[IssueId]) -> Result<Vec<IssueId>, Failure> {
    if let Some(beyond) = places.last().filter(|last| **last >= ids.len()) {
        let last = ids.len().saturating_sub(1);
        return Err(Failure::invalid(format!(
            "Invalid items: the handle has the places 0 to {last}, not {beyond}"
        )));
    }
    Ok(places.iter().map(|place| ids[*place]).collect())
}

fn report(outcome: &BulkOutcome, bulk: &BulkChange, is_dry_run: bool) -> serde_json::Value {
    // Without numbers, which would look like places in the handle.
    let issues = outcome.changed.iter().take(MAX_PREVIEW).map(|issue| issue_line(issue));
    let refused = outcome.refused.iter().take(MAX_PREVIEW).map(|(id, error)| {
        let why = hints::for_refusal(error, &hints::TOOLS);
        format!("{}: {why}", id.short())
    });
    let mut report = json!({
        if is_dry_run { "would_change" } else { "changed" }: outcome.changed.len(),
        "issues": issues.collect::<Vec<_>>(),
        "refused": outcome.refused.len(),
        "why": refused.collect::<Vec<_>>(),
        "unchanged": outcome.unchanged.len(),
    });
    if let Some(events) = &outcome.events {
        let numbers = events.to_string();
        if !bulk.ends_issues() {
            report["undo"] = format!("undo_change with change: \"{numbers}\"").into();
        }
        report["change"] = numbers.into();
    }
    if bulk.ends_issues() && !outcome.changed.is_empty() {
        report["warning"] = hints::ENDS_FOR_AGENTS.into();
    }
    if is_dry_run {
        report["next"] = "nothing was changed yet: call again with dry_run: false".into();
    }
    report
}
