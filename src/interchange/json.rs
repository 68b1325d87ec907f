//! One JSON document: `{"issues": […]}`, a bare array of issues, or a single issue.

use std::io;
use std::sync::Arc;

use indexmap::IndexMap;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

use super::{FileEntry, ReadOptions, Unreadable, count_of_lines, fields, json_object};
use crate::domain::Issue;
use crate::json_compat::{self, FormatError};

/// Reads the entries of a document. Keys other than `issues` are ignored.
///
/// # Errors
///
/// Returns an error for invalid JSON or JSON of another shape, or if a key of the mapping is missing.
pub fn read(text: &str, options: &ReadOptions) -> Result<Vec<FileEntry>, Unreadable> {
    let mended = json_compat::without_lone_surrogates(text.as_bytes());
    let bytes = mended.as_deref().unwrap_or(text.as_bytes());
    let document = parse(bytes, options).map_err(|error| FormatError::of(bytes, &error))?;
    json_object::check_keys(document.iter().map(|raw| raw.get()), &options.mapping)?;
    let (mut line, mut counted_to) = (1, 0);
    let read = |raw: &&RawValue| {
        // The entries are consecutive slices of the document.
        let at = raw.get().as_ptr() as usize - bytes.as_ptr() as usize;
        line += count_of_lines(&bytes[counted_to..at]);
        counted_to = at;
        FileEntry { line, item: None, content: json_object::read(raw.get(), options) }
    };
    let mut entries: Vec<_> = document.iter().map(read).collect();
    if entries.windows(2).any(|pair| pair[0].line == pair[1].line) {
        // The lines do not tell the entries apart.
        for (item, entry) in (1..).zip(&mut entries) {
            entry.item = Some(item);
        }
    }
    Ok(entries)
}

/// Returns the JSON texts of the entries.
fn parse<'a>(bytes: &'a [u8], options: &ReadOptions) -> serde_json::Result<Vec<&'a RawValue>> {
    #[derive(Deserialize)]
    struct Document<'a> {
        #[serde(borrow)]
        issues: Vec<&'a RawValue>,
    }

    if bytes.trim_ascii_start().first() == Some(&b'[') {
        return serde_json::from_slice(bytes);
    }
    let document = serde_json::from_slice(bytes).map(|document: Document<'_>| document.issues);
    document.or_else(|error| {
        // A single issue, rather than a document without `issues`.
        let keys: IndexMap<String, IgnoredAny> = serde_json::from_slice(bytes).unwrap_or_default();
        let is_field = |key: &String| fields::is_known(key) || options.mapping.get(key).is_some();
        if keys.keys().any(is_field) {
            Ok(vec![serde_json::from_slice(bytes)?])
        } else {
            Err(error)
        }
    })
}

/// Writes issues in the format of `issues.json`.
///
/// # Errors
///
/// Returns the errors of `out`.
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
