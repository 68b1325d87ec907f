//! The probe for monitoring.

use axum::Json;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;

use crate::tracker::Tracker;

/// Answers 200 with `{"status":"ok","issueCount":N}` while the store can be read and changed, else 503
/// with a `reason`.
pub(super) async fn probe(State(tracker): State<Tracker>) -> Response {
    let uncached = [(header::CACHE_CONTROL, "no-store")];
    let healthy = async {
        tracker.check().await?;
        tracker.counts().await
    };
    match healthy.await {
        Ok(counts) => {
            let body = json!({ "status": "ok", "issueCount": counts.total() });
            (uncached, Json(body)).into_response()
        }
        Err(error) => {
            let body = json!({ "status": "degraded", "reason": error.to_string() });
            (StatusCode::SERVICE_UNAVAILABLE, uncached, Json(body)).into_response()
        }
    }
}
