//! Reading the log of a store: in chunks, from any event on, in both directions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};

use super::Tracker;
use crate::domain::text::shortened;
use crate::domain::{Event, EventKind, Issue, IssueId, Timestamp};
use crate::store::{EventPosition, Events, NumberedEvent, StoreError};

/// The number of events in the first read of a reader. Tests use short logs.
const FIRST_READ: usize = if cfg!(test) { 3 } else { 1_000 };
/// Each further read is this many times larger, up to the limit.
const READ_GROWTH: usize = 8;
const MAX_READ: usize = 8_000;
/// A number that no event has, and that can still be incremented.
const MAX_NUMBER: u64 = u64::MAX - 1;
/// How much earlier than its neighbours an event may be dated. A change gets its time before it waits for the lock.
const TIME_JITTER: TimeDelta = TimeDelta::minutes(1);
/// How many events `change_numbers` reads beyond those of the change.
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

/// The numbers of the first and the last event of a change, or of several: `412`, or `412-460`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EventNumbers(pub RangeInclusive<u64>);

impl fmt::Display for EventNumbers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, last) = (self.0.start(), self.0.end());
        if first == last { write!(f, "{first}") } else { write!(f, "{first}-{last}") }
    }
}

impl FromStr for EventNumbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim().trim_start_matches('#');
        let (first, last) = text.split_once(['-', '–']).unwrap_or((text, text));
        let number = |text: &str| text.trim().parse::<u64>().ok().filter(|number| *number > 0);
        let numbers = number(first).zip(number(last)).filter(|(first, last)| first <= last);
        let invalid = || {
            let shown = shortened(text, SHOWN_CHARS);
            format!("{shown:?} is not the number of a change, such as 412 or 412-460")
        };
        numbers.map(|(first, last)| Self(first..=last)).ok_or_else(invalid)
    }
}

impl<'a> LogReader<'a> {
    /// Reads the events after a number, oldest first.
    pub fn after(tracker: &'a Tracker, number: u64) -> Self {
        let (read, bounds) = (VecDeque::new(), None);
        let (at, read_size) = (number, FIRST_READ);
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
    ///
    /// # Errors
    ///
    /// Those of [`Tracker::events`].
    pub async fn next(&mut self) -> Result<Option<NumberedEvent>, StoreError> {
        if self.read.is_empty() {
            match self.is_backward {
                true => self.read_backward().await?,
                false => self.read_forward().await?,
            }
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
    ///
    /// # Errors
    ///
    /// Those of [`Store::events`](crate::store::Store::events).
    pub async fn events(&self, after: u64, limit: usize) -> Result<Events, StoreError> {
        self.store.events(after, limit).await
    }

    /// Returns the ends of the log.
    ///
    /// # Errors
    ///
    /// Those of [`events`](Self::events).
    pub async fn log_bounds(&self) -> Result<Bounds, StoreError> {
        let Events { newest, oldest, .. } = self.events(MAX_NUMBER, 0).await?;
        Ok(Bounds { newest, oldest })
    }

    /// Returns at most `limit` events after a position that the caller has read; `None` if another log has replaced
    /// that one. Where the log no longer has the event at the position, events after it may be missing.
    ///
    /// # Errors
    ///
    /// Those of [`events`](Self::events).
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
    ///
    /// # Errors
    ///
    /// Those of [`events`](Self::events).
    pub async fn changed_after(
        &self,
        number: u64,
    ) -> Result<(Option<BTreeSet<IssueId>>, u64), StoreError> {
        let (mut changed, mut log) = (BTreeSet::new(), LogReader::after(self, number));
        while let Some(read) = log.next().await? {
            changed.insert(read.event.issue);
        }
        Ok((log.is_complete().then_some(changed), log.at))
    }

    /// Returns the numbers of the first and the last event that led to issues which were just changed together; `None`
    /// if these events are no longer among the newest ones, or they cannot be read.
    ///
    /// They are looked up, because not every store has numbered an event when it answers the change. Time alone does
    /// not find them: all changes of an issue that is dated in the future have the same time. So only the last event of
    /// each issue counts, and the return before it if that is why the issue was parked.
    pub async fn change_numbers(&self, issues: &[Arc<Issue>]) -> Option<EventNumbers> {
        let newest = self.log_bounds().await.ok()?.newest.number;
        let among = (NEWEST + issues.len()) as u64;
        let changes: BTreeSet<_> =
            issues.iter().map(|issue| (issue.id, issue.modified_at)).collect();
        let mut log = LogReader::after(self, newest.saturating_sub(among));
        let (mut found, mut returned) = (BTreeMap::new(), None);
        while let Some(read) = log.next().await.ok()? {
            let (event, number) = (&read.event, read.number());
            if changes.contains(&(event.issue, event.at)) {
                let is_parked = returned == Some((event.issue, event.agent.clone(), number - 1))
                    && matches!(event.kind, EventKind::Changed { .. });
                found.insert(event.issue, (number - u64::from(is_parked), number));
            }
            returned = matches!(event.kind, EventKind::Returned { .. })
                .then(|| (event.issue, event.agent.clone(), number));
        }
        let first = found.values().map(|(first, _)| *first).min()?;
        let last = found.values().map(|(_, last)| *last).max()?;
        Some(EventNumbers(first..=last))
    }

    /// Returns the numbers of the first and the last event after a number that led to these issues.
    pub(super) async fn numbers_after(
        &self,
        number: u64,
        issues: &[Arc<Issue>],
    ) -> Result<Option<EventNumbers>, StoreError> {
        let changes: BTreeSet<_> =
            issues.iter().map(|issue| (issue.id, issue.modified_at)).collect();
        let (mut numbers, mut log) = (None, LogReader::after(self, number));
        while let Some(read) = log.next().await? {
            if changes.contains(&(read.event.issue, read.event.at)) {
                let first = numbers.map_or(read.number(), |(first, _)| first);
                numbers = Some((first, read.number()));
            }
        }
        Ok(numbers.map(|(first, last)| EventNumbers(first..=last)))
    }
}
