//! The issues of beads (`bd`), as its `issues.jsonl` holds them and `bd list --json` writes them.
//!
//! | of beads | here |
//! |---|---|
//! | `id` | the id is derived from it, so that it is the same each time |
//! | `description`, `design`, `acceptance_criteria`, `notes` | the description, with a heading for each of the last three |
//! | `issue_type` | `bug` is a bug, `feature` and `epic` are features, all other work is an improvement |
//! | `status` | `open`, `blocked` and `deferred` are created, `in_progress` and `hooked` in progress, `closed` closed |
//! | `created_by`, `assignee`, `closed_at`, `close_reason` | entries of the history, and a comment |
//! | `comments` | comments |
//! | everything else, and what the above says less exactly | kept under the unknown key `beads` |
//!
//! What is no work to be done (messages, agents, gates, templates, pinned notes) and what beads has
//! deleted is refused. Known from its sources: `internal/types/types.go`, versions 0.9 to 0.5x.

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::value::{RawValue, to_raw_value};

use super::{Content, Draft, derived, object};
use crate::domain::event::{CLAIM_ACTION, CLOSE_ACTION, FILE_ACTION};
use crate::domain::{
    Classification, Comment, EventKind, Extra, HistoryEntry, Issue, Status, Timestamp,
};
use crate::json_text;

/// The key under which the rest is kept.
const KEY: &str = "beads";
/// Who acts where beads does not say it.
const NOBODY: &str = "beads";
/// What is carried over as it is and need not be kept twice.
const CARRIED: [&str; 7] =
    ["_type", "title", "description", "design", "acceptance_criteria", "notes", "comments"];
/// The types of what beads keeps beside work.
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

/// Reads an object of beads.
pub(super) fn read(text: &str, now: Timestamp) -> Content {
    let bead = match serde_json::from_str::<Bead>(text) {
        Ok(bead) => bead,
        Err(error) => {
            return object::refused(
                text,
                &format!("no issue of beads: {}", json_text::problem(&error)),
            );
        }
    };
    match draft(bead, text, now) {
        Ok(draft) => Content::Issue(draft),
        Err(reason) => object::refused(text, &reason),
    }
}

fn draft(bead: Bead, text: &str, now: Timestamp) -> Result<Draft, String> {
    let status = status_of(&bead)?;
    let created_at = bead.created_at.or(bead.updated_at).unwrap_or(now);
    let changed_at = bead.updated_at.unwrap_or(created_at);
    let mut issue = Issue {
        id: derived::id("beads", &[&bead.id]),
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
        history: vec![entry(created_at, named(bead.created_by.as_deref()), FILE_ACTION)],
        comments: comments_of(&bead),
        extra: rest_of(text),
    };
    let assignee = named(bead.assignee.as_deref());
    match status {
        Status::InProgress => issue.history.push(entry(changed_at, assignee, CLAIM_ACTION)),
        Status::Closed => {
            let comment = bead.close_reason.clone().unwrap_or_default();
            let closed_at = bead.closed_at.unwrap_or(changed_at);
            let closed = EventKind::Closed { comment };
            issue.history.push(entry(closed_at, assignee, CLOSE_ACTION));
            let comment = closed.comment().filter(|text| !text.trim().is_empty());
            issue.comments.extend(comment.map(|text| said(closed_at, assignee, text)));
        }
        _ => {}
    }
    let latest = issue.history.last().map_or(changed_at, |last| last.timestamp);
    issue.modified_at = changed_at.max(latest);
    let issue = issue.try_into().map_err(|error: crate::domain::DomainError| error.to_string())?;
    let times = ["createdAt", "modifiedAt", "history"];
    let is_dated = bead.created_at.is_some() || bead.updated_at.is_some();
    Ok(Draft { issue, unstated: if is_dated { Vec::new() } else { times.to_vec() } })
}

/// Where an issue stands; why it is none that could stand anywhere.
fn status_of(bead: &Bead) -> Result<Status, String> {
    if let Some(other) = bead.record_type.as_deref().filter(|kind| *kind != "issue") {
        return Err(format!("a {other} of beads is no issue"));
    }
    if bead.id.is_empty() {
        return Err("it has no id".to_owned());
    }
    if let Some(kind) = bead.issue_type.as_deref().filter(|kind| NO_WORK.contains(kind)) {
        return Err(format!("a {kind} of beads is no work to be done"));
    }
    if bead.pinned == Some(true) || bead.is_template == Some(true) {
        return Err("what is pinned, or a template, in beads is no work to be done".to_owned());
    }
    match bead.status.as_deref().unwrap_or_default() {
        "" | "open" | "blocked" | "deferred" => Ok(Status::Created),
        "in_progress" | "hooked" => Ok(Status::InProgress),
        "closed" => Ok(Status::Closed),
        "tombstone" => Err("it was deleted in beads".to_owned()),
        other => Err(format!(
            "its status in beads is {other:?}, which means nothing here: make it open, in_progress or \
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

fn comments_of(bead: &Bead) -> Vec<Comment> {
    let comments = bead.comments.iter().flatten();
    comments.map(|it| said(it.created_at, named(it.author.as_deref()), &it.text)).collect()
}

/// The object without what is carried over as it is.
fn rest_of(text: &str) -> Extra {
    let mut extra = Extra::default();
    // To the letter, whatever the values are, but in one line.
    let text = json_text::without_white_space(text);
    let mut object: IndexMap<String, Box<RawValue>> =
        serde_json::from_str(&text).unwrap_or_default();
    object.retain(|key, _| !CARRIED.contains(&key.as_str()));
    if let Ok(rest) = to_raw_value(&object) {
        let rest: Box<RawValue> = rest;
        extra.insert(KEY.to_owned(), rest);
    }
    extra
}

fn named(name: Option<&str>) -> &str {
    name.map(str::trim).filter(|name| !name.is_empty()).unwrap_or(NOBODY)
}

fn entry(timestamp: Timestamp, agent: &str, action: &str) -> HistoryEntry {
    let (agent, action) = (agent.to_owned(), action.to_owned());
    HistoryEntry { timestamp, agent, action, extra: Extra::default() }
}

fn said(timestamp: Timestamp, agent: &str, text: &str) -> Comment {
    let (agent, text) = (agent.to_owned(), text.to_owned());
    Comment { timestamp, agent, text, extra: Extra::default() }
}
