//! Known positions in the log, so that reading on need not start at the first event of a segment.

use std::collections::BTreeMap;

use super::log::{BatchEnd, Segment};

/// The most positions that are kept. Each takes some hundred bytes.
const MAX_PLACES: usize = 8_192;

/// Ends of batches, keyed by the ordinal of their segment and the number of their last event.
#[derive(Debug, Default)]
pub(super) struct SeekIndex {
    /// The salt identifies the segment, because another one may get the same ordinal.
    places: BTreeMap<(u64, u64), (u32, BatchEnd)>,
}

impl SeekIndex {
    /// Adds the end of a batch.
    pub fn add(&mut self, segment: &Segment, end: BatchEnd) {
        if self.places.len() >= MAX_PLACES {
            self.places.clear();
        }
        self.places.insert((segment.ordinal, end.position.number), (segment.header.salt, end));
    }

    /// Returns the last known position in a segment up to an event number, or the begin of the segment.
    pub fn nearest(&self, segment: &Segment, number: u64) -> BatchEnd {
        let mut before = self.places.range((segment.ordinal, 0)..=(segment.ordinal, number));
        let known = before.rfind(|(_, (salt, _))| *salt == segment.header.salt);
        known.map_or(segment.begin, |(_, (_, end))| *end)
    }
}
