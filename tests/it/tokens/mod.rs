//! Access with tokens of each scope, and without a token.

mod throttle;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::files::stored_issues;
use crate::support::http::{Agent, Raw, Reply, Server, asked, connections, meta};
use crate::support::{Client, Response, ait, directory, health_issue_count, id_in, request};

const READER: &str = "RRRRRRRRrrrrrrrr";
const WRITER: &str = "WWWWWWWWwwww:wwww";
const WRONG: &str = "XXXXXXXXxxxxxxxx";
/// The number of failed attempts that may wait at the same time.
const WAITING: usize = 8;

/// Starts a server with two tokens, one read-only and one read-write.
fn serve(directory: &Path, arguments: &[&str]) -> Server {
    let tokens = directory.join("tokens");
    std::fs::write(&tokens, format!("eve read-only {READER}\nadam read-write {WRITER}\n")).unwrap();
    let mut command = ait(directory);
    command.arg("serve").args(arguments);
    // Log as much as possible, so that a leaked secret would show.
    command.env("AIT_TOKEN_FILE", tokens).env("RUST_LOG", "trace,rmcp=trace");
    Server::spawn(command, directory)
}

fn bearer(secret: &str) -> String {
    format!("Bearer {secret}")
}

fn basic(secret: &str) -> String {
    format!("Basic {}", STANDARD.encode(format!("user:{secret}")))
}

/// Sends a request with an `Authorization` header and returns the response.
fn ask(port: u16, method: &Method, path: &str, authorization: &str) -> Response {
    let client = connections();
    let mut request = client.request(method.clone(), format!("http://127.0.0.1:{port}{path}"));
    if !authorization.is_empty() {
        request = request.header("authorization", authorization);
    }
    let response = request.send().unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Response { status, headers, body: response.text().unwrap() }
}

/// Returns an agent with a session, or without one in the stateless era.
fn agent(port: u16, session: Option<&str>, authorization: &str) -> Agent {
    let mut agent = Agent::new(port);
    if !authorization.is_empty() {
        agent.authorize(authorization);
    }
    agent.session = session.map(ToOwned::to_owned);
    agent
}

/// Sends an MCP request with an `Authorization` header and returns the response.
fn post(
    port: u16,
    session: Option<&str>,
    authorization: &str,
    method: &str,
    mut params: Value,
) -> Reply {
    if session.is_none() {
        params["_meta"] = meta();
    }
    static LAST_ID: AtomicU64 = AtomicU64::new(1000);
    let id = LAST_ID.fetch_add(1, Ordering::Relaxed);
    agent(port, session, authorization).post(&request(id, method, params)).unwrap()
}

fn filing() -> Value {
    let arguments =
        json!({ "title": "t", "description": "", "classification": "bug", "agent": "a" });
    json!({ "name": "add_issue", "arguments": arguments })
}

/// Processes items concurrently, at most [`WAITING`] at a time, so that no failed attempt is rejected with 429.
fn at_once<T: Sync>(items: &[T], work: impl Fn(&T) + Sync) {
    for some in items.chunks(WAITING) {
        thread::scope(|scope| {
            for item in some {
                scope.spawn(|| work(item));
            }
        });
    }
}

/// Returns the path of the style sheet.
fn asset(port: u16) -> String {
    let page = ask(port, &Method::GET, "/", &bearer(READER)).body;
    let (_, rest) = page.split_once("rel=\"stylesheet\" href=\"").unwrap();
    rest.split('"').next().unwrap().to_owned()
}

#[test]
fn every_route_but_health_needs_a_token() {
    let directory = directory();
    let server = serve(directory.path(), &[]);
    let port = server.port;
    let asset = asset(port);
    // A method, a path, and the status without a valid token and with one.
    let cases = [
        (Method::GET, "/health", 200, 200),
        (Method::HEAD, "/health", 200, 200),
        (Method::POST, "/health", 401, 405),
        (Method::GET, "/health/", 200, 200),
        (Method::GET, "/health/x", 401, 404),
        (Method::GET, "/%68ealth", 401, 404),
        (Method::GET, "/?q=/health", 401, 200),
        (Method::GET, "/board", 401, 200),
        (Method::GET, "/agents", 401, 200),
        (Method::GET, "/stats", 401, 200),
        (Method::GET, "/inbox", 401, 200),
        (Method::GET, "/issues/00000000", 401, 404),
        (Method::GET, "/api/issues", 401, 200),
        (Method::GET, "/api/issues/00000000", 401, 404),
        (Method::GET, "/api/stats", 401, 200),
        (Method::GET, "/api/triage", 401, 200),
        (Method::HEAD, "/events", 401, 200),
        (Method::HEAD, "/", 401, 200),
        (Method::GET, "/metrics", 401, 200),
        (Method::GET, &asset, 401, 200),
        (Method::GET, "/nothing", 401, 404),
        (Method::GET, "/.well-known/oauth-protected-resource/mcp", 404, 404),
        (Method::GET, "/mcp", 401, 406),
        (Method::OPTIONS, "/mcp", 401, 200),
        (Method::OPTIONS, "/nothing", 401, 405),
        (Method::PUT, "/", 401, 405),
    ];
    at_once(&cases, |(method, path, without, with)| {
        let status = |authorization: &str| {
            let response = ask(port, method, path, authorization);
            let challenge = response.headers.get("www-authenticate");
            assert_eq!(challenge.is_some(), response.status == 401, "{method} {path}");
            response.status
        };
        for (authorization, expected) in [
            ("", without),
            (&bearer(WRONG), without),
            (&bearer(READER), with),
            (&bearer(WRITER), with),
            (&basic(READER), with),
            (&basic(WRITER), with),
            (&format!("bEARER  {READER}"), with),
            (&basic(WRITER).replace("Basic", "bASIC"), with),
        ] {
            assert_eq!(status(authorization), *expected, "{method} {path} with {authorization:?}");
        }
    });
    assert_log_has_no_secret(&server);
}

#[test]
fn changing_tools_need_a_read_write_token() {
    let directory = directory();
    let server = serve(directory.path(), &[]);
    let port = server.port;
    let mut begun = Agent::authorized(port, &bearer(WRITER));
    begun.begin();
    let id = begun.add("there already");
    let session = begun.session.as_deref();
    let change = json!({ "issue_id": id, "agent": "a", "comment": "c", "resolution": "closed" });
    let tool = |name: &str, arguments| json!({ "name": name, "arguments": arguments });
    // A method, its parameters, and whether a read-only token may call it.
    let mut cases = vec![
        ("tools/list", json!({}), true),
        ("tools/call", tool("list_issues", json!({})), true),
        ("tools/call", tool("list_issues", json!({ "issue_id": id })), true),
        ("tools/call", filing(), false),
        ("tools/call", tool("get_next_issue", json!({ "agent": "a" })), false),
    ];
    for name in ["return_issue", "complete_issue", "close_issue"] {
        cases.push(("tools/call", tool(name, change.clone()), false));
    }
    cases.push(("tools/call", tool("get_next_review_item", json!({ "agent": "a" })), false));
    let both: Vec<_> =
        [None, session].iter().flat_map(|era| cases.iter().map(move |case| (*era, case))).collect();
    at_once(&both, |(session, (method, params, may_read))| {
        let ask = |authorization: &str| post(port, *session, authorization, method, params.clone());
        for authorization in [String::new(), bearer(WRONG), basic(WRONG)] {
            let reply = ask(&authorization);
            assert_eq!((reply.status, reply.session), (401, None), "{method} {params}");
        }
        for authorization in [bearer(READER), basic(READER), format!("bearer {READER}")] {
            let reply = ask(&authorization);
            assert_eq!(reply.status, 200, "{method} {params}: {}", reply.body);
            if !may_read {
                let code = reply.body.contains("\"code\":\"READ_ONLY\",\"recoverable\":false");
                assert!(code, "{}", reply.body);
                let text = reply.answer().refusal();
                assert!(text.contains("the token \"eve\" is read-only, "), "{text}");
                assert!(text.contains("list_issues") && text.contains("read-write"), "{text}");
            } else if *method == "tools/call" {
                assert!(reply.answer().ok().contains(&id));
            } else {
                // A reader sees only the tools that it may call.
                let (shown, hidden) = ("\"list_issues\"", "\"add_issue\"");
                assert!(
                    reply.body.contains(shown) && !reply.body.contains(hidden),
                    "{}",
                    reply.body
                );
            }
        }
    });
    let stored = stored_issues(directory.path());
    assert_eq!((stored.len(), &stored[0]["status"]), (1, &json!("created")));
    for session in [None, session] {
        for authorization in [bearer(WRITER), basic(WRITER), format!("BEARER {WRITER}")] {
            post(port, session, &authorization, "tools/call", filing()).answer().ok();
        }
    }
    assert_eq!(stored_issues(directory.path()).len(), 7);
    assert_log_has_no_secret(&server);
}

#[test]
fn each_request_of_a_session_has_the_scope_of_its_token() {
    let directory = directory();
    let server = serve(directory.path(), &[]);
    let mut agent = Agent::authorized(server.port, &bearer(READER));
    agent.begin();
    assert_eq!(agent.request("ping", json!({})).status, 200);
    agent.call("add_issue", filing()["arguments"].clone()).refusal();
    agent.authorize(&basic(WRITER));
    agent.add("by the writer");
    agent.authorize(&basic(READER));
    agent.call("add_issue", filing()["arguments"].clone()).refusal();
    // Without a token, the session id is no use, neither for calls nor to end the session.
    let unauthorized = self::agent(server.port, agent.session.as_deref(), "");
    assert_eq!((unauthorized.delete().status, unauthorized.listen().status().as_u16()), (401, 401));
    assert_eq!(agent.listen().status(), 200);
    assert_eq!(agent.delete().status, 204);
    assert_eq!(agent.request("ping", json!({})).status, 404);
    assert_eq!(stored_issues(directory.path()).len(), 1);
}

#[test]
fn anything_but_one_valid_token_is_refused_with_help() {
    let directory = directory();
    let server = serve(directory.path(), &[]);
    let good = format!("Authorization: Bearer {WRITER}\r\n");
    let cases = [
        (String::new(), "this server needs a token"),
        (format!("Cookie: {WRITER}\r\nX-Authorization: Bearer {WRITER}\r\n"), "needs a token"),
        (good.repeat(2), "the token is invalid"),
        (format!("{good}Authorization: Bearer {WRONG}\r\n"), "the token is invalid"),
        (format!("Authorization: {WRITER}\r\n"), "the token is invalid"),
        (format!("Authorization: IssueSummary {WRITER}\r\n"), "the token is invalid"),
        (format!("Authorization: Basic {WRITER}\r\n"), "the token is invalid"),
        (format!("Authorization: Bearer {WRITER}x\r\n"), "the token is invalid"),
        (format!("Authorization: Bearer {}\r\n", &WRITER[..16]), "the token is invalid"),
        (format!("Authorization: Bearer {WRITER} {READER}\r\n"), "the token is invalid"),
    ];
    at_once(&cases, |(headers, message)| {
        // With tokens, any Host header is accepted.
        let headers = format!("Host: tracker.example:8443\r\n{headers}");
        let answer = Raw::connect(server.port).send(asked("GET /", &headers)).rest();
        assert!(answer.starts_with("HTTP/1.1 401 "), "{headers}: {answer}");
        assert!(answer.contains("www-authenticate: Bearer realm=\"ait\"\r\n"), "{answer}");
        assert!(answer.contains("www-authenticate: Basic realm=\"ait\", charset=\"UTF-8\"\r\n"));
        assert!(
            answer.contains(message) && answer.contains("Authorization: Bearer TOKEN"),
            "{answer}"
        );
    });
    let path = format!("Host: x.example\r\n{good}");
    let answer = Raw::connect(server.port).send(asked("GET /", &path)).rest();
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    let foreign = format!("{path}Origin: https://evil.example\r\n");
    let answer = Raw::connect(server.port).send(asked("GET /", &foreign)).rest();
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert_log_has_no_secret(&server);
}

#[test]
fn pages_of_allowed_origins_can_read_the_refusal() {
    let directory = directory();
    let server = serve(directory.path(), &["--allow-origin", "http://localhost:6274"]);
    let asks = |line: &str, origin: &str, more: &str| {
        let headers = format!("Host: localhost\r\nOrigin: {origin}\r\n{more}");
        Raw::connect(server.port).send(asked(line, &headers)).rest()
    };
    let preflight =
        "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization\r\n";
    let (own, allowed) = ("http://localhost", "http://localhost:6274");
    let answer = asks("OPTIONS /mcp", allowed, preflight);
    let header = "access-control-allow-origin: http://localhost:6274\r\n";
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains(header), "{answer}");
    let headers = answer.lines().find(|line| line.starts_with("access-control-allow-headers: "));
    assert!(headers.unwrap().contains("authorization"), "{answer}");
    assert!(asks("OPTIONS /mcp", "http://localhost:1", preflight).starts_with("HTTP/1.1 403 "));
    assert!(asks("OPTIONS /mcp", allowed, "").starts_with("HTTP/1.1 401 "));
    assert!(asks("POST /mcp", allowed, preflight).starts_with("HTTP/1.1 401 "));
    // Other paths have no preflight, so an OPTIONS request does not show whether a path exists.
    for path in ["/", "/nothing"] {
        assert!(asks(&format!("OPTIONS {path}"), own, preflight).starts_with("HTTP/1.1 405 "));
    }
    let answer = asks("POST /mcp", allowed, "");
    assert!(answer.starts_with("HTTP/1.1 401 ") && answer.contains(header), "{answer}");
    let answer = asks("POST /mcp", own, "");
    assert!(answer.starts_with("HTTP/1.1 401 ") && !answer.contains("allow-origin"), "{answer}");
}

#[test]
fn an_invalid_token_in_the_environment_prevents_the_start() {
    let directory = directory();
    let mut command = ait(directory.path());
    command.arg("serve").env("AIT_TOKEN", WRITER);
    let server = Server::spawn(command, directory.path());
    assert_eq!(ask(server.port, &Method::GET, "/", "").status, 401);
    assert_eq!(health_issue_count(server.port), 0);
    let mut agent = Agent::authorized(server.port, &bearer(WRITER));
    agent.begin();
    id_in(&agent.add("t"));
    let mut command = ait(directory.path());
    let mut refused = Client::spawn(command.arg("serve").env("AIT_TOKEN", "tooshort"));
    assert!(!refused.wait().success());
    let log = refused.log().whole();
    assert!(
        log.contains("AIT_TOKEN: the secret is too short") && !log.contains("tooshort"),
        "{log}"
    );
}

/// Checks that no part of a secret is in the log, in plain text or base64.
#[track_caller]
fn assert_log_has_no_secret(server: &Server) {
    let log = server.log().text();
    for secret in [READER, WRITER, WRONG] {
        let encoded = STANDARD.encode(format!("user:{secret}"));
        for text in [&secret[..6], &secret[10..], &encoded[..], &encoded[10..16]] {
            assert!(!log.contains(text), "{text:?} is in the log: {log}");
        }
    }
}
