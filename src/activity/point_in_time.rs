//! The state at an earlier time: the current state with the later events reverted.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::{ActivityFilter, MAX_SCANNED, newest_first};
use crate::domain::{DomainError, EventKind, Issue, IssueId, Order, Query, Timestamp};
use crate::tracker::{EventPosition, Events, NumberedEvent, State, StoreError, Tracker};

/// The number of events per read. Tests use short logs.
const CHUNK: u64 = if cfg!(test) { 5 } else { 8_000 };
/// How often, and how long each time, to wait until the newest state is durable.
const MAX_ATTEMPTS: u32 = 12;
const TRIAL: Duration = Duration::from_millis(250);

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
    /// The newest change is not durable yet.
    #[error("the newest change is not on disk yet; try again")]
    NotDurable,
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
    let mut state = durable_state(tracker).await?;
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
    let last = Query { order: Order::LatestActivity, take: 1, ..Query::default() };
    let last = state.issues.list(&last).issues;
    if is_known && last.first().is_none_or(|issue| issue.modified_at <= at) {
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

/// Returns a state whose last event is durable, so that the log contains it.
pub(super) async fn durable_state(tracker: &Tracker) -> Result<State, HistoryError> {
    let mut state = tracker.state().await?;
    let mut newest = None;
    for _ in 0..MAX_ATTEMPTS {
        let Some(before) = state.position.number.checked_sub(1) else { return Ok(state) };
        let read = tracker.events(before, 1).await?;
        match read.events.first() {
            Some(event) if event.position == state.position => return Ok(state),
            None if read.newest.number < state.position.number => {
                // A process may have died before its sync. A watch on the store makes its events durable.
                let newest = newest.get_or_insert_with(|| tracker.watch());
                let _changed = timeout(TRIAL, newest.changed()).await;
            }
            None if read.newest == state.position => return Ok(state),
            _ => state = tracker.state().await?,
        }
    }
    Err(HistoryError::NotDurable)
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

/// Reads all events of an issue.
///
/// The cost is that of reading the events since the issue was filed.
///
/// # Errors
///
/// Returns a [`HistoryError`] if the events cannot be read.
pub async fn of_issue(tracker: &Tracker, id: IssueId) -> Result<IssueActivity, HistoryError> {
    let state = durable_state(tracker).await?;
    let issue = state.issues.find(&id.into()).map_err(StoreError::from)?;
    let filter = ActivityFilter { issue: Some(id), ..ActivityFilter::default() };
    let mut events: Vec<NumberedEvent> = Vec::new();
    let mut before = Some(state.position.number + 1);
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
    Ok(IssueActivity { issue, before: older, events, newest: state.position })
}
