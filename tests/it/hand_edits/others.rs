//! Commands that start after an external edit, with and without a running server.

use std::fs;

use serde_json::{Value, json};

use crate::support::files::{kept, wait_for_file};
use crate::support::runs::run;
use crate::support::{Client, directory};

/// Returns a server whose agent has claimed the first of two issues, and the file from before the claim.
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
        assert_eq!(claimed["id"], second.as_str(), "an issue was claimed twice");
        if is_served {
            assert!(agent.close().success());
        }
    }
}

/// An issue has at most 20 labels. If an edit and a change together exceed that, only the change is made.
#[test]
fn edit_beyond_the_label_limit_is_kept_and_loses_no_label() {
    for (before, is_merged) in [(18, true), (19, false)] {
        let directory = directory();
        let path = directory.path();
        let mut server = Client::start(path);
        let id = server.add("labelled", "bug");
        let labels: Vec<_> = (0..before).map(|n| format!("l{n}")).collect();
        run(path, &["edit", &id, "-l", &labels.join(",")]).ok();
        wait_for_file(path, |issues| issues[0]["labels"].as_array().map(Vec::len) == Some(before));
        let mut edited: Value =
            serde_json::from_slice(&fs::read(path.join("issues.json")).unwrap()).unwrap();
        edited["issues"][0]["labels"].as_array_mut().unwrap().push(json!("of-edit"));
        run(path, &["edit", &id, "-l", "+of-change"]).ok();
        wait_for_file(path, |issues| issues[0]["labels"].to_string().contains("of-change"));
        fs::write(path.join("issues.json"), edited.to_string()).unwrap();
        let issue: Value = serde_json::from_str(&run(path, &["show", &id, "--json"]).ok()).unwrap();
        let has = |label: &str| issue["labels"].as_array().unwrap().contains(&json!(label));
        assert!(labels.iter().all(|label| has(label)), "{issue}");
        assert_eq!((has("of-change"), has("of-edit")), (true, is_merged), "{issue}");
        assert_eq!(kept(path).is_empty(), is_merged, "{:?}", kept(path));
        // The file shows the labels of the store, even if the edit was not merged.
        wait_for_file(path, |issues| issues[0]["labels"] == issue["labels"]);
        assert!(server.close().success());
    }
}
