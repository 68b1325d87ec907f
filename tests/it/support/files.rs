//! Creates and reads files of a store.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use agent_issue_tracker::domain::Query;
use agent_issue_tracker::store::{SqliteStore, Store};
use serde_json::{Value, json};

use super::PATIENCE;

/// The names that a store has in its directory after an orderly shutdown, sorted.
pub const STORE_FILES: [&str; 2] = [".ait", "issues.json"];

/// Returns the issues of a store as any process reads them.
#[track_caller]
pub fn stored_issues(directory: &Path) -> Vec<Value> {
    let file = directory.join("issues.json");
    let read = move || {
        let store = SqliteStore::new(file);
        let all = Query { take: usize::MAX, ..Query::default() };
        tokio::runtime::Runtime::new().unwrap().block_on(async {
            let page = store.list(all).await;
            // Its threads must not write to the files that a test looks at next.
            store.close().await;
            page
        })
    };
    // Use a separate thread, because the test may already run in a Tokio runtime.
    let page = thread::spawn(read).join().unwrap().unwrap();
    page.issues.iter().map(|issue| serde_json::to_value(&**issue).unwrap()).collect()
}

/// Returns the only issue of a store, as any process reads it.
#[track_caller]
pub fn only_issue(directory: &Path) -> Value {
    let mut issues = stored_issues(directory);
    assert_eq!(issues.len(), 1, "{issues:?}");
    issues.remove(0)
}

/// Returns the issues in `issues.json`, which must be valid.
#[track_caller]
pub fn issues_in_file(directory: &Path) -> Vec<Value> {
    let bytes = fs::read(directory.join("issues.json")).unwrap();
    let mut document: Value = serde_json::from_slice(&bytes).unwrap();
    match document["issues"].take() {
        Value::Array(issues) => issues,
        other => panic!("not a list of issues: {other}"),
    }
}

/// Waits until `issues.json` satisfies a condition.
#[track_caller]
pub fn wait_for_file(directory: &Path, is_expected: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let start = Instant::now();
    loop {
        if directory.join("issues.json").exists() {
            let issues = issues_in_file(directory);
            if is_expected(&issues) {
                return issues;
            }
        }
        assert!(start.elapsed() < PATIENCE, "issues.json does not reach the expected state");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Returns the names in a directory, sorted.
pub fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Returns the database of the store of `issues.json` in a directory.
pub fn database(directory: &Path) -> PathBuf {
    store_directory(directory).join("queue.db")
}

/// Moves what the log of SQLite has into the database, so that all of it is in one file. Returns false if a process
/// that reads it prevents that.
pub fn settle(directory: &Path) -> bool {
    let connection = rusqlite::Connection::open(database(directory)).unwrap();
    let is_busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
    is_busy == Ok(0)
}

/// Changes the bytes of the database, which no process may use.
pub fn change_database(directory: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    settle(directory);
    let path = database(directory);
    let mut bytes = fs::read(&path).unwrap();
    change(&mut bytes);
    fs::write(path, bytes).unwrap();
}

/// Damages the text of an issue, which is found by a word in it.
pub fn damage_text(directory: &Path, word: &str) {
    let damage = |bytes: &mut Vec<u8>| {
        let places: Vec<usize> = bytes
            .windows(word.len())
            .enumerate()
            .filter(|(_, found)| *found == word.as_bytes())
            .map(|(place, _)| place)
            .collect();
        assert!(!places.is_empty(), "{word} is not in the database");
        for place in places {
            bytes[place] ^= 1;
        }
    };
    change_database(directory, damage);
}

/// Returns the directory of the database and all other files of the store except `issues.json`.
pub fn store_directory(directory: &Path) -> PathBuf {
    directory.join(".ait/issues.json")
}

/// Returns the files in quarantine.
pub fn kept(directory: &Path) -> Vec<PathBuf> {
    let kept = store_directory(directory).join("kept");
    if !kept.exists() {
        return Vec::new();
    }
    names(&kept).into_iter().map(|name| kept.join(name)).collect()
}

/// Copies a directory recursively.
pub fn copy_directory(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for name in names(from) {
        let (from, to) = (from.join(&name), to.join(&name));
        if from.is_dir() {
            copy_directory(&from, &to);
        } else {
            fs::copy(from, to).unwrap();
        }
    }
}

/// Returns an issue with this id, title and status, as it stands in `issues.json`.
pub fn issue_json(id: &str, title: &str, status: &str) -> Value {
    let time = "2026-01-31T09:30:00.000Z";
    json!({
        "id": id, "title": title, "description": "d", "classification": "bug",
        "createdAt": time, "modifiedAt": time, "status": status,
        "history": [{ "timestamp": time, "agent": "a", "action": "Issue filed" }],
        "comments": [],
    })
}

/// Returns a distinct id for each number.
pub fn id(number: usize) -> String {
    format!("{number:08x}-0000-4000-8000-000000000000")
}

/// Writes a file with the given issues.
pub fn write_issues(directory: &Path, issues: &[Value]) {
    let document = serde_json::to_vec_pretty(&json!({ "issues": issues })).unwrap();
    fs::write(directory.join("issues.json"), document).unwrap();
}
