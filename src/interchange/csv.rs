//! CSV (RFC 4180, UTF-8, with a header): one issue per row, for spreadsheets.
//!
//! The columns are `id`, `title`, `description`, `classification`, `status`, `createdAt`, `modifiedAt`, `history`,
//! `comments` and `extra`. The last three contain JSON; `extra` contains the attributes and the unknown keys. So an import restores an
//! export exactly.
//!
//! # Formulas
//!
//! A spreadsheet evaluates a cell that begins with `=`, `+`, `-` or `@`, and the texts of agents are untrusted. A
//! title or description that begins with one of these, or with an apostrophe, is exported with an apostrophe in
//! front. Importing a file with all of ait's columns removes it again.
//!
//! # Files of other programs
//!
//! Only a title is required. Columns may be in any order and case, be separated by commas, semicolons or tabs, and
//! have the names in [`super::fields`]. Other columns are kept under the unknown key `csv`.

use std::io;
use std::sync::Arc;

use ::csv::{Reader, ReaderBuilder, StringRecord, WriterBuilder};
use serde::Serialize;

use super::difference::EXTRA;
use super::fields::{Field, Meaning};
use super::partial_issue::{Fault, Given, PartialIssue};
use super::times::{self, DateOrder};
use super::value::Value;
use super::{Content, Entry, ReadOptions, Unreadable, count_of_lines};
use crate::domain::text::shortened;
use crate::domain::{Attributes, Issue, UnknownFields};

/// The columns of an export, in order.
const COLUMNS: [&str; 10] = [
    "id",
    "title",
    "description",
    "classification",
    "status",
    "createdAt",
    "modifiedAt",
    "history",
    "comments",
    EXTRA,
];
/// The unknown key that keeps other columns.
pub(super) const KEY: &str = "csv";
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];
const SHOWN_CHARS: usize = 60;

/// The value of the column `extra`.
#[derive(Serialize)]
struct Extra<'a> {
    #[serde(flatten)]
    attributes: &'a Attributes,
    #[serde(flatten)]
    unknown: &'a UnknownFields,
}

/// Writes issues.
///
/// # Errors
///
/// Returns the errors of `out`.
pub fn write(
    issues: &[Arc<Issue>],
    out: &mut impl io::Write,
    written: &dyn Fn(),
) -> io::Result<()> {
    let mut rows = WriterBuilder::new().from_writer(out);
    rows.write_record(COLUMNS).map_err(of_out)?;
    for issue in issues {
        let extra = match issue.attributes.is_empty() && issue.extra.is_empty() {
            true => String::new(),
            false => serde_json::to_string(&Extra {
                attributes: &issue.attributes,
                unknown: &issue.extra,
            })?,
        };
        let row = [
            issue.id.to_string(),
            guarded(&issue.title),
            guarded(&issue.description),
            issue.classification.to_string(),
            issue.status.to_string(),
            issue.created_at.to_string(),
            issue.modified_at.to_string(),
            json(&issue.history)?,
            json(&issue.comments)?,
            extra,
        ];
        rows.write_record(row).map_err(of_out)?;
        written();
    }
    rows.flush()
}

fn json(list: &impl Serialize) -> io::Result<String> {
    Ok(serde_json::to_string(list)?)
}

/// Unwraps the I/O error, so that callers can recognize a closed pipe.
fn of_out(error: ::csv::Error) -> io::Error {
    match error.into_kind() {
        ::csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

fn looks_like_a_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@', '\t', '\r'])
}

/// Escapes a text that a spreadsheet would evaluate.
fn guarded(text: &str) -> String {
    if looks_like_a_formula(text) || text.starts_with('\'') {
        format!("'{text}")
    } else {
        text.to_owned()
    }
}

fn unguarded(text: &str) -> &str {
    match text.strip_prefix('\'') {
        Some(rest) if looks_like_a_formula(rest) || rest.starts_with('\'') => rest,
        _ => text,
    }
}

/// Reads the entries.
///
/// # Errors
///
/// Returns an error if there is no column for the title, or if a column of the mapping is missing.
pub fn read(text: &str, options: &ReadOptions) -> Result<Vec<Entry>, Unreadable> {
    let mut widest = Vec::new();
    for separator in SEPARATORS {
        let mut reader = reader(text, separator);
        let Ok(names) = reader.headers() else { continue };
        let header = Header::of(names, options);
        if header.meanings.contains(&Meaning::Field(Field::Title)) {
            options.mapping.check(header.names.iter().map(String::as_str))?;
            let date_order = header.date_order((text, separator)).or(options.date_order);
            let options = ReadOptions { date_order, ..options.clone() };
            return Ok(entries((text, separator), &mut reader, &header, &options));
        }
        if header.names.len() > widest.len() {
            widest = header.names;
        }
    }
    options.mapping.check(widest.iter().map(String::as_str))?;
    let first = text.lines().next().unwrap_or_default();
    let found = shortened(&first.replace(char::is_control, " "), SHOWN_CHARS);
    Err(Unreadable::NoTitleColumn { found })
}

fn reader(text: &str, separator: u8) -> Reader<&[u8]> {
    // Rows may be shorter than the header. Longer rows are reported below.
    ReaderBuilder::new().delimiter(separator).flexible(true).from_reader(text.as_bytes())
}

fn entries(
    (text, separator): (&str, u8),
    reader: &mut Reader<&[u8]>,
    header: &Header,
    options: &ReadOptions,
) -> Vec<Entry> {
    let mut entries = Vec::new();
    let (mut line, mut counted_to) = (1, 0);
    for row in reader.records() {
        let Ok(row) = row else {
            unreachable!("text in memory, of rows of any length, can be read");
        };
        // The position of a row may lie within the line break before it, so lines are counted here.
        let begin = row.position().map_or(0, |position| position.byte());
        let begin = usize::try_from(begin).unwrap_or(usize::MAX).min(text.len());
        let breaks =
            text.as_bytes()[begin..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
        let begin = begin + breaks.count();
        line += count_of_lines(&text.as_bytes()[counted_to..begin]);
        counted_to = begin;
        if row.iter().all(|cell| cell.trim().is_empty()) {
            continue;
        }
        entries.push(Entry { line, content: header.content(&row, options) });
    }
    if let Some(last) = entries.last_mut().filter(|_| is_left_open(text, separator)) {
        let reason = format!(
            "a quotation mark in the row from line {} on is never closed, so this row and the rows after \
             it cannot be separated: close it",
            last.line
        );
        last.content = Content::Refused { id: None, title: None, reason, blamed: None };
    }
    entries
}

/// Returns true if the last cell begins with a quotation mark that is never closed (RFC 4180, 2.5 to 2.7).
fn is_left_open(text: &str, separator: u8) -> bool {
    let (mut is_open, mut begins) = (false, true);
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' if is_open && bytes.peek() == Some(&b'"') => drop(bytes.next()),
            b'"' if is_open => is_open = false,
            b'"' if begins => is_open = true,
            _ => {}
        }
        begins = !is_open && (byte == separator || matches!(byte, b'\n' | b'\r'));
    }
    is_open
}

/// The columns of a file and their meanings.
struct Header {
    names: Vec<String>,
    meanings: Vec<Meaning>,
    /// Whether the file has all of ait's columns, so that ait exported it.
    is_ours: bool,
}

impl Header {
    fn of(names: &StringRecord, options: &ReadOptions) -> Self {
        let names: Vec<String> = names.iter().map(|name| name.trim().to_owned()).collect();
        let meanings = options.mapping.meanings(names.iter().map(String::as_str));
        let is_ours = COLUMNS.iter().all(|column| names.iter().any(|name| name == column));
        Self { names, meanings, is_ours }
    }

    /// Returns the order of day and month that the dates of the file show.
    fn date_order(&self, (text, separator): (&str, u8)) -> Option<DateOrder> {
        let is_time = |meaning: &Meaning| {
            let times = [Field::CreatedAt, Field::ModifiedAt, Field::ClosedAt];
            times.iter().any(|field| *meaning == Meaning::Field(*field))
        };
        let (mut reader, mut row) = (reader(text, separator), StringRecord::new());
        while self.meanings.iter().any(is_time) && reader.read_record(&mut row).ok()? {
            let cells = row.iter().zip(&self.meanings).filter(|(_, meaning)| is_time(meaning));
            if let Some(order) = cells.map(|(cell, _)| cell).find_map(times::order_of) {
                return Some(order);
            }
        }
        None
    }

    fn content(&self, row: &StringRecord, options: &ReadOptions) -> Content {
        let cells = row.iter().zip(self.names.iter().zip(&self.meanings));
        let given = cells.filter_map(|(cell, (name, meaning))| {
            let is_text = [Field::Title, Field::Description].map(Meaning::Field).contains(meaning);
            let cell = if self.is_ours && is_text { unguarded(cell) } else { cell };
            let cell = options.mapping.replacement(name, Value::Cell(cell)).unwrap_or(cell);
            Given::new(name, *meaning, Value::Cell(cell))
        });
        let values = given.collect();
        let issue = PartialIssue { values, is_ours: self.is_ours, key: KEY, keeps_names: false };
        let (cells, columns) = (row.len(), self.names.len());
        let draft = if cells > columns {
            let reason = format!(
                "the row has {cells} cells and the header {columns}: enclose texts with separators in \
                 quotation marks"
            );
            Err(Fault { blamed: None, reason })
        } else {
            issue.draft(options)
        };
        draft.map_or_else(|fault| issue.refused(fault), Content::Issue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formula_escaping_round_trips() {
        for text in ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "'x", "''=x", "x", "", "x=1", "a'b"] {
            assert!(!looks_like_a_formula(&guarded(text)), "{text}");
            assert_eq!(unguarded(&guarded(text)), text);
        }
        assert_eq!(unguarded("'quoted' by hand"), "'quoted' by hand");
    }
}
