//! An event as JSON, as every store keeps it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use ait_domain::{
    Attributes, Before, Change, Classification, ClientId, Event, EventKind, Facts, Issue, IssueId,
    Lease, Patch, Status, Timestamp, UnknownKeys, Work,
};

/// Returns the JSON of an event.
pub(super) fn write(event: &Event) -> Vec<u8> {
    serde_json::to_vec(&Fields::of(event))
        .expect("structures of strings and numbers are valid JSON")
}

/// Reads an event. Returns `None` for an unknown form: a newer version wrote it.
pub(super) fn read(json: &str) -> Option<Event> {
    serde_json::from_str::<Fields<'_>>(json).ok()?.into_event()
}

/// The keys of an event. Its kind determines which of them are present.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Fields<'a> {
    kind: &'a str,
    issue: IssueId,
    at: Timestamp,
    agent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<BeforeFields>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    classification: Option<Classification>,
    #[serde(default, skip_serializing_if = "Attributes::is_empty")]
    attributes: Attributes,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<Arc<Issue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ahead_of: Option<IssueId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    patch: Option<Box<Patch>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    keys: Option<Box<Change<UnknownKeys>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lease: Option<Lease>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<ClientId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    to: Option<ClientId>,
    /// Whether a comment left a history entry.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    entry: bool,
    /// What was handed in with a completion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    work: Option<Box<Work>>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct BeforeFields {
    status: Status,
    modified_at: Timestamp,
}

impl<'a> Fields<'a> {
    fn of(event: &'a Event) -> Self {
        let before =
            event.before.map(|Before { status, modified_at }| BeforeFields { status, modified_at });
        let mut fields = Self {
            kind: event.kind.logged_word(),
            issue: event.issue,
            at: event.at,
            agent: event.agent.clone(),
            before,
            title: None,
            description: None,
            classification: None,
            attributes: Attributes::default(),
            // The patch of a change has its comment.
            comment: match &event.kind {
                EventKind::Changed { .. } => None,
                kind => kind.comment().map(str::to_owned),
            },
            content: None,
            ahead_of: None,
            patch: None,
            keys: None,
            lease: event.lease.clone(),
            from: None,
            to: None,
            entry: matches!(event.kind, EventKind::Commented { leaves_entry: true, .. }),
            work: event.facts.work.clone(),
        };
        match &event.kind {
            EventKind::Filed { title, description, classification, attributes } => {
                fields.attributes = attributes.clone();
                fields.title = Some(title.clone());
                fields.description = Some(description.clone());
                fields.classification = Some(*classification);
            }
            EventKind::Imported { issue, next } | EventKind::Removed { issue, next } => {
                fields.content = Some(Arc::clone(issue));
                fields.ahead_of = *next;
            }
            EventKind::Edited { patch } | EventKind::Changed { patch } => {
                fields.patch = Some(patch.clone());
            }
            EventKind::UnknownKeysEdited { keys } => fields.keys = Some(keys.clone()),
            EventKind::TakenUp { from, to } => {
                (fields.from, fields.to) = (Some(from.clone()), Some(to.clone()));
            }
            _ => {}
        }
        fields
    }

    /// Returns the event, or `None` if a field that its kind needs is missing.
    fn into_event(self) -> Option<Event> {
        let before =
            self.before.map(|BeforeFields { status, modified_at }| Before { status, modified_at });
        let kind = match self.kind {
            "filed" => EventKind::Filed {
                title: self.title?,
                description: self.description?,
                classification: self.classification?,
                attributes: self.attributes,
            },
            "imported" => EventKind::Imported { issue: self.content?, next: self.ahead_of },
            "removed" => EventKind::Removed { issue: self.content?, next: self.ahead_of },
            "edited" => EventKind::Edited { patch: self.patch? },
            "changed" => EventKind::Changed { patch: self.patch? },
            "unknown_keys_edited" => EventKind::UnknownKeysEdited { keys: self.keys? },
            "claimed" => EventKind::Claimed,
            "review_started" => EventKind::ReviewStarted,
            "taken_up" => EventKind::TakenUp { from: self.from?, to: self.to? },
            "lapsed" => EventKind::Lapsed { reason: self.comment? },
            "returned" => EventKind::Returned { comment: self.comment? },
            "completed" => EventKind::Completed { comment: self.comment? },
            "closed" => EventKind::Closed { comment: self.comment? },
            "rejected" => EventKind::Rejected { comment: self.comment? },
            "reopened" => EventKind::Reopened { comment: self.comment? },
            "commented" => {
                EventKind::Commented { comment: self.comment?, leaves_entry: self.entry }
            }
            _ => return None,
        };
        let issue = self.issue;
        let at = self.at;
        let agent = self.agent;
        let facts = Facts { work: self.work, ..Facts::default() };
        Some(Event { issue, at, agent, kind, before, lease: self.lease, facts })
    }
}
