//! The bytes of `issues.json.journal`: what was committed since `issues.json` was written.
//!
//! Every line is a [frame](super::frame) with one JSON object:
//!
//! | frame | object |
//! |---|---|
//! | the first | `{"journal":1,"epoch":E,"follows":E?,"edited":true?,"baseSeq":N,"baseHash":H?,"baseLen":L,"baseStamp":S?}` |
//! | a change | `{"n":N,"d":D,"event":word,"issue":id,"at":time,"agent":text,…,"end":true?}` |
//! | an intent | `{"checkpoint":N,"d":D,"hash":H,"len":L}` |
//!
//! * `epoch`: 128 random bits, never used twice. `follows`: the epoch of the journal whose place this
//!   one took; `edited` says that issues changed in between without events, because somebody had
//!   edited `issues.json`.
//! * `baseHash`, `baseLen`: XXH3-128 and size of the `issues.json` that the changes follow; without a
//!   hash there was no file. `baseStamp` is how the file system identified it, which saves reading it
//!   again. `baseSeq`: the sequence number of the last change that it contains.
//! * `n`: the sequence number of the change, one more than that of the change before. `event` is
//!   `filed` (with `title`, `description`, `classification`), `claimed`, `review_started`, or one of
//!   `returned`, `completed`, `closed`, `rejected` (with `comment`).
//! * Changes are written in batches with one call; the last of a batch has `end`. A batch counts as a
//!   whole or not at all.
//! * `d`: how many bytes of the journal its writer knew to be durable.
//! * An intent says that an `issues.json` with this hash, which contains the changes up to `checkpoint`,
//!   is about to be renamed into place.
//!
//! A frame that is whole but not understood was made by a newer version: nothing is skipped.
//!
//! # What follows the last whole batch
//!
//! A process that was killed, or a power cut, leaves a torn tail: a batch that is not whole, or pages
//! that never reached the disk with later ones that did. None of it was answered, since an answer
//! waits until everything before it is durable. It is told from damage by `d`: when a frame behind the
//! first bad one is valid and its `d` lies beyond the bad one, bytes that were durable have changed.
//! Damage to the last batch that nothing was written after cannot be told from a torn tail; it is
//! treated as one, and the bytes are kept in a file of their own.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3;

use super::frame::{self, Hex128, NO_EPOCH};
use super::fs::Stamp;
use crate::domain::{Classification, Event, EventKind, IssueId, Timestamp};

/// The version of the format above.
const VERSION: u32 = 1;

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

/// The first frame of a journal.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Header {
    journal: u32,
    pub epoch: Hex128,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<Hex128>,
    #[serde(default, skip_serializing_if = "is_false")]
    pub edited: bool,
    pub base_seq: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    base_hash: Option<Hex128>,
    base_len: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_stamp: Option<Stamp>,
}

impl Header {
    pub fn new(epoch: Hex128, base_seq: u64, base: Option<(Content, Stamp)>) -> Self {
        let content = base.map(|(content, _)| content);
        Self {
            journal: VERSION,
            epoch,
            follows: None,
            edited: false,
            base_seq,
            base_hash: content.map(|content| content.hash),
            base_len: content.map_or(0, |content| content.length_bytes),
            base_stamp: base.map(|(_, stamp)| stamp),
        }
    }

    /// The `issues.json` that the journal follows.
    pub fn base(&self) -> Option<Content> {
        self.base_hash.map(|hash| Content { hash, length_bytes: self.base_len })
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        frame::encode(NO_EPOCH, 0, &json(self), &mut bytes);
        bytes
    }

    /// Reads the header of a journal; gives its length in bytes too.
    pub fn read(bytes: &[u8]) -> Result<(Self, u64), Unreadable> {
        let Some((json, length)) = frame::decode(NO_EPOCH, 0, bytes) else {
            return Err(Unreadable::Damaged { offset: 0 });
        };
        match serde_json::from_slice::<Self>(json) {
            Ok(header) if header.journal == VERSION => Ok((header, length as u64)),
            _ => Err(Unreadable::Newer { offset: 0 }),
        }
    }
}

/// Why a journal cannot be followed from an offset on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unreadable {
    /// Bytes that were durable have changed.
    Damaged { offset: u64 },
    /// A newer version has written there.
    Newer { offset: u64 },
}

/// One entry of a journal.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Entry {
    Change { seq: u64, event: Arc<Event> },
    Intent { seq: u64, content: Content },
}

/// What the bytes of a journal say.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Scan {
    /// The entries of whole batches.
    pub entries: Vec<Entry>,
    /// Where the last whole batch ends.
    pub end: u64,
    /// What lies behind it.
    pub rest: Rest,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Rest {
    Nothing,
    /// A batch that is being written, or that never was written whole.
    Torn,
    Unreadable(Unreadable),
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
    #[serde(default, skip_serializing_if = "is_false")]
    end: bool,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Word {
    Filed,
    Claimed,
    ReviewStarted,
    Returned,
    Completed,
    Closed,
    Rejected,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct IntentFields {
    checkpoint: u64,
    d: u64,
    hash: Hex128,
    len: u64,
}

/// The part of every entry that tells what was durable.
#[derive(Deserialize)]
struct DurableField {
    d: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_false(flag: &bool) -> bool {
    !flag
}

fn json(fields: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(fields).expect("structures of strings and numbers are valid JSON")
}

/// The frames of a batch that is to stand at `offset`, its first change numbered `seq`.
pub(super) fn batch(
    epoch: Hex128,
    offset: u64,
    seq: u64,
    durable: u64,
    events: &[Arc<Event>],
) -> Vec<u8> {
    let mut frames = Vec::new();
    for (place, event) in events.iter().enumerate() {
        let end = place + 1 == events.len();
        let fields = ChangeFields::of(event, seq + place as u64, durable, end);
        frame::encode(epoch, offset + frames.len() as u64, &json(&fields), &mut frames);
    }
    frames
}

/// The frame of an intent that is to stand at `offset`.
pub(super) fn intent(
    epoch: Hex128,
    offset: u64,
    durable: u64,
    seq: u64,
    content: Content,
) -> Vec<u8> {
    let Content { hash, length_bytes } = content;
    let fields = IntentFields { checkpoint: seq, d: durable, hash, len: length_bytes };
    let mut bytes = Vec::new();
    frame::encode(epoch, offset, &json(&fields), &mut bytes);
    bytes
}

/// Reads what stands in a journal from `start` on, which is where a batch begins; `seq` is the number
/// of the last change before it.
pub(super) fn scan(epoch: Hex128, start: u64, mut seq: u64, bytes: &[u8]) -> Scan {
    let (mut entries, mut batch) = (Vec::new(), Vec::new());
    let (mut at, mut end) = (0, 0);
    let rest = loop {
        let offset = start + at as u64;
        let Some((json, length)) = frame::decode(epoch, offset, &bytes[at..]) else {
            break if end == bytes.len() {
                Rest::Nothing
            } else if durable_behind(epoch, start, at, bytes) {
                Rest::Unreadable(Unreadable::Damaged { offset })
            } else {
                Rest::Torn
            };
        };
        let Some((entry, is_end)) = read_entry(json) else {
            break Rest::Unreadable(Unreadable::Newer { offset });
        };
        match &entry {
            Entry::Change { seq: number, .. } if *number == seq + 1 => seq += 1,
            Entry::Intent { .. } if batch.is_empty() => {}
            _ => break Rest::Unreadable(Unreadable::Damaged { offset }),
        }
        batch.push(entry);
        at += length;
        if is_end {
            entries.append(&mut batch);
            end = at;
        }
    };
    Scan { entries, end: start + end as u64, rest }
}

/// Tells whether a valid frame behind the bad bytes at `bad` says that these were durable.
///
/// It may begin at any byte: the line feed before it may be what is bad.
fn durable_behind(epoch: Hex128, start: u64, bad: usize, bytes: &[u8]) -> bool {
    (bad + 1..bytes.len()).any(|at| {
        frame::decode(epoch, start + at as u64, &bytes[at..])
            .and_then(|(json, _)| serde_json::from_slice::<DurableField>(json).ok())
            .is_some_and(|DurableField { d }| d > start + bad as u64)
    })
}

/// The entry that a whole frame holds, and whether a batch ends with it; `None` when this version does
/// not know it.
fn read_entry(json: &[u8]) -> Option<(Entry, bool)> {
    if let Ok(fields) = serde_json::from_slice::<IntentFields>(json) {
        let content = Content { hash: fields.hash, length_bytes: fields.len };
        return Some((Entry::Intent { seq: fields.checkpoint, content }, true));
    }
    let fields: ChangeFields = serde_json::from_slice(json).ok()?;
    let (seq, end) = (fields.n, fields.end);
    Some((Entry::Change { seq, event: Arc::new(fields.into_event()?) }, end))
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
            end,
        };
        fields.event = match &event.kind {
            EventKind::Filed { title, description, classification } => {
                fields.title = Some(title.clone());
                fields.description = Some(description.clone());
                fields.classification = Some(*classification);
                Word::Filed
            }
            EventKind::Claimed => Word::Claimed,
            EventKind::ReviewStarted => Word::ReviewStarted,
            EventKind::Returned { .. } => Word::Returned,
            EventKind::Completed { .. } => Word::Completed,
            EventKind::Closed { .. } => Word::Closed,
            EventKind::Rejected { .. } => Word::Rejected,
        };
        fields
    }

    /// The event, if the fields are exactly those that its word needs.
    fn into_event(self) -> Option<Event> {
        let Self { title, description, classification, comment, .. } = self;
        let filing = (title, description, classification);
        let kind = match (self.event, filing, comment) {
            (Word::Filed, (Some(title), Some(description), Some(classification)), None) => {
                EventKind::Filed { title, description, classification }
            }
            (Word::Claimed, (None, None, None), None) => EventKind::Claimed,
            (Word::ReviewStarted, (None, None, None), None) => EventKind::ReviewStarted,
            (Word::Returned, (None, None, None), Some(comment)) => EventKind::Returned { comment },
            (Word::Completed, (None, None, None), Some(comment)) => {
                EventKind::Completed { comment }
            }
            (Word::Closed, (None, None, None), Some(comment)) => EventKind::Closed { comment },
            (Word::Rejected, (None, None, None), Some(comment)) => EventKind::Rejected { comment },
            _ => return None,
        };
        Some(Event { issue: self.issue, at: self.at, agent: self.agent, kind })
    }
}
