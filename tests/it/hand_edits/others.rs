//! A command that begins after an edit, beside a server and alone.

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
fn stale_file_undoes_nothing_with_or_without_a_server() {
    for is_served in [true, false] {
        let (directory, mut agent, [_, second], older) = scene();
        if !is_served {
            assert!(agent.close().success());
        }
        fs::write(directory.path().join("issues.json"), &older).unwrap();
        let claimed = run(directory.path(), &["next", "--agent", "b", "--json"]).ok();
        let claimed: serde_json::Value = serde_json::from_str(&claimed).unwrap();
        assert_eq!(claimed["id"], second.as_str(), "what another agent has was handed out");
        if is_served {
            assert!(agent.close().success());
        }
    }
}
