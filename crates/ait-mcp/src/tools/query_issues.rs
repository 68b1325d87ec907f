//! `query_issues`: find issues, and keep them under a handle for changes.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::{CallContext, Tool};
use crate::context::blocking;
use crate::options::Toolset;
use crate::reply::issue_line;
use crate::result::{Failure, Success};
use ait_domain::{Issue, Order, Query};
use ait_query::NoMatch;
use ait_tracker::MAX_BULK;

pub(super) struct QueryIssues;

/// How many issues a preview shows.
pub(super) const MAX_PREVIEW: usize = 10;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Such as `label:ui returns:>1`
    query: String,
    /// Default 1000
    #[schemars(range(min = 1, max = 1000))]
    take: Option<usize>,
}

impl Tool for QueryIssues {
    const NAME: &'static str = "query_issues";
    const DESCRIPTION: &'static str =
        "Find issues to change together: a handle for exactly these, and the first of them.";
    const READ_ONLY: bool = true;
    const TOOLSET: Toolset = Toolset::Bulk;
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let parsed = context.parse_exact_query(&args.query)?;
        if parsed.is_empty() {
            return Err(Failure::invalid("the query is empty; for all open issues, give is:open"));
        }
        let take = args.take.unwrap_or(MAX_BULK);
        let base = Query { order: Order::Filed, take, ..Query::default() };
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
        let row = |(place, issue): (usize, &Arc<Issue>)| format!("{place}: {}", issue_line(issue));
        let preview = page.issues.iter().take(MAX_PREVIEW).enumerate().map(row);
        let mut report = json!({
            "handle": handle.name, "count": count, "expires": handle.expires_at,
            "preview": preview.collect::<Vec<_>>(),
        });
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
}
