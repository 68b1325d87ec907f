//! MCP over streamable HTTP, where clients come and go and the server may be started anew meanwhile.
//!
//! rmcp serves both protocol eras at one address: up to revision 2025-11-25 a client begins a session
//! and names it in every request; from 2026-07-28 on every request stands alone. Around it are
//! `messages`, which reads bodies and refuses what is no message; `sessions`, which keeps sessions
//! within bounds and takes those up again that this process does not know; `caller`, which tells a call
//! whose token it came with; and `answers`, which answers with plain JSON where there is nothing to stream, and
//! tells when an answer was passed on.
//!
//! An answer goes to the connection that asked, and nowhere else. When that is closed, or the session ends, a call
//! that is not decided yet is withdrawn, and a claim is given back.

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

pub(in crate::mcp) use caller::{Kept, kept, of_http_request, read_only_token};

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

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::thread;

    use serde_json::{Value, json};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::task::block_in_place;
    use tokio::time::timeout;

    use super::*;
    use crate::domain::Status;
    use crate::domain::event::LAPSE_ACTION;
    use crate::mcp::testing::{file_issue, only_issue, tracker};
    use crate::metrics::Metrics;
    use crate::tracker::Tracker;

    /// Serves a tracker in this process, and gives the port.
    async fn served(tracker: &Tracker) -> u16 {
        let around = || unreachable!("nobody asks for it");
        let server = McpServer::new(tracker.clone(), Metrics::new(), around);
        let routes = routes(server, HttpOptions::default(), Ending::default()).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move { axum::serve(listener, routes).await });
        port
    }

    /// Posts a message on a connection of its own.
    async fn post(port: u16, session: &str, message: &Value) -> TcpStream {
        let mut connection = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let (body, session) = (message.to_string(), format!("Mcp-Session-Id: {session}\r\n"));
        let session = if session.len() > 20 { &*session } else { "" };
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\n\
             Content-Type: application/json\r\nConnection: close\r\n{session}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        connection.write_all(request.as_bytes()).await.unwrap();
        connection
    }

    async fn answer(mut connection: TcpStream) -> String {
        let mut text = String::new();
        connection.read_to_string(&mut text).await.unwrap();
        text
    }

    /// The name of a new session.
    async fn session(port: u16) -> String {
        let info = json!({ "name": "test", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info });
        let initialize =
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let answer = answer(post(port, "", &initialize).await).await;
        let named = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        named.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    fn claim() -> Value {
        let params = json!({ "name": "get_next_issue", "arguments": { "agent": "b" } });
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn a_claim_whose_connection_closes_between_commit_and_answer_lapses() {
        for is_closed in [true, false] {
            let connection = Arc::new(Mutex::new(None));
            let closing = Arc::clone(&connection);
            let tracker = tracker(move || {
                if is_closed {
                    // So that no task stays behind this one on its thread.
                    block_in_place(|| {
                        // Until the test has it, and then until the server has seen that it was closed.
                        while closing.lock().unwrap().take().is_none() {
                            thread::yield_now();
                        }
                        thread::sleep(Duration::from_secs(1));
                    });
                }
            });
            file_issue(&tracker).await;
            let port = served(&tracker).await;
            let session = session(port).await;
            *connection.lock().unwrap() = Some(post(port, &session, &claim()).await);
            let mut newest = tracker.watch();
            if is_closed {
                // Filed, claimed, lapsed.
                let lapsed = newest.wait_for(|newest| newest.number == 3);
                timeout(Duration::from_secs(10), lapsed).await.unwrap().unwrap();
                let issue = only_issue(&tracker).await;
                assert_eq!(issue.history.last().unwrap().action, LAPSE_ACTION);
                assert_eq!(issue.status, Status::Created);
                continue;
            }
            let connection = connection.lock().unwrap().take().unwrap();
            let answer = answer(connection).await;
            assert!(answer.contains("\\\"status\\\":\\\"in_progress\\\""), "{answer}");
            let length = answer.lines().find_map(|line| line.strip_prefix("content-length: "));
            let body = answer.split_once("\r\n\r\n").unwrap().1;
            assert_eq!(length, Some(&*body.len().to_string()), "{answer}");
            tracker.close().await;
            assert_eq!(only_issue(&tracker).await.status, Status::InProgress);
        }
    }
}
