//! `ait doctor --salvage`: saves the readable issues of a damaged store.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::everything;
use crate::support::directory;
use crate::support::files::{
    change_database, copy_directory, database, id, issue_json, kept, settle, store_directory,
    stored_issues, write_issues,
};
use crate::support::runs::run;

fn salvage(directory: &Path) -> (i32, Value) {
    let run = run(directory, &["doctor", "--salvage", "new.json", "--json"]);
    assert!(!run.log.contains("panicked"), "{}", run.log);
    (
        run.code,
        serde_json::from_str(&run.out).unwrap_or_else(|error| panic!("{error}: {}", run.log)),
    )
}

fn titles(directory: &Path) -> Vec<String> {
    let of = |issue: &Value| issue["title"].as_str().unwrap().to_owned();
    stored_issues(directory).iter().map(of).collect()
}

fn lost(report: &Value) -> String {
    report["lost"]
        .as_array()
        .unwrap()
        .iter()
        .map(|loss| loss.as_str().unwrap().to_owned() + "\n")
        .collect()
}

/// Returns a store with three issues. Its newest change, the claim of the first, is not in `issues.json`.
fn with_database() -> tempfile::TempDir {
    let directory = directory();
    let path = directory.path();
    for title in ["one", "two", "three"] {
        run(path, &["add", title, "-c", "bug", "-a", "a"]).ok();
    }
    let published = fs::read(path.join("issues.json")).unwrap();
    let note = fs::read(store_directory(path).join("published")).unwrap();
    run(path, &["next", "-a", "worker"]).ok();
    fs::write(path.join("issues.json"), published).unwrap();
    fs::write(store_directory(path).join("published"), note).unwrap();
    settle(path);
    directory
}

/// Returns the id of an issue, from a sound store.
fn id_of(directory: &Path, title: &str) -> String {
    let issues = stored_issues(directory);
    let issue = issues.iter().find(|issue| issue["title"] == title).unwrap();
    issue["id"].as_str().unwrap().to_owned()
}

/// Damages rows of the database, behind the back of the store.
fn execute(directory: &Path, sql: &str) {
    let connection = rusqlite::Connection::open(database(directory)).unwrap();
    connection.execute_batch(sql).unwrap();
}

const DAMAGE_TEXT: &str = "UPDATE texts SET body = replace(body, '\"one\"', '\"oxe\"')";
const DAMAGE_EVENTS: &str = "UPDATE events SET body = replace(body, 'one', '\"') WHERE number = 1";
/// Each letter of the event can be read, and they are not those that were written.
const CHANGE_EVENTS: &str = "UPDATE events SET body = replace(body, '\"one\"', '\"oxe\"')";
const PRUNE_EVENTS: &str = "DELETE FROM events WHERE number < 4";

/// Checks that a salvage changes no file, and restores what it saved.
fn salvage_and_restore(path: &Path) -> (i32, Value) {
    let before = everything(path);
    let found = salvage(path);
    let mut after = everything(path);
    after.retain(|name, _| !name.ends_with("new.json"));
    assert_eq!(after, before);
    run(path, &["restore", "new.json", "--force"]).ok();
    found
}

#[test]
fn salvage_saves_each_readable_issue_and_names_the_rest() {
    let directory = directory();
    let path = directory.path();
    let issues: Vec<_> = (1..=3).map(|n| issue_json(&id(n), &format!("t{n}"), "created")).collect();
    write_issues(path, &issues);
    let text = fs::read_to_string(path.join("issues.json")).unwrap();
    let broken = text.replace("\"t2\"", "\"t2\" <<<<").replace("]\n}", "");
    fs::write(path.join("issues.json"), broken).unwrap();
    let before = everything(path);
    let (code, report) = salvage(path);
    assert_eq!((code, &report["issues"]), (1, &json!(2)));
    assert!(lost(&report).contains(&id(2)), "{report}");
    let mut after = everything(path);
    after.retain(|name, _| !name.ends_with("new.json"));
    assert_eq!(after, before);
    // It never overwrites an existing file.
    let again = run(path, &["doctor", "--salvage", "new.json"]).refusal();
    assert!(again.contains("exists already"), "{again}");
    run(path, &["restore", "new.json", "--force"]).ok();
    assert_eq!(titles(path), ["t1", "t3"]);
}

#[test]
fn salvage_of_a_sound_store_loses_nothing() {
    let directory = with_database();
    let path = directory.path();
    let sound = run(path, &["doctor", "--salvage", "sound.json"]).ok();
    assert!(sound.contains("saved 3 issues") && !sound.contains("lost"), "{sound}");
    let saved = fs::read_to_string(path.join("sound.json")).unwrap();
    assert!(saved.contains("in_progress"), "{saved}");
    let nothing = crate::support::directory();
    run(nothing.path(), &["doctor", "--salvage", "new.json"]).refusal();
    assert!(everything(nothing.path()).is_empty());
}

/// The first pages say where the tables begin. Every store has the same ones.
#[test]
fn store_without_its_first_bytes_or_pages_is_read_whole() {
    for (begin, end) in [(0, 100), (0, 2 * 4096)] {
        let directory = with_database();
        let path = directory.path();
        fs::remove_file(path.join("issues.json")).unwrap();
        execute(path, "PRAGMA wal_checkpoint(TRUNCATE)");
        let database = path.join(".ait/issues.json/queue.db");
        let mut bytes = fs::read(&database).unwrap();
        bytes[begin..end].fill(0xa5);
        fs::write(&database, bytes).unwrap();
        run(path, &["list"]).refusal();
        let (_, report) = salvage_and_restore(path);
        assert_eq!((&report["issues"], &report["rowsRead"]), (&json!(3), &json!(3)), "{report}");
        assert_eq!(titles(path).len(), 3);
    }
}

#[test]
fn damaged_issue_comes_back_from_its_events() {
    let directory = with_database();
    let path = directory.path();
    fs::remove_file(path.join("issues.json")).unwrap();
    execute(path, DAMAGE_TEXT);
    run(path, &["list"]).refusal();
    let (code, report) = salvage_and_restore(path);
    assert_eq!(
        (code, &report["issues"], &report["rowsRead"]),
        (1, &json!(3), &json!(3)),
        "{report}"
    );
    assert!(!lost(&report).contains("the issue"), "{report}");
    let mut found = titles(path);
    found.sort();
    assert_eq!(found, ["one", "three", "two"]);
    let issues = stored_issues(path);
    let one = issues.iter().find(|issue| issue["title"] == "one").unwrap();
    assert_eq!(one["status"], "in_progress");
    // The damaged database is kept.
    let is_kept = |path: &PathBuf| path.join("queue.db").exists();
    assert!(kept(path).iter().any(is_kept), "{:?}", kept(path));
}

#[test]
fn issue_with_damaged_events_comes_back_from_the_file() {
    for events in [DAMAGE_EVENTS, CHANGE_EVENTS, PRUNE_EVENTS] {
        let directory = with_database();
        let path = directory.path();
        let one = id_of(path, "one");
        execute(path, &format!("{DAMAGE_TEXT}; {events}"));
        let (code, report) = salvage_and_restore(path);
        assert_eq!((code, &report["issues"]), (1, &json!(3)), "{report}");
        assert_eq!(
            lost(&report),
            format!("what changed in the issue {one} after issues.json was written\n")
        );
        let issues = stored_issues(path);
        let found = issues.iter().find(|issue| issue["title"] == "one").unwrap();
        // The claim is lost.
        assert_eq!((&found["id"], &found["status"]), (&json!(one), &json!("created")));
    }
}

#[test]
fn each_lost_issue_is_named() {
    for events in [DAMAGE_EVENTS, CHANGE_EVENTS, PRUNE_EVENTS] {
        let directory = with_database();
        let path = directory.path();
        let one = id_of(path, "one");
        fs::remove_file(path.join("issues.json")).unwrap();
        execute(path, &format!("{DAMAGE_TEXT}; {events}"));
        let (code, report) = salvage_and_restore(path);
        assert_eq!((code, &report["issues"]), (1, &json!(2)), "{report}");
        assert!(lost(&report).contains(&format!("the issue {one}")), "{report}");
        assert_eq!(titles(path), ["two", "three"]);
    }
}

#[test]
fn issues_of_the_file_replace_a_database_that_cannot_be_read() {
    let garbage = |bytes: &mut Vec<u8>| bytes.fill(b'x');
    for change in [garbage, |bytes: &mut Vec<u8>| bytes.truncate(4096), Vec::clear] {
        let directory = with_database();
        let path = directory.path();
        change_database(path, change);
        let (code, report) = salvage_and_restore(path);
        assert_eq!(
            (code, &report["issues"], &report["rowsRead"]),
            (1, &json!(3), &json!(0)),
            "{report}"
        );
        assert!(!lost(&report).is_empty());
        assert_eq!(titles(path), ["one", "two", "three"]);
    }
}

/// A database of many pages, the last of which are lost.
#[test]
fn cut_database_gives_what_can_be_read() {
    const ISSUES: usize = 400;
    let directory = directory();
    let path = directory.path();
    let issue = |n| {
        let mut issue = issue_json(&id(n), &format!("t{n}"), "created");
        issue["description"] = "x".repeat(2000).into();
        issue
    };
    let issues: Vec<_> = (1..=ISSUES).map(issue).collect();
    write_issues(path, &issues);
    run(path, &["comment", &id(1), "-m", "text", "-a", "a"]).ok();
    change_database(path, |bytes| bytes.truncate(bytes.len() / 2));
    let copy = crate::support::directory();
    copy_directory(path, copy.path());
    // Without the file, issues are lost.
    fs::remove_file(copy.path().join("issues.json")).unwrap();
    let (code, report) = salvage_and_restore(copy.path());
    let saved = report["issues"].as_u64().unwrap() as usize;
    assert!(code == 1 && (1..ISSUES).contains(&saved), "{report}");
    let saved = stored_issues(copy.path());
    assert!(saved.iter().skip(1).all(|issue| issues.contains(issue)));
    // With it, all of them come back.
    let (code, report) = salvage_and_restore(path);
    assert_eq!((code, &report["issues"]), (1, &json!(ISSUES)), "{report}");
    let found = stored_issues(path);
    assert_eq!(found.iter().skip(1).cloned().collect::<Vec<_>>(), issues[1..]);
}
