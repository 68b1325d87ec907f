//! The bytes of `issues.json.journal`: what was committed since `issues.json` was written.
//!
//! Every line is a [`frame`] with one JSON object:
//!
//! | frame | object |
//! |---|---|
//! | the first | `{"journal":1,"epoch":E,"follows":E?,"edited":true?,"baseSeq":N,"baseHash":H?,"baseLen":L,"baseStamp":S?,"tookMs":T?,"restoring":time?}` |
//! | a change | `{"n":N,"d":D,"event":word,"issue":id,"at":time,"agent":text,…,"end":true?}` |
//! | an intent | `{"checkpoint":N,"d":D,"hash":H,"len":L,"edited":true?}` |
//!
//! * `epoch`: 128 random bits, never used twice. `follows`: the epoch of the journal whose place this
//!   one took; `edited` says that issues changed in between without events, because somebody had
//!   edited `issues.json`.
//! * `baseHash`, `baseLen`: XXH3-128 and size of the `issues.json` that the changes follow; without a
//!   hash there was no file. `baseStamp` is how the file system identified it, which saves reading it
//!   again; `tookMs`, how long it took to write it. `baseSeq`: the sequence number of the last change that it contains.
//! * `restoring`: an `issues.json` with `baseHash` is about to take the place of a damaged one; anything
//!   else there is not what the journal follows. The time is part of the names under which copies of the
//!   damaged files are kept. No changes follow such a header: another journal begins behind the rename.
//! * `n`: the sequence number of the change, one more than that of the change before. `event` is
//!   `filed` (with `title`, `description`, `classification`), `imported` and `edited` (with `content`, the
//!   whole issue as it is from then on), `claimed`, `review_started`, or one of `returned`, `completed`, `closed`, `rejected`, `commented`
//!   (with `comment`).
//! * Changes are written in batches with one call; the last of a batch has `end`. A batch counts as a
//!   whole or not at all.
//! * `d`: how many bytes of the journal its writer knew to be durable, because it had synced them: what
//!   it found when it came, and what it has appended since.
//! * An intent says that an `issues.json` with this hash, which contains the changes up to `checkpoint`
//!   (and an edit that no event tells of, if `edited`), is about to be renamed into place.
//!
//! * A journal that took the place of one that the disk failed to save has the same base, and repeats all of its
//!   changes.
//! * Changes that the `issues.json` does not contain which an intent announces may stand before and behind the
//!   intent; they are repeated behind the next header.
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

use super::frame::{self, Hex128, NO_EPOCH};
use super::fs::Stamp;
use super::record::{self, is_false, is_zero};
use crate::domain::Event;

pub(super) use super::record::{Content, Entry};

/// The version of the format above.
const VERSION: u32 = 1;

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
    /// How long it took to write the base; processes share the rest that follows.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub took_ms: u64,
    /// Set while a restore replaces damaged files, see [`restore`](super::restore).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restoring: Option<String>,
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
            took_ms: 0,
            restoring: None,
        }
    }

    /// The `issues.json` that the journal follows.
    pub fn base(&self) -> Option<Content> {
        self.base_hash.map(|hash| Content { hash, length_bytes: self.base_len })
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        frame::encode(NO_EPOCH, 0, &record::json(self), &mut bytes);
        bytes
    }

    /// The same, filled with spaces to a length that the longest header has room in.
    pub fn to_bytes_of(&self, length: usize) -> Vec<u8> {
        let mut json = record::json(self);
        json.resize(json.len().max(length - frame::OVERHEAD_BYTES), b' ');
        let mut bytes = Vec::with_capacity(length);
        frame::encode(NO_EPOCH, 0, &json, &mut bytes);
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

/// What the bytes of a journal say.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Scan {
    /// The entries of whole batches.
    pub entries: Vec<Entry>,
    /// Where the last whole batch ends.
    pub end: u64,
    /// Up to where the writer of one of them knew all bytes to be durable.
    pub durable: u64,
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
        let change = record::change(event, seq + place as u64, durable, end);
        frame::encode(epoch, offset + frames.len() as u64, &change, &mut frames);
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
    edited: bool,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    frame::encode(epoch, offset, &record::intent(seq, durable, content, edited), &mut bytes);
    bytes
}

/// How many bytes so many frames have that stand from `start` on; `None` when there are not so many.
pub(super) fn length_of(epoch: Hex128, start: u64, count: u64, bytes: &[u8]) -> Option<usize> {
    (0..count).try_fold(0, |at, _| {
        let (_, length) = frame::decode(epoch, start + at as u64, &bytes[at..])?;
        Some(at + length)
    })
}

/// Reads what stands in a journal from `start` on, which is where a batch begins; `seq` is the number
/// of the last change before it.
pub(super) fn scan(epoch: Hex128, start: u64, mut seq: u64, bytes: &[u8]) -> Scan {
    let (mut entries, mut batch) = (Vec::new(), Vec::new());
    let (mut at, mut end, mut durable) = (0, 0, 0);
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
        let Some((entry, is_end, known)) = record::read(json) else {
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
            durable = durable.max(known);
        }
    };
    Scan { entries, end: start + end as u64, durable, rest }
}

/// Tells whether a valid frame behind the bad bytes at `bad` says that these were durable.
///
/// It may begin at any byte: the line feed before it may be what is bad.
fn durable_behind(epoch: Hex128, start: u64, bad: usize, bytes: &[u8]) -> bool {
    (bad + 1..bytes.len()).any(|at| {
        frame::decode(epoch, start + at as u64, &bytes[at..])
            .and_then(|(json, _)| record::durable_in(json))
            .is_some_and(|durable| durable > start + bad as u64)
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::{Classification, EventKind, Importable, IssueId, Timestamp};

    const EPOCH: Hex128 = Hex128(42);

    fn event(kind: EventKind) -> Arc<Event> {
        let issue = IssueId::from(uuid::Uuid::from_u128(7));
        let at = Timestamp::parse("2026-01-31T09:30:00.000Z").unwrap();
        Arc::new(Event { issue, at, agent: "ü \"a\"\n".to_owned(), kind })
    }

    fn imported(text: &str) -> EventKind {
        let time = "2025-01-31T09:30:00.000Z";
        let issue = serde_json::json!({
            "id": uuid::Uuid::from_u128(7).to_string(), "title": "T", "description": text,
            "classification": "bug", "createdAt": time, "modifiedAt": time, "status": "in_review",
            "history": [{"timestamp": time, "agent": "a", "action": "x", "unknown": text}],
            "comments": [{"timestamp": time, "agent": "a", "text": text}], "labels": [text, 1.50],
        });
        let issue: Importable = serde_json::from_str(&issue.to_string()).unwrap();
        EventKind::Imported { issue }
    }

    fn edited(text: &str) -> EventKind {
        let EventKind::Imported { issue } = imported(text) else { unreachable!() };
        EventKind::Edited { issue: Arc::clone(issue.issue()) }
    }

    fn any_event() -> impl Strategy<Value = Arc<Event>> {
        let text = "(.|\n){0,40}";
        let kind = (any::<prop::sample::Index>(), text, text).prop_map(|(which, one, other)| {
            let kinds = [
                EventKind::Filed {
                    title: one.clone(),
                    description: other,
                    classification: Classification::Feature,
                },
                imported(&one),
                edited(&one),
                EventKind::Claimed,
                EventKind::ReviewStarted,
                EventKind::Returned { comment: one.clone() },
                EventKind::Completed { comment: one.clone() },
                EventKind::Closed { comment: one.clone() },
                EventKind::Rejected { comment: one.clone() },
                EventKind::Commented { comment: one },
            ];
            which.get(&kinds).clone()
        });
        kind.prop_map(event)
    }

    fn changes(scan: &Scan) -> Vec<Arc<Event>> {
        let events = scan.entries.iter().filter_map(|entry| match entry {
            Entry::Change { event, .. } => Some(Arc::clone(event)),
            Entry::Intent { .. } => None,
        });
        events.collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_written_is_read(events in prop::collection::vec(any_event(), 1..9), start in 100_u64..200) {
            let bytes = batch(EPOCH, start, 5, 0, &events);
            let found = scan(EPOCH, start, 4, &bytes);
            prop_assert_eq!(changes(&found), events);
            prop_assert_eq!((found.end, found.rest), (start + bytes.len() as u64, Rest::Nothing));
        }

        #[test]
        fn a_batch_counts_as_a_whole_or_not_at_all(events in prop::collection::vec(any_event(), 1..5), cut: prop::sample::Index) {
            let first = batch(EPOCH, 100, 1, 0, &events);
            let middle = 100 + first.len() as u64;
            let second = batch(EPOCH, middle, 1 + events.len() as u64, 0, &events);
            let cut = cut.index(second.len());
            let found = scan(EPOCH, 100, 0, &[&first[..], &second[..cut]].concat());
            prop_assert_eq!(changes(&found), events);
            let rest = if cut == 0 { Rest::Nothing } else { Rest::Torn };
            prop_assert_eq!((found.end, found.rest), (middle, rest));
        }

        #[test]
        fn any_bytes_can_be_scanned(mut bytes in prop::collection::vec(any::<u8>(), 0..400), event in any_event(), place: prop::sample::Index) {
            prop_assert!(scan(EPOCH, 0, 0, &bytes).entries.is_empty());
            let _ = Header::read(&bytes);
            let place = place.index(bytes.len() + 1);
            bytes.splice(place..place, batch(EPOCH, place as u64, 1, u64::MAX, &[event]));
            let found = scan(EPOCH, 0, 0, &bytes);
            let damaged = Rest::Unreadable(Unreadable::Damaged { offset: 0 });
            prop_assert!(place == 0 || found.rest == damaged, "{:?}", found);
        }
    }
}
