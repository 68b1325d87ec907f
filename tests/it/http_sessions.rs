//! Sessions of clients by URL: how many are in memory, and what becomes of the others.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use agent_issue_tracker::http::{self, Access, Limits, guarded};
use agent_issue_tracker::mcp::McpServer;
use agent_issue_tracker::mcp::http::{Ending, HttpOptions, routes};
use agent_issue_tracker::metrics::Metrics;
use agent_issue_tracker::store::{JsonStore, MemoryStore, Store};
use agent_issue_tracker::tracker::Tracker;
use agent_issue_tracker::web;
use serde_json::json;

use crate::support::files::stored_issues;
use crate::support::http::{
    Agent, CANCELLED, IN_PROGRESS, Raw, SESSIONS, Server, figure, filing, lock_of, posted,
    session_header, wait_for_figure,
};
use crate::support::stores::{add, apply, now, surroundings};
use crate::support::{directory, introduction, request};

/// Serves within this process with room for a few sessions; gives the port.
async fn in_process(sessions: usize, ending: Ending) -> u16 {
    let options = HttpOptions { sessions, ..HttpOptions::default() };
    serve(Arc::new(MemoryStore::default()), options, ending).await
}

async fn serve(store: Arc<dyn Store>, options: HttpOptions, ending: Ending) -> u16 {
    let around = surroundings(&store);
    let (tracker, metrics) = (Tracker::new(store), Metrics::new());
    let server = McpServer::new(tracker.clone(), metrics.clone(), move || around);
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
                assert!(figure(port, SESSIONS) <= 4);
            }
        }
        assert_eq!(figure(port, "ait_http_sessions_opened_total"), 13);
        assert!(figure(port, "ait_http_sessions_resumed_total") >= 30);
        // Whoever watches something has not made room either, even without a stream for a while.
        let mut watching = Agent::connect(port);
        watching.request("resources/subscribe", json!({ "uri": "tracker://queue" }));
        for agent in &mut agents {
            agent.add("another round");
        }
        let resumed = figure(port, "ait_http_sessions_resumed_total");
        assert_eq!(watching.request("ping", json!({})).status, 200);
        assert_eq!(figure(port, "ait_http_sessions_resumed_total"), resumed);
        watching.request("resources/unsubscribe", json!({ "uri": "tracker://queue" }));
        for agent in &mut agents {
            agent.add("the last round");
        }
        let resumed = figure(port, "ait_http_sessions_resumed_total");
        assert_eq!(watching.request("ping", json!({})).status, 200);
        assert_eq!(figure(port, "ait_http_sessions_resumed_total"), resumed + 1);
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
        assert_eq!(figure(port, SESSIONS), 8);
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
    let server = Server::start(directory.path());
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

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_takes_long_is_a_stream_and_its_call_waits_as_long_as_its_client() {
    let directory = directory();
    let store = Arc::new(JsonStore::new(directory.path().join("issues.json")));
    apply(&*store, add(), now()).await.unwrap();
    let options = HttpOptions { stream_after: Duration::from_millis(20), ..HttpOptions::default() };
    let port = serve(store, options, Ending::default()).await;
    tokio::task::spawn_blocking(move || {
        let headers = session_header(&Agent::connect(port));
        let lock = lock_of(directory.path());
        let mut gone = Raw::connect(port);
        gone.send(posted(&headers, filing(json!({})).to_string()));
        assert!(gone.begin().contains("text/event-stream"));
        assert_eq!(figure(port, IN_PROGRESS), 1);
        gone.end();
        wait_for_figure(port, CANCELLED, 1);
        let mut patient = Raw::connect(port);
        let headers = format!("{headers}Connection: close\r\n");
        let mut other = filing(json!({}));
        other["id"] = json!(78);
        patient.send(posted(&headers, other.to_string()));
        assert!(patient.begin().contains("text/event-stream"));
        lock.unlock().unwrap();
        let answer = patient.rest();
        assert!(answer.contains(" filed: "), "{answer}");
        assert_eq!(stored_issues(directory.path()).len(), 2);
    })
    .await
    .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_are_in_use_stay_and_make_room_as_soon_as_they_are_not() {
    let directory = directory();
    let store = Arc::new(JsonStore::new(directory.path().join("issues.json")));
    apply(&*store, add(), now()).await.unwrap();
    let options = HttpOptions { sessions: 2, ..HttpOptions::default() };
    let port = serve(store, options, Ending::default()).await;
    tokio::task::spawn_blocking(move || {
        let lock = lock_of(directory.path());
        let agents: Vec<_> = (0..6).map(|_| Agent::connect(port)).collect();
        thread::scope(|scope| {
            for agent in &agents {
                scope.spawn(|| agent.post(&filing(json!({}))).unwrap().answer().ok());
            }
            wait_for_figure(port, IN_PROGRESS, 6);
            assert_eq!(figure(port, SESSIONS), 6);
            lock.unlock().unwrap();
        });
        assert_eq!(figure(port, SESSIONS), 2);
    })
    .await
    .unwrap();
}

#[test]
fn a_session_that_was_ended_stays_so_under_all_spellings_of_its_name() {
    let directory = directory();
    let server = Server::start(directory.path());
    let mut agent = Agent::connect(server.port);
    let mut other = Agent::new(server.port);
    let mut introduction = introduction();
    introduction["clientInfo"]["name"] = json!("another");
    let reply = other.request("initialize", introduction);
    let (named, other) = (agent.session.clone().unwrap(), reply.session.unwrap());
    let (key, _) = named.rsplit_once('.').unwrap();
    let (_, client) = other.rsplit_once('.').unwrap();
    assert_eq!(agent.delete().status, 204);
    agent.session = Some(format!("{key}.{client}"));
    assert_ne!(agent.session.as_ref(), Some(&named));
    assert_eq!(agent.request("ping", json!({})).status, 404);
}
