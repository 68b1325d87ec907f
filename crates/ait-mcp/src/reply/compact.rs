//! Compact replies: as few tokens as possible.

use std::fmt::Write;

use serde::Serialize;

use super::{List, ListedIssue, budget, json};
use ait_domain::text::{counted, shortened};
use ait_domain::{
    Attributes, Classification, Comment, FieldValue, Issue, IssueId, Status, Timestamp,
    UnknownKeys, ValueField,
};
use ait_system::span::humanize_duration;

/// How much of a title and of a holder's name a row shows, in characters.
const TITLE_IN_ROW: usize = 100;
/// The longest confirmation, in estimated tokens.
const CONFIRMATION: usize = 20;
/// How many comments a claim shows.
const COMMENTS: usize = 10;
/// The keys that a claim has besides those of an issue.
const OWN_KEYS: [&str; 3] = ["claim", "earlier", "more"];

/// Writes a row: short id, classification, status, holder, time since the last change, title.
pub(super) fn row(listed: &ListedIssue, now: Timestamp) -> String {
    let issue = &listed.issue;
    let id = if listed.is_short_id_unique { issue.id.short() } else { issue.id.to_string() };
    let holder = issue.holder().map_or("-", |holder| holder.agent);
    let holder = on_one_line(&shortened(holder, TITLE_IN_ROW)).replace(' ', "_");
    let age = humanize_duration(now.millis_since(issue.modified_at)).replace(' ', "");
    let title = on_one_line(&shortened(&issue.title, TITLE_IN_ROW));
    let marks = marks(listed, now);
    format!("{id} {} {} {holder} {age} {title}{marks}", issue.classification, issue.status)
}

/// Says what is special about an issue, such as ` [p0, ui, parked]`; nothing for most issues.
fn marks(listed: &ListedIssue, now: Timestamp) -> String {
    let attributes = &listed.issue.attributes;
    let mut values = ValueField::ALL.iter().filter_map(|field| {
        Some(match FieldValue::of(*field, attributes) {
            FieldValue::Priority(priority) => format!("p{}", priority?),
            FieldValue::Assignee(name) => format!("for {}", on_one_line(name?.as_str())),
            FieldValue::Due(due) => format!("due {}", due?),
            FieldValue::Estimate(estimate) => format!("estimate {}", estimate?),
            FieldValue::Touches(touches) => format!("touches {}", touches?),
            FieldValue::Budget(budget) => format!("budget {}", budget?),
        })
    });
    // Agents know the labels behind the priority.
    let priority = attributes.priority.and_then(|_| values.next());
    let labels = attributes.labels.iter().map(ToString::to_string);
    let blocked = listed.is_blocked.then(|| "blocked".to_owned());
    let parts = listed.waits_for_parts.then(|| "parts".to_owned());
    let parked = attributes.is_parked_at(now).then(|| "parked".to_owned());
    let gone = listed.gone.map(|gone| gone.to_string());
    let claim = listed.claim.map(|number| format!("claim {number}"));
    let marks =
        claim.into_iter().chain(priority).chain(labels).chain(values).chain(blocked).chain(parts);
    let marks = marks.chain(parked).chain(gone);
    match marks.collect::<Vec<_>>().join(", ") {
        marks if marks.is_empty() => marks,
        marks => format!(" [{marks}]"),
    }
}

/// Writes a list: the count, the rows, and what is left.
pub(super) fn list(list: &List, rows: &[String], more: Option<String>) -> String {
    let mut text = match list.total {
        0 if list.nothing.is_some() => list.nothing.clone().unwrap_or_default(),
        total if list.is_at_least && total > 1 => format!("{total} issues or more"),
        total => counted(total, "issue", "issues"),
    };
    if let Some(cursor) = list.cursor {
        let _ = write!(text, ", cursor {cursor}");
    }
    for line in rows.iter().chain(&more) {
        text.push('\n');
        text += line;
    }
    text
}

/// Writes a confirmation that ends with `rest`. The title is cut as far as necessary, and left out before a rest.
pub(super) fn confirmation(what: &str, issue: &Issue, rest: &str) -> String {
    let without_title = format!("{} {what}{rest}", issue.id.short());
    if !rest.is_empty() {
        return without_title;
    }
    let title = title_in_row(issue);
    let lengths = (4..=TITLE_IN_ROW).rev().step_by(4);
    let mut texts =
        lengths.map(|chars| format!("{} {what}: {}", issue.id.short(), shortened(&title, chars)));
    texts.find(|text| budget::line_fits(text, CONFIRMATION)).unwrap_or(without_title)
}

/// Returns the title of an issue as rows show it.
pub fn title_in_row(issue: &Issue) -> String {
    on_one_line(&shortened(&issue.title, TITLE_IN_ROW))
}

/// Writes an issue for the agent that has just claimed it: without its history and its older comments. `links` are the
/// lines of its links, if they are known.
pub(super) fn claim(
    issue: &Issue,
    links: Option<&[String]>,
    list_tool: &str,
) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Claim<'a> {
        id: IssueId,
        claim: usize,
        #[serde(skip_serializing_if = "Option::is_none")]
        earlier: Option<String>,
        title: &'a str,
        description: &'a str,
        classification: Classification,
        status: Status,
        comments: &'a [Comment],
        #[serde(flatten)]
        attributes: Attributes,
        #[serde(skip_serializing_if = "Option::is_none")]
        links: Option<&'a [String]>,
        #[serde(flatten)]
        unknown_keys: &'a UnknownKeys,
        #[serde(skip_serializing_if = "Option::is_none")]
        more: Option<String>,
    }
    if OWN_KEYS.iter().any(|key| issue.unknown_keys.get(key).is_some()) {
        // An unknown key would have the same key.
        return json(issue);
    }
    let older = issue.comments.len().saturating_sub(COMMENTS);
    json(&Claim {
        id: issue.id,
        claim: issue.claim_number(),
        earlier: issue.earlier_attempts(),
        title: &issue.title,
        description: &issue.description,
        classification: issue.classification,
        status: issue.status,
        comments: &issue.comments[older..],
        attributes: match links {
            Some(_) => issue.attributes.with_links(&[]),
            None => issue.attributes.clone(),
        },
        links,
        unknown_keys: &issue.unknown_keys,
        more: (older > 0)
            .then(|| format!("{older} older comments: call {list_tool} with this issue_id")),
    })
}

/// Puts a text on one line, without control characters.
pub fn on_one_line(text: &str) -> String {
    text.replace(
        |character: char| character.is_control() || "\u{2028}\u{2029}".contains(character),
        " ",
    )
}
