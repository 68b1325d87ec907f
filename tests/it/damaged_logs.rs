//! A log that something has changed which is not `ait`: nothing is lost silently. Whoever uses the store is told,
//! nothing changes any more, the rest can be read, and what can be saved is saved.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::files::{change_log, lines, newest_segment, stored_issues};
use crate::support::runs::run;
use crate::support::{Client, directory, get};

const ISSUES: usize = 40;
const CLAIMS: usize = 20;

/// A store that a process has left that was killed: many issues, of which half were claimed.
fn abandoned() -> tempfile::TempDir {
    let directory = directory();
    let mut client = Client::start(directory.path());
    for number in 0..ISSUES {
        client.add(&format!("colour {number}"), "bug");
    }
    for _ in 0..CLAIMS {
        client.call("get_next_issue", json!({ "agent": "a" })).issue();
    }
    client.signal("KILL");
    client.wait();
    // What is saved is of the log alone.
    let _ = fs::remove_file(directory.path().join("issues.json"));
    directory
}

/// Whoever uses the store is told, in whichever way.
#[track_caller]
fn assert_damaged(directory: &Path) {
    let segment = newest_segment(directory);
    let before = fs::read(&segment).unwrap();
    let names_it = |text: &str| {
        let says = text.contains("damaged") && text.contains(segment.to_str().unwrap());
        assert!(says, "{text}");
    };
    let doctor = run(directory, &["doctor"]);
    assert_eq!(doctor.code, 1, "{}", doctor.out);
    names_it(&doctor.out);
    for arguments in [
        &["add", "t", "-c", "bug", "-a", "a"][..],
        &["next", "-a", "a"],
        &["review", "-a", "a"],
        &["save"],
        &["backup", "whole.json"],
    ] {
        let refused = run(directory, arguments);
        assert_eq!(refused.code, 1, "{arguments:?}: {}{}", refused.out, refused.log);
        names_it(&refused.log);
    }
    assert!(!directory.join("whole.json").exists());
    let mut client = Client::start(directory);
    for (tool, arguments) in [
        (
            "add_issue",
            json!({ "title": "t", "description": "", "classification": "bug", "agent": "a" }),
        ),
        ("get_next_issue", json!({ "agent": "a" })),
        ("get_next_review_item", json!({ "agent": "a" })),
    ] {
        names_it(&client.call(tool, arguments).refusal());
    }
    // What comes before the damage can be read, with a warning.
    let list = client.request("tools/call", json!({ "name": "list_issues", "arguments": {} }));
    assert_ne!(list["isError"], true, "{list}");
    names_it(list["content"][1]["text"].as_str().unwrap());
    let health = get(client.port(), "/health");
    assert_eq!(health.status, 503, "{}", health.body);
    names_it(&health.body);
    names_it(&client.log().wait_for("damaged"));
    client.close();
    run(directory, &["list"]).ok();
    assert_eq!(fs::read(&segment).unwrap(), before);
}

#[test]
fn inserted_byte_is_damage_and_not_a_torn_tail() {
    let directory = abandoned();
    let line = lines(directory.path())[5];
    change_log(directory.path(), |bytes| bytes.insert(line + 60, b'x'));
    assert_damaged(directory.path());
}

#[test]
fn deleted_byte_is_damage_and_not_a_torn_tail() {
    let directory = abandoned();
    let line = lines(directory.path())[5];
    change_log(directory.path(), |bytes| {
        bytes.remove(line + 60);
    });
    assert_damaged(directory.path());
}

/// As somebody does it who spells a word anew in all of a repository.
#[test]
fn global_text_replacement_is_damage_and_not_a_torn_tail() {
    let directory = abandoned();
    let path = directory.path();
    let segment = newest_segment(path);
    let sed = Command::new("sed").args(["-i", "s/colour 1/color 1/"]).arg(&segment).status();
    assert!(sed.unwrap().success());
    assert_damaged(path);
    // What was not touched can be saved.
    let saved = run(path, &["backup", "--partial", "rest.json"]);
    let rest: Value = serde_json::from_slice(&fs::read(path.join("rest.json")).unwrap()).unwrap();
    let count = rest["issues"].as_array().unwrap().len();
    // Those with 1 and 10 to 19 are lost.
    assert_eq!(count, ISSUES - 11, "{}", saved.log);
}

#[test]
fn partial_backup_saves_readable_issues_and_names_losses() {
    let directory = abandoned();
    let path = directory.path();
    // That of the tenth event.
    let line = lines(path)[10];
    change_log(path, |bytes| bytes[line + 40] ^= 1);
    let refused = run(path, &["backup", "whole.json"]).refusal();
    assert!(refused.contains("--partial"), "{refused}");
    let saved = run(path, &["backup", "--partial", "rest.json", "--json"]);
    assert_eq!(saved.code, 0, "{}", saved.log);
    let lost = saved.log.lines().filter(|line| line.contains("lost: "));
    assert!(lost.clone().any(|line| line.contains("change 10 of the log")), "{}", saved.log);
    assert!(lost.clone().any(|it| it.contains(&format!("byte {line}"))), "{}", saved.log);
    let report: Value = serde_json::from_str(&saved.out).unwrap();
    assert_eq!(report["issues"], ISSUES - 1, "{report}");
    assert!(report["partial"].is_string(), "{report}");
    // Whoever goes back to it is told what it is.
    run(path, &["restore", "rest.json", "--force"]).ok();
    let issues = stored_issues(path);
    assert_eq!(issues.len(), ISSUES - 1);
    let claimed = issues.iter().filter(|issue| issue["status"] == "in_progress").count();
    assert_eq!(claimed, CLAIMS - 1);
    run(path, &["add", "goes on", "-c", "bug", "-a", "a"]).ok();
}
