//! The pages: one module for each renders it as HTML. The handlers are here, except those of all projects.
//!
//! # From the request to the screen
//!
//! 1. `ait-http/connections.rs` accepts the connection. `ait-http/lib.rs` orders the layers: `ait-http/access.rs`
//!    checks host and origin, `ait-http/token_auth.rs` the token. `ait-web/lib.rs` routes `/` to
//!    `ait-web/pages/mod.rs`, which asks `ait-web/events.rs` for the version of the store that the page will show.
//!    `HttpServer::start` in `src/app/http_server.rs` has joined routes, layers and `/mcp`.
//! 2. `ait-web/query/` parses the parameters. `ait-web/listing.rs` parses the search (`ait-query/`), makes the
//!    parameters a `Condition` (`ait-domain/condition.rs`), which the search narrows, and asks the tracker for one page
//!    of the issues that match, counted by status. The store answers with `ait-store/sqlite/list.rs`, for which
//!    `ait-store/sql/condition.rs` writes conditions as SQL, and `order.rs` beside it orders.
//! 3. What a page shows of all issues is in memory, without their texts. The first `ReadModel::read`
//!    (`ait-tracker/read_model/mod.rs`) reads a snapshot of the store; each later one reads the events since the last
//!    page, and the issues that they name. `ait-tracker/read_model/projection.rs` keeps one `IssueSummary`
//!    (`ait-tracker/read_model/summary.rs`) for each issue in a copy-on-write list (`chunked.rs`), and indexes in
//!    persistent trees (`agent_index.rs`, `attribute_index.rs`, `ait-store/memory/ids.rs`). If an issue was removed or
//!    placed between others, or another database took the place of this one, it begins anew. A reader looks at one
//!    version without a lock while the next one is made. `ait-web/pages/list.rs` renders 50 rows with maud;
//!    `ait-web/pages/layout.rs` adds the frame. `ait-web/project.rs` has the name of the project and its icon.
//!    `page_since` in `ait-web/pages/mod.rs`, through which all pages but those of forms and errors go, adds what needs
//!    attention and marks claims whose clients are gone; `finish` in `ait-web/pages/response.rs` renders errors and
//!    adds the `ETag`.
//! 4. `ait-web/assets/script/live.js` joins the shared worker `worker.js`, which follows `/events` (`stream.js`) once
//!    for all pages of a browser; without shared workers each page follows by itself. `Store::watch` announces new
//!    events, also of other processes (`ait-store/sqlite/watch.rs` looks when files change), and `ait-web/events.rs`
//!    sends the new version. `live.js` then loads the page again and marks what changed; `morph.js` exchanges what
//!    differs, but for forms that the reader has begun to fill in.

mod activity;
mod agents;
mod attention;
mod board;
mod chips;
pub(super) mod components;
pub(super) mod context;
mod dialogs;
pub(super) mod error;
pub(super) mod gone_clients;
mod graph;
mod icons;
mod issue;
pub(super) mod layout;
pub(super) mod list;
mod list_filters;
mod memory;
pub(super) mod projects;
pub(super) mod questions;
pub(super) mod response;
mod row;
mod stats;
mod sync;
mod wall;

use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::rejection::PathRejection;
use axum::extract::{Path, RawQuery, State};
use axum::http::StatusCode;
use axum::response::Response;
use maud::Markup;
use tokio::task::spawn_blocking;

use self::activity::ActivityView;
use self::agents::{AgentView, Cockpit, Period};
use self::attention::Kind;
use self::board::BoardView;
use self::components::undirected;
use self::context::{PageContext, Signs};
use self::error::{ErrorPage, WebError};
use self::issue::{Changes, IssueView, Mentions};
use self::layout::{Layout, Tab};
use self::list::ListView;
use self::memory::MemoryView;
use self::response::respond;
use self::sync::SyncView;
use super::WebState;
use super::actions::action::Action;
use super::actions::done::Done;
use super::actions::forms::IssueForms;
use super::actions::many::ManyForms;
use super::actions::person::{ActingPerson, Person};
use super::activity_api::read;
use super::events::StoreProbe;
use super::listing::{Listing, Matches};
use super::lookup::{Found, find};
use super::query::{ActivityQuery, ListQuery, PageCursor, Parameters, Place, stats_range};
use super::strings;
use ait_domain::StatusSet;
use ait_domain::text::shortened;
use ait_query::ParsedQuery;
use ait_tracker::StoreError;
use ait_tracker::memory::Recalled;
use ait_tracker::read_model::{FindingKind, Findings, ReadView};
use ait_worktrees::{diff, newer_head, open_branches};

/// A page without its layout.
#[derive(Default)]
struct Page {
    title: String,
    content: Markup,
    status: StatusCode,
    /// Further elements of the head.
    head: Option<Markup>,
    /// The path of the same data as JSON.
    json: Option<String>,
    /// The path of the same data as CSV.
    csv: Option<String>,
    /// Whether the page is that of an issue.
    is_of_issue: bool,
    /// Whether the page has forms that change issues.
    has_forms: bool,
}

type PageResult = Result<Response, ErrorPage>;

/// Shows the list of issues.
pub(super) async fn issues(
    State(state): State<WebState>,
    ActingPerson(person): ActingPerson,
    RawQuery(query): RawQuery,
) -> PageResult {
    let parameters = Parameters::of_page(query.as_deref());
    let query = ListQuery::parse(query.as_deref())?;
    let place = Place::list(&parameters)?;
    let forms = many_forms(&state, person, &parameters)?;
    let saved = Arc::clone(&state.project.queries);
    let has_actions = state.project.has_actions;
    // Probed before the issues are read, so that the page cannot miss a change that comes in between.
    let probe = state.streams.probe().await;
    let on_page = query.on_page();
    let listing = Listing::find(&state, &on_page, list::PAGE_SIZE).await?;
    page_since(&state, Tab::Issues, probe, move |view, context| {
        let query = &query;
        let listing = &listing;
        let saved = &saved;
        let forms = forms.as_ref();
        let list = ListView { place, query, listing, saved, view, context, forms };
        Ok(Page {
            title: strings::ISSUES.to_owned(),
            content: list::content(&list, has_actions),
            status: if listing.is_err() { StatusCode::BAD_REQUEST } else { StatusCode::OK },
            json: Some(format!("/api/issues{}", on_page.query_string())),
            csv: Some(format!("/issues.csv{}", on_page.at_page(0).query_string())),
            has_forms: forms.is_some(),
            ..Page::default()
        })
    })
    .await
}

/// Shows the board.
pub(super) async fn board(
    State(state): State<WebState>,
    ActingPerson(person): ActingPerson,
    RawQuery(given): RawQuery,
) -> PageResult {
    let parameters = Parameters::of_page(given.as_deref());
    let query = ListQuery::parse(given.as_deref())?;
    let place = Place::board(&parameters)?;
    let forms = many_forms(&state, person, &parameters)?;
    let saved = Arc::clone(&state.project.queries);
    let has_actions = state.project.has_actions;
    let holds = state.tracker.holds().await?;
    let probe = state.streams.probe().await;
    let found = if query.is_unfiltered() {
        Ok(None)
    } else {
        Matches::find(&state, &query, board::most_matches).await?.map(Some)
    };
    let found = Arc::new(found);
    let mut selected = HashMap::new();
    if forms.is_some() {
        // The boxes send the versions of the cards, which the read model does not keep.
        let found = Arc::clone(&found);
        let now = state.tracker.now();
        let ids = state.read_model.read(move |view| board::shown(&found, view, now)).await?;
        let issues = state.tracker.issues_around(ids.iter().copied()).await?;
        let cards = ids.iter().filter_map(|id| issues.get(*id));
        selected = cards.map(|issue| (issue.id, ManyForms::selected(&issue))).collect();
    }
    page_since(&state, Tab::Board, probe, move |view, context| {
        let content = board::content(&BoardView {
            place,
            query: &query,
            found: &found,
            view,
            context,
            has_actions,
            saved: &saved,
            holds: &holds,
            forms: forms.as_ref(),
            selected: &selected,
        });
        Ok(Page {
            title: strings::board::TITLE.to_owned(),
            content,
            status: if found.is_err() { StatusCode::BAD_REQUEST } else { StatusCode::OK },
            has_forms: forms.is_some(),
            ..Page::default()
        })
    })
    .await
}

/// Shows the wallboard.
pub(super) async fn wall(State(state): State<WebState>) -> PageResult {
    page(&state, Tab::Board, move |view, context| {
        let content = wall::content(view, context);
        Ok(Page { title: strings::wall::TITLE.to_owned(), content, ..Page::default() })
    })
    .await
}

/// Shows the agents.
pub(super) async fn agents(State(state): State<WebState>, RawQuery(query): RawQuery) -> PageResult {
    let number = agents::page_number(query.as_deref())?;
    let branches = match &state.project.root {
        Some(root) => open_branches(root).await,
        None => HashMap::new(),
    };
    page(&state, Tab::Agents, move |view, context| {
        let content = Cockpit::content(view, context, &branches, number);
        Ok(Page { title: strings::agents::TITLE.to_owned(), content, ..Page::default() })
    })
    .await
}

/// Shows one agent.
pub(super) async fn agent(
    State(state): State<WebState>,
    asked: Result<Path<String>, PathRejection>,
    RawQuery(query): RawQuery,
) -> PageResult {
    let Path(asked) = asked?;
    let period = Period::parse(query.as_deref())?;
    page(&state, Tab::Agents, move |view, context| {
        let agent = view.names().find(&asked).and_then(|name| view.agent(name));
        let agent = &agent.ok_or_else(|| WebError::unknown_agent(&asked))?;
        let content = AgentView { agent, view, context, period }.content();
        Ok(Page { title: undirected(&asked), content, ..Page::default() })
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
    page_since(&state, Tab::Activity, probe, move |view, context| {
        let filters = query.at(PageCursor::Newest).query_string();
        let view = ActivityView { query: &query, activity: &read, view, context };
        Ok(Page {
            title: strings::activity::TITLE.to_owned(),
            content: activity::content(&view),
            status: StatusCode::OK,
            head: Some(activity::head(&filters)),
            json: Some(format!("/api/activity{filters}")),
            ..Page::default()
        })
    })
    .await
}

/// Shows the statistics.
pub(super) async fn stats(State(state): State<WebState>, RawQuery(query): RawQuery) -> PageResult {
    let range = stats_range(&Parameters::of_page(query.as_deref()))?;
    page(&state, Tab::Statistics, move |view, context| {
        Ok(Page {
            title: strings::stats::TITLE.to_owned(),
            content: stats::content(&view.stats(range, context.now), context),
            json: Some(format!("/api/stats?range={range}")),
            ..Page::default()
        })
    })
    .await
}

/// Shows everything that needs a person.
pub(super) async fn inbox(
    State(state): State<WebState>,
    ActingPerson(person): ActingPerson,
    RawQuery(query): RawQuery,
) -> PageResult {
    let parameters = Parameters::of_page(query.as_deref());
    let kind = Kind::parse(&parameters)?;
    let forms = many_forms(&state, person, &parameters)?;
    let probe = state.streams.probe().await;
    // Unlike the number on other pages, the page itself is current, but for stuck claims, which take long to find.
    let findings = state.read_model.findings(state.tracker.now()).await.ok();
    let has_actions = state.project.has_actions;
    let finding = match kind {
        Some(Kind::Finding(finding)) => format!("?kind={finding}"),
        _ => String::new(),
    };
    page_with(&state, Tab::Inbox, probe, findings, move |_, context| {
        Ok(Page {
            title: strings::attention::TITLE.to_owned(),
            content: context.attention.page(kind, has_actions, forms.as_ref()),
            json: Some(format!("/api/triage{finding}")),
            has_forms: forms.is_some(),
            ..Page::default()
        })
    })
    .await
}

/// Shows what agents and people keep for later ones.
pub(super) async fn memory(State(state): State<WebState>, RawQuery(query): RawQuery) -> PageResult {
    const MAX_ENTRIES: usize = 100;
    let parameters = Parameters::of_page(query.as_deref());
    let search = parameters.get("q", String::new, |text| Some(text.to_owned()))?;
    let all = parameters.get("all", || "all=1".to_owned(), |value| (value == "1").then_some(()))?;
    let search = search.unwrap_or_default();
    let probe = state.streams.probe().await;
    let tracker = &state.tracker;
    let parsed = ParsedQuery::parse(&search, &state.project.queries, tracker.now());
    let mut recalled = Recalled::default();
    if let Ok(parsed) = &parsed {
        // Without a search, what closed issues tell is not shown.
        let take_closed = if search.is_empty() { 0 } else { MAX_ENTRIES };
        recalled = tracker.recalled(parsed, [MAX_ENTRIES, take_closed], all.is_some()).await?;
    }
    let project = Arc::clone(&state.project);
    page_since(&state, Tab::Memory, probe, move |view, context| {
        let content = memory::content(&MemoryView {
            search: &search,
            mistake: parsed.err().map(|error| error.to_string()),
            entries: &recalled.entries,
            total: recalled.total,
            closed: if search.is_empty() { &[] } else { &recalled.closed },
            with_past: all.is_some(),
            now: context.now,
            view,
            repository: project.repository.as_ref(),
        });
        Ok(Page { title: strings::memory::TITLE.to_owned(), content, ..Page::default() })
    })
    .await
}

/// Shows the syncs with remote trackers; an error without one.
pub(super) async fn sync(
    State(state): State<WebState>,
    ActingPerson(person): ActingPerson,
) -> PageResult {
    const MAX_ISSUES: usize = 50;
    const MAX_WAITING: usize = 50;
    let project = Arc::clone(&state.project);
    if project.syncs.is_empty() {
        return Err(WebError::not_found().into());
    }
    let probe = state.streams.probe().await;
    let findings = state.read_model.findings(state.tracker.now()).await?;
    let conflicts = findings.iter().filter(|finding| finding.kind == FindingKind::SyncConflict);
    let found = conflicts.filter_map(|finding| finding.issues.first()).take(MAX_ISSUES);
    let mut issues = Vec::new();
    for found in found {
        issues.push(state.tracker.get_issue(found.id.into()).await?);
    }
    let more = findings.count(FindingKind::SyncConflict) - issues.len();
    let waiting = project.waiting.get(&state.tracker, &project.syncs, MAX_WAITING).await?;
    let last_runs = {
        let project = Arc::clone(&project);
        // A hanging disk blocks only a background thread.
        spawn_blocking(move || project.last_runs()).await.unwrap_or_default()
    };
    let forms = state.form_tokens.clone().zip(person);
    let forms = forms.map(|(tokens, person)| {
        let kinds = Arc::clone(state.tracker.classifications());
        IssueForms { tokens, person, done: None, kinds, near: Vec::new() }
    });
    page_since(&state, Tab::Sync, probe, move |_, context| {
        let now = context.now;
        let syncs = &project.syncs;
        let view = SyncView { syncs, last_runs, waiting, issues, more, forms, now };
        Ok(Page {
            title: strings::sync::TITLE.to_owned(),
            content: sync::content(&view),
            has_forms: view.forms.is_some(),
            ..Page::default()
        })
    })
    .await
}

/// Shows what lies around an issue, an entry, a file, a folder or an agent.
pub(super) async fn graph(State(state): State<WebState>, Path(about): Path<String>) -> PageResult {
    const DEPTH: usize = 2;
    let graph = state.tracker.graph(&about, DEPTH).await.map_err(|error| match error {
        StoreError::Refused(_) => WebError::not_found(),
        error => error.into(),
    })?;
    page(&state, graph::tab(&graph), move |_, _| {
        let title = format!("Around {}", shortened(&about, 60));
        Ok(Page { title, content: graph::content(&graph), ..Page::default() })
    })
    .await
}

/// Shows one issue, or an error that suggests similar ids.
pub(super) async fn issue(
    State(state): State<WebState>,
    asked: Result<Path<String>, PathRejection>,
    ActingPerson(person): ActingPerson,
    RawQuery(query): RawQuery,
) -> PageResult {
    let Path(asked) = asked?;
    let parameters = Parameters::of_page(query.as_deref());
    let all = parameters.get("all", || "all=1".to_owned(), |value| (value == "1").then_some(()))?;
    let is_full = all.is_some();
    let has_diff =
        parameters.get("diff", || "diff=1".to_owned(), |value| (value == "1").then_some(()))?;
    // Probed before the events are read, so that the page cannot miss an event that comes in between.
    let probe = state.streams.probe().await;
    let issue = find(&state, &asked).await?;
    let changes = Changes::read(&state.tracker, &issue, is_full).await;
    let mentions = Mentions::find(&state.tracker, &issue).await;
    let known = if issue.status.is_open() { state.tracker.known(&issue).await } else { Vec::new() };
    let newer_head = match &state.project.root {
        Some(root) if issue.status.is_open() => newer_head(root, &issue).await,
        _ => None,
    };
    let diff = match &state.project.root {
        Some(root) if has_diff.is_some() => diff(root, &issue).await,
        _ => None,
    };
    let forms = match state.form_tokens.clone().zip(person) {
        Some((tokens, person)) => {
            let done = Done::of(&parameters, &tokens, &person)?;
            let near = match &done {
                Some(done) if done.is(Action::File) => {
                    state.tracker.near_titles(std::slice::from_ref(&issue)).await
                }
                _ => Vec::new(),
            };
            let kinds = Arc::clone(state.tracker.classifications());
            Some(IssueForms { tokens, person, done, kinds, near })
        }
        None => None,
    };
    let project = Arc::clone(&state.project);
    page_since(&state, Tab::Issues, probe, move |view, context| {
        let gone = &context.gone;
        let now = context.now;
        let repository = project.repository.as_ref();
        let summary = view.summary(issue.id);
        let silent_ms = summary.and_then(|summary| context.silent_ms(summary, view));
        let found = Found::of(issue, view);
        let view = IssueView {
            found,
            changes,
            mentions,
            known,
            gone,
            silent_ms,
            view,
            now,
            repository,
            newer_head,
            diff: has_diff.map(|()| diff),
            is_full,
            forms,
        };
        Ok(Page {
            title: issue::title(&view.found.issue),
            content: issue::content(&view),
            status: StatusCode::OK,
            head: Some(issue::head(&view.found)),
            json: Some(issue::json_path(view.found.issue.id)),
            is_of_issue: true,
            has_forms: view.forms.is_some(),
            ..Page::default()
        })
    })
    .await
}

/// Returns the forms of a page with many issues; `None` if its reader may not change them.
fn many_forms(
    state: &WebState,
    person: Option<Person>,
    parameters: &Parameters,
) -> Result<Option<ManyForms>, WebError> {
    let Some((tokens, person)) = state.form_tokens.clone().zip(person) else { return Ok(None) };
    let done = Done::of(parameters, &tokens, &person)?;
    Ok(Some(ManyForms { tokens, person, done }))
}

/// Renders a page of the current state.
async fn page(
    state: &WebState,
    tab: impl Into<Option<Tab>>,
    render: impl FnOnce(&ReadView<'_>, &PageContext) -> Result<Page, WebError> + Send + 'static,
) -> PageResult {
    page_since(state, tab, state.streams.probe().await, render).await
}

/// Renders a page of a state that is at least as new as `probe`.
async fn page_since(
    state: &WebState,
    tab: impl Into<Option<Tab>>,
    probe: StoreProbe,
    render: impl FnOnce(&ReadView<'_>, &PageContext) -> Result<Page, WebError> + Send + 'static,
) -> PageResult {
    page_with(state, tab, probe, None, render).await
}

/// Renders a page with these findings, or recent ones.
async fn page_with(
    state: &WebState,
    tab: impl Into<Option<Tab>>,
    probe: StoreProbe,
    findings: Option<Arc<Findings>>,
    render: impl FnOnce(&ReadView<'_>, &PageContext) -> Result<Page, WebError> + Send + 'static,
) -> PageResult {
    let project = Arc::clone(&state.project);
    let tab = tab.into();
    let store = state.store.get_or_init(|| state.tracker.store_id()).await.to_string();
    let signs = Signs::read(state, probe.damage.clone()).await;
    let rendered = state.read_model.read(move |view| {
        let counts = view.counts();
        if let Some(damage) = probe.damage.clone().filter(|_| counts.total() == 0) {
            return Err(damage.into());
        }
        let context = signs.context(view, findings);
        let page = render(view, &context)?;
        let layout = Layout {
            title: &page.title,
            tab,
            open: Some(StatusSet::open().iter().map(|status| counts.in_status(status)).sum()),
            attention: context.attention.count(),
            now: Some(context.now),
            version: Some(&*probe.version),
            store: Some(&store),
            trouble: probe.trouble.as_deref(),
            is_damaged: probe.damage.is_some(),
            head: page.head.as_ref(),
            json: page.json.as_deref(),
            csv: page.csv.as_deref(),
            is_of_issue: page.is_of_issue,
            has_forms: page.has_forms,
        };
        Ok::<_, WebError>((page.status, layout.around(&project, &page.content)))
    });
    let (status, page) = rendered.await??;
    Ok(respond(status, page))
}
