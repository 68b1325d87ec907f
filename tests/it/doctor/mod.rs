//! `ait doctor`: each test causes a problem, checks that the binary reports it, and repairs it if doctor can.

mod around;
mod clients;
mod git_conflicts;
mod links;
mod prompts;
mod salvage;
mod store;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::files::settle;
use crate::support::runs::run;
use crate::support::{ait, directory};

/// The JSON report of the binary on a store, and the exit code.
struct Examined {
    report: Value,
    code: i32,
}

fn examine(directory: &Path) -> Examined {
    examine_by(ait(directory).args(["doctor", "--json"]))
}

fn fix(directory: &Path) -> Examined {
    examine_by(ait(directory).args(["doctor", "--fix", "--json"]))
}

#[track_caller]
fn examine_by(command: &mut Command) -> Examined {
    let output = command.output().unwrap();
    let report = serde_json::from_slice(&output.stdout);
    let report = report
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
    Examined { report, code: output.status.code().unwrap() }
}

impl Examined {
    #[track_caller]
    fn finding(&self, check: &str) -> &Value {
        let findings = self.report["findings"].as_array().unwrap();
        let found = findings.iter().find(|finding| finding["check"] == check);
        found.unwrap_or_else(|| panic!("no {check} in {}", self.report))
    }

    #[track_caller]
    fn is(&self, check: &str, verdict: &str) -> &Self {
        assert_eq!(self.finding(check)["verdict"], verdict, "{:#}", self.finding(check));
        self
    }

    /// Checks that the finding contains all of these words.
    #[track_caller]
    fn says(&self, check: &str, words: &[&str]) -> &Self {
        let text = self.finding(check).to_string();
        for word in words {
            assert!(text.contains(word), "no {word:?} in {text}");
        }
        self
    }

    /// Checks that only these checks report warnings or problems.
    #[track_caller]
    fn only(&self, checks: &[&str]) -> &Self {
        let findings = self.report["findings"].as_array().unwrap();
        let is_bad =
            |finding: &&Value| ["warning", "problem"].iter().any(|bad| finding["verdict"] == *bad);
        let reported = findings.iter().filter(is_bad);
        let reported: Vec<_> = reported.map(|finding| finding["check"].as_str().unwrap()).collect();
        assert_eq!(reported, checks, "{:#}", self.report);
        self
    }

    #[track_caller]
    fn ends_with(&self, code: i32) -> &Self {
        assert_eq!(self.code, code, "{:#}", self.report);
        self
    }
}

/// Returns every file below a directory with its content.
fn everything(directory: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.to_str().unwrap().to_owned();
        if path.is_dir() {
            found.extend(everything(&path));
            found.insert(name, Vec::new());
        } else {
            found.insert(name, fs::read(&path).unwrap());
        }
    }
    found
}

/// Returns a directory whose store has one issue, which a command filed.
fn healthy() -> tempfile::TempDir {
    let directory = directory();
    run(directory.path(), &["add", "one", "-c", "bug", "-a", "a"]).ok();
    // A read moves what the log of SQLite has into the database.
    settle(directory.path());
    directory
}

fn git(directory: &Path, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(directory).args(["-c", "user.name=t", "-c", "user.email=t@t"]);
    let output = command.args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn healthy_store_passes_and_stays_unchanged() {
    let directory = healthy();
    let before = everything(directory.path());
    let examined = examine(directory.path());
    examined.only(&[]).ends_with(0);
    let findings = examined.report["findings"].as_array().unwrap();
    assert!(findings.len() >= 15, "{}", findings.len());
    assert!(examined.report["tookMs"].as_u64().unwrap() < 5_000);
    assert_eq!(everything(directory.path()), before);
    // `--fix` repairs nothing either.
    let fixed = fix(directory.path());
    assert!(fixed.report.get("repaired").is_none(), "{}", fixed.report);
    assert_eq!(everything(directory.path()), before);
}

#[test]
fn doctor_does_not_create_a_store() {
    let directory = directory();
    examine(directory.path()).only(&[]).ends_with(0);
    assert!(everything(directory.path()).is_empty());
    let missing =
        ait(directory.path()).args(["--file", "no/where.json", "doctor", "--json"]).output();
    let text = String::from_utf8(missing.unwrap().stdout).unwrap();
    assert!(text.contains("does not exist") && text.contains("mkdir -p"), "{text}");
    assert!(everything(directory.path()).is_empty());
}

#[test]
fn report_marks_verdicts_by_symbol_and_lists_problems_last() {
    let directory = directory();
    fs::write(directory.path().join("issues.json"), "{\n  \"issues\": [\n    x\n").unwrap();
    let shown = run(directory.path(), &["doctor"]);
    assert_eq!((shown.code, shown.log.as_str()), (1, ""), "{}", shown.out);
    let position =
        |text: &str| shown.out.find(text).unwrap_or_else(|| panic!("no {text:?}: {}", shown.out));
    assert!(position("✓ settings") < position("✗ valid"), "{}", shown.out);
    assert!(position("line 3, column 5") < position("1 problem"), "{}", shown.out);
    assert!(position("- histories") < position("✗ valid"), "{}", shown.out);
}
