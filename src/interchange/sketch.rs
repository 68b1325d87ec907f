//! An object that says less than an issue, as people and their scripts write it: a title, and perhaps more.

use indexmap::IndexMap;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::{Draft, derived};
use crate::domain::{Classification, DomainError, Extra, HistoryEntry, Issue, Status, Timestamp};
use crate::json_text;

type Values = IndexMap<String, Box<RawValue>>;

/// Reads an object; `None` when it is none, or has no title. What it does not state is assumed, as for
/// the columns that a CSV file does not have; `now` for the times.
pub(super) fn read(text: &str, now: Timestamp) -> Option<Result<Draft, String>> {
    let mut values: Values = serde_json::from_str(&json_text::without_white_space(text)).ok()?;
    values.retain(|_, value| value.get() != "null");
    values.contains_key("title").then(|| draft(values, now))
}

fn draft(mut values: Values, now: Timestamp) -> Result<Draft, String> {
    const KEYS: [&str; 7] = [
        "description",
        "classification",
        "createdAt",
        "modifiedAt",
        "status",
        "history",
        "comments",
    ];
    let unstated = KEYS.into_iter().filter(|key| !values.contains_key(*key)).collect();
    let title: String = taken(&mut values, "title")?.unwrap_or_default();
    let description: String = taken(&mut values, "description")?.unwrap_or_default();
    let id = taken(&mut values, "id")?;
    let created_at = taken(&mut values, "createdAt")?;
    let modified_at = taken(&mut values, "modifiedAt")?;
    let created_at = created_at.or(modified_at).unwrap_or(now);
    let mut issue = Issue {
        id: id.unwrap_or_else(|| derived::id("json", &[&title, &description])),
        title,
        description,
        classification: taken(&mut values, "classification")?
            .unwrap_or(Classification::Improvement),
        created_at,
        modified_at: modified_at.unwrap_or(created_at),
        status: taken(&mut values, "status")?.unwrap_or(Status::Created),
        history: taken::<Vec<HistoryEntry>>(&mut values, "history")?.unwrap_or_default(),
        comments: taken(&mut values, "comments")?.unwrap_or_default(),
        extra: Extra::default(),
    };
    issue.status = derived::status(issue.status, &issue.history);
    for (key, value) in values {
        issue.extra.insert(key, value);
    }
    let issue = issue.try_into().map_err(|error: DomainError| error.to_string())?;
    Ok(Draft { issue, unstated })
}

/// Takes the value of a key out, if it is there.
fn taken<T: DeserializeOwned>(values: &mut Values, key: &str) -> Result<Option<T>, String> {
    let Some(value) = values.shift_remove(key) else { return Ok(None) };
    let value = serde_json::from_str(value.get());
    value.map(Some).map_err(|error| format!("{key}: {}", json_text::problem(&error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now() -> Timestamp {
        Timestamp::parse("2026-02-01T00:00:00Z").unwrap()
    }

    #[test]
    fn what_is_left_out_is_assumed_and_what_is_unknown_is_kept() {
        let text = r#"{"title": "T", "labels": ["a", "b"], "id": null}"#;
        let Draft { issue, unstated } = read(text, now()).unwrap().unwrap();
        assert_eq!(unstated.len(), 7);
        let issue = issue.issue();
        assert_eq!((&*issue.title, &*issue.description), ("T", ""));
        assert_eq!(
            (issue.status, issue.classification),
            (Status::Created, Classification::Improvement)
        );
        assert_eq!((issue.created_at, issue.modified_at), (now(), now()));
        assert_eq!(issue.extra.get("labels"), Some("[\"a\",\"b\"]"));
        let claimed = r#"{"title": "T", "status": "in_progress"}"#;
        let claimed = read(claimed, now()).unwrap().unwrap();
        assert_eq!(claimed.issue.issue().status, Status::Created);
        let again = read(text, now()).unwrap().unwrap();
        assert_eq!(again.issue.issue().id, issue.id);
        let text = r#"{"title":"T","modifiedAt":"2026-01-31T09:30:00Z","classification":"bug"}"#;
        let Draft { issue, unstated } = read(text, now()).unwrap().unwrap();
        assert_eq!(issue.issue().created_at, issue.issue().modified_at);
        assert_eq!(issue.issue().created_at, Timestamp::parse("2026-01-31T09:30:00Z").unwrap());
        assert_eq!(unstated, ["description", "createdAt", "status", "history", "comments"]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, expected) in [
            (r#"{"title":1}"#, "title: invalid type"),
            (r#"{"title":"T","classification":"epic"}"#, "classification: unknown variant `epic`"),
            (r#"{"title":"T","id":"T-12"}"#, "id: "),
            (r#"{"title":" "}"#, "title is blank"),
        ] {
            let error = read(text, now()).unwrap().unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
        for text in ["1", "[]", "{}", r#"{"title":null}"#] {
            assert!(read(text, now()).is_none(), "{text}");
        }
    }
}
