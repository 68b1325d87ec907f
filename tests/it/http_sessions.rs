//! Sessions of clients by URL: how many are in memory, and what becomes of the others.

use std::sync::Arc;
use std::thread;

use agent_issue_tracker::http::{self, Access, Limits, guarded};
use agent_issue_tracker::mcp::McpServer;
use agent_issue_tracker::mcp::http::{Ending, HttpOptions, routes};
use agent_issue_tracker::metrics::Metrics;
use agent_issue_tracker::store::MemoryStore;
use agent_issue_tracker::tracker::Tracker;
use agent_issue_tracker::web;
use serde_json::json;

use crate::support::http::{Agent, figure};
use crate::support::{directory, request};

/// Serves within this process with room for a few sessions; gives the port.
async fn in_process(sessions: usize, ending: Ending) -> u16 {
    let tracker = Tracker::new(Arc::new(MemoryStore::default()));
    let metrics = Metrics::new();
    let options = HttpOptions { sessions, ..HttpOptions::default() };
    let server = McpServer::new(tracker.clone(), metrics.clone());
    let agents = routes(server, options, ending.clone()).await;
    let routes = guarded(web::router(tracker, metrics).merge(agents), Access::default());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(http::serve(listener, routes, Limits::default(), ending.streams));
    port
}

#[tokio::test(flavor = "multi_thread")]
async fn more_sessions_than_there_is_room_for_are_all_served() {
    let port = in_process(4, Ending::default()).await;
    tokio::task::spawn_blocking(move || {
        let mut listener = Agent::connect(port);
        let stream = listener.listen();
        let mut agents: Vec<_> = (0..12).map(|_| Agent::connect(port)).collect();
        for round in 0..3 {
            for agent in &mut agents {
                agent.add(&format!("round {round}"));
                assert!(figure(port, "ait_http_sessions") <= 4);
            }
        }
        assert_eq!(figure(port, "ait_http_sessions_opened_total"), 13);
        assert!(figure(port, "ait_http_sessions_resumed_total") >= 30);
        // Whoever listens has not made room.
        let resumed = figure(port, "ait_http_sessions_resumed_total");
        assert_eq!(listener.request("ping", json!({})).status, 200);
        assert_eq!(figure(port, "ait_http_sessions_resumed_total"), resumed);
        let listening = thread::spawn(move || stream.text());
        // All at once, so that sessions make room while others are taken up.
        thread::scope(|scope| {
            for agent in &mut agents {
                scope.spawn(|| (0..10).for_each(|n| drop(agent.add(&format!("at once {n}")))));
            }
        });
        for agent in &agents[..6] {
            assert_eq!(agent.delete().status, 204);
        }
        for (number, agent) in agents.iter_mut().enumerate() {
            let expected = if number < 6 { 404 } else { 200 };
            assert_eq!(agent.request("ping", json!({})).status, expected, "{number}");
        }
        assert!(!listening.is_finished(), "the stream was cut");
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_many_requests_need_at_once_is_taken_up_once() {
    let port = in_process(1, Ending::default()).await;
    tokio::task::spawn_blocking(move || {
        let agent = Agent::connect(port);
        for round in 1..=40 {
            // Takes the only place that there is.
            Agent::connect(port);
            thread::scope(|scope| {
                for number in 0..8 {
                    let agent = &agent;
                    scope.spawn(move || {
                        let list = request(round * 10 + number, "tools/list", json!({}));
                        let reply = agent.post(&list).unwrap();
                        assert_eq!(reply.status, 200, "round {round}: {}", reply.body);
                    });
                }
            });
            assert_eq!(figure(port, "ait_http_sessions_resumed_total"), round);
        }
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_were_dropped_leave_nothing_behind() {
    let port = in_process(8, Ending::default()).await;
    tokio::task::spawn_blocking(move || {
        let first = Agent::connect(port).session;
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..100).for_each(|_| drop(Agent::connect(port))));
            }
        });
        assert_eq!(figure(port, "ait_http_sessions"), 8);
        assert_eq!(figure(port, "ait_http_sessions_opened_total"), 401);
        let mut agent = Agent::new(port);
        agent.session = first;
        assert_eq!(agent.request("tools/list", json!({})).status, 200);
    })
    .await
    .unwrap();
}

#[test]
fn many_requests_of_one_session_are_all_answered() {
    let directory = directory();
    let server = crate::support::http::Server::start(directory.path());
    let agent = Agent::connect(server.port);
    thread::scope(|scope| {
        for number in 0..32 {
            let agent = &agent;
            scope.spawn(move || {
                for turn in 0..10 {
                    let id = 1_000 + number * 100 + turn;
                    let reply = agent.post(&request(id, "ping", json!({}))).unwrap();
                    assert_eq!(reply.json()["id"], json!(id));
                }
            });
        }
    });
}
