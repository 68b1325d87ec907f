//! Issues as files of other programs, and of other queues of this one, hold them.
//!
//! Bytes in, issues out, and back; no files, no store, no clock. Three forms are written and read:
//!
//! | form | what |
//! |---|---|
//! | [`json`] | one document, as `issues.json` itself; the original AgentIssueTracker writes the same |
//! | [`json_lines`] | one issue a line |
//! | [`csv`] | one issue a row, for spreadsheets |
//!
//! Both forms of JSON may hold issues of [`beads`] as well, one object like the other.

pub mod beads;
pub mod csv;
mod derived;
pub mod difference;
pub mod json;
pub mod json_lines;
mod object;
mod sketch;

use std::io;
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::domain::{Importable, Issue, Timestamp};
use crate::json_text::{self, FormatError};

/// The form of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// One JSON document.
    Json,
    /// JSON Lines.
    JsonLines,
    /// Values separated by commas, or by semicolons or tabs when they are read.
    Csv,
}

impl Form {
    /// Every form.
    pub const ALL: [Self; 3] = [Self::Json, Self::JsonLines, Self::Csv];

    /// The word for it on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::JsonLines => "jsonl",
            Self::Csv => "csv",
        }
    }

    /// The form that a word stands for.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.as_str() == word)
    }

    /// The form that an extension of a file's name promises.
    pub fn of_extension(extension: &str) -> Option<Self> {
        match extension.to_ascii_lowercase().as_str() {
            "json" => Some(Self::Json),
            "jsonl" | "ndjson" => Some(Self::JsonLines),
            "csv" | "tsv" => Some(Self::Csv),
            _ => None,
        }
    }

    /// The form that bytes have; where they leave it open, the one that their name promises.
    pub fn of(bytes: &[u8], promised: Option<Self>) -> Self {
        let bytes = json_text::without_byte_order_mark(bytes).trim_ascii_start();
        let json = if promised == Some(Self::JsonLines) { Self::JsonLines } else { Self::Json };
        match bytes.first() {
            Some(b'[') => Self::Json,
            Some(b'{') => {
                let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
                let (first, rest) = bytes.split_at(end);
                let is_whole = serde_json::from_slice::<&RawValue>(first).is_ok();
                if is_whole && !rest.trim_ascii().is_empty() {
                    Self::JsonLines
                } else {
                    // A document, or a single line.
                    json
                }
            }
            _ => promised.unwrap_or(Self::Csv),
        }
    }
}

/// One entry of a file.
#[derive(Clone, PartialEq, Debug)]
pub struct Entry {
    /// The line that it begins on, counted from 1.
    pub line: usize,
    /// What it is.
    pub content: Content,
}

/// What an entry of a file is.
#[derive(Clone, PartialEq, Debug)]
pub enum Content {
    /// An issue that can be taken over.
    Issue(Draft),
    /// Something else.
    Refused {
        /// What the file calls it.
        id: Option<String>,
        /// Its title, where it has one.
        title: Option<String>,
        /// Why it cannot be taken over, and the way out.
        reason: String,
    },
}

/// An issue as a file has it.
#[derive(Clone, PartialEq, Debug)]
pub struct Draft {
    /// The issue.
    pub issue: Importable,
    /// The names of its attributes of which the file says nothing, so that they were assumed.
    pub unstated: Vec<&'static str>,
}

/// Why nothing in a file can be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unreadable {
    /// It is no JSON of the right shape.
    #[error(transparent)]
    Json(#[from] FormatError),
    /// It holds other bytes than text.
    #[error("line {line} is not UTF-8: save the file as UTF-8 (a spreadsheet calls it CSV UTF-8)")]
    NotUtf8 {
        /// The line, counted from 1.
        line: usize,
    },
    /// It has no column for what every issue needs.
    #[error(
        "its first line names no column \"title\": it must be a header such as \
         id,title,description,classification,status; \"{found}\" is none"
    )]
    NoTitleColumn {
        /// The first line, cut where it is long.
        found: String,
    },
    /// There is nothing in it.
    #[error("it is empty")]
    Empty,
}

/// Reads the entries of a file, in its order. `now` is assumed where a file gives no time.
///
/// # Errors
///
/// What keeps all of it from being read; what is wrong with one entry is said in that entry.
pub fn read(bytes: &[u8], form: Form, now: Timestamp) -> Result<Vec<Entry>, Unreadable> {
    let bytes = json_text::without_byte_order_mark(bytes);
    // No line is no issue: so is the export of an empty queue.
    if bytes.trim_ascii().is_empty() && form != Form::JsonLines {
        return Err(Unreadable::Empty);
    }
    let text = str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        Unreadable::NotUtf8 { line: 1 + count_of_lines(before) }
    })?;
    match form {
        Form::Csv => csv::read(text, now),
        Form::Json => Ok(json::read(text, now)?),
        Form::JsonLines => Ok(json_lines::read(text, now)),
    }
}

/// Writes issues; calls `written` after each.
///
/// # Errors
///
/// Those of `out`.
pub fn write(
    issues: &[Arc<Issue>],
    form: Form,
    out: &mut impl io::Write,
    written: &dyn Fn(),
) -> io::Result<()> {
    match form {
        Form::Json => json::write(issues, out, written),
        Form::JsonLines => json_lines::write(issues, out, written),
        Form::Csv => csv::write(issues, out, written),
    }
}

fn count_of_lines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_that_of_the_content_and_the_name_decides_what_that_leaves_open() {
        use Form::{Csv, Json, JsonLines};
        for (bytes, promised, form) in [
            ("{\"issues\": []}", None, Json),
            ("{\n  \"issues\": []\n}\n", Some(Csv), Json),
            ("\u{feff}[{}]", Some(Csv), Json),
            ("{\"id\":1}\n{\"id\":2}\n", Some(Json), JsonLines),
            ("\n{\"id\":1}\n\n", Some(JsonLines), JsonLines),
            ("{\"id\":1}\n", None, Json),
            ("{\"id\":\n{\"id\":2}\n", Some(JsonLines), JsonLines),
            ("{\"id\":\n{\"id\":2}\n", None, Json),
            ("title;status\n", None, Csv),
            ("<<<<<<< ours\n", Some(Json), Json),
            ("", Some(JsonLines), JsonLines),
        ] {
            assert_eq!(Form::of(bytes.as_bytes(), promised), form, "{bytes}");
        }
        for form in Form::ALL {
            assert_eq!(Form::of_extension(form.as_str()), Some(form));
            assert_eq!(Form::from_word(form.as_str()), Some(form));
        }
    }
}
