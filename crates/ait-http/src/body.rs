//! The bodies of requests: their kind, and reading them within bounds.

use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, FromRequest, Request};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};

use super::{MAX_BODY_BYTES, too_large};

/// How long a body may take to arrive; then the request is answered with 408.
pub const BODY_TIMEOUT: Duration = Duration::from_secs(30);

/// Returns true if a request names this media type, such as `application/json`, whatever its parameters are.
pub fn has_media_type(headers: &HeaderMap, expected: &str) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let kind = kind.and_then(|kind| kind.split(';').next());
    kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case(expected))
}

/// Reads the body of a request.
///
/// # Errors
///
/// The response to a body of more than [`MAX_BODY_BYTES`], one that takes too long, and one that ends early.
pub async fn read_body(body: Body, within: Duration) -> Result<Bytes, Response> {
    let mut request = Request::new(body);
    DefaultBodyLimit::max(MAX_BODY_BYTES).apply(&mut request);
    match tokio::time::timeout(within, Bytes::from_request(request, &())).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) if error.status() == StatusCode::PAYLOAD_TOO_LARGE => Err(too_large()),
        Ok(Err(error)) => {
            let text = format!("the body of the request ended early: {error}\n");
            Err((StatusCode::BAD_REQUEST, text).into_response())
        }
        Err(_) => {
            let text = format!("the body took more than {} s to arrive\n", within.as_secs_f32());
            let close = [(header::CONNECTION, "close")];
            Err((StatusCode::REQUEST_TIMEOUT, close, text).into_response())
        }
    }
}
