//! Changes by programs over `/api`, its index and its description.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use agent_issue_tracker::domain::{
    Classification, ErrorCode, LinkKind, Priority, Resolution, Status,
};
use agent_issue_tracker::read_model::FindingKind;
use reqwest::Method;
use serde_json::{Value, json};

use super::{
    FORM, LEAD, READER, WRITER, asked, basic, bearer, claimed, client, issue, origin, send, serve,
    serve_with_tokens,
};
use crate::support::http::Server;
use crate::support::{Response, directory, get, scripts};

const JSON: &str = "application/json";

fn description() -> Value {
    serde_json::from_str(include_str!("../../../crates/ait-web/src/openapi.json")).unwrap()
}

/// Sends a change with a token.
pub fn change(port: u16, method: &str, path: &str, token: &str, body: &Value) -> Response {
    let method = Method::from_bytes(method.as_bytes()).unwrap();
    let request = client().request(method, format!("{}{path}", origin(port)));
    let request = request.header("authorization", bearer(token)).header("content-type", JSON);
    send(request.body(body.to_string()))
}

/// What each change takes at least.
fn changes(id: &str) -> [(&'static str, String, Value); 5] {
    let new = json!({ "agent": "bot", "title": "t", "description": "d", "classification": "bug" });
    let end = json!({ "agent": "bot", "resolution": "closed", "comment": "done" });
    [
        ("POST", "/api/issues".to_owned(), new),
        ("POST", format!("/api/issues/{id}/comments"), json!({ "agent": "bot", "text": "c" })),
        ("PATCH", format!("/api/issues/{id}"), json!({ "agent": "bot", "title": "other" })),
        ("POST", format!("/api/issues/{id}/answer"), json!({ "agent": "bot", "answer": 1 })),
        ("POST", format!("/api/issues/{id}/close"), end),
    ]
}

fn state(directory: &Path) -> String {
    crate::support::runs::run(directory, &["list", "--all", "--json"]).ok()
}

#[test]
fn programs_change_issues_with_a_read_write_token() {
    let directory = directory();
    let server = serve_with_tokens(directory.path());
    let (id, port) = (asked(directory.path()), server.port);
    let mut filed = String::new();
    for (at, (method, path, body)) in changes(&id).iter().enumerate() {
        let done = change(port, method, path, WRITER, body);
        assert_eq!(done.status, if at == 0 { 201 } else { 200 }, "{path}: {}", done.body);
        let answer = done.json();
        let shown = answer["id"].as_str().unwrap();
        let stored = issue(directory.path(), shown);
        assert_eq!(answer, stored, "{path}");
        assert_eq!(stored["history"].as_array().unwrap().last().unwrap()["agent"], "bot");
        let version = &get_authorized(port, &format!("/api/issues/{shown}")).headers["etag"];
        assert_eq!(&done.headers["etag"], version, "{path}");
        if at == 0 {
            assert_eq!(done.headers["location"], *format!("/api/issues/{shown}"));
            filed = shown.to_owned();
        }
    }
    let ended = issue(directory.path(), &id);
    let comments = ended["comments"].as_array().unwrap().iter();
    let by_bot = comments.filter(|comment| comment["agent"] == "bot");
    let texts: Vec<_> = by_bot.map(|comment| comment["text"].as_str().unwrap()).collect();
    assert_eq!((texts, &ended["status"]), (vec!["c", "SQLite", "done"], &json!("closed")));
    assert_eq!(ended["title"], "other");

    // What has ended stays so, and a version that has gone refuses.
    let [_, _, mut edit, _, mut end] = changes(&id);
    edit.2["title"] = "third".into();
    end.2["resolution"] = "rejected".into();
    assert_eq!(change(port, edit.0, &edit.1, WRITER, &edit.2).json()["code"], "FINAL");
    assert_eq!(change(port, end.0, &end.1, WRITER, &end.2).json()["code"], "FINAL");
    let before = state(directory.path());
    for (method, path, mut body) in changes(&filed).into_iter().skip(2) {
        body["ifVersion"] = "1.0.00000000".into();
        let stale = change(port, method, &path, WRITER, &body);
        assert_eq!((stale.status, &stale.json()["code"]), (409, &json!("CONFLICT")), "{path}");
    }
    assert_eq!(state(directory.path()), before);
}

#[test]
fn the_answer_to_a_new_issue_names_those_with_nearly_its_title() {
    let directory = directory();
    let server = serve_with_tokens(directory.path());
    let file = |title: &str| {
        let new =
            json!({ "agent": "bot", "title": title, "description": "", "classification": "bug" });
        change(server.port, "POST", "/api/issues", WRITER, &new).json()
    };
    let first = file("Login fails on Safari");
    assert_eq!(first["near"], Value::Null);
    let second = file("Safari: login failed");
    assert_eq!(second["near"], json!([{ "id": first["id"], "title": first["title"] }]));
    let stored =
        get_authorized(server.port, &format!("/api/issues/{}", second["id"].as_str().unwrap()));
    assert_eq!(stored.json()["near"], Value::Null);
}

fn get_authorized(port: u16, path: &str) -> Response {
    send(client().get(format!("{}{path}", origin(port))).header("authorization", bearer(WRITER)))
}

#[test]
fn a_claim_of_another_agent_needs_its_number_or_a_lead_token() {
    let directory = directory();
    let server = serve_with_tokens(directory.path());
    let close = |id: &str, token: &str, claim: Value| {
        let mut body = json!({ "agent": "bot", "resolution": "rejected", "comment": "c" });
        body["claim"] = claim;
        change(server.port, "POST", &format!("/api/issues/{id}/close"), token, &body)
    };
    let id = claimed(directory.path());
    let stale = close(&id, WRITER, json!(2));
    assert_eq!(stale.status, 409, "{}", stale.body);
    assert_eq!(issue(directory.path(), &id)["status"], "in_progress");
    assert_eq!(close(&id, WRITER, json!(1)).status, 200);
    let id = claimed(directory.path());
    assert_eq!(close(&id, LEAD, Value::Null).status, 200);
    assert_eq!(issue(directory.path(), &id)["status"], "rejected");
}

#[test]
fn refused_changes_change_nothing() {
    let directory = directory();
    let server = serve_with_tokens(directory.path());
    let (id, port) = (asked(directory.path()), server.port);
    let before = state(directory.path());
    for (method, path, body) in changes(&id) {
        let send_as = |authorization: &str, kind: &str, body: &str| {
            let method = Method::from_bytes(method.as_bytes()).unwrap();
            let request = client().request(method, format!("{}{path}", origin(port)));
            let request = request.header("content-type", kind).body(body.to_owned());
            match authorization {
                "" => request,
                authorization => request.header("authorization", authorization),
            }
        };
        let (writer, good) = (bearer(WRITER), body.to_string());
        let large = format!("{{\"agent\": \"{}\"}}", "x".repeat(1 << 20));
        let cookie = send_as("", JSON, &good).header("cookie", "ait-name=YW5u");
        let foreign = send_as(&writer, JSON, &good).header("origin", "null");
        for (request, status, said) in [
            (send_as("", JSON, &good), 401, "Bearer"),
            (cookie, 401, "Bearer"),
            (send_as(&basic(WRITER), JSON, &good), 403, "Authorization: Bearer"),
            (send_as(&bearer(READER), JSON, &good), 403, "this token is read-only"),
            (foreign, 403, "pages of"),
            (send_as(&writer, "text/plain", &good), 415, "Content-Type: application/json"),
            (send_as(&writer, FORM, &good), 415, "Content-Type: application/json"),
            (send_as(&writer, JSON, &large), 413, "1048576 bytes"),
            (send_as(&writer, JSON, ""), 400, "EOF"),
            (send_as(&writer, JSON, "{"), 400, "EOF"),
            (send_as(&writer, JSON, "[\"bot\", \"t\"]"), 400, "must be a JSON object"),
            (send_as(&writer, JSON, &format!("{good} x")), 400, "trailing characters"),
            (send_as(&writer, JSON, "{}"), 400, "missing field `agent`"),
            (send_as(&writer, JSON, r#"{"agnt": "b"}"#), 400, "did you mean `agent`?"),
            (send_as(&writer, JSON, r#"{"agent": " "}"#), 400, "`agent`: agent is blank"),
        ] {
            let refused = send(request);
            assert_eq!(refused.status, status, "{path} {said}: {}", refused.body);
            assert!(refused.body.contains(said), "{path} {said}: {}", refused.body);
            let has_code = refused.headers["content-type"] == JSON;
            assert_eq!(has_code, ![401, 413].contains(&status) && said != "pages of", "{path}");
            assert!(!has_code || refused.json()["code"].is_string(), "{}", refused.body);
        }
        let unknown = path.replace(&id, "00000000");
        if unknown != path {
            let refused = change(port, method, &unknown, WRITER, &body);
            assert_eq!((refused.status, &refused.json()["code"]), (404, &json!("NOT_FOUND")));
        }
        let refused = change(port, "DELETE", &path, WRITER, &body);
        assert_eq!((refused.status, &refused.json()["code"]), (405, &json!("READ_ONLY")));
        assert!(refused.headers["allow"].to_str().unwrap().contains(method));
    }
    assert_eq!(state(directory.path()), before);
}

#[test]
fn a_read_only_server_refuses_changes_and_says_so_in_the_index() {
    let directory = directory();
    let id = asked(directory.path());
    let server = Server::start(directory.path());
    let index = get(server.port, "/api").json();
    assert_eq!(index["writes"], false);
    let endpoints = index["endpoints"].as_array().unwrap();
    assert!(endpoints.iter().all(|endpoint| endpoint["method"] == "GET") && endpoints.len() > 8);
    for endpoint in endpoints {
        let path = endpoint["path"].as_str().unwrap().replace("{id}", &id);
        assert_eq!(get(server.port, &path).status, 200, "{path}");
    }
    for (method, path, body) in changes(&id) {
        let refused = change(server.port, method, &path, WRITER, &body);
        assert!([404, 405].contains(&refused.status), "{path}: {}", refused.status);
        assert!(refused.body.contains("--web-actions"), "{path}: {}", refused.body);
        assert_eq!(refused.headers["content-type"], JSON);
    }
}

#[test]
fn the_description_agrees_with_the_answers_and_a_generated_client() {
    scripts::run(scripts::node(), "openapi.mjs", &[]);
}

#[test]
fn the_description_has_all_routes_and_words() {
    let openapi = description();
    let mut routes = BTreeSet::new();
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/ait-web/src");
    for file in ["lib.rs", "actions/mod.rs", "projects.rs", "api_index.rs"] {
        let text = fs::read_to_string(web.join(file)).unwrap();
        let texts = text.split('"').skip(1).step_by(2).filter(|text| text.starts_with("/api"));
        routes.extend(texts.filter(|text| *text != "/api/").map(str::to_owned));
    }
    let paths: BTreeSet<_> = openapi["paths"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(paths, routes);
    assert_eq!(openapi["info"]["version"], env!("CARGO_PKG_VERSION"));
    let schemas = &openapi["components"]["schemas"];
    for (schema, words) in [
        (&schemas["Status"], Status::words().collect::<Vec<_>>()),
        (&schemas["Classification"], Classification::words().collect()),
        (&schemas["Resolution"], Resolution::words().collect()),
        (&schemas["FindingKind"], FindingKind::words().collect()),
        (&schemas["Link"]["properties"]["kind"], LinkKind::words().collect()),
        (&schemas["Error"]["properties"]["code"], ErrorCode::words().collect()),
    ] {
        assert_eq!(schema["enum"], json!(words));
    }
    assert_eq!(schemas["Priority"]["maximum"], Priority::MAX);
    let properties = schemas["StatusCounts"]["properties"].as_object().unwrap();
    let of_work = Status::OF_WORK.iter().map(|status| status.as_str());
    assert!(properties.keys().map(String::as_str).eq(of_work));
}

/// Posts an answer.
fn post(port: u16, id: &str, authorization: &str, kind: &str, body: &str) -> Response {
    let request = client().post(format!("{}/api/issues/{id}/answer", origin(port)));
    let request = match authorization {
        "" => request,
        authorization => request.header("authorization", authorization),
    };
    send(request.header("content-type", kind).body(body.to_owned()))
}

#[test]
fn programs_answer_with_a_read_write_token() {
    let directory = directory();
    let server = serve_with_tokens(directory.path());
    let (id, port) = (asked(directory.path()), server.port);
    let before = issue(directory.path(), &id);
    let (writer, json_kind) = (bearer(WRITER), "application/json");
    let good = r#"{"answer": 1, "agent": "bot"}"#;
    let stale = r#"{"answer": 1, "agent": "bot", "ifVersion": "1.0.00000000"}"#;
    for (authorization, id, kind, body, status, code) in [
        ("", &*id, json_kind, good, 401, ""),
        (&*basic(WRITER), &id, json_kind, good, 403, "READ_ONLY"),
        (&bearer(READER), &id, json_kind, good, 403, "READ_ONLY"),
        (&writer, &id, "text/plain", good, 415, "VALIDATION"),
        (&writer, &id, FORM, good, 415, "VALIDATION"),
        (&writer, &id, json_kind, "", 400, "VALIDATION"),
        (&writer, &id, json_kind, "[]", 400, "VALIDATION"),
        (&writer, &id, json_kind, r#"{"answer": 1}"#, 400, "VALIDATION"),
        (&writer, &id, json_kind, r#"{"answer": -1, "agent": "bot"}"#, 400, "VALIDATION"),
        (&writer, &id, json_kind, r#"{"answer": " ", "agent": "bot"}"#, 400, "VALIDATION"),
        (&writer, &id, json_kind, r#"{"answer": 1, "agent": ""}"#, 400, "VALIDATION"),
        (&writer, &id, json_kind, r#"{"answer": 1, "agent": "b", "x": 1}"#, 400, "VALIDATION"),
        (&writer, &id, json_kind, r#"{"answer": 3, "agent": "bot"}"#, 400, "VALIDATION"),
        (&writer, &id, json_kind, stale, 409, "CONFLICT"),
        (&writer, "00000000", json_kind, good, 404, "NOT_FOUND"),
        (&writer, "x", json_kind, good, 400, "VALIDATION"),
    ] {
        let response = post(port, id, authorization, kind, body);
        assert_eq!(response.status, status, "{body}: {}", response.body);
        if !code.is_empty() {
            let error: Value = serde_json::from_str(&response.body).unwrap();
            assert_eq!(error["code"], code, "{error}");
            assert!(error["error"].as_str().unwrap().len() > 20, "{error}");
        }
    }
    let foreign = client().post(format!("{}/api/issues/{id}/answer", origin(port)));
    let foreign = foreign.header("authorization", &writer).header("content-type", json_kind);
    assert_eq!(send(foreign.header("origin", "null").body(good)).status, 403);
    assert_eq!(issue(directory.path(), &id), before);
    let answered = post(port, &id[..8], &writer, "application/json; charset=utf-8", good);
    assert_eq!(answered.status, 200, "{}", answered.body);
    let answered: Value = serde_json::from_str(&answered.body).unwrap();
    assert_eq!((&answered["id"], &answered["parked"]), (&json!(id), &Value::Null));
    let comment = answered["comments"].as_array().unwrap().last().unwrap();
    assert_eq!((&comment["text"], &comment["agent"]), (&json!("SQLite"), &json!("bot")));
    // Repeating the same answer changes nothing; a different one is refused.
    assert_eq!(post(port, &id, &writer, json_kind, good).status, 200);
    let late = post(port, &id, &writer, json_kind, r#"{"answer": "no", "agent": "bot"}"#);
    assert_eq!(late.status, 409, "{}", late.body);
    let after = issue(directory.path(), &id)["history"].as_array().unwrap().len();
    assert_eq!(after, before["history"].as_array().unwrap().len() + 1);
}

/// Without tokens the server cannot tell programs from browsers, so it refuses answers over `/api`.
#[test]
fn programs_cannot_answer_without_tokens() {
    let directory = directory();
    let server = serve(directory.path());
    let id = asked(directory.path());
    let good = r#"{"answer": 1, "agent": "bot"}"#;
    let refused = post(server.port, &id, "", "application/json", good);
    assert_eq!(refused.status, 403);
    assert!(refused.body.contains("--token-file"), "{}", refused.body);
    let forged = post(server.port, &id, &bearer(WRITER), "application/json", good);
    assert_eq!(forged.status, 403);
    assert!(issue(directory.path(), &id)["parked"].is_object());
}
