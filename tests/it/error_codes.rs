//! The codes of errors: in the results of tools, in `--json` output and in answers of `/api`.

use serde_json::{Value, json};

use crate::support::files::{id, issue_json, write_issues};
use crate::support::runs::run;
use crate::support::{Client, directory, get};

/// Writes a created issue, a closed one, and one that shares the id prefix of the second.
fn write_some(directory: &std::path::Path) {
    let alike = id(2).replace("-0000-", "-1111-");
    let issues = [(id(1), "created"), (id(2), "closed"), (alike, "created")];
    write_issues(directory, &issues.map(|(id, status)| issue_json(&id, "t", status)));
}

#[test]
fn error_results_carry_a_code_and_the_tool_to_call_next() {
    let directory = directory();
    write_some(directory.path());
    let mut client = Client::start(directory.path());
    let complete = |issue: &str| json!({ "issue_id": issue, "comment": "c", "agent": "a" });
    for (tool, arguments, code, next) in [
        ("complete_issue", complete("00000009"), "NOT_FOUND", json!("list_issues")),
        ("complete_issue", complete("#1"), "VALIDATION", json!("list_issues")),
        ("complete_issue", complete("00000002"), "AMBIGUOUS", Value::Null),
        ("complete_issue", complete(&id(2)), "FINAL", json!("add_issue")),
        ("complete_issue", complete(""), "VALIDATION", json!("list_issues")),
        ("get_next_issue", json!({}), "VALIDATION", json!("get_next_issue")),
        ("get_next_issue", json!({ "agent": " " }), "VALIDATION", json!("get_next_issue")),
    ] {
        let result = client.request("tools/call", json!({ "name": tool, "arguments": arguments }));
        assert_eq!(result["isError"], true, "{tool} {arguments}");
        let details = &result["_meta"]["ait/error"];
        assert_eq!((&details["code"], &details["next"]), (&json!(code), &next), "{result}");
        assert_eq!(details["recoverable"], true, "{result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.starts_with("Error: ") && text.ends_with('.'), "{text}");
        assert!(next.as_str().is_none_or(|next| text.contains(next)), "{text}");
    }
    let listed = client.request("tools/call", json!({ "name": "list_issues", "arguments": {} }));
    assert_eq!(listed["_meta"].get("ait/error"), None);
}

#[test]
fn an_unreadable_store_is_not_recoverable_for_agents() {
    let directory = directory();
    std::fs::write(directory.path().join("issues.json"), "{").unwrap();
    let mut client = Client::start(directory.path());
    let result = client.request("tools/call", json!({ "name": "list_issues", "arguments": {} }));
    let expected = json!({ "code": "UNREADABLE", "recoverable": false });
    assert_eq!(result["_meta"]["ait/error"], expected, "{result}");
    let answer = get(client.port(), "/api/issues").json();
    assert_eq!((&answer["code"], &answer["recoverable"]), (&json!("UNREADABLE"), &json!(false)));
}

#[test]
fn errors_have_at_most_2000_characters_and_keep_their_advice() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let unknown = |n: usize, length: usize| (format!("ü{n}{}", "x".repeat(length)), json!(n));
    for (count, length) in [(1, 5), (20, 5), (3_000, 5), (3_000, 200), (1, 100_000)] {
        let arguments: serde_json::Map<_, _> = (0..count).map(|n| unknown(n, length)).collect();
        let text = client.call("add_issue", Value::Object(arguments)).refusal();
        assert!(text.chars().count() <= 2_000, "{count} {length}: {} characters", text.len());
        for words in ["`title` is missing", "`agent` is missing", "`ü0", "Call it again"] {
            assert!(text.contains(words), "{count} {length}: no {words:?} in {text}");
        }
        assert_eq!(text.contains(" more. "), count > 20, "{text}");
    }
    // Long invalid values are cut, too.
    let long = "\u{1F600}".repeat(200_000);
    for name in ["title", "description", "classification", "agent", "issue_id"] {
        for tool in ["add_issue", "list_issues", "complete_issue"] {
            for value in [json!(long), json!([long]), json!({ "a": long })] {
                let text = client.call(tool, json!({ name: value })).refusal();
                assert!(text.chars().count() <= 2_000, "{tool} {name}: {}", text.len());
                assert!(text.contains("again") || text.contains("list_issues"), "{tool}: {text}");
            }
        }
    }
}

#[test]
fn failed_commands_print_their_code_with_json() {
    let directory = directory();
    let path = directory.path();
    write_some(path);
    let closed = id(2);
    for (arguments, exit, code) in [
        (&["show", "00000009", "--json"][..], 1, "NOT_FOUND"),
        (&["show", "00000002", "--json"], 1, "AMBIGUOUS"),
        (&["complete", &closed, "-m", "c", "--json"], 1, "FINAL"),
        (&["complete", &closed, "-m", " ", "--json"], 2, "VALIDATION"),
        (&["show", "#1", "--json"], 1, "VALIDATION"),
        (&["comment", "#1", "c", "--json"], 1, "VALIDATION"),
        (&["list", "--nonsense", "--json"], 2, "VALIDATION"),
        (&["restore", "missing.json", "--json"], 1, "NOT_FOUND"),
        (&["--file", "missing/issues.json", "add", "t", "-d", "d", "--json"], 1, "UNREADABLE"),
    ] {
        let ended = run(path, arguments);
        assert_eq!(ended.code, exit, "{arguments:?}: {ended:?}");
        let json: Value = serde_json::from_str(&ended.out).unwrap_or_else(|_| panic!("{ended:?}"));
        assert_eq!(json["code"], code, "{arguments:?}: {ended:?}");
        assert!(json["recoverable"].is_boolean());
        // The message for people has short ids.
        let text = json["error"].as_str().unwrap().replace(&closed, &closed[..8]);
        assert!(ended.log.contains(&text), "{text:?} is not in {:?}", ended.log);
        let plain: Vec<_> =
            arguments.iter().copied().filter(|argument| *argument != "--json").collect();
        let ended = run(path, &plain);
        assert_eq!((ended.code, &*ended.out), (exit, ""), "{plain:?}");
    }
    let next = run(path, &["complete", &closed, "-m", "c", "--json"]).out;
    assert!(next.contains(r#""next":"ait add""#), "{next}");
    let help = run(path, &["list", "--json", "--help"]).ok();
    assert!(help.contains("Usage:") && !help.contains("VALIDATION"), "{help}");
}

#[test]
fn api_errors_carry_a_code() {
    let directory = directory();
    write_some(directory.path());
    let client = Client::start(directory.path());
    for (path, status, code) in [
        ("/api/issues/00000009", 404, "NOT_FOUND"),
        ("/api/issues/00000002", 404, "AMBIGUOUS"),
        ("/api/issues/nothing", 404, "VALIDATION"),
        ("/api/issues?page=x", 400, "VALIDATION"),
        ("/api/activity?limit=0", 400, "VALIDATION"),
        ("/api/nothing", 404, "NOT_FOUND"),
    ] {
        let answer = get(client.port(), path);
        assert_eq!(answer.status, status, "{path}");
        let json = answer.json();
        assert_eq!((&json["code"], &json["recoverable"]), (&json!(code), &json!(true)), "{path}");
        assert!(json["error"].is_string(), "{path}: {json}");
    }
}
