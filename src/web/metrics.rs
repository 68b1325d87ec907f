//! The meters, for monitoring.

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::site::Site;
use crate::metrics::CONTENT_TYPE;
use crate::tracker::Probe;

/// Answers 200 with all that is known, also while the store cannot be read.
pub(super) async fn scrape(State(site): State<Site>) -> Response {
    let counts = site.tracker.counts().await.ok();
    let health = site.tracker.health(Probe::Known).await;
    let headers = [(header::CONTENT_TYPE, CONTENT_TYPE), (header::CACHE_CONTROL, "no-store")];
    match site.metrics.text(counts.as_ref(), &health) {
        Ok(text) => (headers, text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
