//! `recall`: find what earlier agents kept.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{CallContext, Tool};
use crate::options::Toolset;
use crate::reply::Reply;
use crate::result::{Failure, Success};
use ait_domain::{Issue, IssueRef, LinkKind, Timestamp, memory};
use ait_hooks::note_changes;
use ait_tracker::memory::Recall;

pub(super) struct RecallTool;

/// How many rows a call returns if it does not say.
const DEFAULT_TAKE: usize = 10;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Words, file:src/x.rs, label:ui, kind:decision, by:dev-1, stale:yes
    query: Option<String>,
    /// What its claim shows
    issue_id: Option<IssueRef>,
    /// What lies around a file, agent or issue
    about: Option<String>,
    depth: Option<usize>,
    /// Whole texts
    #[serde(default)]
    ids: Vec<IssueRef>,
    #[schemars(range(min = 1, max = 50))]
    take: Option<usize>,
}

impl Tool for RecallTool {
    const NAME: &'static str = "recall";
    const DESCRIPTION: &'static str = "Find what agents kept and closed issues said. A claim shows the nearest: call this \
        before you decide what others may have decided.";
    const READ_ONLY: bool = true;
    const TOOLSET: Toolset = Toolset::Memory;
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let Args { query, issue_id, about, depth, ids, take } = args;
        let take = take.unwrap_or(DEFAULT_TAKE);
        let tracker = &context.tracker;
        let mut report = json!({});
        if !ids.is_empty() {
            let mut whole = Vec::new();
            for id in ids {
                whole.push(written(&*tracker.get_issue(id).await?));
            }
            report["entries"] = Value::Array(whole);
        }
        if let Some(about) = about {
            let graph = tracker.graph(&about, depth.unwrap_or(1)).await?;
            let lines: Vec<_> = graph.lines().into_iter().take(take).collect();
            report["around"] = json!(lines);
        }
        let git = context.git().await;
        let mut found = Vec::new();
        if let Some(issue) = issue_id {
            let issue = tracker.get_issue(issue).await?;
            found.extend(tracker.known(&issue).await);
            note_changes(&git, &mut found).await;
        }
        if query.is_some() || (found.is_empty() && report == json!({})) {
            let query = query.unwrap_or_default();
            let recall = Recall::of(&query, take);
            let parsed = context.parse_query(Some(&recall.query))?;
            found.extend(tracker.recall(&parsed, recall.examined(), false).await?);
            note_changes(&git, &mut found).await;
            recall.keep(&mut found);
        }
        let mut told = BTreeSet::new();
        found.retain(|lesson| told.insert(lesson.issue));
        if !found.is_empty() || report == json!({}) {
            let said = found
                .iter()
                .map(|lesson| format!("{lesson} ({}, {})", lesson.agent, day(lesson.since)));
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
