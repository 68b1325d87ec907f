//! The files of the store, and the stories in them.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::{everything, examine, fix, healthy};
use crate::support::files::{id, issue_json, names, stored_issues, write_issues};
use crate::support::runs::run;
use crate::support::{Client, directory};

/// A store with three changes in its journal.
fn with_journal() -> tempfile::TempDir {
    let directory = directory();
    write_issues(directory.path(), &[issue_json(&id(1), "one", "created")]);
    let mut client = Client::start(directory.path());
    for _ in 0..3 {
        client.add("newer", "bug");
    }
    client.signal("KILL");
    client.wait();
    // What it left to tell of itself is another matter.
    fs::remove_dir_all(directory.path().join("issues.json.processes")).unwrap();
    directory
}

fn journal(directory: &Path) -> Vec<u8> {
    fs::read(directory.join("issues.json.journal")).unwrap()
}

fn story(status: &str, actions: &[&str]) -> Value {
    let mut issue = issue_json(&id(1), "one", status);
    let entry = |action: &&str| json!({ "timestamp": "2026-01-31T09:30:00.000Z", "agent": "a", "action": action });
    issue["history"] = actions.iter().map(entry).collect();
    issue
}

#[test]
fn what_is_not_valid_is_told_with_line_and_column_and_changes_nothing() {
    let directory = healthy();
    let path = directory.path();
    fs::write(path.join("issues.json"), "{\n  \"issues\": [\n    x\n").unwrap();
    let before = everything(path);
    let examined = examine(path);
    examined.is("valid", "problem").says("valid", &["line 3, column 5", "--salvage"]).ends_with(1);
    examined.is("histories", "skipped").is("readable", "ok");
    assert_eq!(everything(path), before);
}

#[test]
fn what_cannot_be_read_is_told() {
    let directory = directory();
    fs::create_dir(directory.path().join("issues.json")).unwrap();
    examine(directory.path()).is("readable", "problem").ends_with(1);
    let gone = healthy();
    run(gone.path(), &["save"]).ok();
    fs::remove_file(gone.path().join("issues.json")).unwrap();
    examine(gone.path()).is("readable", "problem").says("readable", &["is gone", "restore"]);
}

#[test]
fn copies_of_issues_are_told_and_left_out_and_others_with_the_same_id_are_left_alone() {
    let directory = directory();
    let path = directory.path();
    let one = issue_json(&id(1), "one", "created");
    write_issues(path, &[one.clone(), issue_json(&id(2), "two", "created"), one.clone()]);
    examine(path).is("ids", "problem").says("ids", &[&id(1), "--fix"]).ends_with(1);
    let fixed = fix(path);
    fixed.is("ids", "ok").is("valid", "ok").ends_with(0);
    assert_eq!(stored_issues(path).len(), 2);
    assert!(names(path).iter().any(|name| name.contains(".before-doctor-")), "{:?}", names(path));
    let other = issue_json(&id(1), "another", "created");
    write_issues(path, &[one, other]);
    let bytes = fs::read(path.join("issues.json")).unwrap();
    fix(path).is("ids", "problem").says("ids", &["different contents"]).ends_with(1);
    assert_eq!(fs::read(path.join("issues.json")).unwrap(), bytes);
}

#[test]
fn damage_of_the_journal_is_told_with_its_byte_and_not_repaired() {
    let directory = with_journal();
    let path = directory.path();
    let mut bytes = journal(path);
    let line = bytes.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    bytes[line + 30] ^= 1;
    fs::write(path.join("issues.json.journal"), &bytes).unwrap();
    let before = everything(path);
    let told = format!("damaged at byte {line}");
    examine(path).is("journal", "problem").says("journal", &[&told, "--salvage"]).ends_with(1);
    fix(path).is("journal", "problem").ends_with(1);
    assert_eq!(everything(path), before);
}

#[test]
fn a_torn_tail_is_told_and_cut_after_a_backup() {
    let directory = with_journal();
    let path = directory.path();
    let mut bytes = journal(path);
    bytes.extend_from_slice(b"0123");
    fs::write(path.join("issues.json.journal"), &bytes).unwrap();
    let before = everything(path);
    let told = format!("from byte {}", bytes.len() - 4);
    examine(path).only(&["journal"]).says("journal", &[&told, "last 4 bytes"]).ends_with(0);
    assert_eq!(everything(path), before);
    let fixed = fix(path);
    fixed.is("journal", "ok").only(&["leftovers"]).ends_with(0);
    assert!(fixed.report["repaired"].as_array().unwrap().len() >= 2, "{}", fixed.report);
    let names = names(path);
    let kept = names.iter().find(|name| name.contains(".journal.before-doctor-")).unwrap();
    assert_eq!(fs::read(path.join(kept)).unwrap(), bytes);
    assert_eq!(stored_issues(path).len(), 4);
}

#[test]
fn a_journal_that_follows_another_file_is_told_and_settled() {
    let directory = with_journal();
    let path = directory.path();
    write_issues(path, &[issue_json(&id(9), "from a branch", "created")]);
    examine(path).only(&["journal"]).says("journal", &["another issues.json", "3 changes"]);
    fix(path).is("journal", "ok");
    assert_eq!(stored_issues(path).len(), 4);
}

#[test]
fn what_a_newer_version_wrote_is_told() {
    let directory = with_journal();
    let path = directory.path();
    // A header with a key that is not known, and its checksum.
    let json =
        r#"{"journal":2,"epoch":"00000000000000000000000000000000","baseSeq":0,"baseLen":0}"#;
    let text = format!("{:08x} {json}", json.len());
    let seed = crc32c::crc32c(&[0; 16]);
    let crc = crc32c::crc32c_append(crc32c::crc32c_append(seed, &[0; 8]), text.as_bytes());
    fs::write(path.join("issues.json.journal"), format!("{crc:08x} {text}\n")).unwrap();
    examine(path).is("journal", "problem").says("journal", &["newer version", "update"]);
}

#[test]
fn histories_that_cannot_be_are_told() {
    let (filed, claimed) = ("Issue filed", "Issue claimed for work");
    for (issue, verdict, words, code) in [
        (story("closed", &[filed]), "problem", "is closed, while its history leads to created", 1),
        (story("in_progress", &[filed, claimed, claimed]), "warning", "from in_progress", 0),
        (
            story("created", &[filed, "Issue closed", "Issue returned to created status"]),
            "warning",
            "from closed",
            0,
        ),
    ] {
        let directory = directory();
        write_issues(directory.path(), &[issue]);
        let examined = examine(directory.path());
        examined.is("histories", verdict).says("histories", &[words, "ait show"]).ends_with(code);
    }
    let directory = directory();
    let mut issue = story("created", &[filed]);
    issue["modifiedAt"] = json!("2025-01-31T09:30:00.000Z");
    write_issues(directory.path(), &[issue]);
    examine(directory.path())
        .is("histories", "warning")
        .says("histories", &["before it was filed"]);
}

#[test]
fn old_claims_and_issues_that_come_back_are_told_with_who_and_which() {
    let directory = directory();
    let (filed, claimed) = ("Issue filed", "Issue claimed for work");
    let back = "Issue returned to created status";
    let mut often = story("created", &[filed, claimed, back, claimed, back, claimed, back]);
    often["id"] = json!(id(2));
    write_issues(directory.path(), &[story("in_progress", &[filed, claimed]), often]);
    let examined = examine(directory.path());
    examined.only(&["claims", "returns"]).ends_with(0);
    examined.says("claims", &["ait return 00000001", "by a", "one"]);
    examined.says("returns", &["00000002", "returned 3 times"]);
}

#[test]
fn times_in_the_future_are_told_of_issues_and_files() {
    let directory = directory();
    let path = directory.path();
    let mut issue = story("created", &["Issue filed"]);
    issue["modifiedAt"] = json!("2999-01-31T09:30:00.000Z");
    write_issues(path, &[issue]);
    examine(path).only(&["clock"]).says("clock", &["00000001", "2999-01-31", "timedatectl"]);
    write_issues(path, &[issue_json(&id(1), "one", "created")]);
    let file = File::options().write(true).open(path.join("issues.json")).unwrap();
    file.set_modified(SystemTime::now() + Duration::from_secs(3_600)).unwrap();
    examine(path).only(&["clock"]).says("clock", &["issues.json was written at"]).ends_with(0);
}
