//! How everything was at an earlier time: the state of now, with what happened since undone.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::{ActivityFilter, MAX_SCANNED, newest_first};
use crate::domain::{DomainError, EventKind, Issue, IssueId, Order, Query, Timestamp};
use crate::tracker::{Events, NumberedEvent, Position, State, StoreError, Tracker};

/// How many events are read at once. Tests have short logs.
const CHUNK: u64 = if cfg!(test) { 5 } else { 8_000 };
/// How often, and how long each time, is waited until the newest state is durable.
const TRIALS: u32 = 12;
const TRIAL: Duration = Duration::from_millis(250);

/// Why it cannot be told how everything was.
#[derive(Debug, thiserror::Error)]
pub enum PastError {
    /// The store cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The time lies before the first event that is kept.
    #[error("{}", not_kept(*.oldest))]
    NotKept {
        /// The time of that event; `None` if no event is kept.
        oldest: Option<Timestamp>,
    },
    /// Another log took the place of the one that was being read.
    #[error("the log of events was replaced while it was read; try again")]
    Replaced,
    /// The newest change is not durable yet.
    #[error("the newest change is not on disk yet; try again")]
    NotDurable,
    /// An event does not fit the state that it has led to.
    #[error("event {number} does not fit the state after it: {source}")]
    Inconsistent {
        /// The number of the event.
        number: u64,
        /// What is wrong.
        source: DomainError,
    },
}

fn not_kept(oldest: Option<Timestamp>) -> String {
    match oldest {
        Some(oldest) => format!("the log of events reaches back to {oldest} only"),
        None => "the log of events is empty".to_owned(),
    }
}

/// Returns the state after the last event that is not later than a time.
///
/// Costs as much as reading the events since then.
///
/// # Errors
///
/// [`PastError`].
pub async fn state_at(tracker: &Tracker, at: Timestamp) -> Result<State, PastError> {
    let mut state = durable_state(tracker).await?;
    let mut oldest = None;
    while state.position.number > 0 {
        let read = events_up_to(tracker, state.position).await?;
        for (place, NumberedEvent { position, event }) in read.events.iter().enumerate().rev() {
            if event.at <= at {
                return Ok(state);
            }
            let previous = match place.checked_sub(1) {
                Some(previous) => read.events[previous].position,
                None if position.number <= read.oldest => base(*position),
                // Read again, together with those before it.
                None => break,
            };
            oldest = Some(event.at);
            state
                .revert(event, previous)
                .map_err(|source| PastError::Inconsistent { number: position.number, source })?;
        }
        if state.position.number < read.oldest {
            break;
        }
    }
    // Nothing is known of what happened before, but what the issues themselves tell.
    let is_known = state.position.number == 0 || oldest.is_none();
    let last = Query { order: Order::LatestActivity, take: 1, ..Query::default() };
    let last = state.issues.list(&last).issues;
    if is_known && last.first().is_none_or(|issue| issue.modified_at <= at) {
        return Ok(state);
    }
    Err(PastError::NotKept { oldest })
}

/// The position before the oldest event that is kept. Its hash is gone with the events before it.
fn base(oldest: Position) -> Position {
    Position { number: oldest.number - 1, hash: 0 }
}

/// Reads the event that has led to a position, and events before it.
async fn events_up_to(tracker: &Tracker, position: Position) -> Result<Events, PastError> {
    let begin = position.number.saturating_sub(CHUNK);
    let read = tracker.events(begin, (position.number - begin) as usize).await?;
    let is_pruned = read.events.is_empty() && read.oldest > position.number;
    match read.events.last() {
        Some(last) if last.position == position => Ok(read),
        None if is_pruned && read.newest.number >= position.number => Ok(read),
        _ => Err(PastError::Replaced),
    }
}

/// Returns the state after an event that is durable, so that the log has it.
pub(super) async fn durable_state(tracker: &Tracker) -> Result<State, PastError> {
    let mut state = tracker.snapshot().await?;
    let mut newest = None;
    for _ in 0..TRIALS {
        let Some(before) = state.position.number.checked_sub(1) else { return Ok(state) };
        let read = tracker.events(before, 1).await?;
        match read.events.first() {
            Some(event) if event.position == state.position => return Ok(state),
            None if read.newest.number < state.position.number => {
                // Of a process that died, perhaps: who watches the store makes that durable.
                let newest = newest.get_or_insert_with(|| tracker.watch());
                let _changed = timeout(TRIAL, newest.changed()).await;
            }
            None if read.newest == state.position => return Ok(state),
            _ => state = tracker.snapshot().await?,
        }
    }
    Err(PastError::NotDurable)
}

/// What happened to one issue.
#[derive(Clone, Debug)]
pub struct IssueActivity {
    /// The issue as it is now.
    pub issue: Arc<Issue>,
    /// What it was before the first of the events; `None` for one that was filed by it.
    pub before: Option<Issue>,
    /// Its events, oldest first.
    pub events: Vec<NumberedEvent>,
    /// The newest event when that was read.
    pub newest: Position,
}

/// Reads everything that happened to an issue.
///
/// Costs as much as reading the events since it was filed.
///
/// # Errors
///
/// [`PastError`].
pub async fn of_issue(tracker: &Tracker, id: IssueId) -> Result<IssueActivity, PastError> {
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
