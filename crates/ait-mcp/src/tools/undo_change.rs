//! `undo_change`: take changes back.

use chrono::Utc;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::query_issues::MAX_PREVIEW;
use super::{CallContext, Tool};
use crate::options::Toolset;
use crate::result::{Failure, Success};
use crate::shown;
use ait_domain::{AgentName, Timestamp};
use ait_query::time_arg::{FORMS, TimeArg};
use ait_tracker::hints;
use ait_tracker::{UndoError, UndoOutcome, UndoSelection, UndoneIssue};

pub(super) struct UndoChange;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    agent: AgentName,
    /// Such as `412` or `412-460`
    change: Option<String>,
    /// Instead, with since
    by_agent: Option<AgentName>,
    since: Option<String>,
    until: Option<String>,
    /// Default true
    dry_run: Option<bool>,
}

impl Tool for UndoChange {
    const NAME: &'static str = "undo_change";
    const DESCRIPTION: &'static str = "Take changes back with new ones: a change, or all by an agent in a time. What changed \
        since stays, and ended issues stay ended. First shows what would happen.";
    const TOOLSET: Toolset = Toolset::Bulk;
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let now = context.tracker.now();
        let selection = match (&args.change, args.by_agent) {
            (Some(change), None) if args.since.is_none() && args.until.is_none() => {
                UndoSelection::Numbers(change.parse().map_err(Failure::invalid)?)
            }
            (None, Some(agent)) => {
                let since = args.since.as_deref().map(|text| time("since", text, now));
                let needed = || Failure::invalid("`by_agent` needs `since`, such as 1h");
                let since = since.ok_or_else(needed)??;
                let until = args.until.as_deref().map(|text| time("until", text, now));
                UndoSelection::By { agent, since, until: until.transpose()? }
            }
            _ => {
                let text = "give either `change`, the number of a change or of the first and last of several, or \
                     `by_agent` with `since`";
                return Err(Failure::invalid(text));
            }
        };
        let is_dry_run = args.dry_run.unwrap_or(true);
        let proof = context.proof(None);
        let undone = context.tracker.undo(&selection, &args.agent, proof, is_dry_run).await;
        let outcome = undone.map_err(|error| match error {
            UndoError::Store(error) => error.into(),
            error => Failure::invalid(error.to_string()),
        })?;
        Success::report(report(&outcome, is_dry_run))
    }
}

fn time(name: &str, text: &str, now: Timestamp) -> Result<Timestamp, Failure> {
    let parsed = TimeArg::parse(text, &Utc).map(|time| time.time(now));
    parsed.map_err(|_| {
        Failure::invalid(format!("`{name}` must be a time such as {FORMS}; not {:?}", shown(text)))
    })
}

fn report(outcome: &UndoOutcome, is_dry_run: bool) -> Value {
    let undone = outcome.issues.iter().filter(|issue| !issue.undone.is_empty());
    let left =
        outcome.issues.iter().filter(|issue| !issue.left.is_empty() || issue.refused.is_some());
    let name = |issue: &UndoneIssue| {
        let title = shown(issue.title.as_deref().unwrap_or("gone"));
        format!("{} {title:?}", issue.id.short())
    };
    let mut report = json!({
        "changes": outcome.count,
        if is_dry_run { "would_undo" } else { "undone" }: undone.clone().count(),
        "issues": undone.take(MAX_PREVIEW).map(|issue| {
            format!("{}: {}", name(issue), issue.undone.join(", "))
        }).collect::<Vec<_>>(),
        "left": left.take(MAX_PREVIEW).map(|issue| {
            format!("{}: {}", name(issue), hints::for_undone(issue, &hints::TOOLS).join("; "))
        }).collect::<Vec<_>>(),
    });
    if let Some(events) = &outcome.events {
        report["change"] = events.to_string().into();
    }
    let ends = outcome.ends_issues().then(|| hints::ENDS_FOR_AGENTS.to_owned());
    let warnings: Vec<_> =
        ends.into_iter().chain(outcome.log_begins.map(|at| at.to_string())).collect();
    if !warnings.is_empty() {
        report["warning"] = warnings.join("; ").into();
    }
    if is_dry_run {
        // With the numbers, because the agent may change more until then.
        let numbers = &outcome.numbers;
        let next = format!(
            "nothing was changed yet: call again with change: \"{numbers}\" and dry_run: false"
        );
        report["next"] = next.into();
    }
    report
}
