//! `ait blocked`: lists the issues that wait for others, and for which.

use std::sync::Arc;

use anyhow::Result;
use serde::Serialize;
use serde_json::json;

use super::issue_view::LinkedIssue;
use super::options::Format;
use super::{CommandContext, ExitStatus, no_issues};
use ait_domain::{Condition, Issue, Query, StatusSet};
use ait_tracker::IndexedIssues;

/// Ends the help of `ait blocked`.
pub(super) const EXAMPLES: &str = "Examples:\n  \
    ait blocked\n  \
    ait blocked --json | jq '.issues[] | {title, waitsFor}'";

/// An issue and the open issues for which it waits.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Blocked {
    #[serde(flatten)]
    issue: Arc<Issue>,
    waits_for: Vec<LinkedIssue>,
}

pub(super) async fn run(format: &Format, context: &CommandContext<'_>) -> Result<ExitStatus> {
    let CommandContext { tracker, output, .. } = *context;
    let waiting = Query {
        statuses: StatusSet::open(),
        condition: Condition::Waits,
        take: usize::MAX,
        ..Query::default()
    };
    let waiting = tracker.list_issues(waiting).await?.issues;
    let issues = tracker.issues_around(waiting.iter().map(|issue| issue.id)).await?;
    let blocked = blocked(waiting, &issues);
    if format.json {
        output.json(&json!({ "total": blocked.len(), "issues": blocked }))?;
        return Ok(ExitStatus::Done);
    }
    if blocked.is_empty() {
        let is_empty = tracker.counts().await?.total() == 0;
        let nothing = if is_empty { no_issues() } else { "no issue waits for another one" };
        tracing::info!("{nothing}");
    }
    for Blocked { issue, waits_for } in blocked {
        let line = LinkedIssue::of(&issue, &issues).line("");
        output.line(line.fitted(output.width(), output))?;
        for blocker in waits_for {
            output.line(blocker.line("  waits for ").fitted(output.width(), output))?;
        }
    }
    Ok(ExitStatus::Done)
}

/// Returns issues with the blockers and the parts for which they wait.
fn blocked(waiting: Vec<Arc<Issue>>, issues: &IndexedIssues) -> Vec<Blocked> {
    let blocked = waiting.into_iter().map(|issue| {
        let parts = issues.open_parts(issue.id).filter(|_| issues.waits_for_parts(&issue));
        let waits_for = issues.open_blockers(&issue).chain(parts);
        let waits_for = waits_for
            .filter_map(|id| issues.get(id))
            .map(|blocker| LinkedIssue::of(&blocker, issues))
            .collect();
        Blocked { issue, waits_for }
    });
    // An issue does not wait for its parts while an agent works on it.
    blocked.filter(|blocked| !blocked.waits_for.is_empty()).collect()
}
