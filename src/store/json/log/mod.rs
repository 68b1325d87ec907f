//! The event log: numbered events in append-only segments.
//!
//! [`frame`] is the form of one line, [`record`] the JSON in it, [`segment`] a file of such lines, and [`mark`] the
//! note of how much of the newest segment is durable. Bytes that were written never change. Nothing here decides
//! what an event does.
//!
//! # A segment
//!
//! A file `<ordinal>.log`. Its first line is the header, each following line an event:
//!
//! ```text
//! crc8hex SP len8hex SP json LF
//! ```
//!
//! The checksum is the CRC-32C of everything between the first space and the line feed, seeded with the salt of the
//! segment, which the header names; that of the header itself is not seeded. It does not cover the place of the
//! line, so that lines which were shifted are recognised.
//!
//! A batch is the events that one commit made durable together. It is written with one call, stays within one
//! segment, and ends with an event that says so; a batch without its end does not count.
//!
//! # From segment to segment
//!
//! The segment of the highest ordinal is the current one; its file is the lock of a commit. A header names the
//! ordinal of the segment before it and the offset at which its own first event begins there, the cut. What
//! stands behind the cut is ignored: all of it that counts is repeated in the new segment, with the same number and
//! the same hash.

pub(super) mod frame;
pub(super) mod mark;
pub(super) mod record;
pub(super) mod segment;

pub(super) use mark::DurableMark;
pub(super) use record::Cut;
pub(super) use segment::{Segment, Tail};
