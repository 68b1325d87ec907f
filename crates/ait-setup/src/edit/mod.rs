//! Edits of the user's files: they add and remove what is ours, and keep comments, order and indentation.
//!
//! Each edit is a function from a text to a text, and changes nothing the second time. Knows no files.

pub mod gitignore;
pub mod json;
pub mod marked;
#[cfg(test)]
mod tests;
pub mod toml;

use serde_json::{Map, Value};

/// The members of a server's entry, in the order in which they are written.
pub type ServerEntry = Map<String, Value>;

/// The members that name the transport. An entry that changes loses those that ours does not have.
const TRANSPORT_MEMBERS: [&str; 7] =
    ["type", "source", "command", "args", "url", "httpUrl", "serverUrl"];

/// Why a text cannot be edited.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EditError {
    /// The text does not parse.
    #[error("line {line}, column {column}: {reason}")]
    Syntax {
        /// The line, counted from 1.
        line: usize,
        /// The column in characters, counted from 1.
        column: usize,
        /// What is wrong.
        reason: String,
    },
    /// The text parses, but has a value of another type where ours belongs.
    #[error("{0}")]
    Shape(String),
}

/// The members to remove from an entry that is to have the transport of `entry`.
fn stale<'a>(names: impl Iterator<Item = String> + 'a, entry: &'a ServerEntry) -> Vec<String> {
    let is_stale =
        |name: &String| TRANSPORT_MEMBERS.contains(&name.as_str()) && !entry.contains_key(name);
    names.filter(is_stale).collect()
}

/// Returns true if two entries have the same transport, whatever other members the first one has.
pub fn is_same_transport(one: &Value, entry: &ServerEntry) -> bool {
    let Some(members) = one.as_object() else { return false };
    entry.iter().all(|(name, value)| members.get(name) == Some(value))
        && stale(members.keys().cloned(), entry).is_empty()
}

/// Returns true if a text is empty, or an empty object in JSON. A comment counts as content.
pub fn is_blank(text: &str) -> bool {
    let text: String = split_mark(text).1.split_whitespace().collect();
    text.is_empty() || text == "{}"
}

fn no_list(path: &[&str]) -> EditError {
    EditError::Shape(format!("{:?} is expected to be a list, in brackets", path.join(".")))
}

/// Splits the byte order mark from a text.
fn split_mark(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 })
}

/// How the lines of a text end.
fn line_end(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}
