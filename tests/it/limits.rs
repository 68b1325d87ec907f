//! Slow clients and panicking handlers, with limits short enough for a test.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use agent_issue_tracker::http::{self, AccessPolicy, Limits, with_security_layers};
use agent_issue_tracker::mcp::http::{HttpOptions, Shutdown, routes};
use agent_issue_tracker::mcp::{McpOptions, McpServer};
use agent_issue_tracker::metrics::Metrics;
use agent_issue_tracker::read_model::ReadModel;
use agent_issue_tracker::store::{SqliteStore, Store};
use agent_issue_tracker::tracker::Tracker;
use axum::Router;
use axum::routing::get as on_get;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::support::http::{Agent, Raw, asked, message};
use crate::support::stores::server_context;
use crate::support::{PATIENCE, directory_in_memory, get, until};

/// Serves test routes in this process. Returns the port, and the token that stops the server.
async fn in_process(limits: Limits) -> (u16, CancellationToken) {
    let routes = Router::new()
        .route("/", on_get(async || "fine"))
        .route("/large", on_get(async || vec![b'x'; 64 << 20]))
        .route("/panic", on_get(async || -> &'static str { panic!("on purpose") }));
    serve(routes, limits).await
}

async fn serve(routes: Router, limits: Limits) -> (u16, CancellationToken) {
    let shutdown = CancellationToken::new();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let routes = with_security_layers(routes, AccessPolicy::default());
    tokio::spawn(http::serve(listener, routes, limits, shutdown.clone()));
    (port, shutdown)
}

fn limits(connections: usize, milliseconds: u64) -> Limits {
    let time = Duration::from_millis(milliseconds);
    Limits { connections, headers: time, write: time }
}

#[tokio::test(flavor = "multi_thread")]
async fn panic_gets_500_and_the_server_keeps_running() {
    let (port, _shutdown) = in_process(Limits::default()).await;
    tokio::task::spawn_blocking(move || {
        let answer = Raw::connect(port).send(asked("GET /panic", "Host: localhost\r\n")).rest();
        assert!(answer.starts_with("HTTP/1.1 500 ") && !answer.contains("on purpose"), "{answer}");
        assert!(answer.contains("x-content-type-options: nosniff"), "{answer}");
        assert_eq!(get(port, "/").body, "fine");
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_headers_get_408_and_free_the_connection() {
    let (port, _shutdown) = in_process(limits(1, 300)).await;
    tokio::task::spawn_blocking(move || {
        let mut slow = Raw::connect(port);
        slow.send("GET / HTTP/1.1\r\nHost: local");
        let refused = Raw::connect(port).rest();
        assert!(refused.starts_with("HTTP/1.1 503 ") && refused.contains("limit"), "{refused}");
        let answer = slow.rest();
        assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("0.3 s"), "{answer}");
        for answer in [refused, answer] {
            assert!(answer.contains("X-Content-Type-Options: nosniff\r\n"), "{answer}");
        }
        drop(slow);
        // A silent connection is closed without a response.
        until("the connection is free again", || {
            !Raw::connect(port).rest().starts_with("HTTP/1.1 503 ")
        });
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_body_gets_408() {
    let directory = directory_in_memory();
    let store = SqliteStore::new(directory.path().join("issues.json"));
    let store: Arc<dyn Store> = Arc::new(store);
    let options =
        HttpOptions { body_timeout: Duration::from_millis(300), ..HttpOptions::default() };
    let context = server_context(&store);
    let server = McpServer::new(
        ReadModel::new(Tracker::new(store)),
        Metrics::new(),
        McpOptions::default(),
        move || context,
    );
    let routes = routes(server, options, Shutdown::default()).await;
    let (port, _shutdown) = serve(routes, Limits::default()).await;
    tokio::task::spawn_blocking(move || {
        let mut slow = Raw::connect(port);
        let whole = message("{}");
        slow.send(&whole[..whole.len() - 1]);
        let answer = slow.rest();
        assert!(answer.starts_with("HTTP/1.1 408 ") && answer.contains("0.3 s"), "{answer}");
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_call_may_exceed_the_limits_for_slow_clients() {
    let directory = directory_in_memory();
    let store = SqliteStore::new(directory.path().join("issues.json"));
    let store: Arc<dyn Store> = Arc::new(store);
    let context = server_context(&store);
    let server = McpServer::new(
        ReadModel::new(Tracker::new(store)),
        Metrics::new(),
        McpOptions::default(),
        move || context,
    );
    let time = Duration::from_millis(300);
    let options = HttpOptions { body_timeout: time, ..HttpOptions::default() };
    let routes = routes(server, options, Shutdown::default()).await;
    let (port, _shutdown) = serve(routes, limits(10, 300)).await;
    tokio::task::spawn_blocking(move || {
        let mut agent = Agent::connect(port);
        let begun = Instant::now();
        let waits = json!({ "agent": "a", "wait_seconds": 2 });
        assert_eq!(agent.call("get_next_issue", waits).ok(), "No issue is waiting to be claimed.");
        assert!(begun.elapsed() >= Duration::from_secs(2));
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn unread_response_does_not_keep_its_connection() {
    let (port, _shutdown) = in_process(limits(1, 300)).await;
    tokio::task::spawn_blocking(move || {
        let mut greedy = Raw::connect(port);
        greedy.send(asked("GET /large", "Host: localhost\r\n"));
        let start = Instant::now();
        loop {
            let answer = Raw::connect(port).send(asked("GET /", "Host: localhost\r\n")).rest();
            if answer.ends_with("fine") {
                break;
            }
            assert!(start.elapsed() < PATIENCE, "{answer}");
            thread::sleep(Duration::from_millis(20));
        }
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_503_responses_are_limited() {
    let (port, _shutdown) = in_process(limits(1, 60_000)).await;
    tokio::task::spawn_blocking(move || {
        let _only = Raw::connect(port);
        let crowd: Vec<_> = (0..300).map(|_| Raw::connect(port)).collect();
        let answers: Vec<_> = crowd.into_iter().map(|mut connection| connection.rest()).collect();
        let refused = answers.iter().filter(|answer| answer.starts_with("HTTP/1.1 503 ")).count();
        let silent = answers.iter().filter(|answer| answer.is_empty()).count();
        assert_eq!(refused + silent, 300);
        assert!(refused >= 64 && silent > 0, "{refused} got a 503");
    })
    .await
    .unwrap();
}
