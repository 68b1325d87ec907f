//! What is on disk: making it, and looking at it.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use agent_issue_tracker::domain::Query;
use agent_issue_tracker::store::{JsonStore, Store};
use serde_json::{Value, json};

use super::PATIENCE;

/// The files of a store after an orderly end, sorted.
pub const STORE_FILES: [&str; 3] = ["issues.json", "issues.json.journal", "issues.json.lock"];

/// The issues that the files in a directory hold, as any process reads them.
#[track_caller]
pub fn stored_issues(directory: &Path) -> Vec<Value> {
    let file = directory.join("issues.json");
    let read = move || {
        let store = JsonStore::new(file);
        let all = Query { take: usize::MAX, ..Query::default() };
        tokio::runtime::Runtime::new().unwrap().block_on(store.list(all))
    };
    // On a thread of its own: the test may run on one that already has a runtime.
    let page = thread::spawn(read).join().unwrap().unwrap();
    page.issues.iter().map(|issue| serde_json::to_value(&**issue).unwrap()).collect()
}

/// The issues in `issues.json` itself, which must be valid.
#[track_caller]
pub fn issues_in_file(directory: &Path) -> Vec<Value> {
    let bytes = fs::read(directory.join("issues.json")).unwrap();
    let mut document: Value = serde_json::from_slice(&bytes).unwrap();
    match document["issues"].take() {
        Value::Array(issues) => issues,
        other => panic!("not a list of issues: {other}"),
    }
}

/// Waits until `issues.json` itself is as it should be.
#[track_caller]
pub fn wait_for_file(directory: &Path, is_right: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let start = Instant::now();
    loop {
        if directory.join("issues.json").exists() {
            let issues = issues_in_file(directory);
            if is_right(&issues) {
                return issues;
            }
        }
        assert!(start.elapsed() < PATIENCE, "issues.json is not brought up to date");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Waits until the journal holds nothing but its header: a new one is the last that a checkpoint writes.
#[track_caller]
pub fn wait_for_new_journal(directory: &Path) {
    let start = Instant::now();
    let lines = || fs::read(directory.join("issues.json.journal")).unwrap();
    while lines().iter().filter(|byte| **byte == b'\n').count() > 1 {
        assert!(start.elapsed() < PATIENCE, "the journal does not begin anew");
        thread::sleep(Duration::from_millis(5));
    }
}

/// The names in a directory, sorted.
pub fn names(directory: &Path) -> Vec<String> {
    let mut names = all_names(directory);
    names.retain(|name| !name.ends_with(".processes"));
    names
}

/// The same with what tells of the processes on a store.
pub fn all_names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// An issue as a file may hold it, in the given status.
pub fn issue_json(id: &str, title: &str, status: &str) -> Value {
    let time = "2026-01-31T09:30:00.000Z";
    json!({
        "id": id, "title": title, "description": "d", "classification": "bug",
        "createdAt": time, "modifiedAt": time, "status": status,
        "history": [{ "timestamp": time, "agent": "a", "action": "Issue filed" }],
        "comments": [],
    })
}

/// A distinct id for each number.
pub fn id(number: usize) -> String {
    format!("{number:08x}-0000-4000-8000-000000000000")
}

/// Writes a file with the given issues.
pub fn write_issues(directory: &Path, issues: &[Value]) {
    let document = serde_json::to_vec_pretty(&json!({ "issues": issues })).unwrap();
    fs::write(directory.join("issues.json"), document).unwrap();
}
