//! The pages: data in, markup out; one file each. Here are their handlers.

pub(super) mod agents;
pub(super) mod board;
pub(super) mod frame;
pub(super) mod icons;
pub(super) mod list;
pub(super) mod parts;
pub(super) mod stats;

use axum::extract::{RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::{Markup, html};

use self::frame::{Frame, Tab};
use self::list::ListView;
use super::address::{BadAddress, ListAddress, Parameters};
use super::live::Standing;
use super::site::Site;
use super::words::Words;
use crate::domain::{Counts, Statuses, Timestamp};
use crate::overview::Survey;
use crate::tracker::StoreError;

/// Shows the list of issues.
pub(super) async fn issues(State(site): State<Site>, RawQuery(query): RawQuery) -> Response {
    let address = match ListAddress::parse(query.as_deref()) {
        Ok(address) => address,
        Err(bad) => return bad_address(&site, &bad),
    };
    let json = format!("/api/issues{}", address.query());
    let show = move |survey: &mut Survey, now, words: &Words| {
        list::content(&ListView::new(survey, &address, now), words)
    };
    page(&site, Tab::Issues, site.words.terms.issues, Some(&json), show).await
}

/// Shows the board.
pub(super) async fn board(State(site): State<Site>, RawQuery(query): RawQuery) -> Response {
    if let Err(bad) = Parameters::of(query.as_deref(), &[]) {
        return bad_address(&site, &bad);
    }
    let show = |survey: &mut Survey, now, words: &Words| board::content(survey, now, words);
    page(&site, Tab::Board, site.words.frame.board, None, show).await
}

/// Shows the agents.
pub(super) async fn agents(State(site): State<Site>, RawQuery(query): RawQuery) -> Response {
    if let Err(bad) = Parameters::of(query.as_deref(), &[]) {
        return bad_address(&site, &bad);
    }
    let show = |survey: &mut Survey, now, words: &Words| agents::content(survey, now, words);
    page(&site, Tab::Agents, site.words.frame.agents, None, show).await
}

/// Shows a page of all issues, or why they cannot be read.
async fn page(
    site: &Site,
    tab: Tab,
    title: &str,
    json: Option<&str>,
    show: impl FnOnce(&mut Survey, Timestamp, &Words) -> Markup + Send + 'static,
) -> Response {
    let Standing { place, trouble } = site.live.standing().await;
    let (now, words) = (site.tracker.now(), site.words);
    let looked =
        site.overview.look(move |survey| (show(survey, now, words), survey.counts())).await;
    let (content, counts) = match looked {
        Ok(looked) => looked,
        Err(error) => return unreadable(site, &error),
    };
    let (tab, open, trouble) = (Some(tab), Some(open(&counts)), trouble.as_deref());
    let place = Some(&*place);
    let frame = Frame { words, title, tab, open, now, place, trouble, json };
    uncached(StatusCode::OK, &frame.around(&content))
}

fn open(counts: &Counts) -> usize {
    Statuses::open().iter().map(|status| counts.in_status(status)).sum()
}

/// A page that is asked for anew each time.
fn uncached(status: StatusCode, page: &Markup) -> Response {
    (status, [(header::CACHE_CONTROL, "no-cache")], page.clone()).into_response()
}

/// Says that an address leads nowhere.
pub(super) async fn not_found(State(site): State<Site>) -> Response {
    let content =
        html! { section.notice { h1 { "Nothing here" } p { a href="/" { "See all issues" } } } };
    plain(&site, StatusCode::NOT_FOUND, "Nothing here", &content)
}

fn bad_address(site: &Site, bad: &BadAddress) -> Response {
    let content = html! { section.notice.bad { h1 { "?" } p { (bad.parameter) " " (bad.given) " " (bad.expected) } } };
    plain(site, StatusCode::BAD_REQUEST, "?", &content)
}

fn unreadable(site: &Site, error: &StoreError) -> Response {
    let content = html! { section.notice.bad { h1 { "?" } p { (error) } } };
    plain(site, StatusCode::SERVICE_UNAVAILABLE, "?", &content)
}

fn plain(site: &Site, status: StatusCode, title: &str, content: &Markup) -> Response {
    let (words, now) = (site.words, site.tracker.now());
    let (tab, open, place, trouble, json) = (None, None, None, None, None);
    let frame = Frame { words, title, tab, open, now, place, trouble, json };
    uncached(status, &frame.around(content))
}
