//! Reading events from the log: forwards from a number, and backwards from the newest.

use std::sync::Arc;

use super::log::Segment;
use super::log::segment::ordinals;
use super::recovery::unreadable;
use super::view::{Shared, View};
use crate::store::{Events, NumberedEvent, StoreError};

/// The durable events after a number.
pub(super) fn after(
    shared: &Shared,
    view: &View,
    after: u64,
    limit: usize,
) -> Result<Events, StoreError> {
    let newest = view.durable.position;
    let Some(head) = view.head() else {
        return Ok(Events { events: Vec::new(), newest, oldest: newest.number + 1 });
    };
    let wanted = |event: &&NumberedEvent| {
        event.position.number > after && event.position.number <= newest.number
    };
    // A log without an event begins behind nothing; its first segment tells where.
    let segments = segments(shared, view)?;
    let oldest = segments
        .first()
        .map_or(head.segment.begin.position.number, |segment| segment.begin.position.number)
        + 1;
    let is_recent = view.recent.front().is_some_and(|event| event.position.number <= after + 1)
        || after >= newest.number;
    if is_recent {
        let events = view.recent.iter().filter(wanted).take(limit).cloned().collect();
        return Ok(Events { events, newest, oldest });
    }
    let mut events: Vec<NumberedEvent> = Vec::new();
    for (place, segment) in segments.iter().enumerate() {
        let next = segments.get(place + 1);
        if next.is_some_and(|next| next.begin.position.number <= after) {
            continue;
        }
        let read = events_of(shared, segment, next)?;
        events.extend(read.iter().filter(wanted).take(limit - events.len()).cloned());
        if events.len() >= limit {
            break;
        }
    }
    Ok(Events { events, newest, oldest })
}

fn segments(shared: &Shared, view: &View) -> Result<Vec<Arc<Segment>>, StoreError> {
    let (fs, directory) = (&*shared.fs, &view.place.log);
    let found = ordinals(fs, directory).map_err(|source| unreadable(directory, source))?;
    // One that cannot be opened was pruned, or is damaged, which is told elsewhere.
    let open = |ordinal: &u64| Segment::open(fs, directory, *ordinal).ok().flatten().map(Arc::new);
    Ok(found.iter().filter_map(open).collect())
}

/// The events of a segment that count.
fn events_of(
    shared: &Shared,
    segment: &Segment,
    next: Option<&Arc<Segment>>,
) -> Result<Vec<NumberedEvent>, StoreError> {
    let cut = next.and_then(|next| next.header.previous).map(|cut| cut.offset);
    let scan = segment.scan(&*shared.fs, segment.begin, cut, 0);
    let scan = scan.map_err(|source| unreadable(&segment.path, source))?;
    Ok(scan.batches.into_iter().flat_map(|batch| batch.events).collect())
}

/// The events that have led to a view, the newest first.
pub(super) struct Backwards<'a> {
    shared: &'a Shared,
    view: &'a View,
    /// Those that were read and not given, the next one last.
    read: Vec<NumberedEvent>,
    /// The segments that were not read, the next one last; `None` before the first look.
    segments: Option<Vec<Arc<Segment>>>,
    /// The segment behind the next one.
    behind: Option<Arc<Segment>>,
    /// The number of the event that was given last.
    last: u64,
}

impl<'a> Backwards<'a> {
    pub fn new(shared: &'a Shared, view: &'a View) -> Self {
        let read = view.recent.iter().cloned().collect();
        let last = view.state.position.number + 1;
        Self { shared, view, read, segments: None, behind: None, last }
    }

    /// The next older event; `None` when there is none, or it is not kept any more.
    pub fn next_event(&mut self) -> Result<Option<NumberedEvent>, StoreError> {
        loop {
            while let Some(event) = self.read.pop() {
                if event.position.number < self.last {
                    self.last = event.position.number;
                    return Ok(Some(event));
                }
            }
            if self.segments.is_none() {
                self.segments = Some(segments(self.shared, self.view)?);
            }
            let Some(segment) = self.segments.as_mut().and_then(Vec::pop) else { return Ok(None) };
            if segment.begin.position.number + 1 < self.last {
                self.read = events_of(self.shared, &segment, self.behind.as_ref())?;
            }
            self.behind = Some(segment);
        }
    }
}
