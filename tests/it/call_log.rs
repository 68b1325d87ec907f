//! The log of tool calls: one line for each call, without the texts of its arguments.

use std::fs;

use serde_json::{Value, json};

use crate::support::files::id;
use crate::support::http::{Agent, Raw, Server, meta, posted, session_header};
use crate::support::{Client, ait, directory, id_in, request};

/// Texts that no log may contain.
const SECRETS: [&str; 4] = ["title-hunter2", "description-hunter2", "comment-hunter2", "x-hunter2"];

/// Starts a client whose server logs with this filter.
fn client(directory: &std::path::Path, filter: &str) -> Client {
    let mut client = Client::spawn(ait(directory).env("RUST_LOG", filter));
    client.initialize();
    client
}

/// Returns the lines of a log that record tool calls.
fn calls(log: &str) -> Vec<&str> {
    log.lines().filter(|line| line.contains("tool call")).collect()
}

/// Returns the level of a line: `usual`, or a warning if the call took longer than a second, as on a busy disk.
fn level(line: &str, usual: &'static str) -> &'static str {
    let (_, after) = line.split_once(" ms=").unwrap();
    let milliseconds: f64 = after.split(' ').next().unwrap().parse().unwrap();
    if milliseconds > 1000.0 { "WARN" } else { usual }
}

/// Files an issue, completes it, and makes calls that are refused. Every text in their arguments is a secret.
fn call_everything(client: &mut Client) -> String {
    let [title, description, comment, other] = SECRETS;
    let add = json!({
        "title": title, "description": description, "classification": "bug", "agent": "dev-1",
    });
    let added = client.call("add_issue", add.clone()).ok();
    let issue = id_in(&added);
    client.call("get_next_issue", json!({ "agent": "dev-1" })).issue();
    let complete = |issue: &str| json!({ "issue_id": issue, "comment": comment, "agent": "dev-1" });
    client.call("complete_issue", complete(&issue[..8])).ok();
    client.call("get_next_issue", json!({ "agent": "dev-1" })).ok();
    client.call("complete_issue", complete(&id(9))).refusal();
    let mut unknown = add.clone();
    unknown[other] = json!(other);
    client.call("add_issue", unknown).refusal();
    let misplaced = json!({ "issue_id": title, "comment": comment, "agent": [other] });
    client.call("return_issue", misplaced).refusal();
    client.request("tools/call", json!({ "name": other, "arguments": add }));
    client.request("tools/call", json!({ "name": "add_issue", "arguments": [title] }));
    issue
}

#[test]
fn each_call_has_one_line_and_no_text_is_logged() {
    for filter in ["ait::calls=debug", "debug", "trace"] {
        let directory = directory();
        let mut client = client(directory.path(), filter);
        let issue = call_everything(&mut client);
        client.close();
        let log = client.log().whole();
        let claimed = format!("issue={issue:?} outcome=\"ok\" ms=");
        let unknown = format!("issue={:?} outcome=\"refused\" code=\"NOT_FOUND\" ms=", id(9));
        let expected: [(&str, &str, &str); 9] = [
            ("DEBUG", "add_issue\" agent=\"dev-1\" client=\"test\"", &claimed),
            ("DEBUG", "get_next_issue\" agent=\"dev-1\" client=\"test\"", &claimed),
            ("DEBUG", "complete_issue\" agent=\"dev-1\" client=\"test\"", &claimed),
            ("DEBUG", "get_next_issue\" agent=\"dev-1\" client=\"test\"", "outcome=\"empty\" ms="),
            ("INFO", "complete_issue\" agent=\"dev-1\" client=\"test\"", &unknown),
            ("INFO", "add_issue\" agent=\"dev-1\"", "outcome=\"refused\" code=\"VALIDATION\""),
            ("INFO", "return_issue\" client=\"test\"", "outcome=\"refused\" code=\"VALIDATION\""),
            ("INFO", "unknown\"", "outcome=\"refused\" code=\"NOT_FOUND\""),
            ("INFO", "add_issue\"", "outcome=\"refused\" code=\"VALIDATION\""),
        ];
        let lines = calls(&log);
        assert_eq!(lines.len(), expected.len(), "{filter}: {log}");
        for (line, (level, begin, end)) in lines.iter().zip(expected) {
            for words in
                [self::level(line, level), &*format!("tool call tool=\"{begin}"), end, " bytes="]
            {
                assert!(line.contains(words), "{filter}: no {words:?} in {line}");
            }
        }
        for secret in SECRETS {
            assert!(!log.contains(secret), "{filter}: {secret} in {log}");
        }
    }
}

#[test]
fn only_refused_and_failed_calls_are_logged_by_default() {
    let directory = directory();
    let mut client = client(directory.path(), "");
    call_everything(&mut client);
    client.close();
    let log = client.log().whole();
    let lines = calls(&log);
    let (refused, others): (Vec<&str>, Vec<&str>) =
        lines.iter().partition(|line| line.contains("outcome=\"refused\""));
    assert_eq!(refused.len(), 5, "{log}");
    assert!(refused.iter().all(|line| line.contains(level(line, "INFO"))), "{log}");
    // The others are there only if they were slow.
    assert!(others.iter().all(|line| level(line, "") == "WARN"), "{log}");
}

#[test]
fn a_failed_call_is_a_warning() {
    let directory = directory();
    fs::write(directory.path().join("issues.json"), "{").unwrap();
    let mut client = Client::start(directory.path());
    client.call("list_issues", json!({})).refusal();
    client.close();
    let log = client.log().whole();
    let lines = calls(&log);
    assert_eq!(lines.len(), 1, "{log}");
    for words in ["WARN", "tool=\"list_issues\"", "outcome=\"failed\" code=\"UNREADABLE\""] {
        assert!(lines[0].contains(words), "{log}");
    }
}

#[test]
fn json_lines_of_calls_have_their_fields() {
    let directory = directory();
    let mut command = ait(directory.path());
    command.env("RUST_LOG", "ait::calls=debug").env("AIT_LOG_FORMAT", "json");
    let mut client = Client::spawn(&mut command);
    client.initialize();
    let text = client.call("list_issues", json!({})).ok();
    client.close();
    let log = client.log().whole();
    let mut line: Value = serde_json::from_str(calls(&log)[0]).unwrap();
    assert!(line["ms"].is_number() && line["timestamp"].is_string(), "{line}");
    let level = if line["ms"].as_f64().unwrap() > 1000.0 { "WARN" } else { "DEBUG" };
    (line["ms"], line["timestamp"]) = (json!(0), json!(""));
    let expected = json!({
        "timestamp": "", "level": level, "message": "tool call", "tool": "list_issues",
        "client": "test", "outcome": "ok", "ms": 0, "bytes": text.len(),
    });
    assert_eq!(line, expected);
}

#[test]
fn http_calls_log_the_user_agent_or_the_client_name() {
    let directory = directory();
    let mut command = ait(directory.path());
    command.arg("serve").env("RUST_LOG", "info,ait::calls=debug");
    let server = Server::spawn(command, directory.path());
    let mut agent = Agent::connect(server.port);
    let call = request(9, "tools/call", json!({ "name": "list_issues", "arguments": {} }));
    let headers = format!("User-Agent: agent/7\r\n{}", session_header(&agent));
    Raw::connect(server.port).send(posted(&headers, call.to_string())).begin();
    server.log().wait_for("tool=\"list_issues\" client=\"agent/7\" outcome=\"ok\"");
    // Without a session, each request names its client.
    agent.session = None;
    let params = json!({ "name": "list_issues", "arguments": {}, "_meta": meta() });
    agent.request("tools/call", params);
    server.log().wait_for("tool=\"list_issues\" client=\"test\" outcome=\"ok\"");
}
