//! Reading the log of a store: in chunks, from any event on, in both directions.

use std::collections::{BTreeSet, HashSet, VecDeque};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use chrono::{DateTime, TimeDelta, Utc};

use super::{Tracker, read_after_change};
use ait_domain::text::shortened;
use ait_domain::{Event, IssueId, Timestamp};
use ait_store::{EventPosition, Events, NumberedEvent, StoreError};

/// The number of events in the first read of a reader. Tests use short logs.
const FIRST_READ: usize = if cfg!(test) { 3 } else { 1_000 };
/// Each further read is this many times larger, up to the limit.
const READ_GROWTH: usize = 8;
const MAX_READ: usize = 8_000;
/// A number that no event has, and that can still be incremented.
const MAX_NUMBER: u64 = u64::MAX - 1;
/// How much earlier than its neighbours an event may be dated. A change gets its time before it waits for the lock.
const TIME_JITTER: TimeDelta = TimeDelta::minutes(1);
/// How many events are read at first to find those of a change, beyond their number.
const NEWEST: usize = 100;

/// How much of a text an error shows, in characters.
const SHOWN_CHARS: usize = 60;

/// Reads events one after another, up to the end of the log as it was at the last read.
pub struct LogReader<'a> {
    tracker: &'a Tracker,
    is_backward: bool,
    /// Forwards the number of the last event that was read, backwards one more than that of the next one.
    at: u64,
    read_size: usize,
    read: VecDeque<NumberedEvent>,
    /// What the last read said of the log; `None` before the first one.
    bounds: Option<Bounds>,
    is_complete: bool,
}

/// The ends of a log.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bounds {
    /// The position of the newest durable event.
    pub newest: EventPosition,
    /// The number of the oldest event that is kept; one more than `newest` if there is none.
    pub oldest: u64,
}

/// The numbers of the events of a change, or of several: `412`, or `412-460`, or `412,415-460` if others are between
/// them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventNumbers {
    /// In their order, with other numbers between them. There is at least one.
    ranges: Vec<RangeInclusive<u64>>,
}

impl EventNumbers {
    /// Returns the numbers in these ranges; `None` if there are none.
    pub fn of(ranges: impl IntoIterator<Item = RangeInclusive<u64>>) -> Option<Self> {
        let mut given: Vec<_> = ranges.into_iter().filter(|range| !range.is_empty()).collect();
        given.sort_by_key(|range| *range.start());
        let mut ranges: Vec<RangeInclusive<u64>> = Vec::new();
        for range in given {
            match ranges.last_mut() {
                Some(last) if *range.start() <= last.end().saturating_add(1) => {
                    *last = *last.start()..=*last.end().max(range.end());
                }
                _ => ranges.push(range),
            }
        }
        (!ranges.is_empty()).then_some(Self { ranges })
    }

    /// Returns the first number.
    pub fn first(&self) -> u64 {
        self.ranges.first().map_or(0, |range| *range.start())
    }

    /// Returns the last number.
    pub fn last(&self) -> u64 {
        self.ranges.last().map_or(0, |range| *range.end())
    }

    /// Returns true if this is one of the numbers.
    pub fn contains(&self, number: u64) -> bool {
        let at = self.ranges.partition_point(|range| *range.end() < number);
        self.ranges.get(at).is_some_and(|range| range.contains(&number))
    }

    /// Returns the numbers up to one of them.
    pub(super) fn up_to(&self, last: u64) -> Option<Self> {
        Self::of(self.ranges.iter().map(|range| *range.start()..=*range.end().min(&last)))
    }
}

impl fmt::Display for EventNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, range) in self.ranges.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            let first = range.start();
            let last = range.end();
            write!(f, "{comma}{first}")?;
            if first != last {
                write!(f, "-{last}")?;
            }
        }
        Ok(())
    }
}

impl FromStr for EventNumbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| text.trim().parse::<u64>().ok().filter(|number| *number > 0);
        let range = |part: &str| {
            let part = part.trim().trim_start_matches('#');
            let (first, last) = part.split_once(['-', '–']).unwrap_or((part, part));
            let range = number(first)?..=number(last)?;
            (!range.is_empty()).then_some(range)
        };
        let ranges: Option<Vec<_>> = text.split(',').map(range).collect();
        ranges.and_then(Self::of).ok_or_else(|| {
            let shown = shortened(text.trim(), SHOWN_CHARS);
            format!("{shown:?} is not the number of a change, such as 412 or 412-460")
        })
    }
}

impl<'a> LogReader<'a> {
    /// Reads the events after a number, oldest first.
    pub fn after(tracker: &'a Tracker, number: u64) -> Self {
        let read = VecDeque::new();
        let bounds = None;
        let at = number;
        let read_size = FIRST_READ;
        Self { tracker, is_backward: false, at, read_size, read, bounds, is_complete: true }
    }

    /// Reads the events before a number, newest first.
    pub fn before(tracker: &'a Tracker, number: u64) -> Self {
        Self { is_backward: true, ..Self::after(tracker, number) }
    }

    /// Reads at least so many events in the first read, because the caller needs as many.
    pub fn expecting(self, count: usize) -> Self {
        Self { read_size: count.clamp(FIRST_READ, MAX_READ), ..self }
    }

    /// Returns the next event; `None` at the end of the log.
    pub async fn next(&mut self) -> Result<Option<NumberedEvent>, StoreError> {
        if self.read.is_empty() {
            if self.is_backward { self.read_backward().await? } else { self.read_forward().await? }
        }
        Ok(if self.is_backward { self.read.pop_back() } else { self.read.pop_front() })
    }

    /// Returns the ends of the log as of the last read.
    pub fn bounds(&self) -> Bounds {
        self.bounds.unwrap_or_default()
    }

    /// Returns true if no event was missing between those that were read.
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    async fn read_forward(&mut self) -> Result<(), StoreError> {
        if self.bounds.is_some_and(|bounds| self.at >= bounds.newest.number) {
            return Ok(());
        }
        let after = self.at;
        let read = self.read(after, self.read_size).await?;
        self.is_complete &= read.is_complete_after(after);
        self.at = read.events.last().map_or(after.max(read.newest.number), |last| last.number());
        self.read = read.events.into();
        Ok(())
    }

    async fn read_backward(&mut self) -> Result<(), StoreError> {
        let bounds = match self.bounds {
            Some(bounds) => bounds,
            None => self.tracker.log_bounds().await?,
        };
        self.bounds = Some(bounds);
        let end = self.at.min(bounds.newest.number + 1);
        if end > bounds.oldest {
            let begin = end.saturating_sub(self.read_size as u64).max(bounds.oldest);
            let count = usize::try_from(end - begin).unwrap_or(usize::MAX);
            self.read = self.read(begin - 1, count).await?.events.into();
            self.at = begin;
        }
        Ok(())
    }

    async fn read(&mut self, after: u64, count: usize) -> Result<Events, StoreError> {
        let read = self.tracker.events(after, count).await?;
        self.bounds = Some(Bounds { newest: read.newest, oldest: read.oldest });
        self.read_size = self.read_size.saturating_mul(READ_GROWTH).min(MAX_READ);
        Ok(read)
    }
}

/// Returns true if an event is so old that no earlier event can be at or after a time.
pub fn ends_before(event: &Event, since: Timestamp) -> bool {
    let earliest = DateTime::<Utc>::from(since).checked_sub_signed(TIME_JITTER);
    earliest.is_some_and(|earliest| DateTime::<Utc>::from(event.at) < earliest)
}

impl Tracker {
    /// Returns at most `limit` durable events after an event number.
    pub async fn events(&self, after: u64, limit: usize) -> Result<Events, StoreError> {
        self.store.events(after, limit).await
    }

    /// Returns the ends of the log.
    pub async fn log_bounds(&self) -> Result<Bounds, StoreError> {
        let Events { newest, oldest, .. } = self.events(MAX_NUMBER, 0).await?;
        Ok(Bounds { newest, oldest })
    }

    /// Returns at most `limit` events after a position that the caller has read; `None` if another log has replaced
    /// that one. Where the log no longer has the event at the position, events after it may be missing.
    pub async fn events_since(
        &self,
        known: EventPosition,
        limit: usize,
    ) -> Result<Option<Events>, StoreError> {
        // Read the known event again: if its position differs, another log has replaced the one that the caller read.
        let before = known.number.saturating_sub(1);
        let mut read = self.events(before, limit.saturating_add(1)).await?;
        let is_same = match read.events.first() {
            _ if known.number == 0 => true,
            Some(first) if first.number() == known.number => first.position == known,
            _ => read.newest.number >= known.number && read.oldest > known.number,
        };
        read.events.retain(|event| event.number() > known.number);
        Ok(is_same.then_some(read))
    }

    /// Returns the issues that events after a number changed, with the number of the last of these events. The first
    /// part is `None` if the log no longer has all of them.
    pub async fn changed_after(
        &self,
        number: u64,
    ) -> Result<(Option<BTreeSet<IssueId>>, u64), StoreError> {
        let mut changed = BTreeSet::new();
        let mut log = LogReader::after(self, number);
        while let Some(read) = log.next().await? {
            changed.insert(read.event.issue);
        }
        Ok((log.is_complete().then_some(changed), log.at))
    }

    /// Returns the numbers of the events of a change that was just made; `None` if there are none, or if they cannot be
    /// read.
    pub async fn change_numbers(&self, events: &[EventPosition]) -> Option<EventNumbers> {
        let given = events.iter().map(|event| event.number);
        if given.clone().all(|number| number > 0) {
            return EventNumbers::of(given.map(|number| number..=number));
        }
        read_after_change(self.numbers_in_log(events)).await.flatten()
    }

    /// Finds events that got their numbers after the commit. All of them are in the log now, among the newest.
    async fn numbers_in_log(
        &self,
        events: &[EventPosition],
    ) -> Result<Option<EventNumbers>, StoreError> {
        let mut missing: HashSet<u64> = events.iter().map(|event| event.hash).collect();
        let mut numbers = Vec::new();
        let read_size = NEWEST + events.len();
        let mut log = LogReader { read_size, ..LogReader::before(self, MAX_NUMBER) };
        while !missing.is_empty()
            && let Some(read) = log.next().await?
        {
            if missing.remove(&read.position.hash) {
                numbers.push(read.number()..=read.number());
            }
        }
        Ok(EventNumbers::of(numbers).filter(|_| missing.is_empty()))
    }
}
