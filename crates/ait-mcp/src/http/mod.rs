//! MCP over streamable HTTP.
//!
//! rmcp serves both protocol eras statelessly: each request alone, answered with plain JSON. What clients of the
//! era with sessions (up to revision 2025-11-25) need besides is here: session ids, cancellation, and a stream for
//! notifications.
//!
//! A response goes to the connection that asked, and nowhere else. When that closes, or the session ends, a call
//! that is not decided yet is withdrawn, and a claim lapses.

mod endpoint;
mod messages;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderName, Method, header};
use axum::routing::any;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use tokio_util::sync::CancellationToken;
use tower_http::cors::{AllowOrigin, CorsLayer};

use self::endpoint::Endpoint;
use super::McpServer;
use super::request_context::MAX_REPLY_TOKENS;
use super::sessions::Sessions;
use ait_http::body::BODY_TIMEOUT;
use ait_http::{AllowedOrigin, MAX_BODY_BYTES};

/// The path of the endpoint.
pub const PATH: &str = "/mcp";

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const EVENT_STREAM: &str = "text/event-stream";
/// The headers that pages of other origins may send.
const REQUEST_HEADERS: [HeaderName; 9] = [
    header::ACCEPT,
    header::AUTHORIZATION,
    header::CONTENT_TYPE,
    SESSION_ID,
    HeaderName::from_static("last-event-id"),
    PROTOCOL_VERSION,
    MAX_REPLY_TOKENS,
    HeaderName::from_static("mcp-method"),
    HeaderName::from_static("mcp-name"),
];
/// How long a browser may cache the answer to a preflight.
const CORS_MAX_AGE: Duration = Duration::from_secs(600);

/// The options of the endpoint.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    /// How long a body may take to arrive; then the request is answered with 408.
    pub body_timeout: Duration,
    /// The origins whose pages may use the endpoint.
    pub origins: Vec<AllowedOrigin>,
}

impl Default for HttpOptions {
    fn default() -> Self {
        Self { body_timeout: BODY_TIMEOUT, origins: Vec::new() }
    }
}

/// The two stages of a shutdown. The first leaves requests in flight time to be answered.
#[derive(Clone, Debug, Default)]
pub struct Shutdown {
    /// Ends the streams of notifications.
    pub streams: CancellationToken,
    /// Ends everything.
    pub all: CancellationToken,
}

type Service = StreamableHttpService<McpServer, NeverSessionManager>;

/// Returns the route of the endpoint.
pub async fn routes(server: McpServer, options: HttpOptions, shutdown: Shutdown) -> Router {
    let server = server.with_shutdown(shutdown.streams.clone());
    let store = server.tracker.store_id().await;
    let sessions = Arc::new(Sessions::new(store, server.tracker.clone(), server.metrics.clone()));
    let feed = server.feed.clone();
    let prompt_files = Arc::clone(&server.prompt_files);
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_sse_retry(None)
        // The endpoint refuses a body of one byte more before it gets here.
        .with_max_request_body_bytes(MAX_BODY_BYTES)
        // `ait_http::access` checks hosts and origins on all routes.
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_cancellation_token(shutdown.all);
    let service = Service::new(move || Ok(server.clone()), Arc::default(), config);
    let allowed: Vec<_> =
        options.origins.iter().filter_map(|origin| origin.to_string().parse().ok()).collect();
    let cors = CorsLayer::new()
        .allow_origin(AllowOrigin::list(allowed))
        .allow_methods([Method::GET, Method::POST, Method::DELETE])
        .allow_headers(REQUEST_HEADERS)
        .expose_headers([SESSION_ID])
        .max_age(CORS_MAX_AGE);
    let shutdown = shutdown.streams;
    let options = Arc::new(options);
    let endpoint = Endpoint { service, sessions, feed, prompt_files, options, shutdown };
    Router::new()
        .route(PATH, any(endpoint::serve))
        // People write the address so.
        .route(&format!("{PATH}/"), any(endpoint::serve))
        .with_state(endpoint)
        .layer(cors)
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
    use crate::McpOptions;
    use crate::testing::{file_issue, only_issue, tracker};
    use ait_domain::Status;
    use ait_domain::event::LAPSE_ACTION;
    use ait_http::metrics::Metrics;
    use ait_tracker::Tracker;
    use ait_tracker::read_model::ReadModel;

    /// Serves a tracker in this process. Returns the port.
    async fn serve_in_process(tracker: &Tracker) -> u16 {
        let context = || unreachable!("no test reads the context");
        let server = McpServer::new(
            ReadModel::new(tracker.clone()),
            Metrics::new(),
            McpOptions::default(),
            context,
        );
        let routes = routes(server, HttpOptions::default(), Shutdown::default()).await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move { axum::serve(listener, routes).await });
        port
    }

    /// Posts a message on a connection of its own.
    async fn post(port: u16, session: &str, message: &Value) -> TcpStream {
        let mut connection = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let body = message.to_string();
        let session = format!("Mcp-Session-Id: {session}\r\n");
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

    /// Begins a session. Returns its id.
    async fn session(port: u16) -> String {
        let info = json!({ "name": "test", "version": "1" });
        let params =
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info });
        let initialize =
            json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let answer = answer(post(port, "", &initialize).await).await;
        let id = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        id.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    fn claim() -> Value {
        let params = json!({ "name": "get_next_issue", "arguments": { "agent": "b" } });
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params })
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn a_claim_lapses_if_its_connection_closes_before_the_response() {
        for is_closed in [true, false] {
            let connection = Arc::new(Mutex::new(None));
            let closing = Arc::clone(&connection);
            let tracker = tracker(move |_| {
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
            let port = serve_in_process(&tracker).await;
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
