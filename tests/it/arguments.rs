//! Invalid tool arguments: the error names every problem, and nothing changes.

use serde_json::{Value, json};

use crate::support::files::{id, issue_json, stored_issues, write_issues};
use crate::support::{Client, TOOLS, directory};

/// Returns the required arguments of a tool.
fn complete(tool: &str) -> Value {
    let issue = id(1);
    match tool {
        "add_issue" => {
            json!({ "title": "t", "description": "", "classification": "bug", "agent": "a" })
        }
        "list_issues" => json!({}),
        "get_next_issue" | "get_next_review_item" => json!({ "agent": "a" }),
        "return_issue" | "complete_issue" => {
            json!({ "issue_id": issue, "comment": "c", "agent": "a" })
        }
        "close_issue" => {
            json!({ "issue_id": issue, "resolution": "closed", "comment": "c", "agent": "a" })
        }
        other => panic!("say here what {other} has to be given"),
    }
}

/// A tool, a parameter, an invalid value, and the words that the refusal must contain.
fn wrong_values() -> Vec<(&'static str, &'static str, Value, &'static [&'static str])> {
    let long = |count: usize| Value::from("x".repeat(count));
    let mut cases: Vec<(_, _, _, &[&str])> = vec![
        ("add_issue", "title", json!(5), &["`title` must be a string", "5"]),
        ("add_issue", "title", json!(" "), &["title is blank", "500"]),
        ("add_issue", "title", json!("a\nb"), &["line break", "one line"]),
        ("add_issue", "title", long(501), &["501", "at most 500"]),
        ("add_issue", "description", long(100_001), &["description", "100001", "100000"]),
        ("add_issue", "description", json!(["x"]), &["`description` must be a string"]),
        (
            "add_issue",
            "classification",
            json!("Bug"),
            &["\"bug\" or \"improvement\" or \"feature\"", "\"Bug\""],
        ),
        (
            "list_issues",
            "status",
            json!("done"),
            &["`status` must be \"any\" or \"open\" or", "\"done\""],
        ),
        ("list_issues", "since", json!("soon"), &["`since` must be the cursor", "2h", "soon"]),
        ("get_next_issue", "mine", json!("yes"), &["`mine` must be true or false"]),
        ("add_issue", "title", json!("\u{200b}\u{2060}\u{feff} "), &["title is blank"]),
        ("list_issues", "classification", json!(1), &["`classification` must be"]),
        ("list_issues", "skip", json!(-1), &["`skip` must be an integer of at least 0"]),
        ("list_issues", "take", json!(-1), &["`take` must be an integer from 0 to 500"]),
        ("list_issues", "take", json!(501), &["from 0 to 500", "501"]),
        ("list_issues", "take", json!("ten"), &["`take` must be an integer"]),
        ("list_issues", "take", json!(1.5), &["`take` must be an integer"]),
        ("list_issues", "take", json!(u64::MAX), &["from 0 to 500"]),
        ("list_issues", "issue_id", json!("1234567"), &["first 8 hex digits", "1234567"]),
        ("list_issues", "issue_id", json!("00000009"), &["no issue 00000009", "list_issues"]),
        ("get_next_issue", "classification", json!("chore"), &["`classification` must be"]),
        ("close_issue", "resolution", json!("done"), &["\"closed\" or \"rejected\""]),
    ];
    for tool in [
        "add_issue",
        "get_next_issue",
        "get_next_review_item",
        "return_issue",
        "complete_issue",
        "close_issue",
    ] {
        cases.push((tool, "agent", json!(""), &["agent is blank", "200"]));
        cases.push((tool, "agent", long(201), &["agent", "201", "at most 200"]));
        cases.push((tool, "agent", json!(true), &["`agent` must be a string", "true"]));
    }
    for tool in ["return_issue", "complete_issue", "close_issue"] {
        cases.push((tool, "comment", json!(" \n"), &["comment is blank", "100000"]));
        cases.push((tool, "comment", long(100_001), &["comment", "100001"]));
        cases.push((tool, "issue_id", json!("#1"), &["#1", "first 8 hex digits"]));
        cases.push((tool, "issue_id", json!("ffffffff"), &["no issue ffffffff", "list_issues"]));
        cases.push((
            tool,
            "issue_id",
            json!("00000002"),
            &[
                "matches 2 issues",
                "00000002-0000-4000-8000-000000000000",
                "00000002-1111",
                "more digits",
            ],
        ));
    }
    cases
}

/// Starts a client on a store with three issues. Two of them share a prefix of their ids.
fn client(directory: &std::path::Path) -> Client {
    let alike = id(2).replace("-0000-", "-1111-");
    let issues = [id(1), id(2), alike].map(|id| issue_json(&id, "t", "created"));
    write_issues(directory, &issues);
    Client::start(directory)
}

#[test]
fn refusal_of_an_invalid_value_names_the_valid_form() {
    let directory = directory();
    let mut client = client(directory.path());
    let before = stored_issues(directory.path());
    for (tool, parameter, value, expected) in wrong_values() {
        let mut arguments = complete(tool);
        arguments[parameter] = value;
        let text = client.call(tool, arguments).refusal();
        assert!(text.starts_with("Error: "), "{text}");
        assert!(text.contains(" again") || text.contains("list_issues"), "no advice: {text}");
        assert!(text.len() < 800, "{} bytes: {text}", text.len());
        for words in expected {
            assert!(text.contains(words), "{tool} {parameter}: no {words:?} in {text}");
        }
    }
    assert_eq!(stored_issues(directory.path()), before);
}

#[test]
fn one_error_names_all_missing_and_unknown_parameters() {
    let directory = directory();
    let mut client = client(directory.path());
    let before = stored_issues(directory.path());
    for tool in TOOLS {
        let text = client.call(tool, json!({ "issue": 1, "who": "a" })).refusal();
        for name in ["`issue` is not a parameter", "`who` is not a parameter", "Call it again"] {
            assert!(text.contains(name), "{tool}: {text}");
        }
        for name in complete(tool).as_object().unwrap().keys() {
            assert!(text.contains(&format!("`{name}` is missing")), "{tool}: {text}");
            assert!(text.contains(&format!("{name} (")), "{tool}: {text}");
        }
    }
    assert_eq!(stored_issues(directory.path()), before);
}

#[test]
fn complete_arguments_are_accepted_and_null_counts_as_absent() {
    let directory = directory();
    let mut client = client(directory.path());
    client.call("list_issues", json!({ "status": null, "take": null, "issue_id": null })).ok();
    let text = client.call("add_issue", json!({ "title": null })).refusal();
    assert!(text.contains("`title` is missing"), "{text}");
    for tool in [
        "get_next_issue",
        "return_issue",
        "complete_issue",
        "get_next_review_item",
        "close_issue",
        "list_issues",
        "add_issue",
    ] {
        client.call(tool, complete(tool)).ok();
    }
    let no_arguments = client.request("tools/call", json!({ "name": "list_issues" }));
    assert_eq!(no_arguments["isError"], false);
}

#[test]
fn values_at_their_limits_are_accepted_and_trimmed() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let arguments = json!({
        "title": format!("  {}\n", "ß".repeat(500)),
        "description": "\u{1F600}".repeat(100_000),
        "classification": "feature",
        "agent": format!(" {} ", "a".repeat(200)),
    });
    client.call("add_issue", arguments).ok();
    client.call("list_issues", json!({ "take": 500, "skip": 0 })).ok();
    let issue = &stored_issues(directory.path())[0];
    assert_eq!(issue["title"], "ß".repeat(500));
    assert_eq!(issue["description"].as_str().unwrap().chars().count(), 100_000);
    assert_eq!(issue["history"][0]["agent"], "a".repeat(200));
}

#[test]
fn issue_is_found_by_an_id_prefix_in_any_case() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let id = client.add("t", "bug");
    for name in [
        id.clone(),
        id.to_uppercase(),
        id[..8].to_owned(),
        id[..9].to_owned(),
        id[..20].to_uppercase(),
        id.replace('-', ""),
    ] {
        let issue = client.call("list_issues", json!({ "issue_id": name })).issue();
        assert_eq!(issue["id"], id, "{name}");
    }
}
