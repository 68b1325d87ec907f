//! Files of the original AgentIssueTracker, with its own history phrases.

use std::fs;

use serde_json::{Value, json};

use crate::support::runs::run;
use crate::support::{Client, directory, get, id_in};

/// Every history phrase that the original's tools write: a closed, a rejected, a claimed and a reviewed issue.
const FILE: &str = include_str!("../fixtures/original_history.json");

fn client() -> (tempfile::TempDir, Client) {
    let directory = directory();
    fs::write(directory.path().join("issues.json"), FILE).unwrap();
    let client = Client::start(directory.path());
    (directory, client)
}

#[test]
fn statistics_count_the_phrases_of_the_original() {
    let (_directory, client) = client();
    let stats = get(client.port(), "/api/stats?range=all").json();
    let done = json!({ "filed": 4, "completed": 2, "closed": 1, "rejected": 1, "returned": 2 });
    assert_eq!(stats["throughput"]["total"], done);
    let hour_ms = 3_600_000_u64;
    let one = |ms: u64| json!({ "count": 1, "medianMs": ms, "p90Ms": ms });
    let (cycle, lead) = (&stats["cycle"]["bug"], &stats["lead"]["bug"]);
    assert_eq!((cycle, lead), (&one(3 * hour_ms), &one(6 * hour_ms)));
}

#[test]
fn the_last_actions_of_agents_of_the_original_are_known() {
    let (_directory, client) = client();
    let body = get(client.port(), "/agents").body;
    for agent in ["team-lead", "bug-fixer", "code-reviewer"] {
        let row = body.split("<tr ").find(|row| row.contains(&format!(">{agent}</bdi>")));
        let row = row.unwrap_or_else(|| panic!("no {agent} in {body}"));
        let last = row.split("class=\"last\"").nth(1).unwrap().split('>').nth(1).unwrap();
        let known = ["filed", "completed", "closed", "rejected", "returned", "commented"];
        assert!(known.iter().any(|action| last.starts_with(action)), "{agent}: {last}");
    }
}

#[test]
fn the_holder_made_the_last_claim_and_comments_change_nothing() {
    let (directory, client) = client();
    let text = run(directory.path(), &["board", "--json"]).ok();
    assert!(text.contains("\"holder\":\"developer\""), "{text}");
    assert!(text.contains("\"holder\":\"code-reviewer\""), "{text}");
    assert!(!text.contains("\"holder\":\"team-lead\""), "{text}");
    let listed = run(directory.path(), &["list", "--holder", "developer", "--json"]).ok();
    assert!(listed.contains("Faster start"), "{listed}");
    // A return without a claim before it does not count as a failed attempt.
    let page = get(client.port(), "/issues/00000003").body;
    assert!(!page.contains("returned once"), "{page}");
    assert!(get(client.port(), "/issues/00000001").body.contains("returned once"));
    let doctor = run(directory.path(), &["doctor"]).out;
    assert!(doctor.contains("each status follows from its history"), "{doctor}");
}

#[test]
fn a_repeated_completion_or_return_gets_the_same_confirmation() {
    let (directory, mut client) = client();
    let arguments =
        json!({ "issue_id": "00000003", "comment": "Branch issue-3.", "agent": "developer" });
    for (tool, status) in [("complete_issue", "completed"), ("return_issue", "created")] {
        let confirmed = client.call(tool, arguments.clone()).ok();
        let issue = client.call("list_issues", json!({ "issue_id": "00000003" })).issue();
        assert_eq!(issue["status"], status);
        assert_eq!(client.call(tool, arguments.clone()).ok(), confirmed);
        let command = &tool[..tool.find('_').unwrap()];
        run(directory.path(), &[command, "00000003", "-m", "Branch issue-3.", "-a", "developer"])
            .ok();
        let again = client.call("list_issues", json!({ "issue_id": "00000003" })).issue();
        assert_eq!(again, issue);
        let mut other = arguments.clone();
        other["comment"] = json!("Other words.");
        client.call(tool, other).ok();
        let changed = client.call("list_issues", json!({ "issue_id": "00000003" })).issue();
        let count = |issue: &Value| issue["history"].as_array().unwrap().len();
        assert_eq!(count(&changed), count(&issue) + 1);
    }
}

/// What the tools of the original answered, in the order of the calls. `<ID2>` stands for the third issue that was
/// filed.
const EXCHANGES: &str = include_str!("../fixtures/original_exchanges.json");
/// Calls that the original takes, and this tracker refuses with an error that says what to do; and the other way round.
const DIFFERENCES: [&str; 4] = ["extra arg", "empty strings", "empty comment", "upper id"];

#[test]
fn calls_are_answered_as_the_original_answers_them() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let exchanges: Vec<Value> = serde_json::from_str(EXCHANGES).unwrap();
    let mut ids: Vec<String> = Vec::new();
    for exchange in &exchanges {
        let (step, tool) = (&exchange["step"], exchange["tool"].as_str().unwrap());
        let mut arguments = exchange["arguments"].clone();
        if let Some(id) = arguments["issue_id"].as_str().and_then(|id| id.strip_prefix("<ID")) {
            let (number, how) = id.split_once('>').unwrap();
            let id = &ids[number.parse::<usize>().unwrap()];
            let is_upper = how.contains("upper case");
            arguments["issue_id"] = if is_upper { id.to_uppercase() } else { id.clone() }.into();
        }
        let answer = client.call(tool, arguments);
        let is_different = DIFFERENCES.iter().any(|difference| step == difference);
        let is_error = exchange["isError"].as_bool().unwrap() != is_different;
        assert_eq!(answer.is_error, is_error, "{step} {tool}: {}", answer.text);
        if is_error || is_different {
            continue;
        }
        if tool == "add_issue" {
            ids.push(id_in(&answer.text));
        }
        let Some(keys) = exchange["keys"].as_array() else { continue };
        let reply: Value = serde_json::from_str(&answer.text).unwrap();
        for key in keys {
            assert!(reply.get(key.as_str().unwrap()).is_some(), "{step}: no {key} in {reply}");
        }
        if let Some(rows) = reply["issues"].as_array() {
            assert_eq!(reply["count"], exchange["count"], "{step}");
            let statuses = rows.iter().map(|row| row["status"].clone()).collect::<Value>();
            assert_eq!(statuses, exchange["statuses"], "{step}");
            let columns =
                exchange["rows"].as_array().unwrap().iter().flat_map(|row| row.as_array());
            for column in columns.flatten().map(|column| column.as_str().unwrap()) {
                assert!(rows.iter().all(|row| row.get(column).is_some()), "{step}: no {column}");
            }
        } else {
            assert_eq!(reply["status"], exchange["status"], "{step}");
            let agents = reply["history"].as_array().unwrap().iter();
            let agents = agents.map(|entry| entry["agent"].clone()).collect::<Value>();
            assert_eq!(agents, exchange["history"], "{step}");
            let comments = reply["comments"].as_array().unwrap().len();
            assert_eq!(comments, exchange["comments"].as_u64().unwrap() as usize, "{step}");
        }
    }
}
