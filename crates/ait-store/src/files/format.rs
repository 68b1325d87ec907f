//! The bytes of `issues.json`.
//!
//! ```json
//! {
//!   "issues": [
//!     { "id": "…", "title": "…", … }
//!   ]
//! }
//! ```
//!
//! One object holds the issues in the order in which they were filed. It is indented by two spaces and ends with a
//! line feed. Other keys of the object are preserved and written after `issues`. See [`Issue`] for the form of an
//! issue.

use std::sync::Arc;
use std::{fmt, io};

use serde::de::{self, MapAccess, SeqAccess};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Serializer;
use serde_json::ser::{Formatter, PrettyFormatter};
use serde_json::value::RawValue;

use crate::memory::IndexedIssues;
pub use crate::state::Document;
use ait_domain::json_compat;
pub use ait_domain::json_compat::FormatError;
use ait_domain::read_keeping_unknown_keys;
use ait_domain::{Issue, UnknownKeys};

/// Parses a document.
///
/// # Errors
///
/// Invalid JSON, another structure, an unknown keyword, or a repeated id.
pub fn parse(bytes: impl Into<Vec<u8>>) -> Result<Document, FormatError> {
    let mut bytes = bytes.into();
    let mark = bytes.len() - json_compat::without_byte_order_mark(&bytes).len();
    bytes.drain(..mark);
    // Validating UTF-8 once is faster than for each string.
    match String::from_utf8(bytes) {
        Ok(text) => {
            let parsed = serde_json::from_str(&text);
            parsed.or_else(|error| parse_repaired(text.as_bytes(), error))
        }
        Err(error) => {
            // The parser reports the position of the invalid UTF-8.
            let bytes = error.into_bytes();
            serde_json::from_slice(&bytes).or_else(|error| parse_repaired(&bytes, error))
        }
    }
}

/// Parses a document after replacing lone UTF-16 surrogates, which JavaScript writes for a text that was cut inside a
/// character.
fn parse_repaired(bytes: &[u8], error: serde_json::Error) -> Result<Document, FormatError> {
    let repaired = json_compat::without_lone_surrogates(bytes);
    let parsed = repaired.map_or(Err(error), |repaired| serde_json::from_slice(&repaired));
    parsed.map_err(|error| FormatError::of(bytes, &error))
}

/// The end of every document.
pub const CLOSE: &[u8] = b"\n}\n";

/// Writes a document.
pub fn write(document: &Document, out: &mut impl io::Write) -> io::Result<()> {
    write_open(document.issues.issues().map(Ok), &document.unknown_keys, out)?;
    out.write_all(CLOSE)
}

/// Writes a document without its end, so that another key can follow.
pub fn write_open(
    issues: impl Iterator<Item = io::Result<Arc<Issue>>>,
    unknown_keys: &UnknownKeys,
    out: &mut impl io::Write,
) -> io::Result<()> {
    write_all(issues, unknown_keys, out, |issue, out| write_issue(&issue, out))
}

/// Writes a document of issues that are [texts](issue_text).
pub fn write_texts(
    texts: impl Iterator<Item = io::Result<String>>,
    unknown_keys: &UnknownKeys,
    out: &mut impl io::Write,
) -> io::Result<()> {
    write_all(texts, unknown_keys, out, |text, out| out.write_all(text.as_bytes()))?;
    out.write_all(CLOSE)
}

fn write_all<T, O: io::Write>(
    issues: impl Iterator<Item = io::Result<T>>,
    unknown_keys: &UnknownKeys,
    out: &mut O,
    write: impl Fn(T, &mut O) -> io::Result<()>,
) -> io::Result<()> {
    out.write_all(b"{\n  \"issues\": [")?;
    let mut separator: &[u8] = b"\n    ";
    let mut end: &[u8] = b"]";
    for issue in issues {
        out.write_all(separator)?;
        write(issue?, out)?;
        (separator, end) = (b",\n    ", b"\n  ]");
    }
    out.write_all(end)?;
    for (key, value) in unknown_keys.iter() {
        out.write_all(b",\n  ")?;
        serde_json::to_writer(&mut *out, key)?;
        out.write_all(b": ")?;
        out.write_all(value.get().as_bytes())?;
    }
    Ok(())
}

/// Returns the text of an issue in a document.
pub fn issue_text(issue: &Issue) -> String {
    let mut text = Vec::new();
    write_issue(issue, &mut text).expect("a vector takes all bytes");
    String::from_utf8(text).expect("JSON is UTF-8")
}

/// Writes an issue, indented as an element of the array.
fn write_issue(issue: &Issue, out: &mut impl io::Write) -> io::Result<()> {
    let mut formatter = PrettyFormatter::new();
    // Sets the indentation to the depth inside the object and the array.
    formatter.begin_object(&mut io::sink())?;
    formatter.begin_array(&mut io::sink())?;
    Ok(issue.serialize(&mut Serializer::with_formatter(out, formatter))?)
}

read_keeping_unknown_keys!(Document, "an object with the key \"issues\"", { issues = "issues" });

impl<'de> Deserialize<'de> for IndexedIssues {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = IndexedIssues;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of issues")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<IndexedIssues, A::Error> {
                let mut issues = IndexedIssues::default();
                while let Some(issue) = seq.next_element::<Issue>()? {
                    let id = issue.id;
                    let issue = issue.without_foreign_receipts(None).into_owned();
                    issues.push(Arc::new(issue)).map_err(|_| {
                        de::Error::custom(format!(
                            "the issue that ends here repeats the id {id} of an earlier one"
                        ))
                    })?;
                }
                Ok(issues)
            }
        }
        deserializer.deserialize_seq(Visitor)
    }
}
