//! `recall`: find what earlier agents kept.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{CallContext, Tool};
use crate::domain::{Issue, IssueRef, LinkKind, Timestamp, memory};
use crate::mcp::options::Toolset;
use crate::mcp::reply::Reply;
use crate::mcp::result::{Failure, Success};

pub(super) struct Recall;

/// How many rows a call returns if it does not say.
const DEFAULT_TAKE: usize = 10;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Words, file:src/x.rs, label:ui, kind:decision, by:dev-1
    query: Option<String>,
    /// What is near to this issue
    issue_id: Option<IssueRef>,
    /// Whole texts of these
    #[serde(default)]
    ids: Vec<IssueRef>,
    #[schemars(range(min = 1, max = 50))]
    take: Option<usize>,
}

impl Tool for Recall {
    const NAME: &'static str = "recall";
    const DESCRIPTION: &'static str = "Find what earlier agents kept and closed issues said. A claim shows the nearest: \
        call this before you decide what others may have decided.";
    const READ_ONLY: bool = true;
    const TOOLSET: Toolset = Toolset::Memory;
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let Args { query, issue_id, ids, take } = args;
        let tracker = &context.tracker;
        let mut report = json!({});
        if !ids.is_empty() {
            let mut whole = Vec::new();
            for id in ids {
                whole.push(written(&*tracker.get_issue(id).await?));
            }
            report["entries"] = Value::Array(whole);
        }
        let mut found = Vec::new();
        if let Some(issue) = issue_id {
            let issue = tracker.get_issue(issue).await?;
            found.extend(tracker.known(&issue).await);
        }
        if query.is_some() || (found.is_empty() && report == json!({})) {
            let parsed = context.parse_query(query.as_deref())?;
            found.extend(tracker.recall(&parsed, take.unwrap_or(DEFAULT_TAKE), false).await?);
        }
        let mut told = BTreeSet::new();
        found.retain(|lesson| told.insert(lesson.issue));
        if !found.is_empty() || report == json!({}) {
            let lines = context.lines(&found).await;
            let said = found.iter().zip(lines);
            let said = said
                .map(|(lesson, line)| format!("{line} ({}, {})", lesson.agent, day(lesson.since)));
            report["found"] = json!(said.collect::<Vec<_>>());
        }
        Ok(Success::done(Reply::Report(report)))
    }
}

/// Returns the day of a time in UTC.
fn day(time: Timestamp) -> String {
    time.to_string().chars().take("2026-11-21".len()).collect()
}

/// Returns an entry with its whole text. Of an issue, it has the title and the description.
fn written(entry: &Issue) -> Value {
    let related = entry.attributes.linked(LinkKind::Related).map(|id| id.short());
    let labels = entry.attributes.labels.iter().map(ToString::to_string);
    let about: Vec<_> = memory::files(entry).into_iter().chain(labels).chain(related).collect();
    let mut written = json!({
        "id": entry.id.short(),
        "kind": entry.classification,
        "text": memory::text(entry),
        "about": about,
        "agent": entry.history.first().map(|first| &first.agent),
        "at": entry.created_at,
    });
    if let Some(replacement) = memory::replacement(entry) {
        written["replacedBy"] = replacement.short().into();
    }
    if let Some(due) = entry.attributes.due {
        written["until"] = json!(due);
    }
    written
}
