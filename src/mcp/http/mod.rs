//! MCP over streamable HTTP, where clients come and go and the server may be started anew meanwhile.
//!
//! rmcp serves both protocol eras at one address: up to revision 2025-11-25 a client begins a session
//! and names it in every request; from 2026-07-28 on every request stands alone. Around it are
//! `messages`, which reads bodies and refuses what is no message; `sessions`, which keeps sessions
//! within bounds and takes those up again that this process does not know; and `answers`, which answers
//! with plain JSON where there is nothing to stream.

mod answers;
mod messages;
mod session_id;
mod sessions;
mod under_way;

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;
use tower_http::cors::{AllowOrigin, CorsLayer};

use self::messages::Message;
use self::sessions::{INTRODUCTION, NEEDED, Sessions};
use self::under_way::UnderWay;
use super::McpServer;
use crate::http::{AllowedOrigin, MAX_BODY_BYTES};

/// Where the endpoint is.
pub const PATH: &str = "/mcp";

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const EVENT_STREAM: &str = "text/event-stream";
/// What browsers may send beside what they always may, and what they may read.
const REQUEST_HEADERS: [HeaderName; 8] = [
    header::ACCEPT,
    header::AUTHORIZATION,
    header::CONTENT_TYPE,
    SESSION_ID,
    HeaderName::from_static("last-event-id"),
    HeaderName::from_static("mcp-protocol-version"),
    HeaderName::from_static("mcp-method"),
    HeaderName::from_static("mcp-name"),
];
/// How long a browser may keep what it was told about other origins.
const CORS_MAX_AGE: Duration = Duration::from_secs(600);

/// How the endpoint behaves where there is a choice.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// How many sessions are kept in memory, at some 60 kB each, beside those with a stream open; the
    /// one that has been idle for longest makes room.
    pub sessions: usize,
    /// How long a body may take to arrive; then the request is answered with 408.
    pub body: Duration,
    /// How long a client waits for an answer until a stream is begun that shows it that the server is
    /// alive.
    pub stream_after: Duration,
    /// The origins whose pages may use the endpoint.
    pub origins: Vec<AllowedOrigin>,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            sessions: 256,
            body: Duration::from_secs(30),
            stream_after: Duration::from_secs(10),
            origins: Vec::new(),
        }
    }
}

/// When the endpoint ends: in two steps, so that what is under way can be answered.
#[derive(Clone, Debug, Default)]
pub struct Ending {
    /// Ends the streams that only wait for news.
    pub streams: CancellationToken,
    /// Ends everything.
    pub all: CancellationToken,
}

type Service = StreamableHttpService<McpServer, Sessions>;

#[derive(Clone)]
struct Endpoint {
    service: Service,
    sessions: Arc<Sessions>,
    under_way: UnderWay,
    options: Arc<HttpOptions>,
}

/// The endpoint, until its ending.
pub async fn routes(server: McpServer, options: HttpOptions, ending: Ending) -> Router {
    let sessions = Sessions::new(&server, options.sessions, ending.streams).await;
    let sessions = Arc::new(sessions);
    let mut config = StreamableHttpServerConfig::default()
        .with_json_response(true)
        // There is nothing that a client could come back to.
        .with_sse_retry(None)
        // One request more than the limit is refused before it gets here.
        .with_max_request_body_bytes(MAX_BODY_BYTES)
        // Both are checked for all routes.
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_cancellation_token(ending.all);
    config.session_store = Some(Arc::<Sessions>::clone(&sessions));
    let service = Service::new(move || Ok(server.clone()), Arc::clone(&sessions), config);
    let allowed: Vec<_> =
        options.origins.iter().filter_map(|it| it.to_string().parse().ok()).collect();
    let cors = CorsLayer::new()
        .allow_origin(AllowOrigin::list(allowed))
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers(REQUEST_HEADERS)
        .expose_headers([SESSION_ID])
        .max_age(CORS_MAX_AGE);
    let under_way = UnderWay::default();
    let endpoint = Endpoint { service, sessions, under_way, options: Arc::new(options) };
    Router::new().route(PATH, any(serve)).with_state(endpoint).layer(cors)
}

/// Answers one request to the endpoint.
async fn serve(State(endpoint): State<Endpoint>, request: Request) -> Response {
    let Endpoint { service, sessions, under_way, options } = endpoint;
    if request.method() == Method::GET && !accepts(request.headers(), EVENT_STREAM) {
        return how_to_connect();
    }
    let (parts, body) = request.into_parts();
    let (body, message) = if parts.method == Method::POST {
        match messages::read(&parts.headers, body, options.body).await {
            Ok(read) => read,
            Err(refusal) => return refusal,
        }
    } else {
        (Body::empty(), Message::default())
    };
    let mut entry = None;
    if let Some(session) = parts.headers.get(SESSION_ID) {
        let session = session.to_str().unwrap_or_default();
        if !sessions.can_be_served(session).await {
            return messages::unknown_session(message.id);
        }
        if let Some(id) = message.id {
            entry = under_way.begin(session, &id);
            if entry.is_none() {
                return messages::id_in_use(id);
            }
        }
    }
    let method = parts.method.clone();
    let answer = service.handle(Request::from_parts(parts, body));
    let answer = INTRODUCTION.scope(message.introduction, answer);
    let answer = NEEDED.scope(RefCell::default(), answer).await;
    let answer = answer.map(Body::new);
    let answer = match method {
        Method::POST => answers::plain(answer, options.stream_after, entry).await,
        // The session is ended by now. 202 would only promise that, and some clients take it for a
        // failure.
        Method::DELETE if answer.status() == StatusCode::ACCEPTED => {
            StatusCode::NO_CONTENT.into_response()
        }
        _ => answer,
    };
    sessions.make_room();
    answer
}

fn accepts(headers: &HeaderMap, kind: &str) -> bool {
    let values = headers.get_all(header::ACCEPT).iter();
    values.filter_map(|value| value.to_str().ok()).any(|value| value.contains(kind))
}

/// What a person sees who opens the endpoint in a browser.
fn how_to_connect() -> Response {
    let text = "This is an MCP endpoint for coding agents. Connect one with, for example:\n\n  \
                claude mcp add --transport http issues http://localhost:3000/mcp\n\n\
                with the host and port of this address. The page for people is at /.\n";
    (StatusCode::NOT_ACCEPTABLE, text).into_response()
}
