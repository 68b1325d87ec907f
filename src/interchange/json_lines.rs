//! JSON Lines: one issue a line.

use std::io;
use std::sync::Arc;

use super::{Entry, object};
use crate::domain::{Issue, Timestamp};
use crate::json_text;

/// Reads the entries: every line that is not blank is one.
pub fn read(text: &str, now: Timestamp) -> Vec<Entry> {
    let lines = text.split('\n').enumerate().filter(|(_, line)| !line.trim().is_empty());
    let read = |(number, line): (usize, &str)| {
        let mended = json_text::without_lone_surrogates(line.as_bytes());
        let mended = mended.and_then(|bytes| String::from_utf8(bytes).ok());
        let line = mended.as_deref().unwrap_or(line);
        Entry { line: number + 1, content: object::read(line, now) }
    };
    lines.map(read).collect()
}

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
    for issue in issues {
        let mut line = serde_json::to_string(&**issue)?;
        // What is not known is kept to the letter, with the line breaks that it has in `issues.json`.
        if line.contains(['\n', '\r']) {
            line = json_text::without_white_space(&line);
        }
        line.push('\n');
        out.write_all(line.as_bytes())?;
        written();
    }
    Ok(())
}
