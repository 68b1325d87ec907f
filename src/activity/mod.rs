//! What happened: the kept events of a store, filtered and in pages, and how everything was at an earlier time.
//!
//! Knows the tracker and the domain. It only reads.

mod past;
mod record;
#[cfg(test)]
mod tests;

use chrono::{DateTime, TimeDelta, Utc};

pub use past::{IssueActivity, PastError, of_issue, state_at};
pub use record::{EventRecord, title_in};

use crate::domain::event::{
    CLAIM_ACTION, CLOSE_ACTION, COMPLETE_ACTION, EDIT_ACTION, FILE_ACTION, LAPSE_ACTION,
    REJECT_ACTION, RETURN_ACTION, REVIEW_ACTION,
};
use crate::domain::{Event, EventKind, IssueId, Moment, Timestamp};
use crate::tracker::{NumberedEvent, Position, StoreError, Tracker};

/// The most events that one call reads.
pub const MAX_SCANNED: usize = 50_000;
/// How many events are read at once at first; each time after that, [`CHUNK_GROWTH`] times as many. Tests have
/// short logs.
const FIRST_CHUNK: usize = if cfg!(test) { 3 } else { 1_000 };
const CHUNK_GROWTH: usize = 8;
/// How much earlier than the events around it an event may be dated. A change gets its time before it waits for
/// its turn.
const TIME_JITTER: TimeDelta = TimeDelta::minutes(1);
/// A number that no event has, and that still has a successor.
const LAST_NUMBER: u64 = u64::MAX - 1;

/// Which events are wanted. An empty filter wants all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ActivityFilter {
    /// Only those of this agent.
    pub agent: Option<String>,
    /// Only those of this kind, one of [`EventKind::WORDS`].
    pub kind: Option<&'static str>,
    /// Only those of this issue.
    pub issue: Option<IssueId>,
    /// Only those that are not earlier than this.
    pub since: Option<Timestamp>,
}

impl ActivityFilter {
    /// Returns true if an event is wanted.
    pub fn accepts(&self, event: &Event) -> bool {
        self.issue.is_none_or(|issue| issue == event.issue)
            && self.kind.is_none_or(|kind| kind == event.kind.word())
            && self.accepts_by(&event.agent, event.at)
    }

    /// Returns true if an entry of an issue's history is wanted; the issue itself is not looked at.
    pub fn accepts_moment(&self, moment: &Moment<'_>) -> bool {
        self.kind.is_none_or(|kind| kind_of(moment) == Some(kind))
            && self.accepts_by(moment.agent, moment.at)
    }

    fn accepts_by(&self, agent: &str, at: Timestamp) -> bool {
        self.agent.as_deref().is_none_or(|wanted| wanted == agent)
            && self.since.is_none_or(|since| at >= since)
    }

    /// Returns true if no event before this one is wanted, because all of them are too old.
    fn ends_before(&self, event: &Event) -> bool {
        let earliest = self.since.and_then(|since| {
            let since: DateTime<Utc> = since.into();
            since.checked_sub_signed(TIME_JITTER)
        });
        earliest.is_some_and(|earliest| DateTime::<Utc>::from(event.at) < earliest)
    }
}

/// Returns the word for a kind of events; `None` if there is no such kind.
pub fn kind_from_word(word: &str) -> Option<&'static str> {
    EventKind::WORDS.iter().copied().find(|kind| *kind == word)
}

/// Returns the kind of the event that has left an entry in a history; `None` for what only other programs write.
pub fn kind_of(moment: &Moment<'_>) -> Option<&'static str> {
    Some(match moment.action {
        None => "commented",
        Some(FILE_ACTION) => "filed",
        Some(CLAIM_ACTION) => "claimed",
        Some(REVIEW_ACTION) => "review_started",
        Some(LAPSE_ACTION) => "lapsed",
        Some(RETURN_ACTION) => "returned",
        Some(COMPLETE_ACTION) => "completed",
        Some(CLOSE_ACTION) => "closed",
        Some(REJECT_ACTION) => "rejected",
        Some(EDIT_ACTION) => "edited",
        Some(_) => return None,
    })
}

/// A part of what happened.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ActivityPage {
    /// The events, in the order that was asked for.
    pub events: Vec<NumberedEvent>,
    /// The number of the last event that was read: where the next page goes on.
    pub reached: u64,
    /// True if there is no more in this direction. If not, there may be, also behind a page without events: a call
    /// reads at most [`MAX_SCANNED`] events.
    pub is_last: bool,
    /// The newest event of the store.
    pub newest: Position,
    /// The number of the oldest event that is kept; one more than `newest` if there is none.
    pub oldest: u64,
}

impl ActivityPage {
    /// Takes an event that was read, unless it is one more than `limit`; returns false then.
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

/// The numbers of events to read at once: few at first, because most pages need no more.
struct Chunks {
    next: usize,
    left: usize,
}

impl Chunks {
    /// For a page of so many events. The one behind them tells that there are more.
    fn new(limit: usize) -> Self {
        Self { next: limit.saturating_add(1).max(FIRST_CHUNK), left: MAX_SCANNED }
    }

    /// How many to read next; `None` when that is enough for one call.
    fn next(&mut self) -> Option<usize> {
        let count = self.next.min(self.left);
        self.left -= count;
        self.next = self.next.saturating_mul(CHUNK_GROWTH);
        (count > 0).then_some(count)
    }
}

/// Returns the position of the newest durable event, and the number of the oldest one that is kept.
///
/// # Errors
///
/// Those of [`Tracker::events`].
pub async fn bounds(tracker: &Tracker) -> Result<(Position, u64), StoreError> {
    let none = tracker.events(LAST_NUMBER, 0).await?;
    Ok((none.newest, none.oldest))
}

/// Returns at most `limit` events after a number, oldest first.
///
/// # Errors
///
/// Those of [`Tracker::events`].
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
            // What there was is no longer kept.
            page.reached = page.newest.number;
        }
        if !read.events.iter().all(|event| page.take(event, filter, limit)) {
            break;
        }
    }
    page.is_last = page.reached >= page.newest.number;
    Ok(page)
}

/// Returns at most `limit` events before a number, or of all, newest first.
///
/// With [`ActivityFilter::since`], it stops at the first event that is more than a minute older.
///
/// # Errors
///
/// Those of [`Tracker::events`].
pub async fn newest_first(
    tracker: &Tracker,
    filter: &ActivityFilter,
    before: Option<u64>,
    limit: usize,
) -> Result<ActivityPage, StoreError> {
    let (newest, oldest) = bounds(tracker).await?;
    // The number behind the next event to read.
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
        // The log was pruned meanwhile.
        page.oldest = page.oldest.max(read.oldest);
        end = begin;
    }
    page.is_last = end <= page.oldest;
    Ok(page)
}

/// Returns the number after which the events begin that are not earlier than a time: reads backwards as far as that
/// takes.
///
/// # Errors
///
/// Those of [`Tracker::events`].
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
