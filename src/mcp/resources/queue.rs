//! `tracker://queue`: how many issues wait, and the first of them.

use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::domain::{Classification, Issue, Page, Query, Status, Statuses, Timestamp};
use crate::mcp::row::Row;
use crate::tracker::IssueStore;

/// How many issues are shown of each queue.
const HEAD: usize = 5;

/// An issue that somebody holds.
#[derive(Serialize)]
struct Claim<'a> {
    #[serde(flatten)]
    row: Row<'a>,
    agent: Option<&'a str>,
    since: Option<Timestamp>,
}

/// The queues, in the order in which a lead asks for them, all at one moment.
pub(super) fn look(issues: &IssueStore) -> Value {
    let head = |statuses: Statuses, classification| {
        issues.list(&Query { statuses, classification, take: HEAD, ..Query::default() })
    };
    let counts = issues.counts();
    let counts: Map<String, Value> =
        Status::ALL.iter().map(|it| (it.to_string(), counts.in_status(*it).into())).collect();
    let waiting = Classification::ALL.iter().map(|&classification| {
        let page = head(Some(Status::Created).into(), Some(classification));
        (classification.to_string(), queue(&page, Row::from))
    });
    let waiting: Map<String, Value> = waiting.collect();
    let claimed = Status::ALL.iter().copied().filter(|status| status.is_claimed());
    let claim = |issue| {
        let holder = Issue::holder(issue);
        Claim {
            row: Row::from(issue),
            agent: holder.map(|it| it.agent),
            since: holder.map(|it| it.since),
        }
    };
    json!({
        "counts": counts,
        "review": queue(&head(Some(Status::Completed).into(), None), Row::from),
        "waiting": waiting,
        "claimed": queue(&head(claimed.collect(), None), claim),
    })
}

/// How many there are, and the first filed of them.
fn queue<'a, R: Serialize>(page: &'a Page, row: impl Fn(&'a Issue) -> R) -> Value {
    let head: Vec<R> = page.issues.iter().map(|issue| row(issue)).collect();
    json!({ "count": page.total, "head": head })
}
