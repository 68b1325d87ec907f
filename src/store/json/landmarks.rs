//! Places in the log that were read before, so that whoever reads on does not begin at the first event of a segment.

use std::collections::BTreeMap;

use super::log::{Segment, Tail};

/// How many places are kept, some hundred bytes of memory each.
const MAX_PLACES: usize = 8_192;

/// Ends of batches, by the ordinal of their segment and the number of their last event.
#[derive(Debug, Default)]
pub(super) struct Landmarks {
    /// With the salt of the segment: another one may come to have its ordinal.
    places: BTreeMap<(u64, u64), (u32, Tail)>,
}

impl Landmarks {
    /// Takes note of the end of a batch.
    pub fn add(&mut self, segment: &Segment, end: Tail) {
        if self.places.len() >= MAX_PLACES {
            self.places.clear();
        }
        self.places.insert((segment.ordinal, end.position.number), (segment.header.salt, end));
    }

    /// The last known place in a segment that is not behind an event; its begin if there is none.
    pub fn nearest(&self, segment: &Segment, number: u64) -> Tail {
        let mut before = self.places.range((segment.ordinal, 0)..=(segment.ordinal, number));
        let known = before.rfind(|(_, (salt, _))| *salt == segment.header.salt);
        known.map_or(segment.begin, |(_, (_, end))| *end)
    }
}
