//! Comments, as other programs write them.

use indexmap::IndexMap;
use serde_json::value::RawValue;

use super::defaults::{AGENT, agent};
use super::times::{self, DateOrder};
use super::value::Value;
use ait_domain::json_compat;
use ait_domain::{Comment, Timestamp};

type Keys = IndexMap<String, Box<RawValue>>;

/// Returns the comments in a value, or `None` if it is something else, such as their number. Comments without a time
/// get that of `otherwise`.
pub(super) fn read(
    value: Value<'_>,
    order: Option<DateOrder>,
    otherwise: Timestamp,
) -> Result<Option<Vec<Comment>>, String> {
    let list: Vec<Box<RawValue>> = match value {
        Value::Cell(text) => {
            let json = text.trim_start().starts_with('[');
            match value.parsed() {
                Ok(list) if json => list,
                _ if text.trim().bytes().all(|byte| byte.is_ascii_digit()) => return Ok(None),
                _ => return Ok(Some(vec![of_text(text, order, otherwise)])),
            }
        }
        Value::Json(json) => match serde_json::from_str(json.get()).or_else(|_| page(json)) {
            Ok(list) => list,
            Err(_) => {
                return Ok(value.text().map(|text| vec![of_text(&text, order, otherwise)]));
            }
        },
    };
    let comments = list.iter().map(|json| of_json(json, order, otherwise));
    let has_text = |comment: &Result<Comment, _>| {
        comment.as_ref().map_or(true, |comment| !comment.text.trim().is_empty())
    };
    // Redmine lists changes of fields among the comments, without a text.
    comments.filter(has_text).collect::<Result<_, _>>().map(Some)
}

/// Returns the comments in a page, as GraphQL interfaces have it.
fn page(json: &RawValue) -> serde_json::Result<Vec<Box<RawValue>>> {
    let page: Keys = serde_json::from_str(json.get())?;
    serde_json::from_str(page.get("nodes").map_or("null", |nodes| nodes.get()))
}

/// Reads a text. Jira puts the time and the author before it, separated by semicolons.
fn of_text(text: &str, order: Option<DateOrder>, otherwise: Timestamp) -> Comment {
    let mut parts = text.splitn(3, ';');
    if let (Some(time), Some(author), Some(text)) = (parts.next(), parts.next(), parts.next())
        && let Ok(time) = times::parse(time, order)
    {
        return Comment::new(time, agent(Some(author)), text);
    }
    Comment::new(otherwise, AGENT, text)
}

fn of_json(
    json: &RawValue,
    order: Option<DateOrder>,
    otherwise: Timestamp,
) -> Result<Comment, String> {
    if let Ok(comment) = serde_json::from_str(json.get()) {
        return Ok(comment);
    }
    if let Some(text) = Value::Json(json).text() {
        return Ok(of_text(&text, order, otherwise));
    }
    let mut keys: Keys = serde_json::from_str(json.get())
        .map_err(|error| format!("a comment is no object: {}", json_compat::problem(&error)))?;
    keys.retain(|_, value| value.get() != "null");
    let text = taken(&mut keys, &["text", "body", "content", "notes", "description"])
        .and_then(|text| Value::Json(&text).text());
    let time = taken(
        &mut keys,
        &["timestamp", "createdAt", "created_at", "created", "created_on", "entry"],
    );
    let time = time.map(|time| {
        let text = Value::Json(&time).name();
        let parsed = text.and_then(|text| times::parse(&text, order).ok());
        parsed.ok_or_else(|| format!("the time of a comment is {}", Value::Json(&time).shown()))
    });
    let author = taken(&mut keys, &["agent", "author", "user", "created_by"]);
    let author = author.and_then(|author| Value::Json(&author).name());
    let text = text.ok_or("a comment has neither text nor body")?;
    let mut comment =
        Comment::new(time.transpose()?.unwrap_or(otherwise), agent(author.as_deref()), text);
    for (key, value) in keys {
        if !matches!(key.as_str(), "timestamp" | "agent" | "text") {
            comment.unknown_keys.insert(key, value);
        }
    }
    Ok(comment)
}

/// Removes the first of these keys that is there.
fn taken(keys: &mut Keys, names: &[&str]) -> Option<Box<RawValue>> {
    names.iter().find_map(|name| keys.shift_remove(*name))
}
