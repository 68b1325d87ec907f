//! The state at an earlier time: the current state with the later events reverted.

use std::sync::Arc;

use super::{ActivityFilter, MAX_SCANNED, newest_first};
use crate::{EventPosition, Events, NumberedEvent, State, StoreError, Tracker};
use ait_domain::{DomainError, EventKind, Issue, IssueId, Timestamp};

/// The number of events per read. Tests use short logs.
const CHUNK: u64 = if cfg!(test) { 5 } else { 8_000 };
/// How often an issue is read that changes meanwhile.
const MAX_ATTEMPTS: u32 = 12;

/// The reasons why an earlier state cannot be reconstructed.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The time is before the oldest retained event.
    #[error("{}", not_kept(*.oldest))]
    NotKept {
        /// The time of that event; `None` if no event is retained.
        oldest: Option<Timestamp>,
    },
    /// The log was replaced while it was being read.
    #[error("the event log was replaced while it was being read; try again")]
    Replaced,
    /// The issue changed whenever it was read.
    #[error("the issue changes all the time; try again")]
    Changing,
    /// An event does not match the state after it.
    #[error("event {number} does not match the state after it: {source}")]
    Inconsistent {
        /// The number of the event.
        number: u64,
        /// The reason.
        source: DomainError,
    },
}

fn not_kept(oldest: Option<Timestamp>) -> String {
    match oldest {
        Some(oldest) => format!("the event log only reaches back to {oldest}"),
        None => "the event log is empty".to_owned(),
    }
}

/// Returns the state after the last event at or before a time.
///
/// The cost is that of reading all later events.
///
/// # Errors
///
/// Returns a [`HistoryError`] if the state cannot be reconstructed.
pub async fn state_at(tracker: &Tracker, at: Timestamp) -> Result<State, HistoryError> {
    let mut state = tracker.state().await?;
    let mut oldest = None;
    while state.position.number > 0 {
        let read = events_up_to(tracker, state.position).await?;
        for (index, NumberedEvent { position, event }) in read.events.iter().enumerate().rev() {
            if event.at <= at {
                return Ok(state);
            }
            let previous = match index.checked_sub(1) {
                Some(previous) => read.events[previous].position,
                None if position.number <= read.oldest => base(*position),
                // Read this event again, together with the earlier ones.
                None => break,
            };
            oldest = Some(event.at);
            state
                .revert(event, previous)
                .map_err(|source| HistoryError::Inconsistent { number: position.number, source })?;
        }
        if state.position.number < read.oldest {
            break;
        }
    }
    // Earlier events are gone; only the issues themselves can show that nothing changed.
    let is_known = state.position.number == 0 || oldest.is_none();
    if is_known && state.issues.issues().all(|issue| issue.modified_at <= at) {
        return Ok(state);
    }
    Err(HistoryError::NotKept { oldest })
}

/// Returns the position before the oldest retained event. Its hash was pruned with the earlier events.
fn base(oldest: EventPosition) -> EventPosition {
    EventPosition { number: oldest.number - 1, hash: 0 }
}

/// Reads the event at a position and events before it.
async fn events_up_to(tracker: &Tracker, position: EventPosition) -> Result<Events, HistoryError> {
    let begin = position.number.saturating_sub(CHUNK);
    let read = tracker.events(begin, (position.number - begin) as usize).await?;
    let is_pruned = read.events.is_empty() && read.oldest > position.number;
    match read.events.last() {
        Some(last) if last.position == position => Ok(read),
        None if is_pruned && read.newest.number >= position.number => Ok(read),
        _ => Err(HistoryError::Replaced),
    }
}

/// The history of one issue as events.
#[derive(Clone, Debug)]
pub struct IssueActivity {
    /// The current issue.
    pub issue: Arc<Issue>,
    /// The issue before the first of the events; `None` if the first event filed it.
    pub before: Option<Issue>,
    /// Its events, oldest first.
    pub events: Vec<NumberedEvent>,
    /// The newest event at the time of reading.
    pub newest: EventPosition,
}

/// Returns an issue as it is after an event.
async fn issue_as_of_event(
    tracker: &Tracker,
    id: IssueId,
) -> Result<(Arc<Issue>, EventPosition), HistoryError> {
    let mut newest = tracker.events(u64::MAX, 1).await?.newest;
    for _ in 0..MAX_ATTEMPTS {
        let issue = tracker.get_issue(id.into()).await?;
        let later = tracker.events(newest.number, CHUNK as usize).await?;
        let are_all = (later.events.len() as u64) < CHUNK;
        if are_all && later.events.iter().all(|event| event.event.issue != id) {
            return Ok((issue, newest));
        }
        newest = later.newest;
    }
    Err(HistoryError::Changing)
}

/// Reads all events of an issue.
///
/// The cost is that of reading the events since the issue was filed.
///
/// # Errors
///
/// Returns a [`HistoryError`] if the events cannot be read.
pub async fn of_issue(tracker: &Tracker, id: IssueId) -> Result<IssueActivity, HistoryError> {
    let (issue, newest) = issue_as_of_event(tracker, id).await?;
    let filter = ActivityFilter { issue: Some(id), ..ActivityFilter::default() };
    let mut events: Vec<NumberedEvent> = Vec::new();
    let mut before = Some(newest.number + 1);
    let mut is_begin = false;
    while !is_begin && before.is_some() {
        let page = newest_first(tracker, &filter, before, MAX_SCANNED).await?;
        for event in page.events {
            let kind = &event.event.kind;
            is_begin = matches!(kind, EventKind::Filed { .. } | EventKind::Imported { .. });
            events.push(event);
            if is_begin {
                break;
            }
        }
        before = (!page.is_last).then_some(page.reached);
    }
    let mut older = Some(Issue::clone(&issue));
    for NumberedEvent { event, .. } in &events {
        match &event.kind {
            EventKind::Filed { .. } => older = None,
            EventKind::Imported { issue, .. } | EventKind::Removed { issue, .. } => {
                older = Some(Issue::clone(issue));
            }
            _ => older.iter_mut().for_each(|issue| event.revert(issue)),
        }
    }
    events.reverse();
    Ok(IssueActivity { issue, before: older, events, newest })
}
