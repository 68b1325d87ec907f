//! The JSON in the lines of a segment: the header, and what stands around an event.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::domain::{Event, Timestamp};
use crate::store::{EventPosition, event_format};

/// The format version. A process never changes a store with a newer one.
pub const FORMAT: u32 = 1;

/// The point at which a segment continues the previous one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Cut {
    /// The ordinal of the previous segment.
    pub ordinal: u64,
    /// The offset in bytes from which on the previous segment does not count.
    pub offset: u64,
}

/// The first line of a segment.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Header {
    /// The format version.
    pub format: u32,
    /// The random id of the store that the log belongs to.
    pub store: String,
    /// The random seed for the checksums of the other lines.
    pub salt: u32,
    /// The number of the first event.
    pub first: u64,
    /// The hash of the event before it, as 16 hex digits.
    pub hash: String,
    /// Where the segment continues the previous one; `None` for the first segment.
    pub previous: Option<Cut>,
    /// When the segment was created.
    pub created_at: Timestamp,
    /// The id of the damaged store that a restore replaced by this one. A process must not merge its state of that
    /// store into this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<String>,
}

impl Header {
    /// Returns the position before the first event.
    pub fn base(&self) -> Option<EventPosition> {
        let hash = u64::from_str_radix(&self.hash, 16).ok()?;
        Some(EventPosition { number: self.first.checked_sub(1)?, hash })
    }

    /// Returns the header as JSON.
    pub fn write(&self) -> Vec<u8> {
        json(self)
    }
}

/// An event as a line stores it.
#[derive(Clone, Debug)]
pub struct Record {
    /// The position of the event.
    pub position: EventPosition,
    /// How many bytes of the segment its writer knew to be durable.
    pub durable: u64,
    /// True if the event ends a batch.
    pub is_end: bool,
    /// The event.
    pub event: Arc<Event>,
}

/// Why the JSON of a valid line is rejected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordError {
    /// The JSON has an unknown form: a newer version wrote it.
    Unknown,
    /// The hash does not follow from the events before.
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

/// Returns how many bytes the writer of a line knew to be durable. The line may be out of its place.
pub fn durable_in(json: &[u8]) -> Option<u64> {
    serde_json::from_slice::<Line<'_>>(json).ok().map(|line| line.d)
}

/// Returns the JSON of an event, and its position after `before`.
pub fn encode(event: &Event, before: EventPosition) -> (Vec<u8>, EventPosition) {
    let text = event_format::write(event);
    let position = next(before, &text);
    (text, position)
}

/// Returns the JSON of a line for an encoded event. `durable` bytes of its segment are durable.
pub fn line(event: &[u8], position: EventPosition, durable: u64, is_end: bool) -> Vec<u8> {
    let event: &RawValue = serde_json::from_slice(event).expect("the event is encoded as JSON");
    let hash = format!("{:016x}", position.hash);
    json(&Line { n: position.number, h: &hash, d: durable, e: event, end: is_end })
}

/// Reads a line that follows `before`.
pub fn read(line: &[u8], before: EventPosition) -> Result<Record, RecordError> {
    let line: Line<'_> = serde_json::from_slice(line).map_err(|_| RecordError::Unknown)?;
    let position = next(before, line.e.get().as_bytes());
    if line.n != position.number || u64::from_str_radix(line.h, 16) != Ok(position.hash) {
        return Err(RecordError::Chain);
    }
    let event = Arc::new(event_format::read(line.e.get()).ok_or(RecordError::Unknown)?);
    Ok(Record { position, durable: line.d, is_end: line.end, event })
}

/// Reads a line without the events before it. Returns `None` for an unknown form.
pub fn read_alone(line: &[u8]) -> Option<Record> {
    let line: Line<'_> = serde_json::from_slice(line).ok()?;
    let position = EventPosition { number: line.n, hash: u64::from_str_radix(line.h, 16).ok()? };
    let event = Arc::new(event_format::read(line.e.get())?);
    Some(Record { position, durable: line.d, is_end: line.end, event })
}

fn next(before: EventPosition, event: &[u8]) -> EventPosition {
    EventPosition { number: before.number + 1, hash: xxh3_64_with_seed(event, before.hash) }
}

fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("structures of strings and numbers are valid JSON")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{EventKind, IssueId};

    #[test]
    fn comments_of_older_logs_leave_no_history_entry() {
        for leaves_entry in [false, true] {
            let at = Timestamp::parse("2026-01-31T09:30:00.000Z").unwrap();
            let kind = EventKind::Commented { comment: "c".to_owned(), leaves_entry };
            let event = Event::new(IssueId::NIL, at, "a", kind);
            let (text, position) = encode(&event, EventPosition::default());
            // Versions that know no such entries refuse the key instead of misreading the event.
            assert_eq!(String::from_utf8_lossy(&text).contains(r#""entry":true"#), leaves_entry);
            let line = line(&text, position, 0, true);
            assert_eq!(*read(&line, EventPosition::default()).unwrap().event, event);
        }
    }
}
