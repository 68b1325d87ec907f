//! The pages: data in, markup out; one file each. Here are their handlers.

pub(super) mod activity;
pub(super) mod agents;
pub(super) mod board;
pub(super) mod error;
pub(super) mod frame;
pub(super) mod icons;
pub(super) mod issue;
pub(super) mod list;
pub(super) mod parts;
pub(super) mod stats;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::Markup;

use self::activity::ActivityView;
use self::error::{ErrorPage, Form};
use self::frame::{Frame, Tab};
use self::issue::IssueView;
use self::list::ListView;
use super::activity_api::read;
use super::address::{ActivityAddress, BadAddress, ListAddress, Parameters, Part, stats_range};
use super::live::Standing;
use super::lookup::{Found, find};
use super::site::Site;
use super::words::Words;
use crate::domain::{Counts, Statuses, Timestamp};
use crate::overview::Survey;
use crate::overview::stats::Stats;

/// A page without what stands around it.
pub(super) struct Shown {
    /// What it is called.
    title: String,
    /// What else its head says.
    head: Option<Markup>,
    /// Where the same data is as JSON.
    json: Option<String>,
    content: Markup,
}

impl Shown {
    fn new(title: &str, content: Markup) -> Self {
        Self { title: title.to_owned(), head: None, json: None, content }
    }
}

/// Shows the list of issues.
pub(super) async fn issues(State(site): State<Site>, RawQuery(query): RawQuery) -> Response {
    let address = match ListAddress::parse(query.as_deref()) {
        Ok(address) => address,
        Err(bad) => return bad_address(&site, &bad),
    };
    page(&site, Tab::Issues, move |survey, now, words| {
        let json = format!("/api/issues{}", address.query());
        let content = list::content(&ListView::new(survey, &address, now), words);
        Ok(Shown { json: Some(json), ..Shown::new(words.terms.issues, content) })
    })
    .await
}

/// Shows the board.
pub(super) async fn board(State(site): State<Site>, RawQuery(query): RawQuery) -> Response {
    if let Err(bad) = Parameters::of(query.as_deref(), &[]) {
        return bad_address(&site, &bad);
    }
    page(&site, Tab::Board, |survey, now, words| {
        Ok(Shown::new(words.frame.board, board::content(survey, now, words)))
    })
    .await
}

/// Shows the agents.
pub(super) async fn agents(State(site): State<Site>, RawQuery(query): RawQuery) -> Response {
    if let Err(bad) = Parameters::of(query.as_deref(), &[]) {
        return bad_address(&site, &bad);
    }
    page(&site, Tab::Agents, |survey, now, words| {
        Ok(Shown::new(words.frame.agents, agents::content(survey, now, words)))
    })
    .await
}

/// Shows what happened.
pub(super) async fn activity(State(site): State<Site>, RawQuery(query): RawQuery) -> Response {
    let address = match ActivityAddress::parse(query.as_deref()) {
        Ok(address) => address,
        Err(bad) => return bad_address(&site, &bad),
    };
    // Before the events are read: what happens between the two is shown now and once more.
    let standing = site.live.standing().await;
    let read = match read(&address, activity::PAGE_SIZE, &site).await {
        Ok(read) => read,
        Err(error) => return error.into_response(Form::Page, &site),
    };
    page_of(&site, Tab::Activity, standing, move |survey, now, words| {
        let filters = address.at(Part::Newest).query();
        let view = ActivityView { address: &address, activity: &read, survey, now };
        Ok(Shown {
            head: Some(activity::head(&filters, words)),
            json: Some(format!("/api/activity{filters}")),
            ..Shown::new(words.activity.heading, activity::content(&view, words))
        })
    })
    .await
}

/// Shows the statistics.
pub(super) async fn stats(State(site): State<Site>, RawQuery(query): RawQuery) -> Response {
    let range = match stats_range(query.as_deref()) {
        Ok(range) => range,
        Err(bad) => return bad_address(&site, &bad),
    };
    page(&site, Tab::Statistics, move |survey, now, words| {
        let content = stats::content(&Stats::of(survey.lives(), range, now), words);
        let json = Some(format!("/api/stats?range={range}"));
        Ok(Shown { json, ..Shown::new(words.stats.title, content) })
    })
    .await
}

/// Shows one issue, or what may have been meant.
pub(super) async fn issue(
    State(site): State<Site>,
    asked: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
) -> Response {
    let Ok(Path(asked)) = asked else {
        return ErrorPage::nothing_here(site.words).into_response(Form::Page, &site);
    };
    let all = Parameters::of(query.as_deref(), &["all"]).and_then(|parameters| {
        parameters.parsed("all", || "all=1".to_owned(), |word| (word == "1").then_some(()))
    });
    let is_whole = match all {
        Ok(all) => all.is_some(),
        Err(bad) => return bad_address(&site, &bad),
    };
    page(&site, Tab::Issues, move |survey, now, words| {
        let Found { issue, previous, next } = find(&asked, survey, words)?;
        let view = IssueView { issue: &issue, previous, next, now, is_whole };
        Ok(Shown {
            title: issue::title(&view, words),
            head: Some(issue::head(&view)),
            json: Some(issue::json_path(issue.id)),
            content: issue::content(&view, words),
        })
    })
    .await
}

/// Shows a page of what there is now, or why it cannot be read.
async fn page(
    site: &Site,
    tab: Tab,
    show: impl FnOnce(&mut Survey, Timestamp, &Words) -> Result<Shown, ErrorPage> + Send + 'static,
) -> Response {
    page_of(site, tab, site.live.standing().await, show).await
}

/// Shows a page of what there is at least since the store stood where it stood.
async fn page_of(
    site: &Site,
    tab: Tab,
    standing: Standing,
    show: impl FnOnce(&mut Survey, Timestamp, &Words) -> Result<Shown, ErrorPage> + Send + 'static,
) -> Response {
    let Standing { place, trouble } = standing;
    let (now, words) = (site.tracker.now(), site.words);
    let looked = site.overview.look(move |survey| {
        show(survey, now, words).map(|shown| {
            let frame = Frame {
                words,
                title: &shown.title,
                tab: Some(tab),
                open: Some(open(&survey.counts())),
                now,
                place: Some(&*place),
                trouble: trouble.as_deref(),
                head: shown.head.as_ref(),
                json: shown.json.as_deref(),
            };
            frame.around(&shown.content)
        })
    });
    match looked.await {
        Ok(Ok(page)) => uncached(StatusCode::OK, &page),
        Ok(Err(error)) => error.into_response(Form::Page, site),
        Err(error) => ErrorPage::unreadable(&error, words).into_response(Form::Page, site),
    }
}

fn open(counts: &Counts) -> usize {
    Statuses::open().iter().map(|status| counts.in_status(status)).sum()
}

/// A page that is asked for anew each time.
fn uncached(status: StatusCode, page: &Markup) -> Response {
    (status, [(header::CACHE_CONTROL, "no-cache")], page.clone()).into_response()
}

fn bad_address(site: &Site, bad: &BadAddress) -> Response {
    ErrorPage::bad_address(bad, site.words).into_response(Form::Page, site)
}

/// A page that stays as it is, or that looks whether it is still true when `place` says where it was.
fn plain(site: &Site, error: &ErrorPage, place: Option<&str>) -> Response {
    let frame = Frame {
        words: site.words,
        title: error.title,
        tab: None,
        open: None,
        now: site.tracker.now(),
        place,
        trouble: None,
        head: None,
        json: None,
    };
    uncached(error.status, &frame.around(&error::content(error, site.words)))
}
