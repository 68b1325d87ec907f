//! `query_issues`: find issues, and keep them under a handle for changes.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{CallContext, Tool};
use crate::context::blocking;
use crate::options::Toolset;
use crate::reply::issue_line;
use crate::result::{Failure, Success};
use ait_domain::{Condition, IssueId, Order, Query};
use ait_query::NoMatch;
use ait_tracker::MAX_BULK;
use ait_tracker::query_handles::QueryHandle;

pub(super) struct QueryIssues;

/// How many issues a preview shows.
pub(super) const MAX_PREVIEW: usize = 10;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Such as `label:ui returns:>1`
    query: Option<String>,
    /// Instead of query: shows more of it
    handle: Option<String>,
    /// Default 1000; with handle 10
    #[schemars(range(min = 1, max = 1000))]
    take: Option<usize>,
    /// With handle
    skip: Option<usize>,
}

impl Tool for QueryIssues {
    const NAME: &'static str = "query_issues";
    const DESCRIPTION: &'static str =
        "Find issues to change together: a handle for exactly these, and the first of them.";
    const READ_ONLY: bool = true;
    const TOOLSET: Toolset = Toolset::Bulk;
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        match (args.query, args.handle) {
            (Some(query), None) if args.skip.is_none() => found(context, &query, args.take).await,
            (None, Some(handle)) => {
                shown(context, &handle, args.take.unwrap_or(MAX_PREVIEW), args.skip.unwrap_or(0))
                    .await
            }
            _ => Err(Failure::invalid(
                "give `query`, or give `handle` to see more of what it holds, from its place `skip` on",
            )),
        }
    }
}

/// Keeps what a query finds under a handle, and shows the first ones.
async fn found(context: CallContext, query: &str, take: Option<usize>) -> Result<Success, Failure> {
    let parsed = context.parse_exact_query(query)?;
    if parsed.is_empty() {
        return Err(Failure::invalid("the query is empty; for all open issues, give is:open"));
    }
    let base = Query { order: Order::Filed, take: take.unwrap_or(MAX_BULK), ..Query::default() };
    let page = context.tracker.list_issues(parsed.narrow(base.clone())).await?;
    if page.issues.is_empty() {
        let why = NoMatch::explain(&parsed, &base, |query| context.tracker.list_issues(query));
        return Success::report(json!({ "count": 0, "nothing": why.await?.to_string() }));
    }
    let handles = context.query_handles().await;
    let now = context.tracker.now();
    let ids = page.issues.iter().map(|issue| issue.id).collect();
    let kept = blocking(move || handles.keep(ids, now)).await;
    let handle = kept.map_err(|error| {
        Failure::not_saved(format!(
            "the handle cannot be kept: {error}; change the issues one by one"
        ))
    })?;
    let count = page.issues.len();
    let preview = page.issues.iter().take(MAX_PREVIEW).map(|issue| issue_line(issue));
    let mut report = report(&handle, rows(preview, 0));
    if page.total > count || !page.is_exact {
        let more = page.total - count;
        let more = match (more, page.is_exact) {
            (0, _) => "more match".to_owned(),
            (more, true) => format!("{more} more match"),
            (more, false) => format!("{more} or more match"),
        };
        report["more"] = format!("{more}, and are not in the handle").into();
    }
    Success::report(report)
}

/// Shows some of the issues that a handle holds, as they are now.
async fn shown(
    context: CallContext,
    name: &str,
    take: usize,
    skip: usize,
) -> Result<Success, Failure> {
    let handle = context.query_handle(name).await?;
    let ids: Vec<_> = handle.ids.iter().copied().skip(skip).take(take).collect();
    let condition = Condition::Ids(ids.iter().copied().collect());
    let query = Query { condition, take: ids.len(), ..Query::default() };
    let page = context.tracker.list_issues(query).await?;
    let line = |id: IssueId| match page.issues.iter().find(|issue| issue.id == id) {
        Some(issue) => issue_line(issue),
        None => format!("{} is no longer there", id.short()),
    };
    Success::report(report(&handle, rows(ids.into_iter().map(line), skip)))
}

/// Numbers lines by their places in the handle.
fn rows(lines: impl Iterator<Item = String>, first: usize) -> Vec<String> {
    lines.enumerate().map(|(at, line)| format!("{}: {line}", first + at)).collect()
}

fn report(handle: &QueryHandle, preview: Vec<String>) -> Value {
    json!({
        "handle": handle.name, "count": handle.ids.len(), "expires": handle.expires_at, "preview": preview,
    })
}
