//! The face for people: read-only pages and the health probe over HTTP.
//!
//! Knows the tracker and the domain. It only reads: every method but GET and HEAD is refused, on
//! every path.

pub mod health;
mod pages;
mod port_owner;
mod span;

use axum::Router;
use axum::extract::Request;
use axum::http::{Method, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use crate::tracker::Tracker;

pub use port_owner::port_owner;

/// The routes.
pub fn router(tracker: Tracker) -> Router {
    Router::new()
        .route("/", get(pages::issues::page))
        .route("/health", get(health::probe))
        .route(&pages::STYLE_PATH, get(pages::style))
        .route(&pages::ICON_PATH, get(pages::icon))
        .fallback(pages::not_found::page)
        .with_state(tracker)
        .layer(from_fn(only_reading))
}

async fn only_reading(request: Request, next: Next) -> Response {
    if matches!(*request.method(), Method::GET | Method::HEAD) {
        return next.run(request).await;
    }
    let text = "These pages only read: use GET or HEAD. Issues are changed through MCP.\n";
    (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "GET, HEAD")], text).into_response()
}
