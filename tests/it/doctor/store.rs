//! The files of a store, and the histories of its issues.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};

use super::{everything, examine, fix, healthy};
use crate::support::files::{
    change_database, damage_text, database, id, issue_json, settle, store_directory, stored_issues,
    wait_for_file, write_issues,
};
use crate::support::runs::run;
use crate::support::{Client, directory};

/// Returns a store with four changes, whose only process was killed.
fn with_database() -> tempfile::TempDir {
    let directory = directory();
    let mut client = Client::start(directory.path());
    client.add("one", "bug");
    for title in ["two", "three", "four"] {
        client.add(title, "bug");
    }
    wait_for_file(directory.path(), |issues| issues.len() == 4);
    client.signal("KILL");
    client.wait();
    // Other tests cover the entry that the process left in the process registry.
    fs::remove_dir_all(store_directory(directory.path()).join("processes")).unwrap();
    examine(directory.path()).only(&[]).ends_with(0);
    directory
}

fn issue_with_history(status: &str, actions: &[&str]) -> Value {
    let mut issue = issue_json(&id(1), "one", status);
    let entry = |action: &&str| json!({ "timestamp": "2026-01-31T09:30:00.000Z", "agent": "a", "action": action });
    issue["history"] = actions.iter().map(entry).collect();
    issue
}

#[test]
fn invalid_file_is_reported_with_line_and_column() {
    let directory = healthy();
    let path = directory.path();
    for has_database in [true, false] {
        fs::write(path.join("issues.json"), "{\n  \"issues\": [\n    x\n").unwrap();
        let before = everything(path);
        let examined = examine(path);
        examined.is("valid", "problem").says("valid", &["line 3, column 5"]).ends_with(1);
        examined.is("readable", "ok");
        if has_database {
            // Agents continue with the issues of the database.
            examined.only(&["valid"]).is("histories", "ok").says("valid", &["ait save"]);
        } else {
            examined.is("histories", "skipped").says("valid", &["--salvage"]);
        }
        fix(path).is("valid", "problem").ends_with(1);
        let output = run(path, &["doctor", "--fix"]).out;
        let message = "not repaired: issues.json, line 3, column 5: ";
        assert!(
            output.contains(message) && output.contains("only a person can repair this"),
            "{output}"
        );
        assert!(!run(path, &["doctor"]).out.contains("not repaired"));
        assert_eq!(everything(path), before);
        fs::remove_dir_all(path.join(".ait")).unwrap_or_default();
    }
}

#[test]
fn unreadable_store_is_reported() {
    let directory = directory();
    fs::create_dir(directory.path().join("issues.json")).unwrap();
    examine(directory.path()).is("readable", "problem").ends_with(1);
}

#[test]
fn missing_file_is_reported_and_republished_from_the_database() {
    let directory = with_database();
    let path = directory.path();
    let before = fs::read(path.join("issues.json")).unwrap();
    fs::remove_file(path.join("issues.json")).unwrap();
    let examined = examine(path);
    examined.only(&["journal"]).says("journal", &["is gone", "ait save", "--fix"]).ends_with(0);
    assert!(!path.join("issues.json").exists());
    let fixed = fix(path);
    fixed.only(&[]).ends_with(0);
    assert_eq!(fixed.report["repaired"].as_array().unwrap().len(), 1, "{}", fixed.report);
    assert_eq!(fs::read(path.join("issues.json")).unwrap(), before);
}

#[test]
fn duplicate_ids_are_reported_with_lines_and_not_repaired() {
    let directory = directory();
    let path = directory.path();
    let one = issue_json(&id(1), "one", "created");
    let other = issue_json(&id(1), "another", "created");
    for (twin, words) in [(one.clone(), "identical each time"), (other, "different contents")] {
        write_issues(path, &[one.clone(), issue_json(&id(2), "two", "created"), twin]);
        let before = everything(path);
        let examined = examine(path);
        examined.is("ids", "problem").says("ids", &[&id(1), words, "lines 3, "]).ends_with(1);
        fix(path).is("ids", "problem").ends_with(1);
        assert_eq!(everything(path), before);
    }
}

/// Each way to damage the database, with what the doctor says.
#[test]
fn damage_is_reported_and_not_repaired() {
    type Damage = fn(&Path);
    let text: Damage = |path| damage_text(path, "three");
    let cut: Damage = |path| change_database(path, |bytes| bytes.truncate(bytes.len() / 2));
    let garbage: Damage = |path| change_database(path, |bytes| bytes.fill(b'x'));
    let missing: Damage = |path| fs::remove_file(database(path)).unwrap();
    let empty: Damage = |path| change_database(path, Vec::clear);
    for (damage, words) in [
        (text, "is not what was written"),
        (cut, "malformed"),
        (garbage, "queue.db: file is not a database"),
        (missing, "queue.db is missing or empty, and had 4 changes"),
        (empty, "queue.db is missing or empty, and had 4 changes"),
    ] {
        let directory = with_database();
        let path = directory.path();
        settle(path);
        damage(path);
        let before = everything(path);
        let examined = examine(path);
        examined.is("journal", "problem").ends_with(1);
        examined.says("journal", &[words, "--salvage", "ait restore"]);
        fix(path).is("journal", "problem").ends_with(1);
        assert_eq!(everything(path), before, "{words}");
    }
}

/// SQLite ignores what was not written to the end of its log.
#[test]
fn torn_end_of_the_log_of_sqlite_is_no_problem() {
    let directory = directory();
    let path = directory.path();
    let mut client = Client::start(path);
    client.add("one", "bug");
    client.signal("KILL");
    client.wait();
    let log = database(path).with_file_name("queue.db-wal");
    File::options().append(true).open(log).unwrap().write_all(&[b'x'; 2000]).unwrap();
    assert_eq!(stored_issues(path).len(), 1);
    run(path, &["add", "later", "-c", "bug", "-a", "a"]).ok();
    examine(path).is("journal", "ok");
    assert_eq!(stored_issues(path).len(), 2);
}

#[test]
fn database_that_is_older_than_the_file_is_reported() {
    let directory = with_database();
    let path = directory.path();
    settle(path);
    let older = fs::read(database(path)).unwrap();
    run(path, &["add", "five", "-c", "bug", "-a", "a"]).ok();
    run(path, &["save"]).ok();
    examine(path).only(&[]).ends_with(0);
    change_database(path, |bytes| *bytes = older);
    let examined = examine(path);
    examined.only(&["journal"]).is("journal", "problem").ends_with(1);
    examined.says("journal", &["contains event 5, which the database lacks"]);
}

#[test]
fn file_of_another_store_is_reported_and_not_overwritten() {
    let directory = with_database();
    let path = directory.path();
    write_issues(path, &[issue_json(&id(9), "from elsewhere", "created")]);
    let examined = examine(path);
    examined.only(&["journal"]).is("journal", "problem").ends_with(1);
    examined.says("journal", &["none of the issues", "ait import"]);
    let before = fs::read(path.join("issues.json")).unwrap();
    fix(path).is("journal", "problem").ends_with(1);
    assert_eq!(fs::read(path.join("issues.json")).unwrap(), before);
    assert_eq!(stored_issues(path).len(), 4);
}

#[test]
fn database_of_a_newer_version_is_reported() {
    let directory = with_database();
    let path = directory.path();
    let connection = rusqlite::Connection::open(database(path)).unwrap();
    connection.execute_batch("PRAGMA user_version = 1000").unwrap();
    drop(connection);
    examine(path).ends_with(1).says("readable", &["newer version", "update"]);
}

#[test]
fn impossible_histories_are_reported() {
    let (filed, claimed) = ("Issue filed", "Issue claimed for work");
    for (issue, verdict, words, code) in [
        (
            issue_with_history("closed", &[filed]),
            "problem",
            "is closed, while its history leads to created",
            1,
        ),
        (
            issue_with_history("in_progress", &[filed, claimed, claimed]),
            "warning",
            "from in_progress",
            0,
        ),
        (
            issue_with_history(
                "created",
                &[filed, "Issue closed", "Issue returned to created status"],
            ),
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
    let mut issue = issue_with_history("created", &[filed]);
    issue["modifiedAt"] = json!("2025-01-31T09:30:00.000Z");
    write_issues(directory.path(), &[issue]);
    examine(directory.path())
        .is("histories", "warning")
        .says("histories", &["before it was filed"]);
}

#[test]
fn old_claims_and_repeatedly_returned_issues_are_reported() {
    let directory = directory();
    let (filed, claimed) = ("Issue filed", "Issue claimed for work");
    let back = "Issue returned to created status";
    let mut often =
        issue_with_history("created", &[filed, claimed, back, claimed, back, claimed, back]);
    often["id"] = json!(id(2));
    write_issues(directory.path(), &[issue_with_history("in_progress", &[filed, claimed]), often]);
    let examined = examine(directory.path());
    examined.only(&["claims", "returns"]).ends_with(0);
    examined.says("claims", &["ait return 00000001", "by a", "one"]);
    examined.says("returns", &["00000002", "returned 3 times"]);
}

#[test]
fn future_times_of_issues_and_files_are_reported() {
    let directory = directory();
    let path = directory.path();
    let mut issue = issue_with_history("created", &["Issue filed"]);
    issue["modifiedAt"] = json!("2999-01-31T09:30:00.000Z");
    write_issues(path, &[issue]);
    examine(path).only(&["clock"]).says("clock", &["00000001", "2999-01-31", "timedatectl"]);
    write_issues(path, &[issue_json(&id(1), "one", "created")]);
    let file = File::options().write(true).open(path.join("issues.json")).unwrap();
    file.set_modified(SystemTime::now() + Duration::from_secs(3_600)).unwrap();
    examine(path).only(&["clock"]).says("clock", &["issues.json was written at"]).ends_with(0);
}
