//! Edits of files that belong to somebody else: what is ours comes and goes, all other bytes stay.
//!
//! Each edit is a function from a text to a text. It knows no files, and it is the same done twice.

pub mod ignored;
pub mod json;
pub mod marked;
#[cfg(test)]
mod tests;
pub mod toml;

use serde_json::{Map, Value};

/// The members of a server's entry, in the order in which they are written.
pub type Entry = Map<String, Value>;

/// The members that say how a server is reached. Those of an entry that ours does not have are from
/// another way to reach it.
const WAYS: [&str; 7] = ["type", "source", "command", "args", "url", "httpUrl", "serverUrl"];

/// Why a text cannot be edited.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum EditError {
    /// It is not of its format.
    #[error("line {line}, column {column}: {reason}")]
    Syntax {
        /// The line, counted from 1.
        line: usize,
        /// The column in characters, counted from 1.
        column: usize,
        /// What is wrong.
        reason: String,
    },
    /// It is of its format, but has something else where ours belongs.
    #[error("{0}")]
    Shape(String),
}

/// The text before an entry was set at a path, where that is all that has changed since.
fn way_back<'a>(
    text: &str,
    path: &[&str],
    entry: &Value,
    original: Option<&'a str>,
    set: fn(&str, &[&str], &Entry) -> Result<String, EditError>,
) -> Option<&'a str> {
    let empty = Entry::new();
    let entry = entry.as_object().unwrap_or(&empty);
    original.filter(|original| set(original, path, entry).is_ok_and(|edited| edited == text))
}

/// The members of an entry that are to go, where this one is to be reached as `entry` says.
fn stale<'a>(names: impl Iterator<Item = String> + 'a, entry: &'a Entry) -> Vec<String> {
    let is_stale = |name: &String| WAYS.contains(&name.as_str()) && !entry.contains_key(name);
    names.filter(is_stale).collect()
}

/// Tells whether a server is reached by one entry as it is by another, whatever else is set for it.
pub fn is_same_way(one: &Value, entry: &Entry) -> bool {
    let Some(members) = one.as_object() else { return false };
    entry.iter().all(|(name, value)| members.get(name) == Some(value))
        && stale(members.keys().cloned(), entry).is_empty()
}

/// The byte order mark that a text begins with, if it does, and the text behind it.
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

/// The line and the column of a place in a text, counted from 1.
fn place(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line = 1 + before.matches('\n').count();
    let column = 1 + before.rsplit('\n').next().unwrap_or_default().chars().count();
    (line, column)
}
