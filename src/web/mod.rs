//! The face for people and their monitoring: read-only pages, their data as JSON, the health probe and the
//! meters over HTTP.
//!
//! Knows the overview, the tracker, the meters and the domain. It only reads: every method but GET and HEAD
//! is refused, on every path.

mod activity_api;
mod address;
mod api;
mod assets;
mod atom;
mod chart;
mod etag;
pub mod health;
mod live;
mod lookup;
mod markdown;
mod metrics;
mod nearest;
mod pages;
mod site;
mod words;

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

use self::health::Health;
use self::live::Live;
use self::site::Site;
use crate::metrics::Metrics;
use crate::overview::Overview;
use crate::tracker::Tracker;

/// How the pages behave where there is a choice.
#[derive(Clone, Debug)]
pub struct WebOptions {
    /// How long the outcome of a trial to write to the store is worth reporting by the health probe.
    pub trial_every: Duration,
    /// How long the health probe waits for the disk before it says that it does not answer.
    pub probe_within: Duration,
    /// Ends the streams of events, which would otherwise go on for ever.
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

/// The routes, with the usual options.
pub fn router(tracker: Tracker, metrics: Metrics) -> Router {
    router_with(tracker, metrics, WebOptions::default())
}

/// The routes. The uptime that the health probe tells begins now.
pub fn router_with(tracker: Tracker, metrics: Metrics, options: WebOptions) -> Router {
    let site = Site {
        overview: Overview::new(tracker.clone()),
        live: Arc::new(Live::new(tracker.clone(), options.streams.clone())),
        health: Arc::new(Health::new(options)),
        tracker,
        metrics,
        words: &words::ENGLISH,
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
        .route("/events", get(live::events))
        .route("/health", get(health::probe))
        .route("/metrics", get(self::metrics::scrape))
        .merge(assets::routes())
        .fallback(pages::error::nothing_here)
        .with_state(site)
        // Pages shrink to a fifth; the quickest way does as well as any.
        .layer(CompressionLayer::new().quality(CompressionLevel::Fastest))
        .layer(from_fn(only_reading))
}

async fn only_reading(request: Request, next: Next) -> Response {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return next.run(request).await;
    }
    let text = "These pages only read: use GET or HEAD. Issues are changed through MCP.\n";
    (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "GET, HEAD")], text).into_response()
}
