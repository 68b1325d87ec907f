//! The whole lifecycle of an issue. The test reads the store after every step and after a restart.

use std::fs;

use serde_json::{Value, json};

use crate::support::files::{
    STORE_FILES, database, issues_in_file, names, stored_issues, wait_for_file,
};
use crate::support::runs::run;
use crate::support::{Client, directory, has_no_store_files};

/// Returns the last history action, the last comment and the status of the only issue on disk.
fn last(directory: &std::path::Path) -> (String, String, Value) {
    let issues = stored_issues(directory);
    assert_eq!(issues.len(), 1);
    let text = |value: Option<&Value>, key: &str| {
        value.map_or_else(String::new, |entry| entry[key].as_str().unwrap().to_owned())
    };
    let issue = &issues[0];
    let history = issue["history"].as_array().unwrap().last();
    assert_eq!(history.unwrap()["timestamp"], issue["modifiedAt"]);
    let comments = issue["comments"].as_array().unwrap().last();
    (text(history, "action"), text(comments, "text"), issue["status"].clone())
}

#[test]
fn every_lifecycle_step_is_on_disk_when_acknowledged() {
    let directory = directory();
    let path = directory.path();
    let mut agent = Client::start(path);
    let id = agent.add("Crash on an empty list", "bug");
    assert_eq!(last(path), ("Issue filed".into(), String::new(), "created".into()));

    let mut claimed = agent.call("get_next_issue", json!({ "agent": "worker" })).issue();
    let claim = claimed.as_object_mut().unwrap().remove("claim").unwrap();
    assert_eq!((&claim["agent"], &claim["number"]), (&json!("worker"), &json!(1)));
    assert_eq!(claim["since"], claimed["modifiedAt"]);
    assert_eq!((&claimed["id"], &claimed["status"]), (&json!(id), &json!("in_progress")));
    assert_eq!(claimed, stored_issues(path)[0]);
    assert_eq!(last(path).0, "Issue claimed for work");

    let said = |text: &str| json!({ "issue_id": id[..8], "comment": text, "agent": "worker" });
    agent.call("return_issue", said("cannot reproduce")).ok();
    let returned = "Issue returned to created status".to_owned();
    assert_eq!(last(path), (returned, "cannot reproduce".into(), "created".into()));

    agent.call("get_next_issue", json!({ "agent": "worker" })).issue();
    agent.call("complete_issue", said("branch issue-x")).ok();
    assert_eq!(last(path), ("Issue completed".into(), "branch issue-x".into(), "completed".into()));

    let review = agent.call("get_next_review_item", json!({ "agent": "reviewer" })).issue();
    assert_eq!((&review["id"], &review["status"]), (&json!(id), &json!("in_review")));
    assert_eq!(last(path).0, "Issue claimed for review");

    let close =
        json!({ "issue_id": id, "resolution": "closed", "comment": "merged", "agent": "reviewer" });
    let confirmation = agent.call("close_issue", close.clone()).ok();
    assert!(confirmation.contains(&id) && confirmation.contains("closed"), "{confirmation}");
    assert_eq!(last(path), ("Issue closed".into(), "merged".into(), "closed".into()));
    // A repeated call gets the same answer; another one is refused.
    assert_eq!(agent.call("close_issue", close.clone()).ok(), confirmation);
    let mut other = close;
    other["comment"] = json!("merged again");
    assert!(agent.call("close_issue", other).refusal().contains("add_issue"));

    assert!(agent.close().success());
    // A process that ends leaves the file to the next one if the disk is slow.
    run(path, &["save"]).ok();
    let before = fs::read(path.join("issues.json")).unwrap();
    let mut again = Client::start(path);
    let whole = again.call("list_issues", json!({ "issue_id": id })).issue();
    assert_eq!(whole, issues_in_file(path)[0]);
    assert!(again.close().success());
    assert_eq!(fs::read(path.join("issues.json")).unwrap(), before);
}

#[test]
fn returned_issue_keeps_its_place_in_the_claim_order() {
    let directory = directory();
    let mut agent = Client::start(directory.path());
    let ids = ["bug", "feature", "bug"].map(|kind| agent.add(kind, kind));
    let claim = json!({ "agent": "a" });
    let feature = json!({ "agent": "a", "classification": "feature" });
    assert_eq!(agent.call("get_next_issue", feature.clone()).issue()["id"], ids[1]);
    assert_eq!(agent.call("get_next_issue", claim.clone()).issue()["id"], ids[0]);
    let back = json!({ "issue_id": ids[0], "comment": "c", "agent": "a" });
    agent.call("return_issue", back).ok();
    assert_eq!(agent.call("get_next_issue", claim.clone()).issue()["id"], ids[0]);
    assert_eq!(agent.call("get_next_issue", claim.clone()).issue()["id"], ids[2]);
    for (tool, arguments) in [
        ("get_next_issue", claim.clone()),
        ("get_next_issue", feature),
        ("get_next_review_item", claim),
    ] {
        let answer = agent.call(tool, arguments).ok();
        assert!(answer.starts_with("No issue"), "{answer}");
    }
}

#[test]
fn reads_and_empty_claims_write_nothing_to_disk() {
    let directory = directory();
    let mut agent = Client::start(directory.path());
    agent.call("list_issues", json!({})).ok();
    agent.call("get_next_issue", json!({ "agent": "a" })).ok();
    agent.call("get_next_review_item", json!({ "agent": "a" })).ok();
    crate::support::get(agent.port(), "/");
    assert!(has_no_store_files(directory.path()));
    agent.add("t", "bug");
    wait_for_file(directory.path(), |issues| issues.len() == 1);
    let issues = directory.path().join("issues.json");
    let events = || {
        let database = rusqlite::Connection::open(database(directory.path())).unwrap();
        let count = "SELECT count(*) FROM events";
        (
            fs::read(&issues).unwrap(),
            database.query_row(count, [], |row| row.get::<_, i64>(0)).unwrap(),
        )
    };
    let before = events();
    agent.call("list_issues", json!({ "status": "created" })).ok();
    agent.call("get_next_review_item", json!({ "agent": "a" })).ok();
    assert!(agent.close().success());
    // The end of a process may move what the log of SQLite has into the database.
    assert_eq!(events(), before);
    assert_eq!(names(directory.path()), STORE_FILES);
}

#[test]
fn published_file_is_indented_json_in_the_agreed_format() {
    let directory = directory();
    let mut agent = Client::start(directory.path());
    let id = agent.add("T \"quoted\" ü", "improvement");
    agent.close();
    let text = fs::read_to_string(directory.path().join("issues.json")).unwrap();
    let time = stored_issues(directory.path())[0]["createdAt"].as_str().unwrap().to_owned();
    let expected = format!(
        r#"{{
  "issues": [
    {{
      "id": "{id}",
      "title": "T \"quoted\" ü",
      "description": "",
      "classification": "improvement",
      "createdAt": "{time}",
      "modifiedAt": "{time}",
      "status": "created",
      "history": [
        {{
          "timestamp": "{time}",
          "agent": "test",
          "action": "Issue filed"
        }}
      ],
      "comments": []
    }}
  ]
}}
"#
    );
    assert_eq!(text, expected);
}

#[test]
fn list_issues_counts_all_matches_and_names_the_next_skip() {
    let directory = directory();
    let mut agent = Client::start(directory.path());
    let ids: Vec<_> = (0..5).map(|n| agent.add(&format!("t{n}"), "bug")).collect();
    let mut list = |arguments: Value| {
        let text = agent.call("list_issues", arguments).ok();
        serde_json::from_str::<Value>(&text).unwrap()
    };
    let all = list(json!({}));
    assert_eq!((&all["count"], all.get("more")), (&json!(5), None));
    let rows = all["issues"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row["id"].as_str().unwrap()).collect::<Vec<_>>(), ids);
    let keys: Vec<_> = rows[0].as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, ["id", "title", "classification", "status", "createdAt"]);

    let part = list(json!({ "skip": 1, "take": 2 }));
    assert_eq!((&part["count"], &part["issues"][0]["id"]), (&json!(5), &json!(ids[1])));
    assert_eq!(part["more"], "2 more: call again with skip: 3");
    let rest = list(json!({ "skip": 3, "take": 2 }));
    assert_eq!((rest["issues"].as_array().unwrap().len(), rest.get("more")), (2, None));
    assert_eq!(list(json!({ "skip": 99 })), json!({ "count": 5, "issues": [] }));
    assert_eq!(list(json!({ "status": "closed" }))["count"], 0);
    assert_eq!(list(json!({ "classification": "feature" }))["count"], 0);
}
