//! Many concurrent HTTP sessions.

use std::thread;

use serde_json::json;

use crate::support::http::{Agent, SESSIONS, Server, metric, wait_for_metric};
use crate::support::{directory, request};

#[test]
fn many_sessions_are_served_and_only_listening_ones_are_kept() {
    let directory = directory();
    let server = Server::start(directory.path());
    let mut agents: Vec<_> = (0..300).map(|_| Agent::connect(server.port)).collect();
    assert_eq!(metric(server.port, "ait_http_sessions_opened_total"), 300);
    assert_eq!(metric(server.port, SESSIONS), 0);
    agents[0].request("resources/subscribe", json!({ "uri": "tracker://queue" }));
    let stream = agents[1].listen();
    assert_eq!(metric(server.port, SESSIONS), 2);
    for agent in &mut agents {
        assert_eq!(agent.request("tools/list", json!({})).status, 200);
    }
    drop(stream);
    wait_for_metric(server.port, SESSIONS, 1);
    assert_eq!(agents[0].delete().status, 204);
    assert_eq!(metric(server.port, SESSIONS), 0);
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
