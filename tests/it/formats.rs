//! Files that earlier versions have written. They are never edited; a version that writes something
//! else adds its own.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::files::{issues_in_file, names, stored_issues};
use crate::support::{Client, directory};

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");

/// A copy of a fixture's files, and the issues that they hold.
fn copied(fixture: &str) -> (tempfile::TempDir, Vec<Value>) {
    let (directory, fixture) = (directory(), Path::new(FIXTURES).join(fixture));
    for name in names(&fixture).iter().filter(|name| *name != "expected.json") {
        fs::copy(fixture.join(name), directory.path().join(name)).unwrap();
    }
    let expected = fs::read(fixture.join("expected.json")).unwrap();
    let mut expected: Value = serde_json::from_slice(&expected).unwrap();
    let Value::Array(expected) = expected["issues"].take() else { panic!("no issues") };
    (directory, expected)
}

/// A journal with every kind of change, behind an `issues.json` that was edited by hand, without what
/// the file system knew of it; and the same with a checkpoint that was interrupted between its two
/// renames.
#[test]
fn stores_of_version_1_load_and_go_on() {
    for fixture in ["store_v1", "store_v1_interrupted"] {
        let (directory, expected) = copied(fixture);
        assert_eq!(stored_issues(directory.path()), expected, "{fixture}");
        let mut client = Client::start(directory.path());
        let id = client.add("goes on", "bug");
        assert!(client.close().success());
        let issues = issues_in_file(directory.path());
        assert_eq!(issues[..expected.len()], expected, "{fixture}");
        assert_eq!(issues.last().unwrap()["id"], id);
        let text = fs::read_to_string(directory.path().join("issues.json")).unwrap();
        assert!(text.contains("\"made by\": \"hand\"") && text.contains("1.5"), "{text}");
        let journal = fs::read_to_string(directory.path().join("issues.json.journal")).unwrap();
        assert!(!journal.contains("\"edited\""), "{fixture} was taken for an edit");
    }
}

/// What the store writes has not changed without a fixture of its own: a journal that is taken up again
/// is continued in the same words.
#[test]
fn the_words_of_the_journal_are_those_of_the_fixture() {
    let journal =
        fs::read_to_string(Path::new(FIXTURES).join("store_v1/issues.json.journal")).unwrap();
    let (directory, _) = copied("store_v1");
    fs::remove_file(directory.path().join("issues.json.journal")).unwrap();
    let mut client = Client::start(directory.path());
    client.add("t", "bug");
    client.signal("KILL");
    client.wait();
    let written = fs::read_to_string(directory.path().join("issues.json.journal")).unwrap();
    let keys = |line: &str| -> Vec<String> {
        let value: Value = serde_json::from_str(&line[18..]).unwrap();
        value.as_object().unwrap().keys().cloned().collect()
    };
    let (old, new): (Vec<_>, Vec<_>) = (journal.lines().collect(), written.lines().collect());
    let of_old: Vec<_> =
        keys(old[0]).into_iter().filter(|key| key != "follows" && key != "tookMs").collect();
    assert_eq!(keys(new[0]), of_old);
    assert_eq!(keys(new[1]), keys(old[1]));
}

/// A journal that was left with an import in it, and with what became of the issue afterwards.
#[test]
fn a_journal_with_an_import_loads_and_goes_on() {
    let (directory, expected) = copied("store_v1_imported");
    let journal = fs::read_to_string(directory.path().join("issues.json.journal")).unwrap();
    assert!(journal.contains("\"event\":\"imported\""), "{journal}");
    assert_eq!(stored_issues(directory.path()), expected);
    let mut client = Client::start(directory.path());
    client.add("goes on", "bug");
    assert!(client.close().success());
    assert_eq!(issues_in_file(directory.path())[..expected.len()], expected);
}

/// An edit by hand that contains what the journal tells, as a copy made meanwhile does: nothing is
/// made twice.
#[test]
fn an_edit_that_contains_an_import_is_taken_over_as_it_is() {
    let (directory, expected) = copied("store_v1_imported");
    let edited = serde_json::json!({ "issues": expected }).to_string();
    fs::write(directory.path().join("issues.json"), edited).unwrap();
    assert_eq!(stored_issues(directory.path()), expected);
}

/// A journal that was left with comments alone in it, one of them behind the end of its issue; and the
/// same behind an edit by hand that contains what it tells.
#[test]
fn a_journal_with_comments_loads_and_goes_on() {
    let (directory, expected) = copied("store_v1_commented");
    let journal = fs::read_to_string(directory.path().join("issues.json.journal")).unwrap();
    assert_eq!(journal.matches("\"event\":\"commented\"").count(), 2, "{journal}");
    assert_eq!(stored_issues(directory.path()), expected);
    let mut client = Client::start(directory.path());
    client.add("goes on", "bug");
    assert!(client.close().success());
    assert_eq!(issues_in_file(directory.path())[..expected.len()], expected);
    let (directory, expected) = copied("store_v1_commented");
    let edited = serde_json::json!({ "issues": expected }).to_string();
    fs::write(directory.path().join("issues.json"), edited).unwrap();
    assert_eq!(stored_issues(directory.path()), expected);
}
