//! One JSON object: an issue of this tracker, all or some of it, or one of beads.

use serde::Deserialize;
use serde_json::Value;

use super::{Content, Draft, beads, sketch};
use crate::domain::{Issue, Timestamp};
use crate::json_text;

/// Reads an object.
pub(super) fn read(text: &str, now: Timestamp) -> Content {
    let error = match serde_json::from_str::<Issue>(text) {
        Ok(issue) => return ours(issue, text),
        Err(error) => error,
    };
    let look = serde_json::from_str::<Look>(text).unwrap_or_default();
    if look.is_of_beads() {
        return beads::read(text, now);
    }
    match sketch::read(text, now) {
        Some(Ok(draft)) => Content::Issue(draft),
        Some(Err(reason)) => refused(text, &reason),
        None => refused(text, &json_text::problem(&error)),
    }
}

/// Says of an object why it cannot be taken over, and which one it is.
pub(super) fn refused(text: &str, reason: &str) -> Content {
    let look = serde_json::from_str::<Look>(text).unwrap_or_default();
    let words = |value: Option<Value>| match value {
        Some(Value::String(text)) => Some(text),
        Some(value @ Value::Number(_)) => Some(value.to_string()),
        _ => None,
    };
    Content::Refused { id: words(look.id), title: words(look.title), reason: reason.to_owned() }
}

fn ours(mut issue: Issue, text: &str) -> Content {
    // The values of unknown keys are kept to the letter: without line breaks they fit into one line.
    if issue.has_unknown_keys()
        && text.contains(['\n', '\r'])
        && let Ok(compact) = serde_json::from_str(&json_text::without_white_space(text))
    {
        issue = compact;
    }
    match issue.try_into() {
        Ok(issue) => Content::Issue(Draft { issue, unstated: Vec::new() }),
        Err(error) => refused(text, &error.to_string()),
    }
}

/// What tells whose object it is, and which one.
#[derive(Default, Deserialize)]
struct Look {
    id: Option<Value>,
    title: Option<Value>,
    #[serde(rename = "_type")]
    record_type: Option<Value>,
    issue_type: Option<Value>,
    created_at: Option<Value>,
    classification: Option<Value>,
}

impl Look {
    fn is_of_beads(&self) -> bool {
        let theirs = [&self.record_type, &self.issue_type, &self.created_at];
        self.classification.is_none() && theirs.into_iter().any(Option::is_some)
    }
}
