//! One JSON document: `{"issues": […]}`, a bare array of issues, or a single issue.

use std::io;
use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

use super::{Entry, count_of_lines, object};
use crate::domain::{Issue, Timestamp};
use crate::json_text::{self, FormatError};

/// Reads the entries of a document. Other keys of it than `issues` are left alone.
///
/// # Errors
///
/// Anything that is no JSON, or JSON of another shape.
pub fn read(text: &str, now: Timestamp) -> Result<Vec<Entry>, FormatError> {
    let mended = json_text::without_lone_surrogates(text.as_bytes());
    let bytes = mended.as_deref().unwrap_or(text.as_bytes());
    let document = parse(bytes).map_err(|error| FormatError::of(bytes, &error))?;
    let (mut line, mut counted_to) = (1, 0);
    let read = |raw: &&RawValue| {
        // The texts of the entries are parts of the whole, one behind the other.
        let at = raw.get().as_ptr() as usize - bytes.as_ptr() as usize;
        line += count_of_lines(&bytes[counted_to..at]);
        counted_to = at;
        Entry { line, content: object::read(raw.get(), now) }
    };
    Ok(document.iter().map(read).collect())
}

/// The texts of the entries.
fn parse(bytes: &[u8]) -> serde_json::Result<Vec<&RawValue>> {
    #[derive(Deserialize)]
    struct Document<'a> {
        #[serde(borrow)]
        issues: Vec<&'a RawValue>,
    }

    /// What tells a single issue from a document that lacks its issues.
    #[derive(Deserialize)]
    struct Single {
        id: Option<IgnoredAny>,
        title: Option<IgnoredAny>,
    }

    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return serde_json::from_slice(bytes);
    }
    let document = serde_json::from_slice(bytes).map(|document: Document<'_>| document.issues);
    document.or_else(|error| match serde_json::from_slice(bytes) {
        Ok(Single { id: None, title: None }) | Err(_) => Err(error),
        Ok(_) => Ok(vec![serde_json::from_slice(bytes)?]),
    })
}

/// Writes issues as `issues.json` holds them.
///
/// # Errors
///
/// Those of `out`.
pub fn write(
    issues: &[Arc<Issue>],
    out: &mut impl io::Write,
    written: &dyn Fn(),
) -> io::Result<()> {
    struct Document<'a>(&'a [Arc<Issue>], &'a dyn Fn());
    struct Issues<'a>(&'a [Arc<Issue>], &'a dyn Fn());

    impl Serialize for Document<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            let mut map = serializer.serialize_map(Some(1))?;
            map.serialize_entry("issues", &Issues(self.0, self.1))?;
            map.end()
        }
    }

    impl Serialize for Issues<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.collect_seq(self.0.iter().map(|issue| {
                (self.1)();
                &**issue
            }))
        }
    }

    serde_json::to_writer_pretty(&mut *out, &Document(issues, written))?;
    out.write_all(b"\n")
}
