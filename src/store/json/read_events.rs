//! Reads events from the log: forwards from a number, or backwards from the newest.

use super::log::Segment;
use super::log::segment::ordinals;
use super::open::unreadable;
use super::shared::Shared;
use super::support::lock;
use super::view::View;
use crate::store::{Events, NumberedEvent, StoreError};

/// How much of a segment is read at once, in bytes.
const PART_BYTES: usize = 256 * 1024;

/// Returns the durable events after a number.
pub(super) fn after(
    shared: &Shared,
    view: &View,
    after: u64,
    limit: usize,
) -> Result<Events, StoreError> {
    let newest = view.durable;
    let Some(log_end) = view.log_end() else {
        return Ok(Events { events: Vec::new(), newest, oldest: newest.number + 1 });
    };
    let wanted = |event: &&NumberedEvent| {
        event.position.number > after && event.position.number <= newest.number
    };
    let (fs, directory) = (&*shared.fs, &view.paths.log);
    let ordinals = ordinals(fs, directory).map_err(|source| unreadable(directory, source))?;
    // A segment that cannot be opened was pruned, or is damaged and reported elsewhere.
    let open = |ordinal: &u64| Segment::open(fs, directory, *ordinal).ok().flatten();
    // If the log has no event, its first segment still says where it begins.
    let first = ordinals.iter().find_map(open);
    let oldest = first.map_or(log_end.segment.begin, |segment| segment.begin).position.number + 1;
    if after >= newest.number {
        return Ok(Events { events: Vec::new(), newest, oldest });
    }
    if let Some(events) = shared.recent.between(after, newest, limit) {
        return Ok(Events { events, newest, oldest });
    }
    let begins_behind =
        |ordinal: &u64| open(ordinal).is_some_and(|segment| segment.begin.position.number > after);
    let found = ordinals.partition_point(|ordinal| !begins_behind(ordinal)).saturating_sub(1);
    let mut segments = ordinals[found..].iter().filter_map(open).peekable();
    let mut events: Vec<NumberedEvent> = Vec::new();
    while let Some(segment) = segments.next() {
        let cut = cut_by(segments.peek());
        let mut from = lock(&shared.seek_index).nearest(&segment, after);
        while events.len() < limit && cut.is_none_or(|cut| from.offset < cut) {
            let read = segment.read_part(fs, from, cut, PART_BYTES);
            let batches = read.map_err(|source| unreadable(&segment.path, source))?;
            let Some(last) = batches.last() else { break };
            from = last.end;
            lock(&shared.seek_index).add(&segment, from);
            let read = batches.iter().flat_map(|batch| &batch.events).filter(wanted);
            events.extend(read.take(limit - events.len()).cloned());
        }
        if events.len() >= limit || from.position.number >= newest.number {
            break;
        }
    }
    Ok(Events { events, newest, oldest })
}

/// Returns the offset at which a segment ends, if another one follows.
fn cut_by(next: Option<&Segment>) -> Option<u64> {
    next.and_then(|next| next.header.previous).map(|cut| cut.offset)
}

/// Returns the events of a segment up to the cut.
fn events_of(
    shared: &Shared,
    segment: &Segment,
    next: Option<&Segment>,
) -> Result<Vec<NumberedEvent>, StoreError> {
    let scan = segment.scan(&*shared.fs, segment.begin, cut_by(next), 0);
    let scan = scan.map_err(|source| unreadable(&segment.path, source))?;
    Ok(scan.batches.into_iter().flat_map(|batch| batch.events).collect())
}

/// Iterates over the events that led to a view, newest first.
pub(super) struct Backwards<'a> {
    shared: &'a Shared,
    view: &'a View,
    /// The events that were read but not returned yet, the next one last.
    read: Vec<NumberedEvent>,
    /// The ordinals of the segments that were not read yet, the next one last; `None` before the first read.
    ordinals: Option<Vec<u64>>,
    /// The segment after the next one to read.
    behind: Option<Segment>,
    /// The number of the event that was returned last.
    last: u64,
}

impl<'a> Backwards<'a> {
    pub fn new(shared: &'a Shared, view: &'a View) -> Self {
        let read = shared.recent.up_to(view.state.position);
        let last = view.state.position.number + 1;
        Self { shared, view, read, ordinals: None, behind: None, last }
    }

    /// Returns the next older event, or `None` if the log has no older one.
    pub fn next_event(&mut self) -> Result<Option<NumberedEvent>, StoreError> {
        loop {
            while let Some(event) = self.read.pop() {
                // A missing event hides all older ones.
                if event.position.number + 1 < self.last {
                    return Ok(None);
                }
                if event.position.number < self.last {
                    self.last = event.position.number;
                    return Ok(Some(event));
                }
            }
            let (fs, directory) = (&*self.shared.fs, &self.view.paths.log);
            if self.ordinals.is_none() {
                let found = ordinals(fs, directory);
                self.ordinals = Some(found.map_err(|source| unreadable(directory, source))?);
            }
            let Some(ordinal) = self.ordinals.as_mut().and_then(Vec::pop) else { return Ok(None) };
            let Ok(Some(segment)) = Segment::open(fs, directory, ordinal) else { continue };
            if segment.begin.position.number + 1 < self.last {
                self.read = events_of(self.shared, &segment, self.behind.as_ref())?;
            }
            self.behind = Some(segment);
        }
    }
}
