//! Clients that dawdle, and handlers that panic, in limits that a test can wait for.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use agent_issue_tracker::http::{self, Access, Limits, guarded};
use agent_issue_tracker::mcp::McpServer;
use agent_issue_tracker::mcp::http::{Ending, HttpOptions, routes};
use agent_issue_tracker::metrics::Metrics;
use agent_issue_tracker::store::{MemoryStore, Store};
use agent_issue_tracker::tracker::Tracker;
use axum::Router;
use axum::routing::get as on_get;
use tokio_util::sync::CancellationToken;

use crate::support::http::{Raw, asked, message};
use crate::support::stores::surroundings;
use crate::support::{PATIENCE, get, until};

/// Serves some routes within this process, in the given limits; gives the port.
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
    let routes = guarded(routes, Access::default());
    tokio::spawn(http::serve(listener, routes, limits, shutdown.clone()));
    (port, shutdown)
}

fn limits(connections: usize, milliseconds: u64) -> Limits {
    let time = Duration::from_millis(milliseconds);
    Limits { connections, headers: time, write: time }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_is_answered_and_the_server_lives_on() {
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
async fn a_head_that_takes_too_long_is_answered_and_makes_room() {
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
        // A connection that says nothing is ended without a word.
        until("there is room again", || !Raw::connect(port).rest().starts_with("HTTP/1.1 503 "));
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_takes_too_long_is_answered() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let options = HttpOptions { body: Duration::from_millis(300), ..HttpOptions::default() };
    let around = surroundings(&store);
    let server = McpServer::new(Tracker::new(store), Metrics::new(), move || around);
    let routes = routes(server, options, Ending::default()).await;
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
async fn an_answer_that_nobody_takes_does_not_keep_its_connection() {
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
async fn of_many_connections_too_many_only_some_are_told_so_at_a_time() {
    let (port, _shutdown) = in_process(limits(1, 60_000)).await;
    tokio::task::spawn_blocking(move || {
        let _only = Raw::connect(port);
        let crowd: Vec<_> = (0..300).map(|_| Raw::connect(port)).collect();
        let answers: Vec<_> = crowd.into_iter().map(|mut it| it.rest()).collect();
        let told = answers.iter().filter(|it| it.starts_with("HTTP/1.1 503 ")).count();
        let silent = answers.iter().filter(|it| it.is_empty()).count();
        assert_eq!(told + silent, 300);
        assert!(told >= 64 && silent > 0, "{told} were told");
    })
    .await
    .unwrap();
}
