//! `list_issues`: look at the queue, or at one issue, without changing anything.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Operation;
use crate::domain::{Classification, IssueRef, Order, Page, Query, Status};
use crate::mcp::result::{Failure, Success, json};
use crate::mcp::row::Row;
use crate::tracker::Tracker;

pub(super) struct ListIssues;

const DEFAULT_TAKE: usize = 100;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// Only this status
    status: Option<Status>,
    /// Only this classification
    classification: Option<Classification>,
    /// How many matches to leave out; default 0
    #[schemars(range(min = 0))]
    skip: Option<usize>,
    /// How many to show; default 100
    #[schemars(range(min = 1, max = 500))]
    take: Option<usize>,
    /// This issue alone, whole: id or its first 8+ hex digits
    issue_id: Option<IssueRef>,
}

#[derive(Serialize)]
struct Listing<'a> {
    count: usize,
    issues: Vec<Row<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<String>,
}

impl Operation for ListIssues {
    const NAME: &'static str = "list_issues";
    const TITLE: &'static str = "List issues";
    const DESCRIPTION: &'static str = "Look without changing or claiming anything: `count` of all \
        matches and a row for each, oldest first; or, with `issue_id`, one whole issue.";
    const READ_ONLY: bool = true;
    type Arguments = Arguments;

    async fn call(tracker: Tracker, arguments: Arguments) -> Result<Success, Failure> {
        if let Some(reference) = arguments.issue_id {
            return json(&*tracker.get_issue(reference).await?);
        }
        let query = Query {
            statuses: arguments.status.into(),
            classification: arguments.classification,
            order: Order::Filed,
            skip: arguments.skip.unwrap_or(0),
            take: arguments.take.unwrap_or(DEFAULT_TAKE),
            ..Query::default()
        };
        let skip = query.skip;
        let page = tracker.list_issues(query).await?;
        json(&listing(&page, skip))
    }
}

fn listing(page: &Page, skip: usize) -> Listing<'_> {
    let next = skip.saturating_add(page.issues.len());
    let more = (next < page.total && !page.issues.is_empty())
        .then(|| format!("{} more: call again with skip: {next}", page.total - next));
    let issues = page.issues.iter().map(|issue| Row::from(&**issue)).collect();
    Listing { count: page.total, issues, more }
}
