//! `get_context`: what an agent needs to know around an issue before it begins.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{CallContext, Tool};
use crate::options::Toolset;
use crate::reply::{Reply, issue_line};
use crate::result::{Failure, Success};
use ait_domain::schema::any_string;
use ait_domain::string_schema;
use ait_domain::text::shortened;
use ait_domain::{
    ActionKind, Classification, Condition, Issue, IssueGraph, IssueId, IssueRef, LinkKind, Query,
    Status,
};
use ait_hooks::{IssueWork, issue_work};
use ait_system::git::Git;
use ait_tracker::{IndexedIssues, Lesson};

pub(super) struct GetContext;

/// How many issues a call may name.
const MAX_ISSUES: usize = 20;
/// How many rows of each kind a context has.
const MAX_ROWS: usize = 20;
/// How many earlier attempts a context has, the newest ones.
const MAX_ATTEMPTS: usize = 10;
/// How much an earlier attempt may say, in characters.
const ATTEMPT_CHARS: usize = 500;
/// How long git may take for a call.
const GIT_LIMIT: Duration = Duration::from_millis(500);
/// What a reply needs besides its sections, in tokens.
const FRAME: usize = 60;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Up to 20, separated by commas; none: the project
    issue_id: Option<IssueIds>,
}

/// One or several references to issues, each once.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct IssueIds(Vec<IssueRef>);

impl TryFrom<String> for IssueIds {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let ids = text.split(',').map(str::trim).filter(|id| !id.is_empty());
        let mut found: Vec<IssueRef> = Vec::new();
        for id in ids {
            let id =
                IssueRef::named(id, IssueRef::MIN_DIGITS).map_err(|error| error.to_string())?;
            if !found.contains(&id) {
                found.push(id);
            }
        }
        match found.len() {
            1..=MAX_ISSUES => Ok(Self(found)),
            count => Err(format!("`issue_id` must name 1 to {MAX_ISSUES} issues, not {count}")),
        }
    }
}

string_schema! {
    IssueIds = any_string(),
}

impl Tool for GetContext {
    const NAME: &'static str = "get_context";
    const DESCRIPTION: &'static str = "What to know before work on an issue: it, its parent, children, blockers and \
        duplicates, what earlier attempts said, branches and commits.";
    const READ_ONLY: bool = true;
    const TOOLSET: Toolset = Toolset::Analysis;
    const LOOSE: &[&str] = &["issue_id"];
    type Args = Args;

    async fn call(context: CallContext, args: Args) -> Result<Success, Failure> {
        let Some(ids) = args.issue_id else { return of_project(&context).await };
        let mut issues: Vec<Arc<Issue>> = Vec::new();
        for reference in ids.0 {
            let issue = context.tracker.get_issue(reference).await?;
            if issues.iter().all(|known| known.id != issue.id) {
                issues.push(issue);
            }
        }
        let around = context.tracker.issues_around(issues.iter().map(|issue| issue.id)).await?;
        let root = context.server.get().await.project.root;
        let ids: Vec<IssueId> = issues.iter().map(|issue| issue.id).collect();
        // Without a repository, or with one that is slow, a context lacks what git knows.
        let work = issue_work(&Git::new(root, GIT_LIMIT), &ids).await.unwrap_or_default();
        let mut known = Vec::new();
        for issue in &issues {
            known.push(context.known(issue).await);
        }
        Ok(Success::done(Reply::Text(written(&issues, &around, &known, &work, &context))))
    }
}

/// Returns what to know of the project: decisions and other entries in force, open questions, and what is under way.
async fn of_project(context: &CallContext) -> Result<Success, Failure> {
    let tracker = &context.tracker;
    let decision = Condition::Classification(Classification::Decision);
    let others = Condition::Not(Box::new(decision.clone()));
    let mut sections = Map::new();
    for (section, kind) in [("decisions", decision), ("entries", others)] {
        let found = tracker.entries_in_force(kind, MAX_ROWS).await?.issues;
        let lessons: Vec<_> =
            found.iter().map(|entry| Lesson::of_entry(entry, ATTEMPT_CHARS)).collect();
        sections.insert(section.to_owned(), json!(context.lines(lessons).await));
    }
    let questions = tracker.questions().await?;
    let questions = questions.iter().take(MAX_ROWS);
    let questions = questions.map(|asked| format!("{} {}", asked.id.short(), asked.question));
    sections.insert("questions".to_owned(), questions.collect());
    let claimed = [Status::InProgress, Status::InReview].into_iter().collect();
    let claimed = Query { statuses: claimed, take: MAX_ROWS, ..Query::default() };
    let claimed = tracker.list_issues(claimed).await?.issues;
    let claimed = claimed.iter().map(|issue| issue_line(issue));
    sections.insert("underWay".to_owned(), claimed.collect());
    sections.retain(|_, rows| *rows != json!([]));
    Ok(Success::done(Reply::Report(Value::Object(sections))))
}

/// Writes the rows of all issues, and then the context of each. Each gets the same share of what is left of the budget.
fn written(
    issues: &[Arc<Issue>],
    around: &IndexedIssues,
    known: &[Vec<String>],
    work: &[IssueWork],
    context: &CallContext,
) -> String {
    let replies = &context.replies;
    let mut reply = Map::new();
    if issues.len() > 1 {
        let rows: Vec<_> = issues.iter().map(|issue| issue_line(issue)).collect();
        reply.insert("issues".to_owned(), json!(rows));
    }
    let used = replies.tokens(&Value::Object(reply.clone()).to_string()) + FRAME;
    let share = replies.max_tokens.tokens().saturating_sub(used) / issues.len();
    let contexts = issues.iter().enumerate().map(|(at, issue)| {
        let mut rest = share.saturating_sub(FRAME);
        let mut written = Map::new();
        for (section, value, most) in sections(issue, around, &known[at], work.get(at), share) {
            // What comes first is cut last.
            let text = replies.report_within(value, rest.min(most));
            rest = rest.saturating_sub(replies.tokens(&text) + section.len());
            let value = serde_json::from_str(&text).unwrap_or_default();
            written.insert(section.to_owned(), value);
        }
        Value::Object(written)
    });
    let contexts: Vec<Value> = contexts.collect();
    reply.insert("contexts".to_owned(), json!(contexts));
    replies.report_within(Value::Object(reply), usize::MAX)
}

/// Returns the sections of a context that have a content, in their order, each with the most tokens that it may take.
fn sections(
    issue: &Issue,
    around: &IndexedIssues,
    known: &[String],
    work: Option<&IssueWork>,
    share: usize,
) -> Vec<(&'static str, Value, usize)> {
    let linked = |kind| issue.attributes.linked(kind).collect::<Vec<IssueId>>();
    let from = |kind| around.linked_from(kind, issue.id);
    let rows = |ids: Vec<IssueId>| {
        let rows = ids.iter().take(MAX_ROWS).map(|id| match around.get(*id) {
            Some(issue) => issue_line(&issue),
            None => format!("{} does not exist", id.short()),
        });
        json!(rows.collect::<Vec<_>>())
    };
    let duplicates = [linked(LinkKind::DuplicateOf), from(LinkKind::DuplicateOf)].concat();
    let found = [
        ("issue", head(issue), share / 2),
        ("parent", rows(linked(LinkKind::Parent)), share),
        ("children", rows(from(LinkKind::Parent)), share),
        ("blockedBy", rows(linked(LinkKind::BlockedBy)), share),
        ("blocks", rows(from(LinkKind::BlockedBy)), share),
        ("duplicates", rows(duplicates), share),
        ("known", json!(known), share),
        ("attempts", attempts(issue), share),
        ("git", work.map_or(json!({}), |work| json!(work)), share),
    ];
    let is_empty = |value: &Value| *value == json!([]) || *value == json!({});
    found.into_iter().filter(|(_, value, _)| !is_empty(value)).collect()
}

/// Returns an issue without its history and its comments.
fn head(issue: &Issue) -> Value {
    let holder = issue.holder();
    let mut head = json!({
        "id": issue.id,
        "title": issue.title,
        "status": issue.status,
        "classification": issue.classification,
        "createdAt": issue.created_at,
        "modifiedAt": issue.modified_at,
        "description": issue.description,
    });
    let attributes = json!(*issue.attributes);
    if let (Some(head), Value::Object(attributes)) = (head.as_object_mut(), attributes) {
        // The links are sections of their own.
        head.extend(attributes.into_iter().filter(|(name, _)| name != "links"));
        if let Some(holder) = holder {
            head.insert("heldBy".to_owned(), holder.agent.into());
            head.insert("heldSince".to_owned(), json!(holder.since));
        }
    }
    head
}

/// Returns what earlier agents said when they gave the issue back, handed it in, asked or were answered, newest first.
fn attempts(issue: &Issue) -> Value {
    let timeline = issue.timeline();
    let said = timeline.iter().rev().filter_map(|entry| {
        let kind = entry.kind();
        let is_attempt = matches!(
            kind,
            ActionKind::Returned
                | ActionKind::Completed
                | ActionKind::Lapsed
                | ActionKind::Asked
                | ActionKind::Answered
        );
        let text = entry.comment.filter(|_| is_attempt)?;
        Some(json!({
            "at": entry.at,
            "agent": entry.agent,
            "action": entry.action,
            "said": shortened(text, ATTEMPT_CHARS),
        }))
    });
    json!(said.take(MAX_ATTEMPTS).collect::<Vec<_>>())
}
