//! What the pages show, for programs.

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::http::HeaderMap;
use axum::response::Response;
use indexmap::IndexMap;
use serde::Serialize;
use xxhash_rust::xxh3::xxh3_128;

use super::address::{ListAddress, stats_range};
use super::etag;
use super::lookup::find;
use super::pages::error::{ErrorPage, Form};
use super::pages::list::PAGE_SIZE;
use super::site::Site;
use crate::domain::{Issue, Status};
use crate::overview::Survey;
use crate::overview::stats::Stats;

const JSON: &str = "application/json";

/// A part of the issues that were asked for.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct List<'a> {
    /// How many fit.
    total: usize,
    /// Whether that is all; when not, there are more.
    is_exact: bool,
    page: usize,
    pages: usize,
    /// How many fit in each status, whichever statuses were asked for; at least so many, where
    /// `hasExactCounts` is false.
    counts: IndexMap<&'static str, usize>,
    has_exact_counts: bool,
    /// Those on the page, in the form that files and tools share.
    issues: Vec<&'a Issue>,
}

/// Answers with a page of issues, for the same parameters as the list.
pub(super) async fn issues(
    State(site): State<Site>,
    RawQuery(query): RawQuery,
    request: HeaderMap,
) -> Response {
    let address = match ListAddress::parse(query.as_deref()) {
        Ok(address) => address,
        Err(bad) => {
            return ErrorPage::bad_address(&bad, site.words).into_response(Form::Json, &site);
        }
    };
    let looked = site.overview.look(move |survey| list(&address, survey)).await;
    match looked {
        Ok(json) => etag::answer(&request, JSON, json),
        Err(error) => ErrorPage::unreadable(&error, site.words).into_response(Form::Json, &site),
    }
}

fn list(address: &ListAddress, survey: &mut Survey) -> Vec<u8> {
    let listing = survey.find(&address.filter(), address.order, address.page, PAGE_SIZE);
    let issues: Vec<_> = listing.positions.iter().map(|&at| survey.issue(at)).collect();
    let count = |status: &Status| (status.as_str(), listing.counts.in_status(*status));
    let list = List {
        total: listing.total,
        is_exact: listing.is_exact,
        page: listing.page,
        pages: listing.pages(PAGE_SIZE),
        counts: Status::ALL.iter().map(count).collect(),
        has_exact_counts: listing.has_exact_counts,
        issues: issues.iter().map(|issue| &**issue).collect(),
    };
    serde_json::to_vec(&list).expect("issues can always be written")
}

/// Answers with one issue, in the form that files and tools share.
pub(super) async fn issue(
    State(site): State<Site>,
    asked: Result<Path<String>, PathRejection>,
    request: HeaderMap,
) -> Response {
    let words = site.words;
    let Ok(Path(asked)) = asked else {
        return ErrorPage::nothing_here(words).into_response(Form::Json, &site);
    };
    let looked = site.overview.look(move |survey| {
        let found = find(&asked, survey, words)?;
        Ok(serde_json::to_vec(&*found.issue).expect("an issue can always be written"))
    });
    match looked.await.unwrap_or_else(|error| Err(ErrorPage::unreadable(&error, words))) {
        Ok(json) => etag::answer(&request, JSON, json),
        Err(error) => error.into_response(Form::Json, &site),
    }
}

/// Answers with the statistics of a range.
///
/// They go on with the time, even when nothing happens: the tag is that of a minute.
pub(super) async fn stats(
    State(site): State<Site>,
    RawQuery(query): RawQuery,
    request: HeaderMap,
) -> Response {
    let range = match stats_range(query.as_deref()) {
        Ok(range) => range,
        Err(bad) => {
            return ErrorPage::bad_address(&bad, site.words).into_response(Form::Json, &site);
        }
    };
    let now = site.tracker.now();
    let place = site.live.standing().await.place;
    let moment = format!("{place} {range} {}", now.unix_millis() / 60_000);
    let tag = format!("W/\"{:032x}\"", xxh3_128(moment.as_bytes()));
    let looked = site.overview.look(move |survey| {
        let stats = Stats::of(survey.lives(), range, now);
        serde_json::to_vec(&stats).expect("statistics can always be written")
    });
    match looked.await {
        Ok(json) => etag::answer_as(&request, JSON, &tag, json),
        Err(error) => ErrorPage::unreadable(&error, site.words).into_response(Form::Json, &site),
    }
}
