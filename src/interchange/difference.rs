//! In what an issue in a file differs from the one with the same id in a store.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::value::RawValue;

use super::Draft;
use crate::domain::{Extra, Issue};
use crate::json_text::without_white_space;

/// The name under which all unknown keys are unstated.
pub(super) const EXTRA: &str = "extra";

/// The names of the attributes that differ, in the order of the file format; none when they are the same.
///
/// What the file does not state makes no difference, and neither does white space between the values of
/// unknown keys, nor their order.
pub fn differences(kept: &Issue, draft: &Draft) -> Vec<String> {
    let given = draft.issue.issue();
    let checks = [
        ("title", kept.title == given.title),
        ("description", kept.description == given.description),
        ("classification", kept.classification == given.classification),
        ("createdAt", kept.created_at == given.created_at),
        ("modifiedAt", kept.modified_at == given.modified_at),
        ("status", kept.status == given.status),
        ("history", is_same(&kept.history, &given.history)),
        ("comments", is_same(&kept.comments, &given.comments)),
    ];
    let is_stated = |name: &str| !draft.unstated.contains(&name);
    let differing = checks.iter().filter(|(name, is_same)| !is_same && is_stated(name));
    let mut names: Vec<String> = differing.map(|(name, _)| (*name).to_owned()).collect();
    names.extend(different_keys(&kept.extra, &given.extra, is_stated(EXTRA)));
    names
}

fn is_same<T: PartialEq + Serialize>(kept: &[T], given: &[T]) -> bool {
    let text = |list| serde_json::to_string(list).map(|text| without_white_space(&text)).ok();
    kept == given || kept.len() == given.len() && text(kept) == text(given)
}

fn different_keys(kept: &Extra, given: &Extra, are_all_stated: bool) -> Vec<String> {
    if kept == given {
        return Vec::new();
    }
    let value = |extra: &Extra, wanted: &str| {
        let found = extra.iter().find(|(key, _)| *key == wanted);
        found.map(|(_, value): (&str, &RawValue)| without_white_space(value.get()))
    };
    let keys = given.iter().chain(kept.iter().filter(|_| are_all_stated)).map(|(key, _)| key);
    let keys: BTreeSet<&str> = keys.collect();
    let differs = |key: &&str| value(kept, key) != value(given, key);
    keys.into_iter().filter(differs).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: &str = r#"{"id":"3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73","title":"T","description":"","classification":"bug","createdAt":"2026-01-31T09:30:00.000Z","modifiedAt":"2026-01-31T09:31:00.000Z","status":"created","history":[{"timestamp":"2026-01-31T09:31:00.000Z","agent":"a","action":"x","k":[1, 2]}],"comments":[],"a":1,"b":{"c": 2}}"#;

    fn names(given: &str, unstated: &[&'static str]) -> Vec<String> {
        let kept: Issue = serde_json::from_str(KEPT).unwrap();
        let issue = serde_json::from_str(given).unwrap();
        differences(&kept, &Draft { issue, unstated: unstated.to_vec() })
    }

    #[test]
    fn what_differs_is_named_and_nothing_else() {
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
    }
}
