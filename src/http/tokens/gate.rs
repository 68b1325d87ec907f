//! The gate before the routes: with tokens, nobody gets through without one.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::AttemptLimits;
use super::attempts::Attempts;
use super::credentials::{Credentials, credentials_in};
use crate::http::access::{Access, shown};

/// The one route that needs no token: service managers and load balancers probe it, and have none.
const OPEN_PATH: &str = "/health";
/// Has a browser ask for the token, as a password.
const CHALLENGE: HeaderValue = HeaderValue::from_static("Basic realm=\"ait\", charset=\"UTF-8\"");
/// How to show a token.
const HOW: &str = "send `Authorization: Bearer TOKEN`, or give the token as the password (and any \
                   name) where a browser asks for it; whoever runs this server has it\n";

/// What the requests share.
pub(in crate::http) struct Gate {
    access: Arc<Access>,
    attempts: Attempts,
}

impl Gate {
    pub fn new(access: Arc<Access>, limits: AttemptLimits) -> Self {
        Self { access, attempts: Attempts::new(limits) }
    }
}

/// Lets a request through that shows a good token, and tells those behind whose it is.
pub(in crate::http) async fn check(
    State(gate): State<Arc<Gate>>,
    mut request: Request,
    next: Next,
) -> Response {
    let tokens = gate.access.tokens();
    if tokens.is_empty() || is_open(&request) {
        return next.run(request).await;
    }
    let shown = credentials_in(request.headers());
    if let Credentials::Secret(secret) = &shown
        && let Some(principal) = tokens.principal_with(secret)
    {
        // Nobody behind needs the secret, or could give it away.
        request.headers_mut().remove(header::AUTHORIZATION);
        request.extensions_mut().insert(principal.clone());
        return next.run(request).await;
    }
    let (parts, _unread) = request.into_parts();
    let refusal = match shown {
        Credentials::Nothing => unauthorized(format!("this server needs a token: {HOW}")),
        Credentials::Malformed | Credentials::Secret(_) => gate.failed(&parts).await,
    };
    gate.readable(&parts, refusal)
}

/// Tells whether a request needs no token: the probe, and the question of a browser whether a page
/// may ask at all (a preflight), to which it never adds one.
fn is_open(request: &Request) -> bool {
    let headers = request.headers();
    match *request.method() {
        Method::GET | Method::HEAD => request.uri().path() == OPEN_PATH,
        Method::OPTIONS => {
            headers.contains_key(header::ORIGIN)
                && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
        }
        _ => false,
    }
}

impl Gate {
    /// The answer to an attempt with a wrong token, in time.
    async fn failed(&self, request: &Parts) -> Response {
        let Some(place) = self.attempts.begin() else {
            let text = format!("too many requests with wrong tokens at the moment: {HOW}");
            let seconds = self.attempts.delay().as_secs().max(1).to_string();
            // Whoever guesses has to connect anew for each.
            let headers =
                [(header::RETRY_AFTER, seconds), (header::CONNECTION, "close".to_owned())];
            return (StatusCode::TOO_MANY_REQUESTS, headers, text).into_response();
        };
        let caller = request.extensions.get::<ConnectInfo<SocketAddr>>();
        let caller = caller.map_or("a caller".to_owned(), |caller| caller.0.to_string());
        let method = shown(request.method.as_str().as_bytes());
        let path = shown(request.uri.path().as_bytes());
        match place.untold {
            0 => tracing::warn!("{caller} showed no good token for {method} {path}"),
            more => tracing::warn!(
                "{caller} showed no good token for {method} {path}; {more} more did not before, too \
                 many to tell each"
            ),
        }
        place.wait().await;
        unauthorized(format!("that is none of the tokens of this server: {HOW}"))
    }

    /// A refusal that a page of an allowed origin can read, too.
    fn readable(&self, request: &Parts, mut refusal: Response) -> Response {
        if let Some(origin) = request.headers.get(header::ORIGIN)
            && self.access.lists(origin)
        {
            let headers = refusal.headers_mut();
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            headers.insert(header::VARY, HeaderValue::from_static("origin"));
        }
        refusal
    }
}

fn unauthorized(text: String) -> Response {
    (StatusCode::UNAUTHORIZED, [(header::WWW_AUTHENTICATE, CHALLENGE)], text).into_response()
}
