//! JSON Lines: one issue per line.

use std::io;
use std::sync::Arc;

use serde::de::IgnoredAny;

use super::{Content, FileEntry, ReadOptions, Unreadable, json_object};
use ait_domain::Issue;
use ait_domain::json_compat;

/// How many bytes of lines are read at a time.
const CHUNK_BYTES: usize = 1024 * 1024;

/// Reads the entries, one for each line that is not blank.
///
/// The text shrinks from its end as it is read, because a whole file and all of its issues together are large.
///
/// # Errors
///
/// Returns an error if a key of the mapping is missing.
pub fn read(mut text: String, options: &ReadOptions) -> Result<Vec<FileEntry>, Unreadable> {
    json_object::check_keys(text.split('\n'), &options.mapping)?;
    // A whole file ends with a line break, behind which nothing comes.
    let last = text.split('\n').count();
    let mut number = last + 1;
    let mut entries = Vec::new();
    loop {
        let from = text.len().saturating_sub(CHUNK_BYTES);
        let line_break = text.as_bytes()[..from].iter().rposition(|byte| *byte == b'\n');
        let chunk = text.split_off(line_break.map_or(0, |at| at + 1));
        for line in chunk.rsplit('\n') {
            number -= 1;
            if !line.trim_matches(|one: char| one == '\u{feff}' || one.is_whitespace()).is_empty() {
                let content = content(line, number == last, options);
                entries.push(FileEntry { line: number, item: None, content });
            }
        }
        // The line break before the chunk.
        if text.pop().is_none() {
            break;
        }
        text.shrink_to_fit();
    }
    entries.reverse();
    Ok(entries)
}

fn content(line: &str, is_last: bool, options: &ReadOptions) -> Content {
    // Files that were joined have a mark each.
    let line = line.trim_start_matches('\u{feff}');
    let mended = json_compat::without_lone_surrogates(line.as_bytes());
    let mended = mended.and_then(|bytes| String::from_utf8(bytes).ok());
    let line = mended.as_deref().unwrap_or(line);
    let is_cut = |line| serde_json::from_str::<IgnoredAny>(line).is_err_and(|error| error.is_eof());
    if is_last && is_cut(line) {
        let reason =
            "the file ends within this line, so it was cut off: get the whole file".to_owned();
        return Content::Refused { id: None, title: None, reason, blamed: None };
    }
    json_object::read(line, options)
}

/// Writes issues.
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

#[cfg(test)]
mod tests {
    use super::*;
    use ait_domain::Timestamp;

    #[test]
    fn lines_of_several_chunks_keep_their_order_and_numbers() {
        let now = Timestamp::from_unix_millis(0);
        let options = ReadOptions::at(now);
        let text = "é".repeat(CHUNK_BYTES / 4);
        for end in ["", "\n", "\n\n"] {
            let line = |number: usize| format!("{{\"title\":\"{number} {text}\"}}");
            let lines: Vec<_> = (1..8).map(line).collect();
            let entries = read(lines.join("\n\n") + end, &options).unwrap();
            let numbers: Vec<_> = entries.iter().map(|entry| entry.line).collect();
            assert_eq!(numbers, [1, 3, 5, 7, 9, 11, 13]);
        }
        assert_eq!(read(String::new(), &options), Ok(Vec::new()));
    }
}
