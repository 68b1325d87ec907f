//! `ait doctor --salvage`: saves the readable issues of a damaged store.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::everything;
use crate::support::files::{id, issue_json, kept, newest_segment, stored_issues, write_issues};
use crate::support::runs::run;
use crate::support::{Client, directory};

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

/// Returns a store without `issues.json` that has four changes in its log. The last one claims the first issue.
fn with_log() -> tempfile::TempDir {
    let directory = directory();
    let mut client = Client::start(directory.path());
    for title in ["one", "two", "three"] {
        client.add(title, "bug");
    }
    client.call("get_next_issue", json!({ "agent": "worker" })).ok();
    client.signal("KILL");
    client.wait();
    let _ = fs::remove_file(directory.path().join("issues.json"));
    directory
}

/// Returns the offset of each line of a segment.
fn lines(bytes: &[u8]) -> Vec<usize> {
    let ends = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    [0].into_iter().chain(ends.map(|(at, _)| at + 1)).collect()
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
fn salvage_applies_changes_before_and_after_log_damage() {
    let directory = with_log();
    let path = directory.path();
    let segment = newest_segment(path);
    let mut bytes = fs::read(&segment).unwrap();
    let lines = lines(&bytes);
    // Within the second change.
    bytes[lines[2] + 40] ^= 1;
    fs::write(&segment, &bytes).unwrap();
    let before = everything(path);
    let (code, report) = salvage(path);
    assert_eq!((code, &report["changesMade"]), (1, &json!(3)), "{report}");
    let losses = lost(&report);
    assert!(losses.contains("change 2 of the log"), "{losses}");
    assert!(losses.contains(&format!("at byte {}", lines[2])), "{losses}");
    let mut after = everything(path);
    after.retain(|name, _| !name.ends_with("new.json"));
    assert_eq!(after, before);
    run(path, &["restore", "new.json", "--force"]).ok();
    assert_eq!(titles(path), ["one", "three"]);
    assert_eq!(stored_issues(path)[0]["status"], "in_progress");
    // The damaged segment is kept.
    let kept: Vec<_> = kept(path).into_iter().map(|path| path.display().to_string()).collect();
    assert!(kept.iter().any(|path| path.contains("damaged")), "{kept:?}");
}

#[test]
fn salvage_reads_a_log_without_a_header_and_a_sound_store() {
    let directory = with_log();
    let path = directory.path();
    let sound = run(path, &["doctor", "--salvage", "sound.json"]).ok();
    assert!(sound.contains("saved 3 issues"), "{sound}");
    let segment = newest_segment(path);
    let mut bytes = fs::read(&segment).unwrap();
    bytes[30] ^= 1;
    fs::write(&segment, &bytes).unwrap();
    let (code, report) = salvage(path);
    assert_eq!((code, &report["changesMade"]), (1, &json!(4)), "{report}");
    assert_eq!(report["issues"], 3, "{report}");
    let nothing = crate::support::directory();
    run(nothing.path(), &["doctor", "--salvage", "new.json"]).refusal();
    assert!(everything(nothing.path()).is_empty());
}
