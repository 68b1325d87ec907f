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
//! One object with the issues in the order in which they were filed, indented by two spaces, with a
//! line feed at the end. Other keys of the object are kept and written after `issues`. See
//! [`Issue`] for the form of an issue.

use std::{fmt, io};

use bytes::Bytes;
use bytestring::ByteString;
use serde::de::{self, MapAccess, SeqAccess};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Serializer;
use serde_json::ser::{Formatter, PrettyFormatter};
use serde_json::value::RawValue;

use super::written;
use crate::domain::issue::read_keeping_unknown_keys;
use crate::domain::{Extra, Issue};
use crate::json_text;
pub use crate::json_text::FormatError;
use crate::store::kept::Kept;
use crate::store::memory::IssueStore;
pub use crate::store::state::Document;

/// Reads a document.
///
/// # Errors
///
/// Anything that is not the format above: broken JSON, another shape, an unknown word, an id that
/// occurs twice.
pub fn parse(bytes: impl Into<Bytes>) -> Result<Document, FormatError> {
    let bytes = bytes.into();
    let bytes = &bytes.slice_ref(json_text::without_byte_order_mark(&bytes));
    // Checked as a whole, the text need not be checked string by string. What is not UTF-8 is left to
    // the parser, which tells where it is.
    let parsed = match ByteString::try_from(bytes.clone()) {
        Ok(text) => written::read(&text).map_or_else(|| serde_json::from_str(&text), Ok),
        Err(_) => serde_json::from_slice(bytes),
    };
    let parsed = parsed.or_else(|error| {
        // What JavaScript writes for a text that was cut within a character.
        let mended = json_text::without_lone_surrogates(bytes);
        mended.map_or(Err(error), |mended| serde_json::from_slice(&mended))
    });
    parsed.map_err(|error| FormatError::of(bytes, &error))
}

/// The end of every document.
pub const CLOSE: &[u8] = b"\n}\n";

/// Writes a document.
///
/// # Errors
///
/// Those of `out`.
pub fn write(document: &Document, out: &mut impl io::Write) -> io::Result<()> {
    write_open(document, out)?;
    out.write_all(CLOSE)
}

/// Writes a document without its end, so that more keys can follow.
///
/// # Errors
///
/// Those of `out`.
pub fn write_open(document: &Document, out: &mut impl io::Write) -> io::Result<()> {
    out.write_all(b"{\n  \"issues\": [")?;
    let mut separator: &[u8] = b"\n    ";
    for issue in document.issues.kept() {
        out.write_all(separator)?;
        match issue {
            Kept::Written(written) => out.write_all(written.text().as_bytes())?,
            Kept::Whole(issue) => write_issue(issue, out)?,
        }
        separator = b",\n    ";
    }
    out.write_all(if document.issues.is_empty() { b"]" } else { b"\n  ]" })?;
    for (key, value) in document.extra.iter() {
        out.write_all(b",\n  ")?;
        serde_json::to_writer(&mut *out, key)?;
        out.write_all(b": ")?;
        out.write_all(value.get().as_bytes())?;
    }
    Ok(())
}

/// Writes an issue as it stands in the array of a document.
fn write_issue(issue: &Issue, out: &mut impl io::Write) -> io::Result<()> {
    let mut formatter = PrettyFormatter::new();
    // As deep within an object and an array, which somebody else writes.
    formatter.begin_object(&mut io::sink())?;
    formatter.begin_array(&mut io::sink())?;
    Ok(issue.serialize(&mut Serializer::with_formatter(out, formatter))?)
}

read_keeping_unknown_keys!(Document, "an object with the key \"issues\"", { issues = "issues" });

impl<'de> Deserialize<'de> for IssueStore {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = IssueStore;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array of issues")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<IssueStore, A::Error> {
                let mut issues = IssueStore::default();
                while let Some(issue) = seq.next_element::<Issue>()? {
                    let id = issue.id;
                    issues.push(issue).map_err(|_| {
                        de::Error::custom(format!(
                            "the issue that ends here has the id {id} of an earlier one"
                        ))
                    })?;
                }
                Ok(issues)
            }
        }
        deserializer.deserialize_seq(Visitor)
    }
}
