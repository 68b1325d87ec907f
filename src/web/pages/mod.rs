//! The pages: one module for each renders it as HTML. The handlers are here.

mod activity;
mod agents;
mod board;
mod chips;
pub(super) mod error;
mod gone_clients;
mod icons;
mod issue;
mod layout;
pub(super) mod list;
mod list_filters;
pub(super) mod parts;
mod questions;
mod stats;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use maud::Markup;

use self::activity::ActivityView;
use self::error::{ErrorPage, WebError};
use self::gone_clients::GoneClients;
use self::issue::{Changes, IssueView};
use self::layout::{Layout, Tab};
use self::list::ListView;
use super::WebState;
use super::activity_api::read;
use super::events::StoreProbe;
use super::lookup::find;
use super::query::{ActivityQuery, ListQuery, PageCursor, Parameters, stats_range};
use super::strings;
use crate::domain::{StatusSet, Timestamp};
use crate::read_model::ReadView;
use crate::read_model::stats::Stats;

/// A page without its layout.
#[derive(Default)]
struct Page {
    title: String,
    content: Markup,
    /// Further elements of the head.
    head: Option<Markup>,
    /// The path of the same data as JSON.
    json: Option<String>,
}

type PageResult = Result<Response, ErrorPage>;

/// Shows the list of issues.
pub(super) async fn issues(State(state): State<WebState>, RawQuery(query): RawQuery) -> PageResult {
    let query = ListQuery::parse(query.as_deref())?;
    page(&state, Tab::Issues, move |view, now| {
        Ok(Page {
            title: strings::ISSUES.to_owned(),
            content: list::content(&ListView::new(view, &query, now)?),
            json: Some(format!("/api/issues{}", query.query_string())),
            ..Page::default()
        })
    })
    .await
}

/// Shows the board.
pub(super) async fn board(State(state): State<WebState>, RawQuery(query): RawQuery) -> PageResult {
    Parameters::parse(query.as_deref(), &[])?;
    let gone = GoneClients::read(&state.tracker).await;
    page(&state, Tab::Board, move |view, now| {
        let content = board::content(view, &gone, now);
        Ok(Page { title: strings::board::TITLE.to_owned(), content, ..Page::default() })
    })
    .await
}

/// Shows the agents.
pub(super) async fn agents(State(state): State<WebState>, RawQuery(query): RawQuery) -> PageResult {
    Parameters::parse(query.as_deref(), &[])?;
    let gone = GoneClients::read(&state.tracker).await;
    page(&state, Tab::Agents, move |view, now| {
        let content = agents::content(view, &gone, now);
        Ok(Page { title: strings::agents::TITLE.to_owned(), content, ..Page::default() })
    })
    .await
}

/// Shows the events of the log.
pub(super) async fn activity(
    State(state): State<WebState>,
    RawQuery(query): RawQuery,
) -> PageResult {
    let query = ActivityQuery::parse(query.as_deref())?;
    // Probed before the events are read, so that the page cannot miss an event that comes in between.
    let probe = state.streams.probe().await;
    let read = read(&query, activity::PAGE_SIZE, &state).await?;
    page_since(&state, Tab::Activity, probe, move |view, now| {
        let filters = query.at(PageCursor::Newest).query_string();
        let view = ActivityView { query: &query, activity: &read, view, now };
        Ok(Page {
            title: strings::activity::TITLE.to_owned(),
            content: activity::content(&view),
            head: Some(activity::head(&filters)),
            json: Some(format!("/api/activity{filters}")),
        })
    })
    .await
}

/// Shows the statistics.
pub(super) async fn stats(State(state): State<WebState>, RawQuery(query): RawQuery) -> PageResult {
    let range = stats_range(query.as_deref())?;
    page(&state, Tab::Statistics, move |view, now| {
        Ok(Page {
            title: strings::stats::TITLE.to_owned(),
            content: stats::content(&Stats::of(view.timelines(), range, now)),
            json: Some(format!("/api/stats?range={range}")),
            ..Page::default()
        })
    })
    .await
}

/// Shows one issue, or an error that suggests similar ids.
pub(super) async fn issue(
    State(state): State<WebState>,
    asked: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
) -> PageResult {
    let Path(asked) = asked?;
    let parameters = Parameters::parse(query.as_deref(), &["all"])?;
    let all = parameters.get("all", || "all=1".to_owned(), |value| (value == "1").then_some(()))?;
    let is_full = all.is_some();
    // Probed before the events are read, so that the page cannot miss an event that comes in between.
    let probe = state.streams.probe().await;
    let changes = Changes::read(&state.tracker, &asked, is_full).await;
    let gone = GoneClients::read(&state.tracker).await;
    page_since(&state, Tab::Issues, probe, move |view, now| {
        let view = IssueView { found: find(&asked, view)?, changes, gone, view, now, is_full };
        Ok(Page {
            title: issue::title(&view.found.issue),
            content: issue::content(&view),
            head: Some(issue::head(&view.found)),
            json: Some(issue::json_path(view.found.issue.id)),
        })
    })
    .await
}

/// Renders a page of the current state.
async fn page(
    state: &WebState,
    tab: Tab,
    render: impl FnOnce(&mut ReadView, Timestamp) -> Result<Page, WebError> + Send + 'static,
) -> PageResult {
    page_since(state, tab, state.streams.probe().await, render).await
}

/// Renders a page of a state that is at least as new as `probe`.
async fn page_since(
    state: &WebState,
    tab: Tab,
    probe: StoreProbe,
    render: impl FnOnce(&mut ReadView, Timestamp) -> Result<Page, WebError> + Send + 'static,
) -> PageResult {
    let now = state.tracker.now();
    let rendered = state.read_model.read(move |view| {
        let page = render(view, now)?;
        let counts = view.counts();
        let layout = Layout {
            title: &page.title,
            tab: Some(tab),
            open: Some(StatusSet::open().iter().map(|status| counts.in_status(status)).sum()),
            now: Some(now),
            version: Some(&*probe.version),
            trouble: probe.trouble.as_deref(),
            head: page.head.as_ref(),
            json: page.json.as_deref(),
        };
        Ok::<_, WebError>(layout.around(&page.content))
    });
    Ok(respond(StatusCode::OK, rendered.await??))
}

/// Answers with a page that browsers must revalidate.
fn respond(status: StatusCode, page: Markup) -> Response {
    (status, [(header::CACHE_CONTROL, "no-cache")], page).into_response()
}
