//! The HTTP server under both faces: who may ask, how much, and for how long.
//!
//! Knows no routes: it is given a [`Router`] and a listener. What it adds to every route is in
//! [`guarded`]; what holds for connections, in [`connections`].

pub mod access;
pub mod connections;
pub mod tokens;

use axum::Router;
use axum::body::Bytes;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::IntoResponse;
use http_body_util::Full;
use std::any::Any;
use std::sync::Arc;
use tower_http::catch_panic::CatchPanicLayer;

pub use access::{Access, AllowedHost, AllowedOrigin, BadHost, BadOrigin};
pub use connections::{Limits, serve};
pub use tokens::{AttemptLimits, BadToken, Mode, Principal, Tokens};

use self::tokens::gate::{self, Gate};

/// The largest body of a request, in bytes.
pub const MAX_BODY_BYTES: usize = 1 << 20;

/// What every response says besides its content.
///
/// Pages load nothing but the style sheet, the script and the images of this server, are not shown in
/// frames, and tell nobody where a link was followed.
const HEADERS: [(HeaderName, HeaderValue); 5] = [
    (
        header::SERVER,
        HeaderValue::from_static(concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"))),
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

/// Puts around routes what holds for every one of them, whatever it is.
///
/// Requests under a foreign name or from a foreign page are refused, those without a token where one is
/// needed, and bodies of more than [`MAX_BODY_BYTES`]; a panic is answered with 500 and logged; every
/// response has the security headers. Behind it, a [`Principal`] in the extensions of a request tells
/// whose token it came with.
pub fn guarded(routes: Router, access: Access) -> Router {
    guarded_with(routes, access, AttemptLimits::default())
}

/// The same, with other limits for those who show a wrong token.
pub fn guarded_with(routes: Router, access: Access, attempts: AttemptLimits) -> Router {
    let access = Arc::new(access);
    let gate = Arc::new(Gate::new(Arc::clone(&access), attempts));
    routes
        .layer(from_fn(refuse_large_bodies))
        .layer(from_fn_with_state(gate, gate::check))
        .layer(from_fn_with_state(access, access::check))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn(add_headers))
}

/// Refuses a body that says that it is too large before any of it is read.
async fn refuse_large_bodies(request: Request, next: Next) -> axum::response::Response {
    let length = request.headers().get(header::CONTENT_LENGTH);
    let length = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|bytes| bytes > MAX_BODY_BYTES as u64) {
        return too_large();
    }
    next.run(request).await
}

/// The answer to a body of more than [`MAX_BODY_BYTES`].
pub fn too_large() -> axum::response::Response {
    let text = format!("the body of a request may have {MAX_BODY_BYTES} bytes at most\n");
    (StatusCode::PAYLOAD_TOO_LARGE, [(header::CONNECTION, "close")], text).into_response()
}

async fn add_headers(request: Request, next: Next) -> axum::response::Response {
    let mut response = next.run(request).await;
    response.headers_mut().extend(HEADERS);
    response
}

fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response<Full<Bytes>> {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no text");
    tracing::error!("a request made the server panic: {text}");
    let mut response = Response::new(Full::from(
        "this is a defect of the tracker; details are in its log, and it goes on running\n",
    ));
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}
