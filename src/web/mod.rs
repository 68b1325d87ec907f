//! The face for people and their monitoring: read-only pages and the health probe over HTTP.
//!
//! Knows the tracker and the domain. It only reads: every method but GET and HEAD is refused, on
//! every path.

pub mod health;
mod pages;
mod port_owner;
mod span;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{FromRef, Request};
use axum::http::{Method, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use self::health::Health;
use crate::tracker::Tracker;

pub use port_owner::port_owner;

/// How the pages behave where there is a choice.
#[derive(Clone, Copy, Debug)]
pub struct WebOptions {
    /// How long the outcome of a trial to write to the store is worth reporting by the health probe.
    pub trial_every: Duration,
}

impl Default for WebOptions {
    fn default() -> Self {
        Self { trial_every: Duration::from_secs(10) }
    }
}

/// What the handlers share.
#[derive(Clone)]
struct Site {
    tracker: Tracker,
    health: Arc<Health>,
}

impl FromRef<Site> for Tracker {
    fn from_ref(site: &Site) -> Self {
        site.tracker.clone()
    }
}

/// The routes, with the usual options.
pub fn router(tracker: Tracker) -> Router {
    router_with(tracker, WebOptions::default())
}

/// The routes. The uptime that the health probe tells begins now.
pub fn router_with(tracker: Tracker, options: WebOptions) -> Router {
    let health = Arc::new(Health::new(options.trial_every));
    Router::new()
        .route("/", get(pages::issues::page))
        .route("/health", get(health::probe))
        .route(&pages::STYLE_PATH, get(pages::style))
        .route(&pages::ICON_PATH, get(pages::icon))
        .fallback(pages::not_found::page)
        .with_state(Site { tracker, health })
        .layer(from_fn(only_reading))
}

async fn only_reading(request: Request, next: Next) -> Response {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return next.run(request).await;
    }
    let text = "These pages only read: use GET or HEAD. Issues are changed through MCP.\n";
    (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "GET, HEAD")], text).into_response()
}
