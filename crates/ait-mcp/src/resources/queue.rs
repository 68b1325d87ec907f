//! `tracker://queue`: the length of each queue, and its oldest issues.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::reply::IssueRow;
use ait_domain::{Issue, Page, Query, Status, StatusSet, Timestamp};
use ait_tracker::{StoreError, Tracker};

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

/// Returns all queues, in the order in which a lead needs them.
pub(super) async fn overview(tracker: &Tracker) -> Result<Value, StoreError> {
    let head = |statuses: StatusSet, classification| {
        tracker.list_issues(Query { statuses, classification, take: HEAD, ..Query::default() })
    };
    let counts = tracker.counts().await?;
    let counts: Map<String, Value> = Status::OF_WORK
        .iter()
        .map(|status| (status.to_string(), counts.in_status(*status).into()))
        .collect();
    let mut waiting = Map::new();
    for classification in tracker.classifications().iter() {
        let page = head(Some(Status::Created).into(), Some(classification)).await?;
        waiting.insert(classification.to_string(), queue(&page, IssueRow::from));
    }
    let claimed = Status::OF_WORK.iter().copied().filter(|status| status.is_claimed());
    let claim = |issue| {
        let holder = Issue::holder(issue);
        Claim {
            row: IssueRow::from(issue),
            agent: holder.map(|claim| claim.agent),
            since: holder.map(|claim| claim.since),
        }
    };
    Ok(json!({
        "counts": counts,
        "review": queue(&head(Some(Status::Completed).into(), None).await?, IssueRow::from),
        "waiting": waiting,
        "claimed": queue(&head(claimed.collect(), None).await?, claim),
    }))
}

/// Returns the length of a queue, and its oldest issues.
fn queue<'a, R: Serialize>(page: &'a Page, row: impl Fn(&'a Issue) -> R) -> Value {
    let head: Vec<R> = page.issues.iter().map(|issue| row(issue)).collect();
    json!({ "count": page.total, "head": head })
}
