//! Events as JSON, for scripts and programs.

use serde::Serialize;

use super::kind_of;
use crate::domain::{
    Change, Classification, Comment, Event, EventKind, Extra, HistoryEntry, Issue, IssueId, Moment,
    Patch, Splice, Status, Timestamp,
};
use crate::tracker::NumberedEvent;

/// An event as JSON, with the values before and after. What there is not is left out.
#[derive(Debug, Serialize)]
pub struct EventRecord<'a> {
    /// The number of the event; none for an entry of a history that is older than the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    number: Option<u64>,
    /// The number with the hash of all events up to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<String>,
    at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    issue: Option<IssueId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    /// The status afterwards.
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

/// What an event found or left.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Values<'a> {
    Issue(&'a Issue),
    Fields(Box<Fields<'a>>),
}

/// The fields that changed. Of a list, the items that only this side has.
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
    /// The keys that this version does not know, all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    other_keys: Option<&'a Extra>,
}

impl<'a> EventRecord<'a> {
    /// Returns the record of an event; `title` is what its issue is called now, if it is still there.
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

    /// Returns the record of an entry in the history of an issue that is older than the log.
    pub fn of_moment(issue: &'a Issue, moment: &Moment<'a>) -> Self {
        Self {
            number: None,
            position: None,
            at: moment.at,
            kind: kind_of(moment),
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

/// Returns the title of its issue, if an event itself tells it.
pub fn title_in(event: &Event) -> Option<&str> {
    match &event.kind {
        EventKind::Filed { title, .. } => Some(title),
        EventKind::Imported { issue, .. } | EventKind::Removed { issue, .. } => Some(&issue.title),
        EventKind::Edited { patch } => patch.title.as_ref().map(|title| title.after.as_str()),
        _ => None,
    }
}

fn values(event: &Event) -> (Option<Values<'_>>, Option<Values<'_>>) {
    let (before, after) = match &event.kind {
        EventKind::Imported { issue, .. } => return (None, Some(Values::Issue(issue))),
        EventKind::Removed { issue, .. } => return (Some(Values::Issue(issue)), None),
        EventKind::Commented { .. } => return (None, None),
        EventKind::Filed { title, description, classification } => {
            let after = Fields {
                title: Some(title),
                description: Some(description),
                classification: Some(*classification),
                status: event.status_after(),
                ..Fields::default()
            };
            return (None, Some(Values::Fields(Box::new(after))));
        }
        EventKind::UnknownKeysEdited { keys } => {
            let side = |keys| Fields { other_keys: Some(keys), ..Fields::default() };
            (side(&keys.before), side(&keys.after))
        }
        EventKind::Edited { patch } => (Side::Before.fields(patch), Side::After.fields(patch)),
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
            other_keys: self.value(&patch.unknown),
        }
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
