//! What changed since somebody last looked: the feed behind live pages and audit trails.

use std::sync::Arc;

use imbl::Vector;

use crate::domain::Event;

/// A place in the order of the changes of one store, given by [`Changes`].
///
/// Means something only to the store object that gave it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cursor {
    generation: u64,
    number: u64,
}

/// What happened since a [`Cursor`].
#[derive(Clone, Debug)]
pub struct Changes {
    /// The events, oldest first.
    pub events: Vec<Arc<Event>>,
    /// Where these end: what to ask with next.
    pub cursor: Cursor,
    /// Whether these are all; when not, more happened than is remembered, and whoever follows the
    /// changes has to read the issues anew.
    pub complete: bool,
}

/// The latest changes. A clone costs the same however many there are.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent {
    events: Vector<Arc<Event>>,
    /// The place behind the last event.
    end: Cursor,
}

impl Recent {
    /// The most events that are remembered.
    pub const MAX_EVENTS: usize = 1024;

    pub fn push(&mut self, event: Arc<Event>) {
        self.end.number += 1;
        self.events.push_back(event);
        if self.events.len() > Self::MAX_EVENTS {
            self.events.pop_front();
        }
    }

    /// Forgets everything, because issues changed in a way that no event tells.
    pub fn interrupt(&mut self) {
        self.end.generation += 1;
        self.events = Vector::new();
    }

    /// What happened since `after`; nothing for a caller that begins to follow.
    pub fn since(&self, after: Option<Cursor>) -> Changes {
        let Some(after) = after else {
            return Changes { events: Vec::new(), cursor: self.end, complete: true };
        };
        let missed = self.end.number.saturating_sub(after.number);
        let missed = usize::try_from(missed).unwrap_or(usize::MAX);
        let known = self.events.len();
        let complete = after.generation == self.end.generation && missed <= known;
        let events = self.events.iter().skip(known.saturating_sub(missed)).cloned().collect();
        Changes { events, cursor: self.end, complete }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{EventKind, IssueId, Timestamp};

    fn event(number: usize) -> Arc<Event> {
        let issue = IssueId::from(uuid::Uuid::from_u128(number as u128));
        let at = Timestamp::parse("2026-01-31T09:30:00.000Z").unwrap();
        Arc::new(Event { issue, at, agent: "a".to_owned(), kind: EventKind::Claimed })
    }

    #[test]
    fn whoever_follows_gets_each_change_once_and_is_told_when_some_are_forgotten() {
        let mut recent = Recent::default();
        let begin = recent.since(None);
        assert!(begin.complete && begin.events.is_empty());
        recent.push(event(1));
        recent.push(event(2));
        let two = recent.since(Some(begin.cursor));
        assert!(two.complete);
        assert_eq!(two.events, [event(1), event(2)]);
        let none = recent.since(Some(two.cursor));
        assert!(none.complete && none.events.is_empty());
        (0..Recent::MAX_EVENTS).for_each(|number| recent.push(event(number)));
        let all = recent.since(Some(two.cursor));
        assert!(all.complete);
        assert_eq!(all.events.len(), Recent::MAX_EVENTS);
        assert!(!recent.since(Some(begin.cursor)).complete);
        recent.interrupt();
        let interrupted = recent.since(Some(all.cursor));
        assert!(!interrupted.complete && interrupted.events.is_empty());
        assert!(recent.since(Some(interrupted.cursor)).complete);
    }
}
