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
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use rmcp::model::{ProtocolVersion, RequestId};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use tower_http::cors::{AllowOrigin, CorsLayer};

use self::messages::Message;
use self::sessions::{INTRODUCTION, NEEDED, Sessions};
use self::under_way::{Entry, UnderWay};
use super::McpServer;
use crate::http::{AllowedOrigin, MAX_BODY_BYTES};

/// Where the endpoint is.
pub const PATH: &str = "/mcp";

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const EVENT_STREAM: &str = "text/event-stream";
/// What browsers may send beside what they always may, and what they may read.
const REQUEST_HEADERS: [HeaderName; 8] = [
    header::ACCEPT,
    header::AUTHORIZATION,
    header::CONTENT_TYPE,
    SESSION_ID,
    HeaderName::from_static("last-event-id"),
    PROTOCOL_VERSION,
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
    taking_up: Arc<Mutex<()>>,
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
    let (taking_up, options) = (Arc::default(), Arc::new(options));
    let endpoint = Endpoint { service, sessions, under_way, taking_up, options };
    Router::new().route(PATH, any(serve)).with_state(endpoint).layer(cors)
}

/// Answers one request to the endpoint.
async fn serve(State(endpoint): State<Endpoint>, request: Request) -> Response {
    if request.method() == Method::GET && !accepts(request.headers(), EVENT_STREAM) {
        return how_to_connect();
    }
    let (parts, body) = request.into_parts();
    let (body, message) = if parts.method == Method::POST {
        match messages::read(&parts.headers, body, endpoint.options.body).await {
            Ok(read) => read,
            Err(refusal) => return refusal,
        }
    } else {
        (Body::empty(), Message::default())
    };
    let entry = match endpoint.admit(&parts.headers, message.id).await {
        Ok(entry) => entry,
        Err(refusal) => return refusal,
    };
    let method = parts.method.clone();
    let answer = async {
        endpoint.take_up(&parts.headers).await;
        endpoint.service.handle(Request::from_parts(parts, body)).await
    };
    let answer = INTRODUCTION.scope(message.introduction, answer);
    let answer = NEEDED.scope(RefCell::default(), answer).await;
    let answer = answer.map(Body::new);
    let answer = match method {
        Method::POST => answers::plain(answer, endpoint.options.stream_after, entry).await,
        // The session is ended by now. 202 would only promise that, and some clients take it for a
        // failure.
        Method::DELETE if answer.status() == StatusCode::ACCEPTED => {
            StatusCode::NO_CONTENT.into_response()
        }
        _ => answer,
    };
    endpoint.sessions.make_room();
    answer
}

impl Endpoint {
    /// Lets a request in whose session, if it names one, can be served; takes note of its id.
    async fn admit(
        &self,
        headers: &HeaderMap,
        id: Option<RequestId>,
    ) -> Result<Option<Entry>, Response> {
        let Some(session) = session_of(headers) else { return Ok(None) };
        let session = session.to_str().unwrap_or_default();
        if !self.sessions.can_be_served(session).await {
            return Err(messages::unknown_session(id));
        }
        let Some(id) = id else { return Ok(None) };
        let entry = self.under_way.begin(session, &id);
        entry.map(Some).ok_or_else(|| messages::id_in_use(id))
    }
    /// Takes a session up that this process does not know, before its request is served.
    ///
    /// rmcp would do so while it serves the request, but of several requests that come at once, as they
    /// do after a restart, it fails some. So a notification that changes nothing goes first, alone.
    async fn take_up(&self, headers: &HeaderMap) {
        let Some(session) = session_of(headers) else { return };
        let name = session.to_str().unwrap_or_default();
        if self.sessions.is_ready(name) {
            return;
        }
        let _alone = self.taking_up.lock().await;
        if self.sessions.is_ready(name) {
            return;
        }
        let nothing = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
        let mut request = Request::new(Body::from(nothing));
        *request.method_mut() = Method::POST;
        let both = HeaderValue::from_static("application/json, text/event-stream");
        let headers = request.headers_mut();
        headers.insert(header::HOST, HeaderValue::from_static("localhost"));
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::ACCEPT, both);
        headers.insert(SESSION_ID, session.clone());
        let status = self.service.handle(request).await.status();
        if status == StatusCode::ACCEPTED {
            self.sessions.taken_up(name);
        } else {
            tracing::error!("a session could not be taken up: {status}");
        }
    }
}

/// The session of a request. From 2026-07-28 on there are none, and a name of one means nothing.
fn session_of(headers: &HeaderMap) -> Option<&HeaderValue> {
    let stateless = ProtocolVersion::V_2026_07_28;
    let version = headers.get(PROTOCOL_VERSION);
    let is_stateless = version.is_some_and(|it| it.as_bytes() >= stateless.as_str().as_bytes());
    headers.get(SESSION_ID).filter(|_| !is_stateless)
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
