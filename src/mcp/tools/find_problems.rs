//! `find_problems`: what is wrong in the queue.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{CallContext, Tool};
use crate::domain::Query;
use crate::mcp::options::Toolset;
use crate::mcp::result::{Failure, Success};
use crate::read_model::FindingKind;
use crate::triage::{DEFAULT_TAKE, Reader, TriageReport};

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
        let mut findings = context.read_model.read(move |view| view.findings(now)).await?;
        if args.query.is_some() {
            let parsed = context.parse_query(args.query.as_deref())?;
            let all = Query { take: usize::MAX, ..Query::default() };
            let found = context.read_model.list(parsed.narrow(all)).await?;
            let ids = found.issues.iter().map(|issue| issue.id).collect();
            findings = Arc::new(findings.about(&ids));
        }
        let take = args.take.unwrap_or(DEFAULT_TAKE);
        let mut report = TriageReport::of(&findings, &args.kinds, take, Reader::Agent);
        for reported in &mut report.findings {
            reported.next = context.replies.names.in_text(&reported.next);
        }
        Success::report(report)
    }
}
