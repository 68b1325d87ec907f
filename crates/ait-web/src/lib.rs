//! The web interface: pages, their data as JSON and Atom, the event stream, the health probe and the metrics.
//!
//! Knows the read model, the activity, the tracker, the metrics, the domain, the branches of issues, what the hooks of
//! clients say, syncs, and of `http` the tokens and bodies of requests. It refuses every method but GET and HEAD, on
//! every path but those in `actions`, which exist only if people may change issues here.
//!
//! # The files
//!
//! * `pages/`, `markdown/`, `chart/`, `marks.rs`, `strings/`: a file or directory for each page; the texts of issues as
//!   HTML, charts, what a search found; the texts that several places show
//! * `actions/`: forms (`forms.rs`, `fields.rs`, `filing.rs`, `handler.rs`), one for many issues (`many.rs`), that of
//!   the inbox (`inbox.rs`), what was done and its undo (`done.rs`, `undo.rs`), and changes by programs as JSON
//!   (`write_api.rs`); who acts (`person.rs`), and that the form is ours (`form_token.rs`)
//! * `query/`, `listing.rs`, `lookup.rs`: the parameters of pages, the issues that they ask for, the issue that a path
//!   names, and what else may be meant
//! * `api.rs`, `activity_api.rs`, `csv.rs`, `atom.rs`: the data of pages as JSON, CSV and Atom
//! * `api_index.rs`, `openapi.json`: the index of `/api`, and its description, which tests compare with the answers
//! * `events.rs`, `etag.rs`, `health.rs`: the stream that tells pages of changes, conditional responses, the health
//!   probe and metrics
//! * `project.rs`, `projects.rs`, `repository.rs`: the project with its icon and its syncs, the other projects on this
//!   machine, links to commits
//! * `page_data.rs`: what people keep for the pages of a project in the store
//! * `example.rs`: the way to the example of an empty project
//! * `assets.rs`, `assets/`, `format.rs`: style sheet, scripts and icons; numbers and times in English
//! * `language.rs`: which language a reader gets

mod actions;
mod activity_api;
mod api;
mod api_index;
mod assets;
mod atom;
mod chart;
mod csv;
mod etag;
mod events;
mod example;
mod format;
mod health;
mod language;
mod listing;
mod lookup;
mod markdown;
mod marks;
mod page_data;
mod pages;
mod project;
mod projects;
mod query;
mod repository;
mod strings;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{RawQuery, Request};
use axum::http::{Method, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use tokio::sync::{OnceCell, mpsc};
use tokio_util::sync::CancellationToken;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, Predicate};

use self::actions::form_token::FormTokens;
use self::events::EventStreams;
use self::health::Health;
use self::pages::context::Medians;
use self::pages::error::{ErrorJson, WebError};
use self::pages::gone_clients::GoneClientsCache;
use self::project::Project;
use self::projects::{ProjectBoard, ProjectNumbers};
use ait_domain::ErrorCode;
use ait_http::metrics::Metrics;
use ait_http::processes::Registry;
use ait_language::Languages;
use ait_query::SavedQueries;
use ait_sync::SyncSettings;
use ait_tracker::read_model::ReadModel;
use ait_tracker::{StoreId, Tracker};

pub use self::example::ExampleRequest;

/// The path of the texts that client hooks show to agents.
pub const HOOK_TEXTS_PATH: &str = "/api/session";

/// The settings of the web interface.
#[derive(Clone, Debug)]
pub struct WebOptions {
    /// The name of the project, for the header and the titles of pages.
    pub project_name: String,
    /// How long the health probe reuses the outcome of a test write to the store.
    pub trial_every: Duration,
    /// How long the health probe waits for the store before it reports that the store does not answer.
    pub probe_within: Duration,
    /// Ends all event streams, which otherwise never end.
    pub streams: CancellationToken,
    /// The queries that have names.
    pub queries: Arc<SavedQueries>,
    /// The directory of the project, whose branches pages may show.
    pub root: Option<PathBuf>,
    /// The address of the project's repository, to which commits and branches lead.
    pub repository_url: Option<String>,
    /// Whether people may change issues here.
    pub has_actions: bool,
    /// The languages of the pages.
    pub languages: Languages,
    /// The tag of the language for readers who have not chosen one; `None` if their browsers say.
    pub language: Option<String>,
    /// The servers of the user, if a page is to list them.
    pub projects: Option<Registry>,
    /// The syncs with remote trackers, and where they keep how their last runs ended.
    pub syncs: Vec<SyncSettings>,
    pub sync_directory: PathBuf,
    /// Where an empty project asks for an example.
    pub example: Option<mpsc::Sender<ExampleRequest>>,
    /// Whether these are the pages of the example.
    pub is_example: bool,
}

impl Default for WebOptions {
    fn default() -> Self {
        Self {
            project_name: "issues".to_owned(),
            trial_every: Duration::from_secs(10),
            probe_within: Duration::from_secs(5),
            streams: CancellationToken::new(),
            queries: Arc::default(),
            root: None,
            repository_url: None,
            has_actions: false,
            languages: Languages::default(),
            language: None,
            projects: None,
            syncs: Vec::new(),
            sync_directory: PathBuf::new(),
            example: None,
            is_example: false,
        }
    }
}

/// The state that all handlers share.
#[derive(Clone)]
struct WebState {
    tracker: Tracker,
    read_model: ReadModel,
    metrics: Metrics,
    health: Arc<Health>,
    streams: Arc<EventStreams>,
    clients: Arc<GoneClientsCache>,
    /// How long claims take.
    medians: Medians,
    store: Arc<OnceCell<StoreId>>,
    project: Arc<Project>,
    /// The tokens in forms; `None` if the pages are read-only.
    form_tokens: Option<Arc<FormTokens>>,
    /// The servers of the user, if a page lists them.
    projects: Option<Registry>,
    /// Where an empty project asks for an example.
    example: Option<mpsc::Sender<ExampleRequest>>,
}

/// Returns the routes. The health probe counts its uptime from this call.
pub fn router_with(read_model: ReadModel, metrics: Metrics, options: WebOptions) -> Router {
    let tracker = read_model.tracker().clone();
    let state = WebState {
        project: Arc::new(Project {
            has_actions: options.has_actions,
            has_projects: options.projects.is_some(),
            has_example: options.example.is_some(),
            is_example: options.is_example,
            root: options.root.clone(),
            languages: options.languages.clone(),
            language: options.language.clone(),
            syncs: options.syncs.clone(),
            sync_directory: options.sync_directory.clone(),
            ..Project::new(
                &options.project_name,
                Arc::clone(&options.queries),
                options.repository_url.as_deref(),
            )
        }),
        form_tokens: options.has_actions.then(|| Arc::new(FormTokens::new())),
        read_model,
        projects: options.projects.clone(),
        example: options.example.clone(),
        streams: Arc::new(EventStreams::new(tracker.clone(), options.streams.clone())),
        clients: Arc::default(),
        medians: Medians::default(),
        store: Arc::default(),
        health: Arc::new(Health::new(options)),
        tracker,
        metrics,
    };
    let actions = actions::routes(&state);
    Router::new()
        .route("/", get(pages::issues))
        .route("/issues.csv", get(csv::issues))
        .route("/issues/{id}", get(pages::issue))
        .route("/api", get(api_index::index))
        .route(api_index::OPENAPI_PATH, get(api_index::openapi))
        .route("/api/issues", get(api::issues))
        .route("/api/issues/{id}", get(api::issue))
        .route("/api/agents", get(api::agents))
        .route(HOOK_TEXTS_PATH, get(api::session))
        .route("/board", get(pages::board))
        .route("/wall", get(pages::wall))
        .route("/agents", get(pages::agents))
        .route("/agents/{name}", get(pages::agent))
        .route("/activity", get(pages::activity))
        .route("/activity.atom", get(atom::feed))
        .route("/api/activity", get(activity_api::activity))
        .route("/stats", get(pages::stats))
        .route("/api/stats", get(api::stats))
        .route("/memory", get(pages::memory))
        .route("/sync", get(pages::sync))
        .route("/graph/{*about}", get(pages::graph))
        .route(actions::action::INBOX_PATH, get(pages::inbox))
        .route("/triage", get(to_the_inbox))
        .route("/api/triage", get(api::triage))
        .route("/projects", get(pages::projects::table))
        .route("/projects/board", get(pages::projects::board))
        .route(projects::PATH, get(projects::tell::<ProjectNumbers>))
        .route(projects::BOARD_PATH, get(projects::tell::<ProjectBoard>))
        .route(example::PATH, get(example::open))
        .route("/events", get(events::events))
        .route("/health", get(health::probe))
        .route("/health/", get(health::probe))
        .route("/metrics", get(health::metrics))
        .route("/issues", get(to_the_list))
        .merge(assets::routes(state.project.icons()))
        .fallback(pages::error::not_found)
        .with_state(state.clone())
        .layer(from_fn_with_state(state.clone(), pages::response::say_damage))
        .layer(from_fn_with_state(state, pages::response::finish))
        .layer(from_fn(lead_to_wall))
        // The fastest level already makes pages five times smaller; higher levels gain little.
        .layer(
            CompressionLayer::new()
                .quality(CompressionLevel::Fastest)
                .compress_when(DefaultPredicate::new().and(etag::may_compress)),
        )
        .layer(from_fn(refuse_writes))
        .merge(actions)
}

/// Leads to the wallboard from the address of any page with `?wall` behind it.
async fn lead_to_wall(request: Request, next: Next) -> Response {
    let is_page = !request.uri().path().starts_with("/api/");
    let mut pairs = request.uri().query().unwrap_or_default().split('&');
    if is_page && pairs.any(|pair| pair.split('=').next() == Some("wall")) {
        Redirect::to("/wall").into_response()
    } else {
        next.run(request).await
    }
}

/// Leads from the address of the findings to the inbox, which has them, with the same query.
async fn to_the_inbox(RawQuery(query): RawQuery) -> Redirect {
    let query = query.map(|query| format!("?{query}")).unwrap_or_default();
    Redirect::permanent(&format!("{}{query}", actions::action::INBOX_PATH))
}

/// Leads from an address that people guess to the list, with the same query.
async fn to_the_list(RawQuery(query): RawQuery) -> Redirect {
    Redirect::permanent(&query.map_or_else(|| "/".to_owned(), |query| format!("/?{query}")))
}

async fn refuse_writes(request: Request, next: Next) -> Response {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return next.run(request).await;
    }
    ([(header::ALLOW, "GET, HEAD")], refuse_method(request).await).into_response()
}

/// Answers to a method that an address does not take.
async fn refuse_method(request: Request) -> Response {
    let status = StatusCode::METHOD_NOT_ALLOWED;
    if pages::error::is_of_api(&request) {
        let text = "this address does not take that method: GET /api lists what this server \
             takes, and it takes changes only if it was started with --web-actions"
            .to_owned();
        return ErrorJson::from(WebError::plain(status, ErrorCode::ReadOnly, text)).into_response();
    }
    let text =
        "This address takes only GET and HEAD. Change issues through MCP or the command line.\n";
    (status, text).into_response()
}
