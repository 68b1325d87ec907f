//! A command that begins after an edit, beside a server that knows what the store held before it.

use std::fs;

use serde_json::json;

use crate::support::files::wait_for_file;
use crate::support::runs::run;
use crate::support::{Client, directory};

/// A server whose agent has claimed the first of two issues, and the file of before that.
fn scene() -> (tempfile::TempDir, Client, [String; 2], Vec<u8>) {
    let directory = directory();
    let mut agent = Client::start(directory.path());
    let ids = ["first", "second"].map(|title| agent.add(title, "bug"));
    wait_for_file(directory.path(), |issues| issues.len() == 2);
    let older = fs::read(directory.path().join("issues.json")).unwrap();
    agent.call("get_next_issue", json!({ "agent": "a" })).issue();
    wait_for_file(directory.path(), |issues| issues[0]["status"] == "in_progress");
    (directory, agent, ids, older)
}

#[test]
fn a_command_leaves_an_edit_to_the_server_that_knows_more() {
    let (directory, mut agent, [_, second], older) = scene();
    fs::write(directory.path().join("issues.json"), &older).unwrap();
    let claimed = run(directory.path(), &["next", "--agent", "b", "--json"]).ok();
    let claimed: serde_json::Value = serde_json::from_str(&claimed).unwrap();
    assert_eq!(claimed["id"], second.as_str(), "what another agent has was handed out");
    assert!(agent.close().success());
}

/// Where nobody is left who knows more, the file counts as it is, at once.
#[test]
fn without_a_server_the_file_counts() {
    let (directory, mut agent, [first, _], older) = scene();
    assert!(agent.close().success());
    fs::write(directory.path().join("issues.json"), &older).unwrap();
    let claimed = run(directory.path(), &["next", "--agent", "b", "--json"]).ok();
    let claimed: serde_json::Value = serde_json::from_str(&claimed).unwrap();
    assert_eq!(claimed["id"], first.as_str());
}

/// A server that was idle while another one worked knows what that one did, too.
#[test]
fn a_server_that_was_idle_knows_what_others_did() {
    let (directory, mut agent, [first, second], older) = scene();
    let mut idle = Client::start(directory.path());
    idle.call("list_issues", json!({})).ok();
    agent.call("complete_issue", json!({ "issue_id": first, "agent": "a", "comment": "c" })).ok();
    wait_for_file(directory.path(), |issues| issues[0]["status"] == "completed");
    agent.add("third", "bug");
    wait_for_file(directory.path(), |issues| issues.len() == 3);
    // Much longer than the time in which it looks by itself.
    std::thread::sleep(std::time::Duration::from_secs(4));
    assert!(agent.close().success());
    fs::write(directory.path().join("issues.json"), &older).unwrap();
    let claimed = idle.call("get_next_issue", json!({ "agent": "b" })).issue();
    assert_eq!(claimed["id"], second.as_str());
    let all = wait_for_file(directory.path(), |issues| issues.len() == 3);
    assert_eq!(all[0]["status"], "completed");
    assert!(idle.close().success());
}
