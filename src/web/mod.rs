//! The web interface: read-only pages, their data as JSON and Atom, the event stream, the health probe and the
//! metrics.
//!
//! Knows the read model, the activity, the tracker, the metrics and the domain. It refuses every method but GET
//! and HEAD, on every path.

mod activity_api;
mod api;
mod assets;
mod atom;
mod chart;
mod etag;
mod events;
mod format;
mod health;
mod lookup;
mod markdown;
mod pages;
mod query;
mod strings;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::{Method, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio_util::sync::CancellationToken;
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{DefaultPredicate, Predicate};

use self::events::EventStreams;
use self::health::Health;
use crate::metrics::Metrics;
use crate::read_model::ReadModel;
use crate::tracker::Tracker;

/// The settings of the web interface.
#[derive(Clone, Debug)]
pub struct WebOptions {
    /// How long the health probe reuses the outcome of a test write to the store.
    pub trial_every: Duration,
    /// How long the health probe waits for the store before it reports that the store does not answer.
    pub probe_within: Duration,
    /// Ends all event streams, which otherwise never end.
    pub streams: CancellationToken,
}

impl Default for WebOptions {
    fn default() -> Self {
        Self {
            trial_every: Duration::from_secs(10),
            probe_within: Duration::from_secs(5),
            streams: CancellationToken::new(),
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
}

/// Returns the routes with the default options.
pub fn router(tracker: Tracker, metrics: Metrics) -> Router {
    router_with(tracker, metrics, WebOptions::default())
}

/// Returns the routes. The health probe counts its uptime from this call.
pub fn router_with(tracker: Tracker, metrics: Metrics, options: WebOptions) -> Router {
    let state = WebState {
        read_model: ReadModel::new(tracker.clone()),
        streams: Arc::new(EventStreams::new(tracker.clone(), options.streams.clone())),
        health: Arc::new(Health::new(options)),
        tracker,
        metrics,
    };
    Router::new()
        .route("/", get(pages::issues))
        .route("/issues/{id}", get(pages::issue))
        .route("/api/issues", get(api::issues))
        .route("/api/issues/{id}", get(api::issue))
        .route("/board", get(pages::board))
        .route("/agents", get(pages::agents))
        .route("/activity", get(pages::activity))
        .route("/activity.atom", get(atom::feed))
        .route("/api/activity", get(activity_api::activity))
        .route("/stats", get(pages::stats))
        .route("/api/stats", get(api::stats))
        .route("/events", get(events::events))
        .route("/health", get(health::probe))
        .route("/health/", get(health::probe))
        .route("/metrics", get(health::metrics))
        .merge(assets::routes())
        .fallback(pages::error::not_found)
        .with_state(state)
        // The fastest level already makes pages five times smaller; higher levels gain little.
        .layer(
            CompressionLayer::new()
                .quality(CompressionLevel::Fastest)
                .compress_when(DefaultPredicate::new().and(etag::may_compress)),
        )
        .layer(from_fn(refuse_writes))
}

async fn refuse_writes(request: Request, next: Next) -> Response {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return next.run(request).await;
    }
    let text = "These pages are read-only: use GET or HEAD. Change issues through MCP or the command line.\n";
    (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "GET, HEAD")], text).into_response()
}
