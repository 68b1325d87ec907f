//! The JSON in the lines of a segment: its header, and its events.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::domain::{
    Before, Change, Classification, Event, EventKind, Extra, Issue, IssueId, Patch, Status,
    Timestamp,
};
use crate::store::Position;

/// The version of the format. A process does not change a store of a newer one.
pub const FORMAT: u32 = 1;

/// Where a segment goes on from the one before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Cut {
    /// The ordinal of the segment before.
    pub ordinal: u64,
    /// The offset in bytes from which on that segment does not count.
    pub offset: u64,
}

/// The first line of a segment.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// The version of the format.
    pub format: u32,
    /// The id of the store that the log belongs to, at random.
    pub store: String,
    /// What the checksums of the other lines are seeded with, at random.
    pub salt: u32,
    /// The number of the first event.
    pub first: u64,
    /// The hash of the event before it, as 16 hex digits.
    pub hash: String,
    /// Where the segment goes on from the one before; `None` for the first one.
    pub previous: Option<Cut>,
    /// When the segment was made.
    pub created_at: Timestamp,
    /// The id of the damaged store that a restore has replaced by this one. What a process knows of that is not
    /// merged into this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
}

impl Header {
    /// The position before the first event.
    pub fn base(&self) -> Option<Position> {
        let hash = u64::from_str_radix(&self.hash, 16).ok()?;
        Some(Position { number: self.first.checked_sub(1)?, hash })
    }

    /// The JSON of the header.
    pub fn write(&self) -> Vec<u8> {
        json(self)
    }
}

/// An event as a line holds it.
#[derive(Clone, Debug)]
pub struct Record {
    /// The position of the event.
    pub position: Position,
    /// How many bytes of the segment its writer knew to be durable.
    pub durable: u64,
    /// Whether a batch ends with it.
    pub is_end: bool,
    /// The event.
    pub event: Arc<Event>,
}

/// Why the JSON of a whole line is not understood.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordError {
    /// It has another form: a newer version wrote it.
    Unknown,
    /// Its hash does not follow from the events before it.
    Chain,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line<'a> {
    n: u64,
    h: &'a str,
    d: u64,
    #[serde(borrow)]
    e: &'a RawValue,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    end: bool,
}

/// How many bytes the writer of a line knew to be durable; for a line that may be out of its place.
pub fn durable_in(json: &[u8]) -> Option<u64> {
    serde_json::from_slice::<Line<'_>>(json).ok().map(|line| line.d)
}

/// The JSON of an event, and the position that it has behind `before`.
pub fn encode(event: &Event, before: Position) -> (Vec<u8>, Position) {
    let text = json(&Fields::of(event));
    let position = next(before, &text);
    (text, position)
}

/// The JSON of a line for an event that was encoded; `durable` bytes of its segment are durable.
pub fn line(event: &[u8], position: Position, durable: u64, is_end: bool) -> Vec<u8> {
    let event: &RawValue = serde_json::from_slice(event).expect("it was written as JSON");
    let hash = format!("{:016x}", position.hash);
    json(&Line { n: position.number, h: &hash, d: durable, e: event, end: is_end })
}

/// Reads a line that follows the event at `before`.
pub fn read(line: &[u8], before: Position) -> Result<Record, RecordError> {
    let line: Line<'_> = serde_json::from_slice(line).map_err(|_| RecordError::Unknown)?;
    let position = next(before, line.e.get().as_bytes());
    if line.n != position.number || u64::from_str_radix(line.h, 16) != Ok(position.hash) {
        return Err(RecordError::Chain);
    }
    let fields: Fields<'_> =
        serde_json::from_str(line.e.get()).map_err(|_| RecordError::Unknown)?;
    let event = Arc::new(fields.into_event().ok_or(RecordError::Unknown)?);
    Ok(Record { position, durable: line.d, is_end: line.end, event })
}

/// Reads a line wherever it stands, whatever comes before it; `None` for one of another form.
pub fn read_alone(line: &[u8]) -> Option<Record> {
    let line: Line<'_> = serde_json::from_slice(line).ok()?;
    let position = Position { number: line.n, hash: u64::from_str_radix(line.h, 16).ok()? };
    let event = Arc::new(serde_json::from_str::<Fields<'_>>(line.e.get()).ok()?.into_event()?);
    Some(Record { position, durable: line.d, is_end: line.end, event })
}

fn next(before: Position, event: &[u8]) -> Position {
    Position { number: before.number + 1, hash: xxh3_64_with_seed(event, before.hash) }
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("structures of strings and numbers are valid JSON")
}

/// The keys of an event. Which of them there are depends on the kind.
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    content: Option<Arc<Issue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ahead_of: Option<IssueId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    patch: Option<Box<Patch>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    keys: Option<Box<Change<Extra>>>,
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
            kind: event.kind.word(),
            issue: event.issue,
            at: event.at,
            agent: event.agent.clone(),
            before,
            title: None,
            description: None,
            classification: None,
            comment: event.kind.comment().map(str::to_owned),
            content: None,
            ahead_of: None,
            patch: None,
            keys: None,
        };
        match &event.kind {
            EventKind::Filed { title, description, classification } => {
                fields.title = Some(title.clone());
                fields.description = Some(description.clone());
                fields.classification = Some(*classification);
            }
            EventKind::Imported { issue, ahead_of } | EventKind::Removed { issue, ahead_of } => {
                fields.content = Some(Arc::clone(issue));
                fields.ahead_of = *ahead_of;
            }
            EventKind::Edited { patch } => fields.patch = Some(patch.clone()),
            EventKind::UnknownKeysEdited { keys } => fields.keys = Some(keys.clone()),
            _ => {}
        }
        fields
    }

    /// The event, if the fields that its kind needs are there.
    fn into_event(self) -> Option<Event> {
        let before =
            self.before.map(|BeforeFields { status, modified_at }| Before { status, modified_at });
        let kind = match self.kind {
            "filed" => EventKind::Filed {
                title: self.title?,
                description: self.description?,
                classification: self.classification?,
            },
            "imported" => EventKind::Imported { issue: self.content?, ahead_of: self.ahead_of },
            "removed" => EventKind::Removed { issue: self.content?, ahead_of: self.ahead_of },
            "edited" => EventKind::Edited { patch: self.patch? },
            "unknown_keys_edited" => EventKind::UnknownKeysEdited { keys: self.keys? },
            "claimed" => EventKind::Claimed,
            "review_started" => EventKind::ReviewStarted,
            "lapsed" => EventKind::Lapsed { reason: self.comment? },
            "returned" => EventKind::Returned { comment: self.comment? },
            "completed" => EventKind::Completed { comment: self.comment? },
            "closed" => EventKind::Closed { comment: self.comment? },
            "rejected" => EventKind::Rejected { comment: self.comment? },
            "commented" => EventKind::Commented { comment: self.comment? },
            _ => return None,
        };
        Some(Event { issue: self.issue, at: self.at, agent: self.agent, kind, before })
    }
}
