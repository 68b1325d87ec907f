//! CSV (RFC 4180, in UTF-8, with a header): one issue a row, for spreadsheets.
//!
//! Written are the columns `id`, `title`, `description`, `classification`, `status`, `createdAt`,
//! `modifiedAt`, `history`, `comments` and `extra`; the last three hold JSON, and `extra` the keys that
//! this version does not know. So what was exported is imported as it was.
//!
//! # Formulas
//!
//! A spreadsheet runs a cell that begins with `=`, `+`, `-` or `@`, and what agents write can come from
//! anywhere. Such a title or description gets an apostrophe in front, as one that begins with an
//! apostrophe does; reading a file with all of our columns takes it away again.
//!
//! # Files of others
//!
//! Only a title is needed. Columns may be in any order and case, separated by commas, semicolons or tabs,
//! and have other usual names. What no column says is assumed: created, an improvement, filed now. Without
//! an id of ours, one is derived from the id in the file, or else from title and description, so that a
//! second import finds the same issues. Columns that mean nothing here are kept under the unknown key `csv`.

mod row;

use std::io;
use std::sync::Arc;

use ::csv::{Reader, ReaderBuilder, StringRecord, WriterBuilder};
use serde::Serialize;

use self::row::Row;
use super::difference::EXTRA;
use super::{Content, Entry, Unreadable, count_of_lines};
use crate::domain::text::shortened;
use crate::domain::{Issue, Timestamp};

/// The columns that are written, in this order.
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
/// What others call them: in lower case, without what may stand between words.
const OTHER_NAMES: [(&str, &str); 14] = [
    ("summary", "title"),
    ("subject", "title"),
    ("name", "title"),
    ("body", "description"),
    ("type", "classification"),
    ("kind", "classification"),
    ("issuetype", "classification"),
    ("state", "status"),
    ("created", "createdAt"),
    ("updated", "modifiedAt"),
    ("updatedat", "modifiedAt"),
    ("modified", "modifiedAt"),
    ("key", "id"),
    ("issuekey", "id"),
];
/// The key under which other columns are kept.
const KEY: &str = "csv";
const SEPARATORS: [u8; 3] = [b',', b';', b'\t'];
const SHOWN_CHARS: usize = 60;

/// Writes issues.
///
/// # Errors
///
/// Those of `out`.
pub fn write(
    issues: &[Arc<Issue>],
    out: &mut impl io::Write,
    written: &dyn Fn(),
) -> io::Result<()> {
    let mut rows = WriterBuilder::new().from_writer(out);
    rows.write_record(COLUMNS).map_err(of_out)?;
    for issue in issues {
        let extra = if issue.extra.iter().next().is_some() {
            serde_json::to_string(&issue.extra)?
        } else {
            String::new()
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

/// The error of the file itself, so that a closed pipe is known as one.
fn of_out(error: ::csv::Error) -> io::Error {
    match error.into_kind() {
        ::csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

fn looks_like_a_formula(text: &str) -> bool {
    text.starts_with(['=', '+', '-', '@', '\t', '\r'])
}

/// A text that no spreadsheet runs.
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
/// There is no column for the title.
pub fn read(text: &str, now: Timestamp) -> Result<Vec<Entry>, Unreadable> {
    for separator in SEPARATORS {
        let mut reader = reader(text, separator);
        let Ok(names) = reader.headers() else { continue };
        let header = Header::of(names);
        if header.place_of("title").is_some() {
            return Ok(entries((text, separator), &mut reader, &header, now));
        }
    }
    let first = text.lines().next().unwrap_or_default();
    let found = shortened(&first.replace(char::is_control, " "), SHOWN_CHARS);
    Err(Unreadable::NoTitleColumn { found })
}

fn reader(text: &str, separator: u8) -> Reader<&[u8]> {
    // Rows may be shorter than the header; longer ones are told apart below.
    ReaderBuilder::new().delimiter(separator).flexible(true).from_reader(text.as_bytes())
}

fn entries(
    (text, separator): (&str, u8),
    reader: &mut Reader<&[u8]>,
    header: &Header,
    now: Timestamp,
) -> Vec<Entry> {
    let mut entries = Vec::new();
    let (mut line, mut counted_to) = (1, 0);
    for row in reader.records() {
        let Ok(row) = row else {
            unreachable!("text in memory, of rows of any length, can be read");
        };
        // Counted here, because a row may be said to begin within the line break before it.
        let begin = row.position().map_or(0, |position| position.byte());
        let begin = usize::try_from(begin).unwrap_or(usize::MAX).min(text.len());
        let breaks = text.as_bytes()[begin..].iter().take_while(|it| matches!(it, b'\r' | b'\n'));
        let begin = begin + breaks.count();
        line += count_of_lines(&text.as_bytes()[counted_to..begin]);
        counted_to = begin;
        if row.iter().all(|cell| cell.trim().is_empty()) {
            continue;
        }
        let row = Row { header, cells: &row };
        let content = match row.draft(now) {
            Ok(draft) => Content::Issue(draft),
            Err(reason) => {
                let text = |name| row.cell(name).map(|text| shortened(text, SHOWN_CHARS));
                Content::Refused { id: text("id"), title: text("title"), reason }
            }
        };
        entries.push(Entry { line, content });
    }
    if let Some(last) = entries.last_mut().filter(|_| is_left_open(text, separator)) {
        let reason = format!(
            "a quotation mark from line {} on is never closed, so that this row and what follows it \
             cannot be told apart: close it",
            last.line
        );
        last.content = Content::Refused { id: None, title: None, reason };
    }
    entries
}

/// Tells whether the last cell begins with a quotation mark that nothing closes (RFC 4180, 2.5 to 2.7).
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

/// What the columns of a file mean.
struct Header {
    names: Vec<String>,
    /// What each of them means here.
    meanings: Vec<Option<&'static str>>,
    /// Whether the file has all of our columns, and so was written here.
    is_ours: bool,
}

impl Header {
    fn of(names: &StringRecord) -> Self {
        let names: Vec<String> = names.iter().map(|name| name.trim().to_owned()).collect();
        let mut meanings = Vec::new();
        for name in &names {
            let meaning = meaning_of(name).filter(|meaning| !meanings.contains(&Some(*meaning)));
            meanings.push(meaning);
        }
        let is_ours = COLUMNS.iter().all(|column| names.iter().any(|name| name == column));
        Self { names, meanings, is_ours }
    }

    fn place_of(&self, column: &str) -> Option<usize> {
        self.meanings.iter().position(|meaning| *meaning == Some(column))
    }
}

fn meaning_of(name: &str) -> Option<&'static str> {
    let is_between = |character: char| matches!(character, ' ' | '_' | '-');
    let plain = name.to_lowercase().replace(is_between, "");
    let ours = COLUMNS.into_iter().find(|column| column.to_lowercase() == plain);
    let of_others = || OTHER_NAMES.iter().find(|(other, _)| *other == plain).map(|(_, ours)| *ours);
    ours.or_else(of_others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_run_as_a_formula_and_each_comes_back_as_it_was() {
        for text in ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "'x", "''=x", "x", "", "x=1", "a'b"] {
            assert!(!looks_like_a_formula(&guarded(text)), "{text}");
            assert_eq!(unguarded(&guarded(text)), text);
        }
        assert_eq!(unguarded("'quoted' by hand"), "'quoted' by hand");
    }
}
