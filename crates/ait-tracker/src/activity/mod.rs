//! The activity of a store: filtered pages of the retained events, and the state at an earlier time.
//!
//! This module knows the tracker and the domain. It only reads.

mod point_in_time;
mod record;
#[cfg(test)]
mod tests;

pub use point_in_time::{HistoryError, IssueActivity, of_issue, state_at};
pub use record::{EventRecord, title_in};

use crate::{Bounds, LogReader, NumberedEvent, StoreError, Tracker, ends_before};
use ait_domain::{Event, EventKind, IssueId, TimelineEntry, Timestamp};

/// The maximum number of events that one call reads.
pub const MAX_SCANNED: usize = 50_000;

/// A filter on events. An empty filter accepts all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ActivityFilter {
    pub agent: Option<String>,
    /// The kind, one of [`EventKind::WORDS`].
    pub kind: Option<&'static str>,
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
    /// The ends of the log.
    pub bounds: Bounds,
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

/// Returns at most `limit` events after a number, oldest first.
pub async fn oldest_first(
    tracker: &Tracker,
    filter: &ActivityFilter,
    after: u64,
    limit: usize,
) -> Result<ActivityPage, StoreError> {
    // One more event shows whether the page is the last one.
    let mut log = LogReader::after(tracker, after).expecting(limit.saturating_add(1));
    let mut page = ActivityPage { reached: after, ..ActivityPage::default() };
    for _ in 0..MAX_SCANNED {
        match log.next().await? {
            Some(event) if page.take(&event, filter, limit) => {}
            Some(_) => break,
            // Events that are no longer kept count as read.
            None => {
                page.reached = page.reached.max(log.bounds().newest.number);
                break;
            }
        }
    }
    page.bounds = log.bounds();
    page.is_last = page.reached >= page.bounds.newest.number;
    Ok(page)
}

/// Returns at most `limit` events before a number, newest first; `None` starts at the newest event.
///
/// With [`ActivityFilter::since`], reading stops at the first event that is more than a minute older.
pub async fn newest_first(
    tracker: &Tracker,
    filter: &ActivityFilter,
    before: Option<u64>,
    limit: usize,
) -> Result<ActivityPage, StoreError> {
    let before = before.unwrap_or(u64::MAX);
    let mut log = LogReader::before(tracker, before).expecting(limit.saturating_add(1));
    let mut page = ActivityPage { reached: before, ..ActivityPage::default() };
    for _ in 0..MAX_SCANNED {
        match log.next().await? {
            Some(event) if filter.since.is_some_and(|since| ends_before(&event.event, since)) => {
                page.is_last = true;
            }
            Some(event) if page.take(&event, filter, limit) => continue,
            Some(_) => {}
            None => page.is_last = true,
        }
        break;
    }
    page.bounds = log.bounds();
    page.reached = page.reached.min(page.bounds.newest.number + 1);
    page.is_last |= page.reached <= page.bounds.oldest;
    Ok(page)
}

/// Returns the number before the first event at or after a time. Reads backwards to find it.
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
