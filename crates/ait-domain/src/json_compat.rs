//! JSON texts without parsing them: repairs, cuts white space, and explains syntax errors.
//!
//! Programs with UTF-16 strings, such as those in JavaScript, can cut a string between the halves of a surrogate
//! pair. Since ES2019, `JSON.stringify` writes such a half as an escape, for example `\ud83d`. RFC 8259, section
//! 8.2, leaves open how readers treat it; Rust strings cannot hold it.

/// The escape of U+FFFD, the replacement character.
const REPLACEMENT: &[u8] = b"\\ufffd";
const ESCAPE_BYTES: usize = 6;
/// The marker that git writes at the start of a line with a merge conflict.
const CONFLICT_MARK: &[u8] = b"<<<<<<< ";
const CONFLICT_HINT: &str = " (the file holds the conflict marks of an unfinished git merge)";
/// Parser messages can quote the text, so they are cut to this length.
const SHOWN_CHARS: usize = 300;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A syntax error in a file, with its position.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}, column {column}: {problem}{hint}")]
pub struct FormatError {
    /// The line, counted from 1.
    pub line: usize,
    /// The column in bytes, counted from 1.
    pub column: usize,
    /// The error, without its position.
    pub problem: String,
    /// The likely cause; empty if unknown.
    pub hint: &'static str,
}

impl FormatError {
    /// Converts an error of the parser on these bytes.
    pub fn of(bytes: &[u8], error: &serde_json::Error) -> Self {
        let line = error.line();
        let column = error.column();
        Self { line, column, problem: problem(error), hint: hint(bytes, error) }
    }

    /// Returns true if git left conflict marks in the file.
    pub fn is_git_conflict(&self) -> bool {
        self.hint == CONFLICT_HINT
    }
}

/// Returns the parser's message on one line, without the position and cut to a bounded length.
pub fn problem(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    let text = text.strip_suffix(&position).unwrap_or(&text).replace(char::is_control, " ");
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

fn hint(bytes: &[u8], error: &serde_json::Error) -> &'static str {
    if bytes.trim_ascii().is_empty() {
        return " (the file is empty)";
    }
    if bytes.split(|&byte| byte == b'\n').any(|line| line.starts_with(CONFLICT_MARK)) {
        return CONFLICT_HINT;
    }
    if error.is_eof() {
        return " (the file ends here, so it may be cut off)";
    }
    ""
}

/// Strips the UTF-8 byte order mark, which some editors write.
pub fn without_byte_order_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
}

/// Replaces each escape of a lone surrogate with that of U+FFFD; returns `None` if the text has none.
pub fn without_lone_surrogates(text: &[u8]) -> Option<Vec<u8>> {
    let mut mended: Option<Vec<u8>> = None;
    let mut at = 0;
    while at < text.len() {
        if text[at] != b'\\' {
            at += 1;
            continue;
        }
        match surrogate(text, at) {
            // Any other escape: skip the backslash and the character that it escapes.
            None => at += 2,
            Some(Half::High) if surrogate(text, at + ESCAPE_BYTES) == Some(Half::Low) => {
                at += 2 * ESCAPE_BYTES;
            }
            Some(_) => {
                let mended = mended.get_or_insert_with(|| text.to_vec());
                mended[at..at + ESCAPE_BYTES].copy_from_slice(REPLACEMENT);
                at += ESCAPE_BYTES;
            }
        }
    }
    mended
}

/// Removes the white space between the values of a valid text.
pub fn without_white_space(text: &str) -> String {
    let mut in_string = false;
    let mut escaped = false;
    let mut kept = String::with_capacity(text.len());
    let mut copied = 0;
    for (at, byte) in text.bytes().enumerate() {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
        } else if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            kept += &text[copied..at];
            copied = at + 1;
        } else {
            in_string = byte == b'"';
        }
    }
    kept + &text[copied..]
}

/// Estimates how many values a text has: one plus the number of commas and opening brackets.
pub fn count_of_values(text: &[u8]) -> usize {
    let mut in_string = false;
    let mut escaped = false;
    let mut count = 1;
    for byte in text {
        if in_string {
            in_string = escaped || *byte != b'"';
            escaped = !escaped && *byte == b'\\';
        } else {
            in_string = *byte == b'"';
            count += usize::from(matches!(byte, b',' | b'[' | b'{'));
        }
    }
    count
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Half {
    High,
    Low,
}

/// Returns which half of a surrogate pair is escaped at this position, if any.
fn surrogate(text: &[u8], at: usize) -> Option<Half> {
    let digits = text.get(at..at + ESCAPE_BYTES)?.strip_prefix(b"\\u")?;
    let unit = u16::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
    match unit {
        0xd800..=0xdbff => Some(Half::High),
        0xdc00..=0xdfff => Some(Half::Low),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{count_of_values, without_lone_surrogates, without_white_space};

    #[test]
    fn value_count_ignores_string_contents() {
        for (given, expected) in [
            ("1", 1),
            ("[]", 2),
            ("[1,2]", 3),
            (r#"{"a":[{},{}],"b":"[,{\",["}"#, 7),
            (r#""a\\",[""#, 3),
        ] {
            assert_eq!(count_of_values(given.as_bytes()), expected, "{given}");
        }
    }

    #[test]
    fn only_escapes_of_lone_surrogates_are_replaced() {
        for (given, expected) in [
            (r#""\ud83d""#, Some(r#""\ufffd""#)),
            (r#""\udc00x""#, Some(r#""\ufffdx""#)),
            (r#""\ud83d\ud83d\ude00""#, Some(r#""\ufffd\ud83d\ude00""#)),
            (r#""\uD83D\u0041""#, Some(r#""\ufffd\u0041""#)),
            (r#""\\\ud83d""#, Some(r#""\\\ufffd""#)),
            (r#""\ud83d\ude00""#, None),
            (r#""\\ud83d""#, None),
            (r#""\ud83"#, None),
            (r#""\n\"\u00e9 ü""#, None),
            ("\\", None),
        ] {
            let mended = without_lone_surrogates(given.as_bytes());
            assert_eq!(mended.as_deref(), expected.map(str::as_bytes), "{given}");
        }
    }

    #[test]
    fn white_space_in_strings_is_kept() {
        for (given, expected) in [
            ("{ \"a b\" :\t[ 1 ,\r\n 1e400 ] }", "{\"a b\":[1,1e400]}"),
            (r#"["\" ", " \\" , " "]"#, r#"["\" "," \\"," "]"#),
            ("\"ü \"", "\"ü \""),
        ] {
            assert_eq!(without_white_space(given), expected);
        }
    }
}
