//! The differences between an issue in a file and the stored issue with the same id.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use serde::Serialize;
use serde_json::value::RawValue;

use super::ImportDraft;
use super::fields::{EXTRA, common_name};
use super::value::Value;
use ait_domain::external_id::{CSV_KEY, JSON_KEY, RECORD_KEY};
use ait_domain::json_compat::without_white_space;
use ait_domain::{AttributeValues, Comment, Issue, UnknownKeys};

/// Returns the names of the attributes that differ, in the order of the file format; empty if there are none.
///
/// Attributes that the file does not state are not compared. The order of unknown keys and white space in their
/// values are ignored.
pub fn differences(kept: &Issue, draft: &ImportDraft) -> Vec<String> {
    let given = draft.issue.issue();
    // What was changed here later is newer, and another field tells what.
    let is_older = !draft.is_of_ait() && given.modified_at < kept.modified_at;
    let checks = [
        ("title", kept.title == given.title),
        ("description", kept.description == given.description),
        ("classification", kept.classification == given.classification),
        ("createdAt", kept.created_at == given.created_at),
        ("modifiedAt", is_older || kept.modified_at == given.modified_at),
        ("status", kept.status == given.status),
        ("history", is_same(&kept.history, &given.history)),
        ("comments", is_same(&kept.comments, &with_times_of(kept, draft))),
    ];
    let is_stated = |name: &str| !draft.unstated.contains(&name);
    let differing = checks.iter().filter(|(name, is_same)| !is_same && is_stated(name));
    let mut names: Vec<String> = differing.map(|(name, _)| (*name).to_owned()).collect();
    let mut parked = AttributeValues::clone(&given.attributes);
    if let (Some(given), Some(kept)) = (&mut parked.parked, &kept.attributes.parked)
        && !draft.is_of_ait()
    {
        // The file says that the issue waits, and not since when.
        given.since = kept.since;
    }
    let attributes = kept.attributes.changed_fields(&parked).into_iter();
    let is_given = |name: &&str| is_stated(EXTRA) || given.attributes.set_fields().contains(name);
    names.extend(attributes.filter(is_given).map(str::to_owned));
    let kept = &kept.unknown_keys;
    let given = &given.unknown_keys;
    names.extend(if is_stated(EXTRA) {
        different_keys(kept, given)
    } else {
        different_values(kept, given)
    });
    names
}

/// Returns the comments of a draft. Those without a time have the one that the first import gave them.
fn with_times_of(kept: &Issue, draft: &ImportDraft) -> Vec<Comment> {
    let given = draft.issue.issue();
    let has_no_time = |comment: &Comment| {
        draft.unstated.contains(&"modifiedAt") && comment.timestamp == given.modified_at
    };
    let mut comments = given.comments.clone();
    for (comment, kept) in comments.iter_mut().zip(&kept.comments) {
        if has_no_time(comment) {
            comment.timestamp = kept.timestamp;
        }
    }
    comments
}

fn is_same<T: PartialEq + Serialize>(kept: &[T], given: &[T]) -> bool {
    let text = |list| serde_json::to_string(list).map(|text| without_white_space(&text)).ok();
    kept == given || kept.len() == given.len() && text(kept) == text(given)
}

fn different_keys(kept: &UnknownKeys, given: &UnknownKeys) -> Vec<String> {
    if kept == given {
        return Vec::new();
    }
    let value = |keys: &UnknownKeys, wanted: &str| {
        let found = keys.iter().find(|(key, _)| *key == wanted);
        found.map(|(_, value): (&str, &RawValue)| without_white_space(value.get()))
    };
    let keys: BTreeSet<&str> = given.iter().chain(kept.iter()).map(|(key, _)| key).collect();
    let differs = |key: &&str| value(kept, key) != value(given, key);
    keys.into_iter().filter(differs).map(str::to_owned).collect()
}

/// Compares the given values only, and only their content: a value of a CSV file equals that of a JSON object.
fn different_values(kept: &UnknownKeys, given: &UnknownKeys) -> Vec<String> {
    let kept = common_values(kept);
    let given = common_values(given);
    let differs = |(name, (_, value)): &(&String, &(String, String))| {
        kept.get(*name).is_none_or(|(_, kept)| kept != value)
    };
    given.iter().filter(differs).map(|(_, (shown, _))| shown.clone()).collect()
}

/// Returns the name and the content of each value, by the name that all formats share.
fn common_values(keys: &UnknownKeys) -> BTreeMap<String, (String, String)> {
    let mut values = BTreeMap::new();
    for (key, value) in keys.iter() {
        let inner: IndexMap<String, Box<RawValue>> = match key {
            CSV_KEY | JSON_KEY | RECORD_KEY => {
                serde_json::from_str(value.get()).unwrap_or_default()
            }
            _ => IndexMap::new(),
        };
        let outer = inner.is_empty().then(|| (key.to_owned(), value.to_owned()));
        for (name, value) in inner.into_iter().chain(outer) {
            let content = Value::Json(&value).content();
            values.insert(common_name(&name), (name, content));
        }
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: &str = r#"{"id":"3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73","title":"T","description":"","classification":"bug","createdAt":"2026-01-31T09:30:00.000Z","modifiedAt":"2026-01-31T09:31:00.000Z","status":"created","history":[{"timestamp":"2026-01-31T09:31:00.000Z","agent":"a","action":"x","k":[1, 2]}],"comments":[],"a":1,"b":{"c": 2}}"#;

    fn names(given: &str, unstated: &[&'static str]) -> Vec<String> {
        let kept: Issue = serde_json::from_str(KEPT).unwrap();
        let issue = serde_json::from_str(given).unwrap();
        differences(
            &kept,
            &ImportDraft { unstated: unstated.to_vec(), ..ImportDraft::of_ait(issue) },
        )
    }

    #[test]
    fn only_differing_fields_are_named() {
        let none: [&str; 0] = [];
        assert_eq!(names(KEPT, &[]), none);
        let spaced = KEPT.replace(": 2", ":\n2").replace("[1, 2]", "[1,2]");
        assert_eq!(names(&spaced, &[]), none);
        let turned = KEPT.replace(r#""a":1,"b":{"c": 2}"#, r#""b":{"c": 2},"a":1"#);
        assert_eq!(names(&turned, &[]), none);
        let other = KEPT
            .replace("\"T\"", "\"U\"")
            .replace("\"created\"", "\"closed\"")
            .replace("[1, 2]", "[1]")
            .replace("\"a\":1", "\"n\":1");
        assert_eq!(names(&other, &[]), ["title", "status", "history", "a", "n"]);
        assert_eq!(names(&other, &["status", "history", "extra"]), ["title", "n"]);
        let as_csv = KEPT.replace(r#""a":1,"b":{"c": 2}"#, r#""csv":{"A":"1","N":"x, y"}"#);
        assert_eq!(names(&as_csv, &["extra"]), ["N"]);
    }
}
