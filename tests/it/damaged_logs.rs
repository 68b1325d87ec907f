//! A log that another program modified: nothing is lost silently. Every interface reports the damage, changes are
//! refused, and the readable issues can be read and saved.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::support::files::{change_log, lines, newest_segment, stored_issues};
use crate::support::runs::run;
use crate::support::{Client, directory, get};

const ISSUES: usize = 40;
const CLAIMS: usize = 20;

/// Returns a store whose only process was killed after it filed many issues and claimed half of them.
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
    // Only the log remains.
    let _ = fs::remove_file(directory.path().join("issues.json"));
    directory
}

/// Checks that every interface reports the damage, and that nothing changes the log.
#[track_caller]
fn assert_damaged(directory: &Path) {
    let segment = newest_segment(directory);
    let before = fs::read(&segment).unwrap();
    let reports_damage = |text: &str| {
        let says = text.contains("damaged") && text.contains(segment.to_str().unwrap());
        assert!(says, "{text}");
    };
    let doctor = run(directory, &["doctor"]);
    assert_eq!(doctor.code, 1, "{}", doctor.out);
    reports_damage(&doctor.out);
    for arguments in [
        &["add", "t", "-c", "bug", "-a", "a"][..],
        &["next", "-a", "a"],
        &["review", "-a", "a"],
        &["save"],
        &["backup", "whole.json"],
    ] {
        let refused = run(directory, arguments);
        assert_eq!(refused.code, 1, "{arguments:?}: {}{}", refused.out, refused.log);
        reports_damage(&refused.log);
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
        reports_damage(&client.call(tool, arguments).refusal());
    }
    // Reads return the changes before the damage, after a warning.
    let list = client.request("tools/call", json!({ "name": "list_issues", "arguments": {} }));
    assert_ne!(list["isError"], true, "{list}");
    reports_damage(list["content"][0]["text"].as_str().unwrap());
    let health = get(client.port(), "/health");
    assert_eq!(health.status, 503, "{}", health.body);
    reports_damage(&health.body);
    reports_damage(&client.log().wait_for("damaged"));
    client.close();
    reports_damage(&run(directory, &["list"]).refusal());
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

/// As when a user changes the spelling of a word in the whole repository.
#[test]
fn global_text_replacement_is_damage_and_not_a_torn_tail() {
    let directory = abandoned();
    let path = directory.path();
    let segment = newest_segment(path);
    let sed = Command::new("sed").args(["-i", "s/colour 1/color 1/"]).arg(&segment).status();
    assert!(sed.unwrap().success());
    assert_damaged(path);
    // The backup saves the intact issues.
    let saved = run(path, &["backup", "--partial", "rest.json"]);
    let rest: Value = serde_json::from_slice(&fs::read(path.join("rest.json")).unwrap()).unwrap();
    let count = rest["issues"].as_array().unwrap().len();
    // The issues 1 and 10 to 19 are lost.
    assert_eq!(count, ISSUES - 11, "{}", saved.log);
}

#[test]
fn partial_backup_saves_readable_issues_and_names_losses() {
    let directory = abandoned();
    let path = directory.path();
    // The line of the tenth event.
    let line = lines(path)[10];
    change_log(path, |bytes| bytes[line + 40] ^= 1);
    let refused = run(path, &["backup", "whole.json"]).refusal();
    assert!(refused.contains("--partial"), "{refused}");
    let saved = run(path, &["backup", "--partial", "rest.json", "--json"]);
    assert_eq!(saved.code, 0, "{}", saved.log);
    let lost = saved.log.lines().filter(|line| line.contains("lost: "));
    assert!(lost.clone().any(|line| line.contains("change 10 of the log")), "{}", saved.log);
    assert!(lost.clone().any(|loss| loss.contains(&format!("byte {line}"))), "{}", saved.log);
    let report: Value = serde_json::from_str(&saved.out).unwrap();
    assert_eq!(report["issues"], ISSUES - 1, "{report}");
    assert!(report["partial"].is_string(), "{report}");
    // The partial backup can be restored, and changes are accepted again.
    run(path, &["restore", "rest.json", "--force"]).ok();
    let issues = stored_issues(path);
    assert_eq!(issues.len(), ISSUES - 1);
    let claimed = issues.iter().filter(|issue| issue["status"] == "in_progress").count();
    assert_eq!(claimed, CLAIMS - 1);
    run(path, &["add", "later", "-c", "bug", "-a", "a"]).ok();
}
