//! Import and export of issues, for other programs and other ait stores.
//!
//! This module converts bytes to issues and back; it knows no files, no store and no clock. It reads and writes
//! three formats:
//!
//! | format | content |
//! |---|---|
//! | [`json`] | one document like `issues.json`, which the original AgentIssueTracker also writes |
//! | [`json_lines`] | one issue per line |
//! | [`csv`] | one issue per row, for spreadsheets |
//!
//! It also reads and writes entries of the memory as decision records (`decisions`, [`decision_files`]) and as
//! knowledge graphs (`graph`).
//!
//! Both JSON formats may also contain issues of [`beads`], mixed with others. Objects and rows that other programs,
//! scripts and people write share one conversion, `partial_issue`, and one table of names, [`fields`]. `jira` makes
//! such objects of those of its REST interface.

pub mod attributes;
pub mod beads;
mod comments;
pub mod csv;
pub mod decision_files;
mod decisions;
mod defaults;
pub mod difference;
mod entries;
pub mod fields;
pub mod folder;
mod given;
mod given_attributes;
mod graph;
mod graph_entries;
mod jira;
pub mod json;
pub mod json_lines;
mod json_object;
mod markdown;
mod memory_bank;
mod partial_issue;
mod programs;
mod times;
mod value;
pub mod words;

use std::io;
use std::path::Path;
use std::sync::Arc;

use indexmap::IndexMap;
use serde_json::value::RawValue;

pub use self::attributes::NamedLink;
use self::fields::{Field, Mapping};
pub use self::times::DateOrder;
pub use self::value::name_of;
use ait_domain::json_compat::{self, FormatError};
use ait_domain::string_enum;
use ait_domain::{Classifications, ImportedIssue, Issue, Timestamp};

string_enum! {
    /// The format of a file.
    pub enum FileFormat {
        /// One JSON document.
        Json = "json",
        JsonLines = "jsonl",
        /// Comma-separated values. Semicolons and tabs are also accepted on reading.
        Csv = "csv",
        /// A knowledge graph of `@modelcontextprotocol/server-memory`.
        Graph = "graph",
        /// A knowledge graph of memory-bank-mcp: the events that make it.
        GraphEvents = "graph-events",
    }
}

impl FileFormat {
    /// Returns the format of a file name extension.
    pub fn of_extension(extension: &str) -> Option<Self> {
        match extension.to_ascii_lowercase().as_str() {
            "json" => Some(Self::Json),
            "jsonl" | "ndjson" => Some(Self::JsonLines),
            "csv" | "tsv" => Some(Self::Csv),
            _ => None,
        }
    }

    /// Returns the format of a file name's extension.
    pub fn of_name(file: &Path) -> Option<Self> {
        file.extension().and_then(|extension| Self::of_extension(extension.to_str()?))
    }

    /// Detects the format of bytes; `promised`, the format of the file's name, decides if the bytes are ambiguous.
    pub fn of(bytes: &[u8], promised: Option<Self>) -> Self {
        let bytes = json_compat::without_byte_order_mark(bytes).trim_ascii_start();
        let json = if promised == Some(Self::JsonLines) { Self::JsonLines } else { Self::Json };
        match bytes.first() {
            Some(b'[') => Self::Json,
            Some(b'{') => {
                let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
                let (first, rest) = bytes.split_at(end);
                let first = serde_json::from_slice::<IndexMap<String, &RawValue>>(first);
                // Answers of a program one after the other are documents.
                let is_issue = first.is_ok_and(|first| !json::is_answer(&first));
                if is_issue && !rest.trim_ascii().is_empty() {
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

/// The values of a JSON object, verbatim.
type Values = IndexMap<String, Box<RawValue>>;

/// What a file itself does not say.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The default for missing times.
    pub now: Timestamp,
    /// The meanings that the user gives to columns or keys.
    pub mapping: Mapping,
    /// The path of the list of issues in a JSON document, its keys separated by dots, if the user names one.
    pub items: Option<String>,
    /// The kinds of work that the project uses.
    pub classifications: Arc<Classifications>,
    /// The usual order of day and month in dates whose order the file does not show.
    pub date_order: Option<DateOrder>,
}

impl ReadOptions {
    /// Returns the options of a reader of which nothing else is known.
    pub fn at(now: Timestamp) -> Self {
        Self {
            now,
            mapping: Mapping::default(),
            items: None,
            classifications: Arc::default(),
            date_order: None,
        }
    }
}

/// One entry of a file.
#[derive(Clone, PartialEq, Debug)]
pub struct FileEntry {
    /// The line on which it begins, counted from 1.
    pub line: usize,
    /// The position in the array, counted from 1, if several entries begin on one line.
    pub item: Option<usize>,
    pub content: Content,
}

/// The content of an entry.
#[derive(Clone, PartialEq, Debug)]
pub enum Content {
    /// An issue that can be imported.
    Issue(ImportDraft),
    /// An entry that cannot be imported.
    Refused {
        /// Its id in the file.
        id: Option<String>,
        /// Its title, if it has one.
        title: Option<String>,
        /// Why it cannot be imported, and how to fix it.
        reason: String,
        /// The column or key that is to blame, if there is one.
        blamed: Option<Blamed>,
    },
    /// An entry that is rightly left out.
    Skipped {
        /// Its id in the file.
        id: Option<String>,
        /// Its title, if it has one.
        title: Option<String>,
        /// Why it is left out.
        reason: String,
    },
}

/// A column or key that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Blamed {
    /// Its name in the file.
    pub column: String,
    /// The field and the value, if the value is none of the words of the field, or not even a word.
    pub unknown: Option<(Field, Option<String>)>,
}

/// An issue from a file.
#[derive(Clone, PartialEq, Debug)]
pub struct ImportDraft {
    pub issue: ImportedIssue,
    /// The names of the attributes that the file does not state and that were given defaults.
    pub unstated: Vec<&'static str>,
    /// When another program filed the issue, and the number that it gave to it. `None` without a time, and for issues
    /// of ait, whose order is that of the file.
    pub filed: Option<(Timestamp, u64)>,
    /// The fields that would identify the issue, if only its texts do.
    pub lacks_id: Option<&'static str>,
    /// Whether the status of the issue in the other program is blocked. If a link says by what, it is not parked.
    pub is_blocked: bool,
    /// What became no field of the issue, or was read by a guess.
    pub remarks: Remarks,
    /// Links to issues by their names in another program. They are not in the issue, because only the whole file and
    /// the store tell which of these issues exist.
    pub named_links: Vec<NamedLink>,
}

impl ImportDraft {
    /// Returns the sort key for the order of the queue: issues with a time of filing first, oldest first, then all
    /// others. Issues that ait exported have no such time and keep their order.
    pub fn queue_key(&self) -> impl Ord + use<> {
        (self.filed.is_none(), self.filed)
    }

    /// Returns true if ait wrote the entry, so that it states everything.
    pub fn is_of_ait(&self) -> bool {
        self.unstated.is_empty()
    }

    /// Wraps an issue of ait, which states everything.
    pub(crate) fn of_ait(issue: ImportedIssue) -> Self {
        Self {
            issue,
            unstated: Vec::new(),
            filed: None,
            lacks_id: None,
            is_blocked: false,
            remarks: Remarks::default(),
            named_links: Vec::new(),
        }
    }
}

/// What an import has to tell about an entry: what became no field of the issue, or was read by a guess.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Remarks {
    /// The columns or keys whose values are kept without a meaning.
    pub kept: Vec<String>,
    /// The values that were read by a guess, with their meaning.
    pub guesses: Vec<String>,
    /// The links that were not made, with the reason.
    pub dropped_links: Vec<String>,
}

impl Remarks {
    fn keep(&mut self, name: &str) {
        self.kept.push(name.to_owned());
    }

    fn guess(&mut self, guess: String) {
        self.guesses.push(guess);
    }

    /// Adds a link that was not made, with the reason.
    pub fn drop_link(&mut self, link: impl std::fmt::Display, reason: &str) {
        self.dropped_links.push(format!("{link} ({reason})"));
    }
}

/// The reasons why a whole file cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unreadable {
    /// The file is not JSON of the right shape.
    #[error(transparent)]
    Json(#[from] FormatError),
    /// The file is not UTF-8.
    #[error("line {line} is not UTF-8: save the file as UTF-8 (a spreadsheet calls it CSV UTF-8)")]
    NotUtf8 {
        /// The line, counted from 1.
        line: usize,
    },
    /// A CSV file has no title column.
    #[error(
        "the first line has no column \"title\": it must be a header such as \
         id,title,description,classification,status; found \"{found}\""
    )]
    NoTitleColumn {
        /// The first line, truncated if it is long.
        found: String,
    },
    /// The file lacks a column or key of the mapping.
    #[error("the file has no column or key \"{missing}\"; it has {found}")]
    UnknownColumn {
        /// The name in the mapping.
        missing: String,
        /// The names in the file, or the first of them.
        found: String,
    },
    /// Neither a folder nor a Markdown file has an issue.
    #[error(
        "no file has an issue: it can be a Markdown file with a front matter that has a title, and an id or a status, as \
         Backlog.md writes them, a decision record with a title, a status and the sections Context and Decision, a file of a \
         memory bank such as decisionLog.md, or issues.jsonl in a backup of beads"
    )]
    NoFiles,
    /// A JSON document has no list of issues, and is no issue.
    #[error(
        "missing field `issues`: this is neither an issue nor a list of issues; it has {found}"
    )]
    NoIssues {
        /// What it has.
        found: String,
    },
    /// A JSON document has no list at a path.
    #[error("the document has no list `{path}`; it has {found}")]
    NoList {
        path: String,
        /// What it has.
        found: String,
    },
    /// A file is no knowledge graph, although the user says so.
    #[error(
        "the file is no knowledge graph: its first line is neither an entity nor a relation of server-memory, nor the \
         mark of memory-bank-mcp"
    )]
    NoGraph,
    /// The file is empty.
    #[error("the file is empty")]
    Empty,
}

/// Reads the entries of a file in order.
///
/// # Errors
///
/// Returns an error if the whole file cannot be read. Errors of single entries are returned in those entries.
pub fn read(
    bytes: Vec<u8>,
    form: FileFormat,
    options: &ReadOptions,
) -> Result<Vec<FileEntry>, Unreadable> {
    // Empty JSON Lines are valid: the export of an empty queue.
    if bytes.trim_ascii().is_empty() && form != FileFormat::JsonLines {
        return Err(Unreadable::Empty);
    }
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        Unreadable::NotUtf8 { line: 1 + count_of_lines(before) }
    })?;
    let mark = text.len() - json_compat::without_byte_order_mark(text.as_bytes()).len();
    text.drain(..mark);
    match form {
        FileFormat::Csv => csv::read(&text, options),
        _ if graph::is_graph(&text) => Ok(graph_entries::read(&text, options)),
        FileFormat::Graph | FileFormat::GraphEvents => Err(Unreadable::NoGraph),
        FileFormat::Json => json::read(&text, options),
        FileFormat::JsonLines => json_lines::read(text, options),
    }
}

/// Writes issues, and calls `written` after each.
pub fn write(
    issues: &[Arc<Issue>],
    form: FileFormat,
    out: &mut impl io::Write,
    written: &dyn Fn(),
) -> io::Result<()> {
    match form {
        FileFormat::Json => json::write(issues, out, written),
        FileFormat::JsonLines => json_lines::write(issues, out, written),
        FileFormat::Csv => csv::write(issues, out, written),
        FileFormat::Graph => graph_entries::write(issues, false, out, written),
        FileFormat::GraphEvents => graph_entries::write(issues, true, out, written),
    }
}

/// Returns the bytes of a file as UTF-8 if they are UTF-16, as PowerShell and spreadsheets write them. Others stay.
pub fn decoded(bytes: Vec<u8>) -> Vec<u8> {
    let unit: fn([u8; 2]) -> u16 = match bytes[..] {
        [0xff, 0xfe, ..] | [1..0x80, 0, 1..0x80, 0, ..] => u16::from_le_bytes,
        [0xfe, 0xff, ..] | [0, 1..0x80, 0, 1..0x80, ..] => u16::from_be_bytes,
        _ => return bytes,
    };
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|pair| unit(*pair)).collect();
    match String::from_utf16(&units) {
        Ok(text) if rest.is_empty() => text.into_bytes(),
        _ => bytes,
    }
}

fn count_of_lines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_then_extension_determines_the_format() {
        use FileFormat::{Csv, Json, JsonLines};
        for (bytes, promised, form) in [
            ("{\"issues\": []}", None, Json),
            ("{\n  \"issues\": []\n}\n", Some(Csv), Json),
            ("\u{feff}[{}]", Some(Csv), Json),
            ("{\"id\":1}\n{\"id\":2}\n", Some(Json), JsonLines),
            ("\n{\"id\":1}\n\n", Some(JsonLines), JsonLines),
            ("{\"id\":1}\n", None, Json),
            ("{\"id\":\n{\"id\":2}\n", Some(JsonLines), JsonLines),
            ("{\"id\":\n{\"id\":2}\n", None, Json),
            ("{\"issues\":[]}\n{\"issues\":[]}\n", None, Json),
            ("title;status\n", None, Csv),
            ("<<<<<<< ours\n", Some(Json), Json),
            ("", Some(JsonLines), JsonLines),
        ] {
            assert_eq!(FileFormat::of(bytes.as_bytes(), promised), form, "{bytes}");
        }
        for form in [Json, JsonLines, Csv] {
            assert_eq!(FileFormat::of_extension(form.as_str()), Some(form));
            assert_eq!(FileFormat::from_word(form.as_str()), Some(form));
        }
    }
}
