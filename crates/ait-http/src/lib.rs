//! The HTTP server under the web pages and MCP: access, limits and timeouts. Also what every process has: a log,
//! metrics, its entry in the registry of live processes, and a look at who owns a port.
//!
//! Knows no routes: its caller passes a [`Router`] and a listener. [`with_security_layers`] adds what holds for every
//! route; [`connections`] has what holds for connections.

pub mod access;
pub mod body;
pub mod connections;
mod listeners;
pub mod logging;
pub mod metrics;
pub mod port_probe;
pub mod processes;
mod token_auth;
pub mod token_file;
pub mod tokens;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::IntoResponse;
use std::any::Any;
use std::sync::Arc;
use tower_http::catch_panic::CatchPanicLayer;

pub use access::{AccessPolicy, AllowedHost, AllowedOrigin, BadHost, BadOrigin, has_own_origin};
pub use connections::{Limits, serve};
pub use listeners::Listeners;
pub use token_auth::BearerToken;
pub use tokens::{BadToken, Principal, Scope, ThrottleLimits, Tokens};

use self::token_auth::TokenAuth;

/// The icon of the product as SVG, with `{colour}` where its colour belongs.
pub const ICON: &str = include_str!("icon.svg");

/// The maximum size of a request body, in bytes.
pub const MAX_BODY_BYTES: usize = 1 << 20;

/// The headers of every response.
///
/// Pages load only style sheets, scripts and images of this server, cannot be framed, and send no referrer.
const HEADERS: [(HeaderName, HeaderValue); 5] = [
    (
        header::SERVER,
        HeaderValue::from_static(concat!("agent-issue-tracker/", env!("CARGO_PKG_VERSION"))),
    ),
    (
        header::CONTENT_SECURITY_POLICY,
        HeaderValue::from_static(
            "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; \
             connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
        ),
    ),
    (header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    (header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY")),
    (header::REFERRER_POLICY, HeaderValue::from_static("no-referrer")),
];

/// Adds the layers that protect every route.
///
/// They refuse requests that the policy does not allow, and bodies of more than [`MAX_BODY_BYTES`]. They answer a panic
/// with 500 and log it, and add security headers to every response. Handlers find the [`Principal`] of a request in
/// its extensions, if it came with a token.
pub fn with_security_layers(routes: Router, policy: AccessPolicy) -> Router {
    let policy = Arc::new(policy);
    let auth = Arc::new(TokenAuth::new(Arc::clone(&policy)));
    routes
        .layer(from_fn(refuse_large_bodies))
        .layer(from_fn_with_state(auth, token_auth::check))
        .layer(from_fn_with_state(policy, access::check))
        .layer(CatchPanicLayer::custom(panic_response))
        .layer(from_fn(add_headers))
}

/// Refuses a body whose announced length is too large, without reading it.
async fn refuse_large_bodies(request: Request, next: Next) -> axum::response::Response {
    let length = request.headers().get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|bytes| bytes > MAX_BODY_BYTES as u64) {
        return too_large();
    }
    next.run(request).await
}

/// Returns the response to a body of more than [`MAX_BODY_BYTES`].
pub fn too_large() -> axum::response::Response {
    let text = format!("a request body may have at most {MAX_BODY_BYTES} bytes\n");
    (StatusCode::PAYLOAD_TOO_LARGE, [(header::CONNECTION, "close")], text).into_response()
}

async fn add_headers(request: Request, next: Next) -> axum::response::Response {
    let mut response = next.run(request).await;
    response.headers_mut().extend(HEADERS);
    response
}

fn panic_response(panic: Box<dyn Any + Send + 'static>) -> Response<Body> {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no text");
    tracing::error!("a handler panicked: {text}");
    let mut response = Response::new(Body::from(
        "this is a defect of the tracker; its log has details, and it keeps running\n",
    ));
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}
