//! `tracker://queue`: the length of each queue, and its oldest issues.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::domain::{Classification, Issue, Page, Query, Status, StatusSet, Timestamp};
use crate::mcp::reply::IssueRow;
use crate::tracker::IndexedIssues;

/// How many issues each queue shows.
const HEAD: usize = 5;

/// A claimed issue.
#[derive(Serialize)]
struct Claim<'a> {
    #[serde(flatten)]
    row: IssueRow<'a>,
    agent: Option<&'a str>,
    since: Option<Timestamp>,
}

/// Returns all queues in one state, in the order in which a lead needs them.
pub(super) fn overview(issues: &IndexedIssues) -> Value {
    let head = |statuses: StatusSet, classification| {
        issues.list(&Query { statuses, classification, take: HEAD, ..Query::default() })
    };
    let counts = issues.counts();
    let counts: Map<String, Value> = Status::ALL
        .iter()
        .map(|status| (status.to_string(), counts.in_status(*status).into()))
        .collect();
    let waiting = Classification::ALL.iter().map(|&classification| {
        let page = head(Some(Status::Created).into(), Some(classification));
        (classification.to_string(), queue(&page, IssueRow::from))
    });
    let waiting: Map<String, Value> = waiting.collect();
    let claimed = Status::ALL.iter().copied().filter(|status| status.is_claimed());
    let claim = |issue| {
        let holder = Issue::holder(issue);
        Claim {
            row: IssueRow::from(issue),
            agent: holder.map(|claim| claim.agent),
            since: holder.map(|claim| claim.since),
        }
    };
    json!({
        "counts": counts,
        "review": queue(&head(Some(Status::Completed).into(), None), IssueRow::from),
        "waiting": waiting,
        "claimed": queue(&head(claimed.collect(), None), claim),
    })
}

/// Returns the length of a queue, and its oldest issues.
fn queue<'a, R: Serialize>(page: &'a Page, row: impl Fn(&'a Issue) -> R) -> Value {
    let head: Vec<R> = page.issues.iter().map(|issue| row(issue)).collect();
    json!({ "count": page.total, "head": head })
}
