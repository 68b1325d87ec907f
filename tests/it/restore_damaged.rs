//! Restores of a damaged store.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::files::{
    change_database, damage_text, database, id, issue_json, kept, stored_issues, write_issues,
};
use crate::support::runs::{assert_snapshot, run};
use crate::support::{Client, directory, health_issue_count};

/// Damages the database of a store, which no process may be changing.
fn damage(path: &Path, how: &str) {
    match how {
        "text" => damage_text(path, "newer"),
        _ => change_database(path, |bytes| bytes.fill(b'x')),
    }
}

#[test]
fn restore_replaces_a_damaged_store_with_force_and_keeps_it() {
    for how in ["text", "whole"] {
        let directory = directory();
        let path = directory.path();
        write_issues(path, &[issue_json(&id(1), "one", "created")]);
        run(path, &["backup", "b.json"]).ok();
        let newer = issue_json(&id(2), "newer", "created");
        write_issues(path, &[issue_json(&id(1), "one", "created"), newer]);
        run(path, &["comment", &id(1), "-m", "text", "-a", "a"]).ok();
        damage(path, how);
        let bytes = || fs::read(database(path)).unwrap();
        let before = bytes();
        assert_snapshot(
            &format!("damaged_{how}_refused"),
            path,
            &run(path, &["restore", "b.json"]),
        );
        run(path, &["restore", "b.json", "--dry-run"]).refusal();
        assert_eq!(bytes(), before, "{how}");
        let report = run(path, &["restore", "b.json", "--dry-run", "--force", "--json"]).ok();
        let report: Value = serde_json::from_str(&report).unwrap();
        assert_eq!((&report["restored"], &report["needsForce"]), (&json!(false), &json!(true)));
        assert_eq!(bytes(), before, "{how}");
        let done = run(path, &["restore", "b.json", "--force"]);
        assert_snapshot(&format!("damaged_{how}_restored"), path, &done);
        assert_eq!(stored_issues(path).len(), 1, "{how}");
        // The restore keeps the damaged database.
        let is_kept = |path: &PathBuf| path.to_string_lossy().ends_with("damaged-store");
        let aside = kept(path).into_iter().find(is_kept).unwrap();
        assert_eq!(fs::read(aside.join("queue.db")).unwrap(), before, "{how}");
        run(path, &["add", "after", "-c", "bug", "-a", "a"]).ok();
        assert_eq!(stored_issues(path).len(), 2, "{how}");
    }
}

#[test]
fn every_interface_names_the_next_step_for_a_damaged_store() {
    let directory = directory();
    let path = directory.path();
    let mut agent = Client::start(path);
    let id = agent.add("one", "bug");
    agent.add("two", "bug");
    damage(path, "whole");
    let refused = agent.call("get_next_issue", json!({ "agent": "a" })).refusal();
    assert!(refused.contains("`ait doctor`"), "{refused}");
    let health = crate::support::get(agent.port(), "/health").json();
    assert!(health["reason"].as_str().unwrap().contains("`ait doctor`"), "{health}");
    for arguments in [&["list"][..], &["status"], &["show", &id, "--at", "0s"]] {
        let output = run(path, arguments);
        assert_eq!(output.code, 1, "{output:?}");
        assert!(format!("{}{}", output.out, output.log).contains("`ait doctor`"), "{output:?}");
    }
    agent.close();
}

#[test]
fn running_agents_continue_after_a_repairing_restore() {
    let directory = directory();
    let path = directory.path();
    let mut agent = Client::start(path);
    let first = agent.add("one", "bug");
    run(path, &["backup", "b.json"]).ok();
    agent.add("two", "bug");
    agent.add("three", "bug");
    damage(path, "whole");
    let refused = agent.call(
        "add_issue",
        json!({ "title": "t", "description": "", "classification": "bug", "agent": "a" }),
    );
    assert!(refused.is_error, "{}", refused.text);
    run(path, &["restore", "b.json", "--force"]).ok();
    let claimed = agent.call("get_next_issue", json!({ "agent": "a" })).issue();
    assert_eq!(claimed["id"], first.as_str());
    agent.add("four", "bug");
    assert_eq!(health_issue_count(agent.port()), 2);
    assert!(agent.close().success());
    assert_eq!(stored_issues(path).len(), 2);
}

/// A process was stopped during the restore of a damaged store and the change after it. It must not bring back what the
/// restore removed.
#[test]
fn a_stopped_process_does_not_undo_a_restore() {
    for how in ["text", "whole"] {
        let directory = directory();
        let path = directory.path();
        let mut agent = Client::start(path);
        agent.add("one", "bug");
        run(path, &["backup", "b.json"]).ok();
        agent.add("newer", "bug");
        agent.add("newest", "bug");
        agent.signal("STOP");
        damage(path, how);
        run(path, &["restore", "b.json", "--force"]).ok();
        run(path, &["add", "four", "-c", "bug", "-a", "a"]).ok();
        agent.signal("CONT");
        agent.add("five", "bug");
        assert!(agent.close().success());
        let titles: Vec<_> =
            stored_issues(path).into_iter().map(|issue| issue["title"].clone()).collect();
        assert_eq!(titles, ["one", "four", "five"], "{how}");
    }
}

#[test]
fn restore_does_not_report_path_errors_as_damage() {
    let directory = directory();
    let path = directory.path();
    write_issues(path, &[]);
    run(path, &["backup", "b.json"]).ok();
    let missing = run(path, &["--file", "none/issues.json", "restore", "b.json", "--force"]);
    assert!(missing.refusal().contains("does not exist: create it"));
    fs::create_dir(path.join("dir.json")).unwrap();
    let not_a_file = run(path, &["--file", "dir.json", "restore", "b.json", "--force"]);
    assert!(not_a_file.refusal().contains("not a regular file"));
}
