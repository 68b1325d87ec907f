//! The JSON form of events, for scripts and programs.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::domain::{
    Attributes, Change, Classification, Comment, Event, EventKind, HistoryEntry, Issue, IssueId,
    Patch, Splice, Status, TimelineEntry, Timestamp, UnknownKeys,
};
use crate::tracker::NumberedEvent;

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
    before: Option<Values<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<Values<'a>>,
}

/// The values before or after an event.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Values<'a> {
    Issue(&'a Issue),
    Fields(Box<Fields<'a>>),
}

/// The changed fields. For lists, the items that only this side has.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Fields<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    classification: Option<Classification>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    modified_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<&'a [HistoryEntry]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comments: Option<&'a [Comment]>,
    /// The changed attributes; those that are not set are null.
    #[serde(flatten)]
    attributes: Map<String, Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    other_keys: Option<&'a UnknownKeys>,
}

impl<'a> EventRecord<'a> {
    /// Returns the record of an event. `title` is the current title of its issue, if the issue still exists.
    pub fn new(numbered: &'a NumberedEvent, title: Option<&'a str>) -> Self {
        let NumberedEvent { position, event } = numbered;
        let (before, after) = values(event);
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

fn values(event: &Event) -> (Option<Values<'_>>, Option<Values<'_>>) {
    let (before, after) = match &event.kind {
        EventKind::Imported { issue, .. } => return (None, Some(Values::Issue(issue))),
        EventKind::Removed { issue, .. } => return (Some(Values::Issue(issue)), None),
        EventKind::Commented { .. } => return (None, None),
        EventKind::Filed { title, description, classification, attributes } => {
            let after = Fields {
                title: Some(title),
                description: Some(description),
                classification: Some(*classification),
                status: event.status_after(),
                attributes: Side::After.attributes(&Some(Change {
                    before: Attributes::default(),
                    after: attributes.clone(),
                })),
                ..Fields::default()
            };
            return (None, Some(Values::Fields(Box::new(after))));
        }
        EventKind::UnknownKeysEdited { keys } => {
            let side = |keys| Fields { other_keys: Some(keys), ..Fields::default() };
            (side(&keys.before), side(&keys.after))
        }
        EventKind::Edited { patch } | EventKind::Changed { patch } => {
            (Side::Before.fields(patch), Side::After.fields(patch))
        }
        _ => {
            let side = |status| Fields { status, ..Fields::default() };
            (side(event.status_before()), side(event.status_after()))
        }
    };
    (Some(Values::Fields(Box::new(before))), Some(Values::Fields(Box::new(after))))
}

/// One side of a change.
#[derive(Clone, Copy)]
enum Side {
    Before,
    After,
}

impl Side {
    fn fields(self, patch: &Patch) -> Fields<'_> {
        Fields {
            title: self.value(&patch.title).map(String::as_str),
            description: self.value(&patch.description).map(String::as_str),
            classification: self.value(&patch.classification).copied(),
            created_at: self.value(&patch.created_at).copied(),
            modified_at: self.value(&patch.modified_at).copied(),
            status: self.value(&patch.status).copied(),
            history: self.items(&patch.history),
            comments: self.items(&patch.comments),
            attributes: self.attributes(&patch.attributes),
            other_keys: self.value(&patch.unknown_keys),
        }
    }

    fn attributes(self, change: &Option<Change<Attributes>>) -> Map<String, Value> {
        let (Some(change), Some(side)) = (change, self.value(change)) else { return Map::new() };
        let side = serde_json::to_value(side).unwrap_or_default();
        let changed = change.before.changed_fields(&change.after).into_iter();
        changed.map(|name| (name.to_owned(), side.get(name).cloned().unwrap_or_default())).collect()
    }

    fn value<T>(self, change: &Option<Change<T>>) -> Option<&T> {
        let Change { before, after } = change.as_ref()?;
        Some(match self {
            Self::Before => before,
            Self::After => after,
        })
    }

    fn items<T>(self, splice: &Option<Splice<T>>) -> Option<&[T]> {
        let Splice { removed, added, .. } = splice.as_ref()?;
        Some(match self {
            Self::Before => removed,
            Self::After => added,
        })
    }
}
