//! JSON Lines: one issue per line.

use std::io;
use std::sync::Arc;

use serde::de::IgnoredAny;

use super::{Content, FileEntry, ReadOptions, Unreadable, json_object};
use crate::domain::Issue;
use crate::json_compat;

/// Reads the entries, one for each line that is not blank.
///
/// # Errors
///
/// Returns an error if a key of the mapping is missing.
pub fn read(text: &str, options: &ReadOptions) -> Result<Vec<FileEntry>, Unreadable> {
    json_object::check_keys(text.split('\n'), &options.mapping)?;
    let lines = text.split('\n').enumerate().filter(|(_, line)| !line.trim().is_empty());
    // A whole file ends with a line break, behind which nothing comes.
    let last = text.split('\n').count() - 1;
    let read = |(number, line): (usize, &str)| {
        let mended = json_compat::without_lone_surrogates(line.as_bytes());
        let mended = mended.and_then(|bytes| String::from_utf8(bytes).ok());
        let line = mended.as_deref().unwrap_or(line);
        let is_cut =
            |line| serde_json::from_str::<IgnoredAny>(line).is_err_and(|error| error.is_eof());
        let content = if number == last && is_cut(line) {
            let reason =
                "the file ends within this line, so it was cut off: get the whole file".to_owned();
            Content::Refused { id: None, title: None, reason, blamed: None }
        } else {
            json_object::read(line, options)
        };
        FileEntry { line: number + 1, item: None, content }
    };
    Ok(lines.map(read).collect())
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
    for issue in issues {
        let mut line = serde_json::to_string(&**issue)?;
        // Unknown values are kept verbatim, including their line breaks in `issues.json`.
        if line.contains(['\n', '\r']) {
            line = json_compat::without_white_space(&line);
        }
        line.push('\n');
        out.write_all(line.as_bytes())?;
        written();
    }
    Ok(())
}
