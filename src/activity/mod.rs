//! The activity of a store: filtered pages of the retained events, and the state at an earlier time.
//!
//! This module knows the tracker and the domain. It only reads.

mod point_in_time;
mod record;
#[cfg(test)]
mod tests;

use chrono::{DateTime, TimeDelta, Utc};

pub use point_in_time::{HistoryError, IssueActivity, of_issue, state_at};
pub use record::{EventRecord, title_in};

use crate::domain::{Event, EventKind, IssueId, TimelineEntry, Timestamp};
use crate::tracker::{NumberedEvent, Position, StoreError, Tracker};

/// The maximum number of events that one call reads.
pub const MAX_SCANNED: usize = 50_000;
/// The number of events in the first read of a call; each further read is [`CHUNK_GROWTH`] times larger. Tests use
/// short logs.
const FIRST_CHUNK: usize = if cfg!(test) { 3 } else { 1_000 };
const CHUNK_GROWTH: usize = 8;
/// How much earlier than its neighbours an event may be dated. A change gets its time before it waits for the lock.
const TIME_JITTER: TimeDelta = TimeDelta::minutes(1);
/// A number that no event has, and that can still be incremented.
const LAST_NUMBER: u64 = u64::MAX - 1;

/// A filter on events. An empty filter accepts all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ActivityFilter {
    /// The agent.
    pub agent: Option<String>,
    /// The kind, one of [`EventKind::WORDS`].
    pub kind: Option<&'static str>,
    /// The issue.
    pub issue: Option<IssueId>,
    /// The earliest time.
    pub since: Option<Timestamp>,
}

impl ActivityFilter {
    /// Returns true if the filter accepts an event.
    pub fn accepts(&self, event: &Event) -> bool {
        self.issue.is_none_or(|issue| issue == event.issue)
            && self.kind.is_none_or(|kind| kind == event.kind.word())
            && self.accepts_by(&event.agent, event.at)
    }

    /// Returns true if the filter accepts an entry of an issue's timeline. The caller must filter by issue.
    pub fn accepts_moment(&self, moment: &TimelineEntry<'_>) -> bool {
        self.kind.is_none_or(|kind| moment.kind().word() == Some(kind))
            && self.accepts_by(moment.agent, moment.at)
    }

    fn accepts_by(&self, agent: &str, at: Timestamp) -> bool {
        self.agent.as_deref().is_none_or(|wanted| wanted == agent)
            && self.since.is_none_or(|since| at >= since)
    }

    /// Returns true if all events before this one are too old for the filter.
    fn ends_before(&self, event: &Event) -> bool {
        let earliest = self.since.and_then(|since| {
            let since: DateTime<Utc> = since.into();
            since.checked_sub_signed(TIME_JITTER)
        });
        earliest.is_some_and(|earliest| DateTime::<Utc>::from(event.at) < earliest)
    }
}

/// Returns the word of a kind of events; `None` if there is no such kind.
pub fn kind_from_word(word: &str) -> Option<&'static str> {
    EventKind::WORDS.iter().copied().find(|kind| *kind == word)
}

/// A page of events.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ActivityPage {
    /// The events, in the requested order.
    pub events: Vec<NumberedEvent>,
    /// The number of the last event that was read; the next page continues there.
    pub reached: u64,
    /// True if there are no more events in this direction. If false, there may be more, even after an empty page,
    /// because a call reads at most [`MAX_SCANNED`] events.
    pub is_last: bool,
    /// The position of the newest event of the store.
    pub newest: Position,
    /// The number of the oldest retained event; one more than `newest` if there is none.
    pub oldest: u64,
}

impl ActivityPage {
    /// Adds an event if the filter accepts it. Returns false if the page is full.
    fn take(&mut self, event: &NumberedEvent, filter: &ActivityFilter, limit: usize) -> bool {
        if filter.accepts(&event.event) {
            if self.events.len() == limit {
                return false;
            }
            self.events.push(event.clone());
        }
        self.reached = event.position.number;
        true
    }
}

/// The sizes of successive reads. The first is small, because most pages need no more.
struct Chunks {
    next: usize,
    left: usize,
}

impl Chunks {
    /// Creates the sizes for a page of `limit` events. Reads one more event, to find out if the page is the last one.
    fn new(limit: usize) -> Self {
        Self { next: limit.saturating_add(1).max(FIRST_CHUNK), left: MAX_SCANNED }
    }

    /// Returns the size of the next read; `None` once the call has read enough.
    fn next(&mut self) -> Option<usize> {
        let count = self.next.min(self.left);
        self.left -= count;
        self.next = self.next.saturating_mul(CHUNK_GROWTH);
        (count > 0).then_some(count)
    }
}

/// Returns the position of the newest durable event and the number of the oldest retained one.
///
/// # Errors
///
/// Returns the errors of [`Tracker::events`].
pub async fn bounds(tracker: &Tracker) -> Result<(Position, u64), StoreError> {
    let none = tracker.events(LAST_NUMBER, 0).await?;
    Ok((none.newest, none.oldest))
}

/// Returns at most `limit` events after a number, oldest first.
///
/// # Errors
///
/// Returns the errors of [`Tracker::events`].
pub async fn oldest_first(
    tracker: &Tracker,
    filter: &ActivityFilter,
    after: u64,
    limit: usize,
) -> Result<ActivityPage, StoreError> {
    let (newest, oldest) = bounds(tracker).await?;
    let mut page = ActivityPage { reached: after, newest, oldest, ..ActivityPage::default() };
    let mut chunks = Chunks::new(limit);
    while page.reached < page.newest.number
        && let Some(count) = chunks.next()
    {
        let read = tracker.events(page.reached, count).await?;
        page.newest = read.newest;
        if read.events.is_empty() {
            // The remaining events were pruned.
            page.reached = page.newest.number;
        }
        if !read.events.iter().all(|event| page.take(event, filter, limit)) {
            break;
        }
    }
    page.is_last = page.reached >= page.newest.number;
    Ok(page)
}

/// Returns at most `limit` events before a number, newest first; `None` starts at the newest event.
///
/// With [`ActivityFilter::since`], reading stops at the first event that is more than a minute older.
///
/// # Errors
///
/// Returns the errors of [`Tracker::events`].
pub async fn newest_first(
    tracker: &Tracker,
    filter: &ActivityFilter,
    before: Option<u64>,
    limit: usize,
) -> Result<ActivityPage, StoreError> {
    let (newest, oldest) = bounds(tracker).await?;
    // One more than the number of the next event to read.
    let mut end = before.map_or(newest.number + 1, |before| before.min(newest.number + 1));
    let mut page = ActivityPage { reached: end, newest, oldest, ..ActivityPage::default() };
    let mut chunks = Chunks::new(limit);
    while end > page.oldest
        && let Some(count) = chunks.next()
    {
        let begin = end.saturating_sub(count as u64).max(page.oldest);
        let read = tracker.events(begin - 1, (end - begin) as usize).await?;
        for event in read.events.iter().rev() {
            if filter.ends_before(&event.event) {
                page.is_last = true;
                return Ok(page);
            }
            if !page.take(event, filter, limit) {
                return Ok(page);
            }
        }
        // The log may have been pruned meanwhile.
        page.oldest = page.oldest.max(read.oldest);
        end = begin;
    }
    page.is_last = end <= page.oldest;
    Ok(page)
}

/// Returns the number before the first event at or after a time. Reads backwards to find it.
///
/// # Errors
///
/// Returns the errors of [`Tracker::events`].
pub async fn number_before(tracker: &Tracker, since: Timestamp) -> Result<u64, StoreError> {
    let filter = ActivityFilter { since: Some(since), ..ActivityFilter::default() };
    let mut before = None;
    loop {
        let page = newest_first(tracker, &filter, before, MAX_SCANNED).await?;
        if page.is_last {
            return Ok(page.events.last().map_or(page.reached, |first| first.position.number) - 1);
        }
        before = Some(page.reached);
    }
}
