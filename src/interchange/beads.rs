//! Issues of beads (`bd`), as in its `issues.jsonl` or the output of `bd list --json`.
//!
//! | beads | ait |
//! |---|---|
//! | `id` | the id is derived from it, so it is the same in each import |
//! | `description`, `design`, `acceptance_criteria`, `notes` | the description, with headings for the last three |
//! | `issue_type` | `bug` is a bug, `feature` and `epic` are features, everything else is an improvement |
//! | `status` | `open`, `blocked` and `deferred` are created, `in_progress` and `hooked` in progress, `closed` closed |
//! | `created_by`, `assignee`, `closed_at`, `close_reason` | history entries, and a comment |
//! | `comments` | comments |
//! | `priority`, `labels` | priority, labels |
//! | `deferred`, `defer_until` | parked |
//! | `dependencies`, `parent` | links, if the other issue is imported, too |
//! | everything else, and everything that the above represents less exactly | kept under the unknown key `beads` |
//!
//! Objects that are not work to be done (messages, agents, gates, templates, pinned notes) are refused, and deleted
//! issues are skipped. Source of the format: `internal/types/types.go` of beads, versions 0.9 to 0.5x.

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value as Json;
use serde_json::value::{RawValue, to_raw_value};

use super::attributes::{labels_of, priority_of};
use super::value::name_of;
use super::{Content, ImportDraft, NamedLink, defaults};
use crate::domain::event::{CLAIM_ACTION, CLOSE_ACTION, FILE_ACTION};
use crate::domain::external_id::BEADS_KEY;
use crate::domain::{
    AttributeValues, Attributes, Classification, Comment, EventKind, HistoryEntry, Issue, LinkKind,
    Parked, Status, Timestamp, UnknownKeys,
};
use crate::json_compat;

/// The agent where beads names none.
const NOBODY: &str = "beads";
/// The keys that are imported unchanged and need not be kept twice.
const CARRIED: [&str; 7] =
    ["_type", "title", "description", "design", "acceptance_criteria", "notes", "comments"];
/// The types of objects that are not work.
const NO_WORK: [&str; 7] = ["message", "molecule", "gate", "agent", "role", "convoy", "event"];

#[derive(Deserialize)]
struct Bead {
    #[serde(rename = "_type", default)]
    record_type: Option<String>,
    #[serde(default)]
    id: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    description: Option<String>,
    #[serde(default)]
    design: Option<String>,
    #[serde(default)]
    acceptance_criteria: Option<String>,
    #[serde(default)]
    notes: Option<String>,
    #[serde(default)]
    status: Option<String>,
    #[serde(default)]
    issue_type: Option<String>,
    #[serde(default)]
    assignee: Option<String>,
    #[serde(default)]
    created_by: Option<String>,
    created_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
    closed_at: Option<Timestamp>,
    #[serde(default)]
    close_reason: Option<String>,
    #[serde(default)]
    priority: Option<Json>,
    #[serde(default)]
    labels: Option<Json>,
    #[serde(default)]
    dependencies: Option<Json>,
    #[serde(default)]
    parent: Option<Json>,
    #[serde(default)]
    defer_until: Option<Json>,
    #[serde(default)]
    comments: Option<Vec<BeadComment>>,
    #[serde(default)]
    pinned: Option<bool>,
    #[serde(default)]
    is_template: Option<bool>,
}

#[derive(Deserialize)]
struct BeadComment {
    #[serde(default)]
    author: Option<String>,
    text: String,
    created_at: Timestamp,
}

/// Reads a beads object. The error says why it is refused.
pub(super) fn read(text: &str, now: Timestamp) -> Result<Content, String> {
    let bead: Bead = serde_json::from_str(text)
        .map_err(|error| format!("not a beads issue: {}", json_compat::problem(&error)))?;
    if bead.status.as_deref() == Some("tombstone") {
        let (id, title) = (Some(bead.id), Some(bead.title));
        return Ok(Content::Skipped { id, title, reason: "it was deleted in beads".to_owned() });
    }
    draft(bead, text, now).map(Content::Issue)
}

fn draft(bead: Bead, text: &str, now: Timestamp) -> Result<ImportDraft, String> {
    let status = status_of(&bead)?;
    let created_at = bead.created_at.or(bead.updated_at).unwrap_or(now);
    let changed_at = bead.updated_at.unwrap_or(created_at);
    let mut issue = Issue {
        id: defaults::id("beads", &[&bead.id]),
        title: bead.title.clone(),
        description: description_of(&bead),
        classification: match bead.issue_type.as_deref() {
            Some("bug") => Classification::Bug,
            Some("feature" | "epic") => Classification::Feature,
            _ => Classification::Improvement,
        },
        created_at,
        modified_at: changed_at,
        status,
        history: vec![HistoryEntry::new(
            created_at,
            named(bead.created_by.as_deref()),
            FILE_ACTION,
        )],
        comments: comments_of(&bead),
        attributes: attributes_of(&bead, status),
        unknown_keys: rest_of(text),
    };
    let assignee = named(bead.assignee.as_deref());
    match status {
        Status::InProgress => {
            issue.history.push(HistoryEntry::new(changed_at, assignee, CLAIM_ACTION));
        }
        Status::Closed => {
            let comment = bead.close_reason.clone().unwrap_or_default();
            let closed_at = bead.closed_at.unwrap_or(changed_at);
            let closed = EventKind::Closed { comment };
            issue.history.push(HistoryEntry::new(closed_at, assignee, CLOSE_ACTION));
            let comment = closed.comment().filter(|text| !text.trim().is_empty());
            issue.comments.extend(comment.map(|text| Comment::new(closed_at, assignee, text)));
        }
        _ => {}
    }
    let latest = issue.history.last().map_or(changed_at, |last| last.timestamp);
    issue.modified_at = changed_at.max(latest);
    let issue = issue.try_into().map_err(|error: crate::domain::DomainError| error.to_string())?;
    let times = ["createdAt", "modifiedAt", "history"];
    let is_dated = bead.created_at.is_some() || bead.updated_at.is_some();
    let unstated = if is_dated { Vec::new() } else { times.to_vec() };
    let filed = bead.created_at.map(|time| (time, 0));
    Ok(ImportDraft { issue, unstated, filed, lacks_id: None, named_links: links_of(&bead) })
}

/// Returns the status of an issue, or the reason why it is refused.
fn status_of(bead: &Bead) -> Result<Status, String> {
    if let Some(other) = bead.record_type.as_deref().filter(|kind| *kind != "issue") {
        return Err(format!("a beads {other} is not an issue"));
    }
    if bead.id.is_empty() {
        return Err("it has no id".to_owned());
    }
    if let Some(kind) = bead.issue_type.as_deref().filter(|kind| NO_WORK.contains(kind)) {
        return Err(format!("a beads {kind} is not work to be done"));
    }
    if bead.pinned == Some(true) || bead.is_template == Some(true) {
        return Err("pinned issues and templates of beads are not work to be done".to_owned());
    }
    match bead.status.as_deref().unwrap_or_default() {
        "" | "open" | "blocked" | "deferred" => Ok(Status::Created),
        "in_progress" | "hooked" => Ok(Status::InProgress),
        "closed" => Ok(Status::Closed),
        other => Err(format!(
            "its status in beads is {other:?}, which ait does not know: set it to open, in_progress or \
             closed in the file"
        )),
    }
}

fn description_of(bead: &Bead) -> String {
    let mut description = bead.description.clone().unwrap_or_default();
    let sections = [
        ("Design", &bead.design),
        ("Acceptance criteria", &bead.acceptance_criteria),
        ("Notes", &bead.notes),
    ];
    for (heading, text) in sections {
        let Some(text) = text.as_deref().filter(|text| !text.trim().is_empty()) else { continue };
        if !description.is_empty() {
            description.push_str("\n\n");
        }
        description.push_str(&format!("## {heading}\n\n{text}"));
    }
    description
}

fn attributes_of(bead: &Bead, status: Status) -> Attributes {
    let labels = bead.labels.as_ref().and_then(Json::as_array).into_iter().flatten();
    let priority = bead.priority.as_ref().and_then(name_of);
    Attributes::from(AttributeValues {
        priority: priority.and_then(|text| priority_of(&text)),
        labels: labels_of(labels.filter_map(name_of)),
        parked: parked_of(bead).filter(|_| status == Status::Created),
        ..AttributeValues::default()
    })
}

/// Returns why an issue waits until another time. Without a time of its own, each import would give another one.
fn parked_of(bead: &Bead) -> Option<Parked> {
    let until = bead.defer_until.as_ref().and_then(Json::as_str).and_then(Timestamp::parse);
    let is_deferred = bead.status.as_deref() == Some("deferred") || until.is_some();
    let since = bead.updated_at.or(bead.created_at).filter(|_| is_deferred)?;
    Some(Parked {
        reason: "deferred in beads".to_owned(),
        since,
        by: NOBODY.to_owned(),
        until,
        question: None,
    })
}

/// Returns the dependencies that are links in ait. The others depend on conditions, or relate no work.
fn links_of(bead: &Bead) -> Vec<NamedLink> {
    let link = |kind, name: &str| {
        let (name, ids) = (name.to_owned(), vec![defaults::id("beads", &[name])]);
        NamedLink { kind, name, ids }
    };
    let text = |value: &Json, keys: [&str; 2]| {
        let found = keys.iter().find_map(|key| value.get(*key)?.as_str());
        found.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let of_dependency = |dependency: &Json| {
        // `bd show` lists whole issues instead.
        let kind = text(dependency, ["type", "dependency_type"]);
        let kind = match kind.as_deref().unwrap_or("blocks") {
            "blocks" => LinkKind::BlockedBy,
            "parent-child" => LinkKind::Parent,
            "related" | "relates-to" | "discovered-from" => LinkKind::Related,
            "duplicates" => LinkKind::DuplicateOf,
            _ => return None,
        };
        let is_of_another = text(dependency, ["issue_id"; 2]).is_some_and(|id| id != bead.id);
        let other = text(dependency, ["depends_on_id", "id"]).filter(|_| !is_of_another)?;
        Some(link(kind, &other))
    };
    let parent = bead.parent.as_ref().and_then(Json::as_str).filter(|id| !id.is_empty());
    let dependencies = bead.dependencies.as_ref().and_then(Json::as_array).into_iter().flatten();
    let parent = parent.map(|id| link(LinkKind::Parent, id));
    dependencies.filter_map(of_dependency).chain(parent).collect()
}

fn comments_of(bead: &Bead) -> Vec<Comment> {
    let comments = bead.comments.iter().flatten();
    comments
        .map(|comment| {
            Comment::new(comment.created_at, named(comment.author.as_deref()), &comment.text)
        })
        .collect()
}

/// Returns the object without the keys that are imported unchanged.
fn rest_of(text: &str) -> UnknownKeys {
    let mut keys = UnknownKeys::default();
    // Values are kept verbatim except for white space, so the object fits on one line.
    let text = json_compat::without_white_space(text);
    let mut object: IndexMap<String, Box<RawValue>> =
        serde_json::from_str(&text).unwrap_or_default();
    object.retain(|key, _| !CARRIED.contains(&key.as_str()));
    if let Ok(rest) = to_raw_value(&object) {
        let rest: Box<RawValue> = rest;
        keys.insert(BEADS_KEY.to_owned(), rest);
    }
    keys
}

fn named(name: Option<&str>) -> &str {
    name.map(str::trim).filter(|name| !name.is_empty()).unwrap_or(NOBODY)
}
