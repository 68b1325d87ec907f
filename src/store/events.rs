//! The numbered events of a store.

use std::fmt;
use std::sync::Arc;

use crate::domain::Event;

/// A place in the log of a store: the number of an event, and a hash of all events up to it.
///
/// Two positions of the same number differ if the events before them do: a power cut took some that were not
/// durable, or somebody put an old log in place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Position {
    /// The number of the event; the first event has number 1. Zero stands for no event.
    pub number: u64,
    /// The hash, chained over all events.
    pub hash: u64,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{:016x}", self.number, self.hash)
    }
}

/// An event in the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NumberedEvent {
    /// Where it stands.
    pub position: Position,
    /// The event.
    pub event: Arc<Event>,
}

/// A part of the log.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Events {
    /// The events, oldest first.
    pub events: Vec<NumberedEvent>,
    /// The position of the newest durable event of the store.
    pub newest: Position,
    /// The number of the oldest event that the store still has; one more than `newest` if it has none.
    pub oldest: u64,
}

impl Events {
    /// Returns true if every event after `after` up to the last of these is among them: none was removed from
    /// the log because of its age.
    pub fn is_complete_after(&self, after: u64) -> bool {
        self.oldest <= after.saturating_add(1)
    }
}
