//! Token authentication: the middleware in front of all routes.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{AppendHeaders, IntoResponse, Response};

use super::access::{AccessPolicy, shown};
use super::tokens::credentials::{Credentials, credentials_in, is_bearer};
use super::tokens::throttle::AuthThrottle;

/// The paths of the one route that needs no token: service managers and load balancers probe it without one.
const OPEN_PATHS: [&str; 2] = ["/health", "/health/"];
/// What a request may send, strongest first (RFC 9110, section 11.6.1). `Basic` makes a browser ask for the token, as a
/// password.
const CHALLENGES: [(HeaderName, HeaderValue); 2] = [
    (header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"ait\"")),
    (header::WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"ait\", charset=\"UTF-8\"")),
];
/// How to send a token.
const HOW: &str = "send `Authorization: Bearer TOKEN`, or give the token as the password (and any \
                   name) where a browser asks for it; the operator of this server has it\n";

/// Marks a request that came with `Bearer`. Browsers send `Basic` by themselves, but never this.
#[derive(Clone, Copy, Debug)]
pub struct BearerToken;

/// What all requests share.
pub(super) struct TokenAuth {
    policy: Arc<AccessPolicy>,
    throttle: AuthThrottle,
}

impl TokenAuth {
    pub fn new(policy: Arc<AccessPolicy>) -> Self {
        let throttle = AuthThrottle::new(policy.throttle_limits());
        Self { policy, throttle }
    }
}

/// Passes on a request with a valid token, with the token's [`Principal`](super::Principal) as an extension, and with
/// [`BearerToken`] if it was sent as a bearer token.
pub(super) async fn check(
    State(auth): State<Arc<TokenAuth>>,
    mut request: Request,
    next: Next,
) -> Response {
    let tokens = auth.policy.tokens();
    if tokens.is_empty() || is_open(&request) {
        return next.run(request).await;
    }
    // Clients ask there for a server that gives out tokens, and go on only if there is none.
    if request.uri().path().starts_with("/.well-known/") {
        return StatusCode::NOT_FOUND.into_response();
    }
    let credentials = credentials_in(request.headers());
    if let Credentials::Secret(secret) = &credentials
        && let Some(principal) = tokens.principal_with(secret)
    {
        if is_bearer(request.headers()) {
            request.extensions_mut().insert(BearerToken);
        }
        // No handler needs the secret, so none can leak it.
        request.headers_mut().remove(header::AUTHORIZATION);
        request.extensions_mut().insert(principal.clone());
        return next.run(request).await;
    }
    let (parts, _unread) = request.into_parts();
    let refusal = match credentials {
        Credentials::Nothing => unauthorized(format!("this server needs a token: {HOW}")),
        Credentials::Malformed | Credentials::Secret(_) => auth.failed(&parts).await,
    };
    auth.readable(&parts, refusal)
}

/// Returns true if a request needs no token: the health probe, and a preflight, to which browsers add none.
fn is_open(request: &Request) -> bool {
    let headers = request.headers();
    match *request.method() {
        Method::GET | Method::HEAD => OPEN_PATHS.contains(&request.uri().path()),
        Method::OPTIONS => {
            headers.contains_key(header::ORIGIN)
                && headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
        }
        _ => false,
    }
}

impl TokenAuth {
    /// Returns the response to an attempt with a wrong token, after the delay.
    async fn failed(&self, request: &Parts) -> Response {
        let Some(permit) = self.throttle.acquire() else {
            let text = format!("too many requests with invalid tokens: {HOW}");
            let seconds = self.throttle.delay().as_secs().max(1).to_string();
            // Closing the connection makes each further guess cost a new one.
            let headers =
                [(header::RETRY_AFTER, seconds), (header::CONNECTION, "close".to_owned())];
            return (StatusCode::TOO_MANY_REQUESTS, headers, text).into_response();
        };
        let caller = request.extensions.get::<ConnectInfo<SocketAddr>>();
        let caller = caller.map_or("a caller".to_owned(), |caller| caller.0.to_string());
        let method = shown(request.method.as_str().as_bytes());
        let path = shown(request.uri.path().as_bytes());
        match permit.rejected {
            0 => tracing::warn!("{caller} sent an invalid token for {method} {path}"),
            more => tracing::warn!(
                "{caller} sent an invalid token for {method} {path}; {more} attempts before it were \
                 rejected and not logged"
            ),
        }
        permit.wait().await;
        unauthorized(format!("the token is invalid: {HOW}"))
    }

    /// Lets a page of an allowed origin read a refusal, too.
    fn readable(&self, request: &Parts, mut refusal: Response) -> Response {
        if let Some(origin) = request.headers.get(header::ORIGIN)
            && self.policy.lists(origin)
        {
            let headers = refusal.headers_mut();
            headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin.clone());
            headers.insert(header::VARY, HeaderValue::from_static("origin"));
        }
        refusal
    }
}

fn unauthorized(text: String) -> Response {
    (StatusCode::UNAUTHORIZED, AppendHeaders(CHALLENGES), text).into_response()
}
