//! The JSON objects of a journal's entries; what they mean is told in [`journal`](super::journal).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3;

use super::frame::Hex128;
use crate::domain::{Classification, Event, EventKind, Importable, Issue, IssueId, Timestamp};

/// What the bytes of an `issues.json` are known by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Content {
    pub hash: Hex128,
    pub length_bytes: u64,
}

impl Content {
    pub fn of(bytes: &[u8]) -> Self {
        Self { hash: Hex128(xxh3::xxh3_128(bytes)), length_bytes: bytes.len() as u64 }
    }
}

/// One entry of a journal.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Entry {
    Change { seq: u64, event: Arc<Event> },
    Intent { seq: u64, content: Content, edited: bool },
}

/// The JSON of a change.
pub(super) fn change(event: &Event, seq: u64, durable: u64, is_end: bool) -> Vec<u8> {
    json(&ChangeFields::of(event, seq, durable, is_end))
}

/// The JSON of an intent.
pub(super) fn intent(seq: u64, durable: u64, content: Content, edited: bool) -> Vec<u8> {
    let Content { hash, length_bytes } = content;
    json(&IntentFields { checkpoint: seq, d: durable, hash, len: length_bytes, edited })
}

/// The entry that a whole frame holds, whether a batch ends with it, and how much its writer knew to be
/// durable; `None` when this version does not know it.
pub(super) fn read(json: &[u8]) -> Option<(Entry, bool, u64)> {
    if let Ok(fields) = serde_json::from_slice::<IntentFields>(json) {
        let content = Content { hash: fields.hash, length_bytes: fields.len };
        let (seq, edited) = (fields.checkpoint, fields.edited);
        return Some((Entry::Intent { seq, content, edited }, true, fields.d));
    }
    let fields: ChangeFields = serde_json::from_slice(json).ok()?;
    let (seq, is_end, durable) = (fields.n, fields.end, fields.d);
    Some((Entry::Change { seq, event: Arc::new(fields.into_event()?) }, is_end, durable))
}

/// How much the writer of an entry knew to be durable.
pub(super) fn durable_in(json: &[u8]) -> Option<u64> {
    serde_json::from_slice::<DurableField>(json).ok().map(|fields| fields.d)
}

pub(super) fn json(fields: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(fields).expect("structures of strings and numbers are valid JSON")
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
pub(super) fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
pub(super) fn is_false(flag: &bool) -> bool {
    !flag
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct ChangeFields {
    n: u64,
    d: u64,
    event: Word,
    issue: IssueId,
    at: Timestamp,
    agent: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    classification: Option<Classification>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<Box<Issue>>,
    #[serde(default, skip_serializing_if = "is_false")]
    end: bool,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Filed,
    Imported,
    Edited,
    Claimed,
    ReviewStarted,
    Returned,
    Completed,
    Closed,
    Rejected,
    Commented,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct IntentFields {
    checkpoint: u64,
    d: u64,
    hash: Hex128,
    len: u64,
    #[serde(default, skip_serializing_if = "is_false")]
    edited: bool,
}

/// The part of every entry that tells what was durable.
#[derive(Deserialize)]
struct DurableField {
    d: u64,
}

impl ChangeFields {
    fn of(event: &Event, n: u64, d: u64, end: bool) -> Self {
        let mut fields = Self {
            n,
            d,
            event: Word::Claimed,
            issue: event.issue,
            at: event.at,
            agent: event.agent.clone(),
            title: None,
            description: None,
            classification: None,
            comment: event.kind.comment().map(str::to_owned),
            content: None,
            end,
        };
        fields.event = match &event.kind {
            EventKind::Filed { title, description, classification } => {
                fields.title = Some(title.clone());
                fields.description = Some(description.clone());
                fields.classification = Some(*classification);
                Word::Filed
            }
            EventKind::Imported { issue } => {
                fields.content = Some(Box::new(Issue::clone(issue.issue())));
                Word::Imported
            }
            EventKind::Edited { issue } => {
                fields.content = Some(Box::new(Issue::clone(issue)));
                Word::Edited
            }
            EventKind::Claimed => Word::Claimed,
            EventKind::ReviewStarted => Word::ReviewStarted,
            EventKind::Returned { .. } => Word::Returned,
            EventKind::Completed { .. } => Word::Completed,
            EventKind::Closed { .. } => Word::Closed,
            EventKind::Rejected { .. } => Word::Rejected,
            EventKind::Commented { .. } => Word::Commented,
        };
        fields
    }

    /// The event, if the fields are exactly those that its word needs.
    fn into_event(self) -> Option<Event> {
        let Self { title, description, classification, comment, content, .. } = self;
        let filing = (title, description, classification);
        let kind = match (self.event, filing, comment, content) {
            (Word::Filed, (Some(title), Some(description), Some(classification)), None, None) => {
                EventKind::Filed { title, description, classification }
            }
            (Word::Imported, (None, None, None), None, Some(issue)) if issue.id == self.issue => {
                EventKind::Imported { issue: Importable::try_from(*issue).ok()? }
            }
            (Word::Edited, (None, None, None), None, Some(issue)) if issue.id == self.issue => {
                EventKind::Edited { issue: Arc::from(issue) }
            }
            (word, (None, None, None), comment, None) => without_content(word, comment)?,
            _ => return None,
        };
        Some(Event { issue: self.issue, at: self.at, agent: self.agent, kind })
    }
}

/// What changed an issue that was there before.
fn without_content(word: Word, comment: Option<String>) -> Option<EventKind> {
    Some(match (word, comment) {
        (Word::Claimed, None) => EventKind::Claimed,
        (Word::ReviewStarted, None) => EventKind::ReviewStarted,
        (Word::Returned, Some(comment)) => EventKind::Returned { comment },
        (Word::Completed, Some(comment)) => EventKind::Completed { comment },
        (Word::Closed, Some(comment)) => EventKind::Closed { comment },
        (Word::Rejected, Some(comment)) => EventKind::Rejected { comment },
        (Word::Commented, Some(comment)) => EventKind::Commented { comment },
        _ => return None,
    })
}
