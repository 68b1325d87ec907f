//! What happened, for programs; and reading it for the page and the feed, too.

use axum::extract::{RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use super::address::{ActivityAddress, Part};
use super::etag;
use super::lookup::find;
use super::pages::error::{ErrorPage, Form};
use super::site::Site;
use crate::activity::{ActivityFilter, ActivityPage, EventRecord, newest_first, oldest_first};
use crate::tracker::{IssueStore, NumberedEvent, StoreError};

const JSON: &str = "application/json";
/// How large an answer may be: when it has become so large, it takes no further event.
const MAX_ANSWER_BYTES: usize = 8 * 1024 * 1024;

/// A part of what happened, newest first.
#[derive(Debug, Default)]
pub(super) struct Activity {
    pub events: Vec<NumberedEvent>,
    /// Where older events are; `None` if there are none.
    pub older: Option<u64>,
    /// Where newer events are; `None` if there are none.
    pub newer: Option<u64>,
    /// Whether reading ended before there were enough events, because it had read so many that nobody asked for.
    pub is_cut: bool,
    /// The number of the oldest event that is kept.
    pub oldest: u64,
}

/// Reads the part that an address asks for, at most `limit` events.
///
/// # Errors
///
/// What to answer instead.
pub(super) async fn read(
    address: &ActivityAddress,
    limit: usize,
    site: &Site,
) -> Result<Activity, ErrorPage> {
    let filter = filter(address, site).await?;
    let unreadable = |error: StoreError| ErrorPage::unreadable(&error, site.words);
    if let Part::After(after) = address.part {
        let page = oldest_first(&site.tracker, &filter, after, limit).await.map_err(unreadable)?;
        // The part that reaches the newest event is the newest one.
        if !page.is_last {
            let is_cut = page.events.len() < limit;
            let ActivityPage { mut events, reached, oldest, .. } = page;
            events.reverse();
            let first =
                events.last().map_or(after.saturating_add(1), |event| event.position.number);
            let older = (first > oldest).then_some(first);
            return Ok(Activity { events, older, newer: Some(reached), is_cut, oldest });
        }
    }
    let before = if let Part::Before(before) = address.part { Some(before) } else { None };
    let page = newest_first(&site.tracker, &filter, before, limit).await.map_err(unreadable)?;
    let newer = before.filter(|before| *before <= page.newest.number).map(|before| {
        page.events.first().map_or(before.saturating_sub(1), |event| event.position.number)
    });
    Ok(Activity {
        older: (!page.is_last).then_some(page.reached),
        newer,
        is_cut: !page.is_last && page.events.len() < limit,
        events: page.events,
        oldest: page.oldest,
    })
}

/// Returns the filter of an address, with the issue that it names.
async fn filter(address: &ActivityAddress, site: &Site) -> Result<ActivityFilter, ErrorPage> {
    let words = site.words;
    let issue = match &address.issue {
        None => None,
        Some(reference) => {
            let asked = reference.to_string();
            let found = site
                .overview
                .look(move |survey| find(&asked, survey, words).map(|found| found.issue.id));
            Some(found.await.map_err(|error| ErrorPage::unreadable(&error, words))??)
        }
    };
    Ok(ActivityFilter {
        agent: address.agent.clone(),
        kind: address.kind,
        issue,
        since: address.since.as_ref().map(|since| since.time.time(site.tracker.now())),
    })
}

/// A part of what happened, oldest first.
#[derive(Serialize)]
struct Reply {
    events: Vec<Box<RawValue>>,
    /// The number after which to go on.
    next: u64,
    /// The number of the newest event.
    newest: u64,
    /// The number of the oldest event that is kept; one more than `newest` if there is none.
    oldest: u64,
    /// Whether all events after the number that was asked for are kept.
    complete: bool,
}

/// Answers with events, oldest first, after a number.
pub(super) async fn activity(
    State(site): State<Site>,
    RawQuery(query): RawQuery,
    request: HeaderMap,
) -> Response {
    match reply(query.as_deref(), &site).await {
        Ok(json) => etag::answer(&request, JSON, json),
        Err(error) => error.into_response(Form::Json, &site),
    }
}

async fn reply(query: Option<&str>, site: &Site) -> Result<Vec<u8>, ErrorPage> {
    let (address, after, limit) = ActivityAddress::parse_request(query)
        .map_err(|bad| ErrorPage::bad_address(&bad, site.words))?;
    let filter = filter(&address, site).await?;
    let unreadable = |error: StoreError| ErrorPage::unreadable(&error, site.words);
    let page = oldest_first(&site.tracker, &filter, after, limit).await.map_err(unreadable)?;
    let issues = site.tracker.snapshot().await.map_err(unreadable)?.issues;
    let (events, next) = records(&page, &issues);
    let newest = page.newest.number;
    let reply = Reply {
        events,
        next: next.min(newest),
        newest,
        oldest: page.oldest,
        complete: after <= newest && page.oldest <= after.saturating_add(1),
    };
    Ok(serde_json::to_vec(&reply).expect("events can always be written"))
}

/// Returns as many events of a page as an answer may hold, at least one, and the number after which to go on.
fn records(page: &ActivityPage, issues: &IssueStore) -> (Vec<Box<RawValue>>, u64) {
    let mut records = Vec::new();
    let (mut size_bytes, mut next) = (0, page.reached);
    for event in &page.events {
        let issue = issues.get(event.event.issue);
        let title = issue.as_ref().map(|issue| issue.title.as_str());
        let record = to_raw_value(&EventRecord::new(event, title));
        let record = record.expect("an event can always be written");
        size_bytes += record.get().len();
        if size_bytes > MAX_ANSWER_BYTES && !records.is_empty() {
            break;
        }
        records.push(record);
        next = event.position.number;
    }
    if records.len() == page.events.len() { (records, page.reached) } else { (records, next) }
}
