//! Hostile and malformed requests. The server still serves other clients after each one.

use std::net::TcpStream;

use serde_json::json;

use crate::support::http::{Agent, Raw, Server, asked, message, meta, posted};
use crate::support::{directory, get, request};

const ROUTES: [&str; 21] = [
    "/",
    "/board",
    "/agents",
    "/stats",
    "/inbox",
    "/triage",
    "/memory",
    "/sync",
    "/graph/src/store",
    "/projects/board",
    "/issues/00000000",
    "/api/issues",
    "/api/stats",
    "/api/triage",
    "/api/project/board",
    "/example",
    "/health",
    "/metrics",
    "/mcp",
    "/assets/x/style.css",
    "/nothing",
];
const LIMIT_BYTES: usize = 1 << 20;

/// A name, the bytes to send, the expected status, and a text in the answer.
type Case = (String, Vec<u8>, u16, &'static str);

#[track_caller]
fn assert_answers(server: &Server, cases: Vec<Case>) {
    for (name, bytes, status, text) in cases {
        let answer = Raw::connect(server.port).send(bytes).rest();
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{name}: {answer}");
        assert!(answer.contains(text), "{name}: no {text:?} in {answer}");
        assert!(!answer.contains("panicked") && !answer.contains("src/"), "{name}: {answer}");
        assert_eq!(get(server.port, "/health").status, 200, "after {name}");
    }
    assert!(!server.log().text().contains("ERROR"), "{}", server.log().text());
}

#[test]
fn every_route_refuses_foreign_hosts_and_origins() {
    let directory = directory();
    let server = Server::start(directory.path());
    let mut cases = Vec::new();
    for route in ROUTES {
        for method in ["GET", "POST", "DELETE", "OPTIONS", "HEAD"] {
            for (headers, status, text) in [
                ("Host: evil.example\r\n", 403, "--allow-host"),
                ("Host: localhost.evil.example\r\n", 403, "--allow-host"),
                ("Host: localhost\r\nOrigin: http://evil.example\r\n", 403, "--allow-origin"),
                ("Host: localhost\r\nOrigin: null\r\n", 403, "--allow-origin"),
                ("Host: localhost\r\nOrigin: http://localhost:1\r\n", 403, "--allow-origin"),
                ("Host: localhost\r\nHost: evil.example\r\n", 400, "one Host header"),
                ("", 400, "one Host header"),
            ] {
                let line = format!("{method} {route}");
                let text = if method == "HEAD" { "" } else { text };
                cases.push((format!("{line} {headers:?}"), asked(&line, headers), status, text));
            }
        }
        let line = format!("GET http://evil.example{route}");
        let bytes = asked(&line, "Host: localhost\r\n");
        cases.push((line, bytes, 403, "--allow-host"));
    }
    assert_answers(&server, cases);
}

#[test]
fn malformed_bodies_get_a_specific_error() {
    let directory = directory();
    let server = Server::start(directory.path());
    let call = |id: &str, params: &str| {
        format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{params}}}")
    };
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let mut nested_object = "{\"a\":".repeat(5_000);
    nested_object.push_str(&format!("1{}", "}".repeat(5_000)));
    let case = |name: &str, bytes: Vec<u8>, status, text| (name.to_owned(), bytes, status, text);
    let no_content_type =
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}";
    assert_answers(
        &server,
        vec![
            case("nothing", message(""), 400, "-32700"),
            case("no JSON", message("{\"jsonrpc\":"), 400, "-32700"),
            case("two messages", message("{} {}"), 400, "-32700"),
            case("not UTF-8", message([b'"', 0xff, 0xfe, b'"']), 400, "not UTF-8 from byte 1"),
            case("a zero byte", message("\0"), 400, "-32700"),
            case("deep lists", message(nested(4_000)), 400, "recursion limit"),
            case("deep objects", message(&nested_object), 400, "recursion limit"),
            case("deep arguments", message(call("1", &nested(5_000))), 400, "recursion limit"),
            case(
                "many values",
                message(format!("[{}]", "{},".repeat(10_000))),
                400,
                "10000 values",
            ),
            case("a batch", message("[]"), 400, "one message per request"),
            case("a number", message("5"), 400, "-32600"),
            case("no version", message("{\"id\":1,\"method\":\"ping\"}"), 400, "jsonrpc"),
            case("params of the wrong type", message(call("1", "3")), 400, "\"id\":1"),
            case("an id of the wrong type", message(call("{}", "{}")), 400, "-32600"),
            case("no content type", no_content_type.into(), 415, "application/json"),
            case("no session", message(call("1", "{}")), 400, "Mcp-Session-Id is missing"),
        ],
    );
}

#[test]
fn large_bodies_are_refused_with_or_without_content_length() {
    let directory = directory();
    let server = Server::start(directory.path());
    let large = vec![b' '; LIMIT_BYTES + 1];
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nAccept: \
                application/json, text/event-stream\r\n";
    let mut chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n").into_bytes();
    for chunk in large.chunks(LIMIT_BYTES / 4) {
        chunked.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        chunked.extend_from_slice(chunk);
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    let length = |length: &str| format!("{head}Content-Length: {length}\r\n\r\n{{}}").into_bytes();
    let mut page = asked("GET /", "Host: localhost\r\nContent-Length: 1048577\r\n");
    page.extend_from_slice(&large);
    let case = |name: &str, bytes: Vec<u8>, status, text| (name.to_owned(), bytes, status, text);
    assert_answers(
        &server,
        vec![
            case("whole", message(&large), 413, "1048576 bytes"),
            case("announced", length("99999999999"), 413, "1048576 bytes"),
            case("in chunks", chunked, 413, "1048576 bytes"),
            case("to a page", page, 413, "1048576 bytes"),
            case("a length beyond 64 bits", length("99999999999999999999999"), 400, ""),
            case("negative", length("-1"), 400, ""),
            case("at the limit", message(vec![b' '; LIMIT_BYTES]), 400, "-32700"),
        ],
    );
}

#[test]
fn malformed_headers_and_unknown_paths_are_refused() {
    let directory = directory();
    let server = Server::start(directory.path());
    let mut agent = Agent::connect(server.port);
    agent.add("secret title");
    let host = "Host: localhost\r\n";
    let mut cases = Vec::new();
    for path in [
        "/../../../../etc/passwd",
        "/assets/../issues.json",
        "/assets/%2e%2e/issues.json",
        "/..%2fissues.json",
        "/issues.json",
        "/.ait/issues.json/log/00000001.log",
        "/.ait/issues.json/published",
        "/%00",
        "//health",
        "/mcp/../issues.json",
        "/HEALTH",
    ] {
        cases.push((path.to_owned(), asked(&format!("GET {path}"), host), 404, "Page not found"));
    }
    let long = format!("{host}X: {}\r\n", "x".repeat(100_000));
    let many: String = (0..200).map(|n| format!("X-{n}: y\r\n")).collect();
    for (name, bytes, status, text) in [
        ("a long header", asked("GET /", &long), 431, ""),
        ("many headers", asked("GET /", &format!("{host}{many}")), 431, ""),
        ("a long path", asked(&format!("GET /{}", "x".repeat(100_000)), host), 431, ""),
        ("no HTTP", b"hello\r\n\r\n".to_vec(), 400, ""),
        ("TLS", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n".to_vec(), 400, ""),
        ("a header without a colon", asked("GET /", &format!("{host}no colon\r\n")), 400, ""),
        ("a folded header", asked("GET /", &format!("{host}A: b\r\n c\r\n")), 400, ""),
        ("white space before a colon", asked("GET /", "Host : localhost\r\n"), 400, ""),
        ("an unknown method", asked("BREW /", host), 405, "only GET and HEAD"),
        ("a trace", asked("TRACE /", host), 405, "only GET and HEAD"),
        ("a change to a page", asked("PUT /", host), 405, "only GET and HEAD"),
        ("an unsupported method for agents", asked("PUT /mcp", host), 405, ""),
        (
            "a header in the query",
            asked("GET /?status=%0d%0aSet-Cookie:%20a=b", host),
            400,
            "expected",
        ),
        (
            "a malformed session id",
            asked("DELETE /mcp", &format!("{host}Mcp-Session-Id: \"\r\n")),
            404,
            "initialize",
        ),
    ] {
        cases.push((name.to_owned(), bytes, status, text));
    }
    for (name, bytes, status, _) in &cases {
        let answer = Raw::connect(server.port).send(bytes).rest().to_lowercase();
        assert!(!answer.contains("secret title") || *status == 200, "{name}: {answer}");
        let head = answer.split("\r\n\r\n").next().unwrap();
        assert!(!head.contains("set-cookie"), "{name}: {answer}");
    }
    assert_answers(&server, cases);
}

#[test]
fn agent_text_is_escaped_on_every_route() {
    let directory = directory();
    let server = Server::start(directory.path());
    let evil =
        "\"><script src=//evil.example></script>\r\nSet-Cookie: a=b\r\n\r\n\u{202e}{}\n# HELP x";
    let mut agent = Agent::connect(server.port);
    let filed =
        json!({ "title": evil, "description": evil, "classification": "bug", "agent": evil });
    agent.call("add_issue", filed);
    let _unknown = agent.request("tools/call", json!({ "name": evil, "arguments": {} }));
    for route in ROUTES {
        let answer = get(server.port, route);
        assert!(!answer.body.contains("<script src=//"), "{route}: {}", answer.body);
        assert!(!answer.body.contains("\n# HELP x"), "{route}: {}", answer.body);
        assert!(!answer.headers.contains_key("set-cookie"), "{route}");
        let policy = answer.headers["content-security-policy"].to_str().unwrap();
        for directive in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"] {
            assert!(policy.contains(directive), "{route}: {policy}");
        }
        assert!(!policy.contains("unsafe"), "{route}: {policy}");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff", "{route}");
        assert_eq!(answer.headers["referrer-policy"], "no-referrer", "{route}");
        assert_eq!(answer.headers["x-frame-options"], "DENY", "{route}");
        // A process that wants the port identifies its owner by this header.
        let server = answer.headers["server"].to_str().unwrap();
        assert!(server.starts_with("agent-issue-tracker/"), "{route}: {server}");
    }
}

#[test]
fn excess_connections_get_503() {
    // Each connection is an open file of this process, too.
    let (_, most) = rlimit::Resource::NOFILE.get().unwrap();
    if most < 8_192 {
        crate::support::skip(&format!("a limit of {most} open files is too low"));
        return;
    }
    rlimit::Resource::NOFILE.set(most.min(16_384), most).unwrap();
    let directory = directory();
    let server = Server::start(directory.path());
    let mut agent = Agent::connect(server.port);
    let id = agent.add("first");
    let crowd: Vec<_> =
        (0..2_500).map(|_| TcpStream::connect(("127.0.0.1", server.port)).unwrap()).collect();
    // Established sessions keep working.
    let issue = agent.call("get_next_issue", json!({ "agent": "a" })).issue();
    assert_eq!(issue["id"], json!(id));
    let answers: Vec<_> = crowd
        .into_iter()
        .map(|stream| Raw::of(stream).send(asked("GET /health", "Host: localhost\r\n")).rest())
        .collect();
    let with = |status: &str| answers.iter().filter(|answer| answer.starts_with(status)).count();
    // The agent has the 2048th connection.
    assert_eq!(with("HTTP/1.1 200 "), 2_047);
    let refused = answers.iter().find(|answer| answer.starts_with("HTTP/1.1 503 "));
    assert!(refused.is_some_and(|refused| refused.contains("2048 connections")), "{refused:?}");
    let silent = answers.iter().filter(|answer| answer.is_empty()).count();
    assert_eq!(with("HTTP/1.1 ") + silent, 2_500);
    assert_eq!(agent.request("ping", json!({})).status, 200);
}

#[test]
fn headers_of_stateless_messages_must_match_the_body() {
    let directory = directory();
    let server = Server::start(directory.path());
    let body = request(
        1,
        "tools/call",
        json!({ "name": "list_issues", "arguments": {}, "_meta": meta() }),
    );
    let body = body.to_string();
    let version = "MCP-Protocol-Version: 2026-07-28\r\nConnection: close\r\n";
    let case = |name: &str, headers: &str, status, text| {
        (name.to_owned(), posted(&format!("{version}{headers}"), &body), status, text)
    };
    assert_answers(
        &server,
        vec![
            case(
                "the same",
                "Mcp-Method: tools/call\r\nMcp-Name: list_issues\r\n",
                200,
                "\"result\"",
            ),
            case(
                "another method",
                "Mcp-Method: tools/list\r\nMcp-Name: list_issues\r\n",
                400,
                "Mcp-Method",
            ),
            case(
                "another name",
                "Mcp-Method: tools/call\r\nMcp-Name: add_issue\r\n",
                400,
                "Mcp-Name",
            ),
            case("no method", "Mcp-Name: list_issues\r\n", 400, "Mcp-Method"),
        ],
    );
}
