//! The event log: numbered events in append-only segments.
//!
//! [`frame`] defines the form of one line, [`record`] the JSON in it, [`segment`] a file of such lines, and [`mark`]
//! the note of how much of the newest segment is durable. Written bytes never change. This module does not decide
//! what an event does.
//!
//! # A segment
//!
//! A segment is a file `<ordinal>.log`. Its first line is the header; each following line is an event:
//!
//! ```text
//! crc8hex SP len8hex SP json LF
//! ```
//!
//! The checksum covers everything between the first space and the line feed. It is the low 32 bits of XXH3-64, seeded
//! with the salt of the segment, which the header names. The seed of the header itself is 0. The checksum does not
//! cover the offset of the line, so shifted lines are still recognised.
//!
//! A batch holds the events that one commit makes durable together. One call writes it. It stays within one segment
//! and ends with an event that is marked as the end. A batch without its end does not count.
//!
//! # From segment to segment
//!
//! The segment with the highest ordinal is the current one. Its file is the lock for commits. A header names the
//! ordinal of the previous segment and the cut: the offset in that segment at which its own first event belongs.
//! Readers ignore everything behind the cut. The new segment repeats all events from there that count, with the same
//! numbers and hashes.

pub(super) mod frame;
pub(super) mod mark;
pub(super) mod record;
pub(super) mod segment;

pub(super) use mark::DurableMark;
pub(super) use record::Cut;
pub(super) use segment::{BatchEnd, Segment};
