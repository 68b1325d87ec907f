//! `find_problems`: what is wrong in the queue.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{CallContext, Tool};
use crate::options::Toolset;
use crate::reply::Reply;
use crate::result::{Failure, Success};
use ait_domain::{IssueId, Query};
use ait_tracker::read_model::FindingKind;
use ait_tracker::triage::{DEFAULT_TAKE, Reader, TriageReport};

pub(super) struct FindProblems;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Default all
    #[serde(default)]
    kinds: Vec<FindingKind>,
    /// Only of these issues
    query: Option<String>,
    /// Default 20
    #[schemars(range(min = 1, max = 200))]
    take: Option<usize>,
}

impl Tool for FindProblems {
    const NAME: &'static str = "find_problems";
    const DESCRIPTION: &'static str =
        "What is wrong in the queue, worst first: which issues, why, and what to call next.";
    const READ_ONLY: bool = true;
    const TOOLSET: Toolset = Toolset::Analysis;
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let now = context.tracker.now();
        let mut findings = context.read_model.findings(now).await?;
        if args.query.is_some() {
            let parsed = context.parse_query(args.query.as_deref())?;
            let all = Query { take: usize::MAX, ..Query::default() };
            let found = context.tracker.list_issues(parsed.narrow(all)).await?;
            let ids = found.issues.iter().map(|issue| issue.id).collect();
            findings = Arc::new(findings.about(&ids));
        }
        let take = args.take.unwrap_or(DEFAULT_TAKE);
        let mut report = TriageReport::of(&findings, &args.kinds, take, Reader::Agent);
        for reported in &mut report.findings {
            reported.next = context.replies.names.in_text(&reported.next);
        }
        let mut report = serde_json::to_value(report).map_err(Failure::not_json)?;
        if context.replies.is_compact() {
            make_compact(&mut report);
        }
        Ok(Success::done(Reply::Report(report)))
    }
}

/// Writes each issue on one line: short id, status and title.
fn make_compact(report: &mut Value) {
    for finding in report["findings"].as_array_mut().into_iter().flatten() {
        for issue in finding["issues"].as_array_mut().into_iter().flatten() {
            let text = |key: &str| issue[key].as_str().unwrap_or_default();
            let id = IssueId::parse(text("id")).map(|id| id.short()).unwrap_or_default();
            *issue = format!("{id} {}: {}", text("status"), text("title")).into();
        }
    }
}
