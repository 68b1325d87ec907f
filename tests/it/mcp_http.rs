//! MCP over streamable HTTP: both protocol eras, sessions that outlive processes, and cancellation.

use std::thread;

use serde_json::{Value, json};

use crate::support::files::stored_issues;
use crate::support::http::{
    Agent, CANCELLED, IN_PROGRESS, Raw, Server, filing, lock_turn, meta, posted, session_header,
    wait_for_metric,
};
use crate::support::{Client, TOOLS, directory, get, request};

/// Runs the whole lifecycle and adds `addition` to the parameters of each call.
fn lifecycle(agent: &mut Agent, addition: &Value) {
    let mut call = |tool: &str, arguments: Value| {
        let mut params = json!({ "name": tool, "arguments": arguments });
        params.as_object_mut().unwrap().extend(addition.as_object().unwrap().clone());
        let reply = agent.request("tools/call", params);
        assert_eq!(
            (reply.status, reply.kind.as_str()),
            (200, "application/json"),
            "{}",
            reply.body
        );
        reply.answer()
    };
    let filed =
        json!({ "title": "T", "description": "D", "classification": "bug", "agent": "lead" });
    let id = crate::support::id_in(&call("add_issue", filed).ok());
    let issue = call("get_next_issue", json!({ "agent": "dev" })).issue();
    assert_eq!(issue["id"], json!(id));
    let with =
        |comment: &str, agent: &str| json!({ "issue_id": id, "comment": comment, "agent": agent });
    call("return_issue", with("no", "dev")).ok();
    call("get_next_issue", json!({ "agent": "dev" })).issue();
    call("complete_issue", with("done", "dev")).ok();
    call("get_next_review_item", json!({ "agent": "reviewer" })).issue();
    let mut close = with("merged", "reviewer");
    close["resolution"] = json!("closed");
    let confirmation = call("close_issue", close.clone()).ok();
    assert_eq!(call("close_issue", close.clone()).ok(), confirmation);
    close["comment"] = json!("merged again");
    assert!(call("close_issue", close).refusal().contains("closed"));
    assert!(call("list_issues", json!({ "status": "closed" })).ok().contains(&id));
}

#[test]
fn both_protocol_eras_get_plain_json_responses() {
    let directory = directory();
    let server = Server::start(directory.path());
    let mut agent = Agent::new(server.port);
    let discovered = agent.request("server/discover", json!({ "_meta": meta() }));
    assert_eq!(discovered.kind, "application/json");
    let capabilities = &discovered.json()["result"]["capabilities"];
    assert_eq!(capabilities["resources"], json!({ "subscribe": true }));
    assert_eq!(capabilities["extensions"], json!({ "io.modelcontextprotocol/skills": {} }));
    assert_eq!(capabilities.as_object().unwrap().len(), 5, "{capabilities}");
    lifecycle(&mut agent, &json!({ "_meta": meta() }));
    // The stateless era has no sessions and ignores session ids.
    agent.session = Some("of another era".to_owned());
    assert_eq!(agent.request("tools/list", json!({ "_meta": meta() })).status, 200);
    agent.session = None;
    let introduced = agent.request("initialize", crate::support::initialize_params());
    assert_eq!(introduced.kind, "application/json");
    assert_eq!(introduced.json()["result"]["protocolVersion"], "2025-11-25");
    let mut agent = Agent::connect(server.port);
    let tools = agent.request("tools/list", json!({})).json();
    let names = tools["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]);
    assert_eq!(names.collect::<Vec<_>>(), TOOLS);
    lifecycle(&mut agent, &json!({}));
}

#[test]
fn one_process_serves_stdin_and_http_at_once() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let mut agent = Agent::connect(client.port());
    let id = client.add("over stdin", "bug");
    assert_eq!(agent.call("get_next_issue", json!({ "agent": "a" })).issue()["id"], json!(id));
    let id = agent.add("by URL");
    assert_eq!(client.call("get_next_issue", json!({ "agent": "b" })).issue()["id"], json!(id));
    let stream = agent.listen();
    assert!(client.close().success());
    assert_eq!(stream.text().unwrap(), "");
}

#[test]
fn sessions_outlive_a_restart() {
    let directory = directory();
    let mut server = Server::start(directory.path());
    let mut agents: Vec<_> = (0..3).map(|_| Agent::connect(server.port)).collect();
    let id = agents[0].add("before");
    server.kill_and_start_again();
    // The first request after the restart may be a call, a stream or a notification.
    assert_eq!(agents[0].call("get_next_issue", json!({ "agent": "a" })).issue()["id"], json!(id));
    let _stream = agents[1].listen();
    assert_eq!(agents[1].request("tools/list", json!({})).status, 200);
    let cancelled = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } });
    assert_eq!(agents[2].post(&cancelled).unwrap().status, 202);
    // Another process on the same store accepts these sessions too, also with concurrent requests.
    let other = Server::start(directory.path());
    let agent = &agents[2];
    thread::scope(|scope| {
        for number in 0..8 {
            let other = &other;
            scope.spawn(move || {
                let mut here = Agent::new(other.port);
                here.session.clone_from(&agent.session);
                let list = request(number, "tools/list", json!({}));
                let reply = here.post(&list).unwrap();
                assert_eq!(reply.status, 200, "{}", reply.body);
            });
        }
    });
}

#[test]
fn ended_and_foreign_sessions_get_404() {
    let directory = directory();
    let server = Server::start(directory.path());
    let mut agent = Agent::connect(server.port);
    let mut bystander = Agent::connect(server.port);
    assert_eq!(agent.delete().status, 204);
    let assert_unknown = |agent: &mut Agent| {
        let reply = agent.request("ping", json!({}));
        assert_eq!(reply.status, 404, "{}", reply.body);
        let error = &reply.json()["error"];
        assert!(error["message"].as_str().unwrap().contains("initialize"), "{error}");
        assert_eq!(agent.delete().status, 404);
        assert_eq!(agent.listen().status().as_u16(), 404);
    };
    assert_unknown(&mut agent);
    // Only the process that received a DELETE remembers it.
    let other_process = Server::start(directory.path());
    let mut there = Agent::new(other_process.port);
    there.session.clone_from(&agent.session);
    assert_eq!(there.request("ping", json!({})).status, 200);
    assert_unknown(&mut agent);
    assert_eq!(there.delete().status, 204);
    assert_unknown(&mut there);
    assert_eq!(bystander.request("ping", json!({})).status, 200);
    let other_directory = crate::support::directory();
    let other_server = Server::start(other_directory.path());
    bystander.port = other_server.port;
    assert_unknown(&mut bystander);
    for made_up in ["x", "", "00112233445566778899aabbccddeeff.x.e30", &"a.".repeat(4_000)] {
        bystander.session = Some(made_up.to_owned());
        assert_unknown(&mut bystander);
    }
}

#[test]
fn a_waiting_call_can_be_cancelled_in_both_eras() {
    let directory = directory();
    let server = Server::start(directory.path());
    let mut agent = Agent::connect(server.port);
    agent.add("first");
    let lock = lock_turn(directory.path());
    // Up to 2025-11-25, a notification cancels the call.
    thread::scope(|scope| {
        let waiting = scope.spawn(|| agent.post(&filing(json!({}))));
        wait_for_metric(server.port, IN_PROGRESS, 1);
        let cancel = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 77 } });
        assert_eq!(agent.post(&cancel).unwrap().status, 202);
        assert!(!waiting.join().unwrap().unwrap().body.contains("filed"));
    });
    wait_for_metric(server.port, CANCELLED, 1);
    // In both eras, closing the connection cancels the call, because no response can be delivered.
    let session = session_header(&agent);
    let stateless =
        "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: add_issue\r\n";
    for (cancelled, headers, addition) in
        [(2, session.as_str(), json!({})), (3, stateless, json!({ "_meta": meta() }))]
    {
        let mut waiting = Raw::connect(server.port);
        waiting.send(posted(headers, filing(addition).to_string()));
        wait_for_metric(server.port, IN_PROGRESS, 1);
        waiting.end();
        wait_for_metric(server.port, CANCELLED, cancelled);
    }
    lock.unlock().unwrap();
    assert!(agent.post(&filing(json!({}))).unwrap().answer().ok().contains("filed"));
    assert_eq!(stored_issues(directory.path()).len(), 2);
}

#[test]
fn the_end_of_a_session_withdraws_its_calls() {
    let directory = directory();
    let server = Server::start(directory.path());
    let mut agent = Agent::connect(server.port);
    agent.add("first");
    let lock = lock_turn(directory.path());
    let claim = json!({ "name": "get_next_issue", "arguments": { "agent": "a" } });
    let claim = request(78, "tools/call", claim);
    thread::scope(|scope| {
        let waiting = scope.spawn(|| agent.post(&claim).unwrap());
        wait_for_metric(server.port, IN_PROGRESS, 1);
        assert_eq!(agent.delete().status, 204);
        let reply = waiting.join().unwrap();
        assert_eq!((reply.status, &reply.json()["id"]), (404, &json!(78)), "{}", reply.body);
    });
    wait_for_metric(server.port, IN_PROGRESS, 0);
    lock.unlock().unwrap();
    Agent::connect(server.port).add("last");
    let issues = stored_issues(directory.path());
    assert!(issues.iter().all(|issue| issue["status"] == "created"), "{issues:?}");
}

#[test]
fn requests_that_race_with_delete_are_served_or_get_404() {
    let directory = directory();
    let server = Server::start(directory.path());
    let other_process = Server::start(directory.path());
    for round in 0..40 {
        let mut agent = Agent::connect(server.port);
        // In every second round another process has created the session.
        agent.port = if round % 2 == 0 { server.port } else { other_process.port };
        let ended = thread::scope(|scope| {
            let agent = &agent;
            for number in 0..4 {
                scope.spawn(move || {
                    let reply = agent.post(&request(100 + number, "ping", json!({}))).unwrap();
                    assert!(matches!(reply.status, 200 | 404), "{round}: {}", reply.status);
                    assert_eq!(reply.json()["id"], json!(100 + number), "{}", reply.body);
                });
            }
            let deletes = [(); 2].map(|()| scope.spawn(|| agent.delete().status));
            deletes.map(|delete| delete.join().unwrap())
        });
        assert!(matches!(ended, [204, 404] | [404, 204]), "{round}: {ended:?}");
    }
    for log in [server.log(), other_process.log()] {
        assert!(!log.text().contains("ERROR"), "{}", log.text());
    }
}

#[test]
fn concurrent_requests_with_one_id_are_all_answered() {
    let directory = directory();
    let server = Server::start(directory.path());
    let mut agent = Agent::connect(server.port);
    agent.add("first");
    let lock = lock_turn(directory.path());
    thread::scope(|scope| {
        let posts = [(); 2].map(|()| scope.spawn(|| agent.post(&filing(json!({}))).unwrap()));
        wait_for_metric(server.port, IN_PROGRESS, 2);
        lock.unlock().unwrap();
        for post in posts {
            assert!(post.join().unwrap().answer().ok().contains("filed"));
        }
    });
}

#[test]
fn only_allowed_origins_can_use_the_endpoint() {
    let directory = directory();
    let server =
        Server::start_with(directory.path(), 0, &["--allow-origin", "http://localhost:6274"]);
    let preflight = |origin: &str| {
        let request = format!(
            "OPTIONS /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: {origin}\r\nAccess-Control-Request-\
             Method: POST\r\nAccess-Control-Request-Headers: mcp-session-id\r\nConnection: close\r\n\r\n"
        );
        Raw::connect(server.port).send(request).rest()
    };
    let allowed = preflight("http://localhost:6274");
    assert!(allowed.starts_with("HTTP/1.1 200"), "{allowed}");
    for header in [
        "access-control-allow-origin: http://localhost:6274",
        "access-control-allow-methods: GET,POST,DELETE",
        "mcp-session-id",
    ] {
        assert!(allowed.contains(header), "no {header} in {allowed}");
    }
    assert!(preflight("http://localhost:6275").starts_with("HTTP/1.1 403"));
}

#[test]
fn clients_may_accept_less_than_both_types_and_add_a_slash() {
    let directory = directory();
    let server = Server::start(directory.path());
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;
    for (accept, kind) in [
        ("Accept: application/json\r\n", "application/json"),
        ("Accept: */*\r\n", "application/json"),
        ("", "application/json"),
        ("Accept: application/json, text/event-stream\r\n", "application/json"),
        ("Accept: text/event-stream\r\n", "text/event-stream"),
    ] {
        for path in ["/mcp", "/mcp/"] {
            let request = format!(
                "POST {path} HTTP/1.1\r\nHost: localhost\r\n{accept}Content-Type: application/json\r\n\
                 Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
                body.len()
            );
            let answer = Raw::connect(server.port).send(request).rest();
            assert!(answer.starts_with("HTTP/1.1 200"), "{accept}{path}: {answer}");
            assert!(answer.contains(&format!("content-type: {kind}\r\n")), "{accept}: {answer}");
            assert!(answer.contains("mcp-session-id: "), "{accept}: {answer}");
            let event = answer.contains("data: ");
            assert_eq!(event, kind == "text/event-stream", "{answer}");
        }
    }
}

#[test]
fn a_browser_gets_instructions() {
    let directory = directory();
    let server = Server::start(directory.path());
    let page = get(server.port, "/mcp");
    assert_eq!(page.status, 406);
    assert!(page.body.contains("claude mcp add --transport http"), "{}", page.body);
}
