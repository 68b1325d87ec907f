//! Answers to questions by programs, over `/api`.

use serde_json::{Value, json};

use super::{
    FORM, READER, WRITER, asked, basic, bearer, client, issue, origin, send, serve,
    serve_with_tokens,
};
use crate::support::{Response, directory};

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
