//! The numbered events of a store.

use std::fmt;
use std::sync::Arc;

use ait_domain::Event;

/// A position in the log of a store: the number of an event, and what tells it from another one with that number.
///
/// Two positions with the same number differ if the events before them differ. This happens when a power failure
/// loses events that were not durable, or when a user puts an old log in place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct EventPosition {
    /// The number of the event. The first event has number 1; zero means no event.
    pub number: u64,
    /// A random number. Without an event, it tells what one `issues.json` has from what another one had; zero if
    /// nothing tells that.
    pub hash: u64,
}

impl fmt::Display for EventPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:016x}", self.number, self.hash)
    }
}

/// An event with its position in the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NumberedEvent {
    pub position: EventPosition,
    pub event: Arc<Event>,
}

impl NumberedEvent {
    /// Returns the number of the event.
    pub fn number(&self) -> u64 {
        self.position.number
    }
}

/// A range of the log.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Events {
    /// The events, oldest first.
    pub events: Vec<NumberedEvent>,
    /// The position of the newest durable event of the store.
    pub newest: EventPosition,
    /// The number of the oldest event that the store still has, or `newest` plus one if it has none.
    pub oldest: u64,
}

impl Events {
    /// Returns true if the log still has every event from `after` on, so that none was removed because of its age.
    pub fn is_complete_after(&self, after: u64) -> bool {
        self.oldest <= after.saturating_add(1)
    }
}
