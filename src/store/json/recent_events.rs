//! The newest events, kept in memory for subscriptions.

use std::collections::VecDeque;
use std::sync::Mutex;

use super::support::lock;
use crate::store::{EventPosition, NumberedEvent};

/// The most events that are kept.
const MAX_EVENTS: usize = 4_096;

/// The newest events of a log, oldest first and without a gap, durable or not.
#[derive(Default)]
pub(super) struct RecentEvents(Mutex<VecDeque<NumberedEvent>>);

impl RecentEvents {
    /// Starts with the events at the end of a newly opened log.
    pub fn reset(&self, events: &[NumberedEvent]) {
        let mut kept = lock(&self.0);
        kept.clear();
        kept.extend(events.iter().cloned());
    }

    /// Adds the next event, unless it is already known.
    pub fn push(&self, event: NumberedEvent) {
        let mut kept = lock(&self.0);
        if kept.back().is_some_and(|last| last.position.number >= event.position.number) {
            return;
        }
        kept.push_back(event);
        if kept.len() > MAX_EVENTS {
            kept.pop_front();
        }
    }

    /// Returns true if the event at a position is kept.
    pub fn contains(&self, position: EventPosition) -> bool {
        index_of(&lock(&self.0), position).is_some()
    }

    /// Returns the events up to a position, or none if the position belongs to another log.
    pub fn up_to(&self, position: EventPosition) -> Vec<NumberedEvent> {
        let kept = lock(&self.0);
        let end = index_of(&kept, position).map_or(0, |index| index + 1);
        kept.range(..end).cloned().collect()
    }

    /// Returns the first `limit` events after a number and up to a position. Returns `None` if not all of them are
    /// kept.
    pub fn between(
        &self,
        after: u64,
        position: EventPosition,
        limit: usize,
    ) -> Option<Vec<NumberedEvent>> {
        let kept = lock(&self.0);
        let end = index_of(&kept, position)? + 1;
        let first = kept.front()?.position.number;
        let begin = usize::try_from(after.checked_add(1)?.checked_sub(first)?).ok()?;
        Some(kept.range(begin.min(end)..end).take(limit).cloned().collect())
    }
}

fn index_of(kept: &VecDeque<NumberedEvent>, position: EventPosition) -> Option<usize> {
    let index = kept.partition_point(|event| event.position.number < position.number);
    kept.get(index).is_some_and(|event| event.position == position).then_some(index)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::{Event, EventKind, IssueId, Timestamp};

    fn position(number: u64) -> EventPosition {
        EventPosition { number, hash: number * 7 }
    }

    fn event(number: u64) -> NumberedEvent {
        let at = Timestamp::from_unix_millis(0);
        let event = Event::new(IssueId::NIL, at, "a", EventKind::Claimed);
        NumberedEvent { position: position(number), event: Arc::new(event) }
    }

    fn numbers(events: &[NumberedEvent]) -> Vec<u64> {
        events.iter().map(|event| event.position.number).collect()
    }

    #[test]
    fn recent_events_are_returned_only_without_gaps() {
        let recent = RecentEvents::default();
        assert!(recent.between(0, position(1), 9).is_none());
        recent.reset(&[event(5)]);
        (6..=8).for_each(|number| recent.push(event(number)));
        assert_eq!(numbers(&recent.between(4, position(7), 9).unwrap()), [5, 6, 7]);
        assert_eq!(numbers(&recent.between(5, position(8), 2).unwrap()), [6, 7]);
        assert_eq!(numbers(&recent.between(u64::MAX - 1, position(8), 2).unwrap()), [0_u64; 0]);
        // Event 4 is not kept, and the other event 8 belongs to another log.
        assert!(recent.between(3, position(7), 9).is_none());
        assert!(recent.between(5, EventPosition { number: 8, hash: 1 }, 9).is_none());
        assert_eq!(numbers(&recent.up_to(position(6))), [5, 6]);
        assert_eq!(numbers(&recent.up_to(position(9))), [0_u64; 0]);
        assert!(recent.contains(position(8)) && !recent.contains(position(4)));
        (9..=20_000).for_each(|number| recent.push(event(number)));
        assert_eq!(recent.up_to(position(20_000)).len(), MAX_EVENTS);
    }
}
