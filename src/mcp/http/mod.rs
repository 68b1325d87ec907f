//! MCP over streamable HTTP, where clients come and go and the server may be started anew meanwhile.
//!
//! rmcp serves both protocol eras at one address: up to revision 2025-11-25 a client begins a session
//! and names it in every request; from 2026-07-28 on every request stands alone. Around it are
//! `messages`, which reads bodies and refuses what is no message; `sessions`, which keeps sessions
//! within bounds and takes those up again that this process does not know; `caller`, which tells a call
//! whose token it came with, and that nobody waits for it any more; and `answers`, which answers with plain JSON where there is nothing
//! to stream.

mod answers;
mod caller;
mod endpoint;
mod live;
mod messages;
mod session_id;
mod sessions;
mod under_way;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderName, Method, header};
use axum::routing::any;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;
use tower_http::cors::{AllowOrigin, CorsLayer};

use self::endpoint::Endpoint;
use self::sessions::Sessions;
use super::McpServer;
use crate::http::{AllowedOrigin, MAX_BODY_BYTES};

pub(in crate::mcp) use caller::{Kept, is_gone, kept, read_only_token};

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
    /// alive. Longer than a busy store takes to say so.
    pub stream_after: Duration,
    /// The origins whose pages may use the endpoint.
    pub origins: Vec<AllowedOrigin>,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self {
            sessions: 256,
            body: Duration::from_secs(30),
            stream_after: Duration::from_secs(12),
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

/// The endpoint, until its ending.
pub async fn routes(server: McpServer, options: HttpOptions, ending: Ending) -> Router {
    let server = server.until(ending.streams.clone());
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
    let service = Service::new(move || Ok(server.for_client()), Arc::clone(&sessions), config);
    let allowed: Vec<_> =
        options.origins.iter().filter_map(|it| it.to_string().parse().ok()).collect();
    let cors = CorsLayer::new()
        .allow_origin(AllowOrigin::list(allowed))
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers(REQUEST_HEADERS)
        .expose_headers([SESSION_ID])
        .max_age(CORS_MAX_AGE);
    let endpoint = Endpoint::new(service, sessions, options);
    Router::new().route(PATH, any(endpoint::serve)).with_state(endpoint).layer(cors)
}
