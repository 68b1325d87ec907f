//! `list_issues`: read the queue or one issue.

use std::collections::BTreeSet;

use chrono::Utc;
use schemars::JsonSchema;
use serde::Deserialize;

use super::filters::{ClassificationFilter, Fields, StatusFilter};
use super::{CallContext, Tool};
use crate::domain::{
    AgentName, Changed, ContentFilter, IssueId, IssueRef, Order, Query, Timestamp,
};
use crate::mcp::reply::{List, ListedIssue, Reply, WholeIssue};
use crate::mcp::result::{Failure, Success};
use crate::mcp::shown;
use crate::time_arg::{FORMS, TimeArg};
use crate::tracker::{StoreError, Tracker};

pub(super) struct ListIssues;

const DEFAULT_TAKE: usize = 50;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    status: Option<StatusFilter>,
    classification: Option<ClassificationFilter>,
    /// Only what it holds or filed
    agent: Option<AgentName>,
    /// Only changed after this time or cursor
    since: Option<String>,
    /// Default 0
    #[schemars(range(min = 0))]
    skip: Option<usize>,
    /// Default 50
    #[schemars(range(min = 1, max = 500))]
    take: Option<usize>,
    /// This one, whole
    issue_id: Option<IssueRef>,
    /// Such as `id,title,comments.text`
    #[schemars(extend("toolset" = "planning"))]
    fields: Option<Fields>,
}

impl Tool for ListIssues {
    const NAME: &'static str = "list_issues";
    const DESCRIPTION: &'static str = "Look without changing anything: the number of matches and a row for each, oldest first; or one issue.";
    const READ_ONLY: bool = true;
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let tracker = &context.tracker;
        let fields = args.fields.map(|fields| fields.0);
        let skip = args.skip.unwrap_or(0);
        let statuses = args.status.map(|status| status.0).unwrap_or_default();
        let classification = args.classification.and_then(|classification| classification.0);
        if let Some(reference) = args.issue_id {
            let is_filtered = statuses != Default::default()
                || classification.is_some()
                || args.agent.is_some()
                || args.since.is_some();
            if is_filtered {
                return Err(Failure::invalid(
                    "issue_id names one issue: leave out status, classification, agent and since",
                ));
            }
            let issue = tracker.get_issue(reference).await?;
            let neighbours = context.neighbours(&issue).await?;
            let whole = WholeIssue { skip, fields, neighbours, ..WholeIssue::plain(issue) };
            return Ok(Success::done(Reply::Issue(whole)));
        }
        let (changed, cursor) = match args.since {
            Some(since) => {
                since_of(tracker, &since).await.map(|(changed, at)| (Some(changed), Some(at)))?
            }
            None => (None, None),
        };
        let query = Query {
            statuses,
            classification,
            changed,
            content: ContentFilter { holder_or_filer: args.agent, ..ContentFilter::default() },
            order: Order::Filed,
            skip,
            take: args.take.unwrap_or(DEFAULT_TAKE),
            ..Query::default()
        };
        let list = List { cursor, fields, ..list(&context, query).await? };
        Ok(Success::done(Reply::List(list)))
    }
}

/// Reads one page of a list.
pub(super) async fn list(context: &CallContext, query: Query) -> Result<List, StoreError> {
    let tracker = &context.tracker;
    let skip = Some(query.skip);
    let page = tracker.list_issues(query).await?;
    // Only compact rows have short ids, and say what is blocked.
    let all = match context.replies.is_compact() {
        true => Some(tracker.issues_around(&page.issues).await?),
        false => None,
    };
    let listed = page.issues.into_iter().map(|issue| {
        let is_short_id_unique = all.as_ref().is_some_and(|all| {
            issue.id.short().parse().is_ok_and(|short: IssueRef| all.position(&short).is_ok())
        });
        let is_blocked = all.as_ref().is_some_and(|all| all.is_blocked(&issue));
        ListedIssue { issue, is_short_id_unique, is_blocked }
    });
    let issues = listed.collect();
    let now = tracker.now();
    Ok(List { total: page.total, skip, issues, cursor: None, fields: None, now })
}

/// Returns what changed after a time or after the event with a number, and the number of the newest event.
async fn since_of(tracker: &Tracker, since: &str) -> Result<(Changed, u64), Failure> {
    // Read first: a change in between is reported twice, and never missed.
    let newest = tracker.watch().borrow().number;
    if let Ok(number) = since.trim().parse() {
        let (issues, cursor): (Option<BTreeSet<IssueId>>, u64) =
            tracker.changed_after(number).await?;
        let issues = issues.ok_or_else(|| {
            Failure::invalid(format!(
                "the log no longer has all events after {number}: give a time as `since`; the newest event is {newest}"
            ))
        })?;
        return Ok((Changed::Issues(issues), cursor));
    }
    let time = TimeArg::parse(since, &Utc).map_err(|_| {
        let since = shown(since);
        Failure::invalid(format!("`since` must be the cursor of an earlier reply, or a time such as {FORMS}; not {since:?}. Call list_issues again with one of these"))
    })?;
    let after: Timestamp = time.time(tracker.now());
    Ok((Changed::After(after), newest))
}
