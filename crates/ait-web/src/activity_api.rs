//! The events of the log: reads them for the page, the feed and the JSON API, and answers the API.

use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::WebState;
use super::api::JSON;
use super::etag;
use super::lookup::find;
use super::pages::error::{ErrorJson, WebError};
use super::query::{ActivityQuery, PageCursor};
use ait_tracker::activity::{
    ActivityFilter, ActivityPage, EventRecord, newest_first, oldest_first,
};
use ait_tracker::{Bounds, IndexedIssues, NumberedEvent};

/// The size at which a response takes no further events.
const MAX_RESPONSE_BYTES: usize = 8 * 1024 * 1024;

/// A part of the events, newest first.
#[derive(Debug, Default)]
pub(super) struct Activity {
    pub events: Vec<NumberedEvent>,
    /// Older events are before this number; `None` if there are none.
    pub older: Option<u64>,
    /// Newer events are after this number; `None` if there are none.
    pub newer: Option<u64>,
    /// Whether the search ended early, because it had read many events that do not match.
    pub is_cut: bool,
    /// The number of the oldest event that is kept.
    pub oldest: u64,
}

/// Reads the part that a query asks for, at most `limit` events.
///
/// # Errors
///
/// The store is unreadable, or the query names no issue.
pub(super) async fn read(
    query: &ActivityQuery,
    limit: usize,
    state: &WebState,
) -> Result<Activity, WebError> {
    let filter = filter(query, state).await?;
    if let PageCursor::After(after) = query.cursor {
        let page = oldest_first(&state.tracker, &filter, after, limit).await?;
        // A part that reaches the newest event is shown as the newest part.
        if !page.is_last {
            let is_cut = page.events.len() < limit;
            let ActivityPage { mut events, reached, bounds: Bounds { oldest, .. }, .. } = page;
            events.reverse();
            let first =
                events.last().map_or(after.saturating_add(1), |event| event.position.number);
            let older = (first > oldest).then_some(first);
            return Ok(Activity { events, older, newer: Some(reached), is_cut, oldest });
        }
    }
    let before = if let PageCursor::Before(before) = query.cursor { Some(before) } else { None };
    let page = newest_first(&state.tracker, &filter, before, limit).await?;
    let newer = before.filter(|before| *before <= page.bounds.newest.number).map(|before| {
        page.events.first().map_or(before.saturating_sub(1), |event| event.position.number)
    });
    Ok(Activity {
        older: (!page.is_last).then_some(page.reached),
        newer,
        is_cut: !page.is_last && page.events.len() < limit,
        events: page.events,
        oldest: page.bounds.oldest,
    })
}

/// Returns the filter of a query, with the issue that it names.
async fn filter(query: &ActivityQuery, state: &WebState) -> Result<ActivityFilter, WebError> {
    let mut issue = None;
    if let Some(reference) = &query.issue {
        issue = Some(find(state, &reference.to_string()).await?.id);
    }
    Ok(ActivityFilter {
        agent: query.agent.clone(),
        kind: query.kind,
        issue,
        since: query.since.as_ref().map(|since| since.time.time(state.tracker.now())),
    })
}

/// A part of the events, oldest first.
#[derive(Serialize)]
struct EventsJson {
    events: Vec<Box<RawValue>>,
    /// The value of `after` for the next request.
    next: u64,
    /// The number of the newest event.
    newest: u64,
    /// The number of the oldest event that is kept; one more than `newest` if there is none.
    oldest: u64,
    /// Whether all events after the requested number are kept.
    complete: bool,
}

/// Answers with the events after a number, oldest first.
pub(super) async fn activity(
    State(state): State<WebState>,
    RawQuery(query): RawQuery,
    request: HeaderMap,
) -> Result<Response, ErrorJson> {
    let (query, after, limit) = ActivityQuery::parse_request(query.as_deref())?;
    let filter = filter(&query, &state).await?;
    let page = oldest_first(&state.tracker, &filter, after, limit).await?;
    let ids = page.events.iter().map(|event| event.event.issue);
    let issues = state.tracker.issues_around(ids).await?;
    let (events, next) = records(&page, &issues);
    let newest = page.bounds.newest.number;
    let reply = EventsJson {
        events,
        next: next.min(newest),
        newest,
        oldest: page.bounds.oldest,
        complete: after <= newest && page.bounds.oldest <= after.saturating_add(1),
    };
    let json = serde_json::to_vec(&reply).expect("events can always be serialized");
    Ok(etag::respond(&request, JSON, json))
}

/// Returns as many events of a page as fit into a response, at least one, and the number of the last event read.
fn records(page: &ActivityPage, issues: &IndexedIssues) -> (Vec<Box<RawValue>>, u64) {
    let mut records = Vec::new();
    let mut size_bytes = 0;
    let mut last = page.reached;
    for event in &page.events {
        let issue = issues.get(event.event.issue);
        let title = issue.as_ref().map(|issue| issue.title.as_str());
        let record = to_raw_value(&EventRecord::new(event, title));
        let record = record.expect("an event can always be serialized");
        size_bytes += record.get().len();
        if size_bytes > MAX_RESPONSE_BYTES && !records.is_empty() {
            return (records, last);
        }
        records.push(record);
        last = event.position.number;
    }
    (records, page.reached)
}
