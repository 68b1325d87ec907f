//! The JSON form of events, for scripts and programs.

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::NumberedEvent;
use ait_domain::{
    Attributes, Change, Event, EventKind, Issue, IssueId, Patch, Status, TimelineEntry, Timestamp,
};

/// An event as JSON, with the values before and after. Absent values are omitted.
#[derive(Debug, Serialize)]
pub struct EventRecord<'a> {
    /// The number of the event; absent for history entries older than the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u64>,
    /// The number together with the hash of all events up to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<String>,
    at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    issue: Option<IssueId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    /// The status after the event.
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    agent: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Values>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<Values>,
}

/// The values before or after an event, by the names of their fields.
type Values = IndexMap<String, Box<RawValue>>;

impl<'a> EventRecord<'a> {
    /// Returns the record of an event. `title` is the current title of its issue, if the issue still exists.
    pub fn new(numbered: &'a NumberedEvent, title: Option<&'a str>) -> Self {
        let NumberedEvent { position, event } = numbered;
        let [before, after] = values(event);
        Self {
            number: Some(position.number),
            position: Some(position.to_string()),
            at: event.at,
            kind: Some(event.kind.word()),
            issue: (event.issue != IssueId::NIL).then_some(event.issue),
            title: title.or_else(|| title_in(event)),
            status: event.status_after(),
            agent: &event.agent,
            action: event.kind.action(),
            comment: event.kind.comment(),
            before,
            after,
        }
    }

    /// Returns the record of a timeline entry that is older than the log.
    pub fn of_moment(issue: &'a Issue, moment: &TimelineEntry<'a>) -> Self {
        Self {
            number: None,
            position: None,
            at: moment.at,
            kind: moment.kind().word(),
            issue: Some(issue.id),
            title: Some(&issue.title),
            status: moment.status(),
            agent: moment.agent,
            action: moment.action,
            comment: moment.comment,
            before: None,
            after: None,
        }
    }
}

/// Returns the title of the issue, if the event contains it.
pub fn title_in(event: &Event) -> Option<&str> {
    match &event.kind {
        EventKind::Filed { title, .. } => Some(title),
        EventKind::Imported { issue, .. } | EventKind::Removed { issue, .. } => Some(&issue.title),
        EventKind::Edited { patch } | EventKind::Changed { patch } => {
            patch.title.as_ref().map(|title| title.after.as_str())
        }
        _ => None,
    }
}

fn values(event: &Event) -> [Option<Values>; 2] {
    let patch = match &event.kind {
        EventKind::Imported { issue, .. } => return [None, fields(issue)],
        EventKind::Removed { issue, .. } => return [fields(issue), None],
        EventKind::Commented { .. } => return [None, None],
        EventKind::Edited { patch } | EventKind::Changed { patch } => {
            return sides(patch).map(Some);
        }
        EventKind::Filed { title, description, classification, attributes } => Patch {
            title: changed(String::new(), title.clone()),
            description: changed(String::new(), description.clone()),
            classification: changed(*classification, *classification),
            status: event.status_after().and_then(|status| changed(status, status)),
            attributes: changed(Attributes::default(), attributes.clone()),
            ..Patch::default()
        },
        EventKind::UnknownKeysEdited { keys } => {
            Patch { unknown_keys: Some(Change::clone(keys)), ..Patch::default() }
        }
        _ => {
            let side = |status: Option<Status>| {
                let status = status.and_then(|status| to_raw_value(&status).ok());
                status.map(|status| ("status".to_owned(), status)).into_iter().collect()
            };
            return [event.status_before(), event.status_after()].map(side).map(Some);
        }
    };
    let [before, after] = sides(&patch);
    let is_new = matches!(event.kind, EventKind::Filed { .. });
    [Some(before).filter(|_| !is_new), Some(after)]
}

fn changed<T>(before: T, after: T) -> Option<Change<T>> {
    Some(Change { before, after })
}

fn fields(value: &impl Serialize) -> Option<Values> {
    serde_json::from_str(&serde_json::to_string(value).ok()?).ok()
}

/// Returns the changed fields before and after a change. Of lists, a side has the items that only it has; an attribute
/// that is not set is `null`.
fn sides(patch: &Patch) -> [Values; 2] {
    let changes = serde_json::to_string(patch).unwrap_or_default();
    let changes: IndexMap<String, Values> = serde_json::from_str(&changes).unwrap_or_default();
    [["before", "removed"], ["after", "added"]].map(|keys| {
        let mut side = Values::new();
        for (name, change) in &changes {
            let value = keys.iter().find_map(|key| change.get(*key)).cloned();
            // A list that gets or loses nothing.
            let value = value.or_else(|| to_raw_value(&[(); 0]).ok()).unwrap_or_default();
            if name == "attributes" {
                let values = fields(&value).unwrap_or_default();
                let changes = patch.attributes.iter();
                let names = changes.flat_map(|change| change.before.changed_fields(&change.after));
                let value = |name: &str| values.get(name).cloned().unwrap_or_default();
                side.extend(names.map(|name| (name.to_owned(), value(name))));
            } else {
                let name = if name == "unknown" { "otherKeys" } else { name };
                side.insert(name.to_owned(), value);
            }
        }
        side
    })
}
