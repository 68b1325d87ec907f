//! Changes of JSON texts that do not parse them, and what is wrong with those that cannot be parsed.
//!
//! Some texts are nearly valid, from programs that cut strings within a character: JavaScript strings are UTF-16. Half of a surrogate pair is a string there, and since ES2019
//! `JSON.stringify` writes it as an escape such as `\ud83d`. RFC 8259, section 8.2, leaves open what a
//! reader makes of it; Rust's strings cannot hold it.

use crate::domain::text::shortened;

/// The escape of U+FFFD, which stands for what cannot be represented.
const REPLACEMENT: &[u8] = b"\\ufffd";
const ESCAPE_BYTES: usize = 6;
/// The mark that git leaves at the start of a line where a merge found a conflict.
const CONFLICT_MARK: &[u8] = b"<<<<<<< ";
/// A problem can quote what is in the text, which may be long.
const SHOWN_CHARS: usize = 300;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// What is wrong with the bytes of a file, and where.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}, column {column}: {problem}{hint}")]
pub struct FormatError {
    /// The line, counted from 1.
    pub line: usize,
    /// The column in bytes, counted from 1.
    pub column: usize,
    /// What is wrong there.
    pub problem: String,
    /// What may have led to it; empty where nothing is known.
    pub hint: &'static str,
}

impl FormatError {
    /// What the parser says about these bytes.
    pub(crate) fn of(bytes: &[u8], error: &serde_json::Error) -> Self {
        let (line, column) = (error.line(), error.column());
        Self { line, column, problem: problem(error), hint: hint(bytes) }
    }
}

/// What a parser says, without where: in one line, and not too long.
pub(crate) fn problem(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    let text = text.strip_suffix(&position).unwrap_or(&text);
    shortened(&text.replace(char::is_control, " "), SHOWN_CHARS)
}

fn hint(bytes: &[u8]) -> &'static str {
    if bytes.trim_ascii().is_empty() {
        return " (the file is empty)";
    }
    if bytes.split(|&byte| byte == b'\n').any(|line| line.starts_with(CONFLICT_MARK)) {
        return " (the file holds the conflict marks of an unfinished git merge)";
    }
    ""
}

/// The bytes behind the mark with which some editors begin a text in UTF-8.
pub(crate) fn without_byte_order_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
}

/// The text with U+FFFD in the place of each escape of a lone surrogate; `None` when there is none.
pub(crate) fn without_lone_surrogates(text: &[u8]) -> Option<Vec<u8>> {
    let mut mended: Option<Vec<u8>> = None;
    let mut at = 0;
    while at < text.len() {
        if text[at] != b'\\' {
            at += 1;
            continue;
        }
        match surrogate(text, at) {
            // Any other escape: a backslash and what it escapes.
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

/// A valid text without the white space between its values.
pub(crate) fn without_white_space(text: &str) -> String {
    let (mut in_string, mut escaped) = (false, false);
    let kept = |character: &char| {
        if in_string {
            in_string = escaped || *character != '"';
            escaped = !escaped && *character == '\\';
            return true;
        }
        in_string = *character == '"';
        !matches!(character, ' ' | '\t' | '\n' | '\r')
    };
    text.chars().filter(kept).collect()
}

/// About how many values a text has: one more than what stands between or around values.
pub(crate) fn count_of_values(text: &[u8]) -> usize {
    let (mut in_string, mut escaped, mut count) = (false, false, 1);
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

/// Which half of a surrogate pair is escaped at this place, if any.
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
    fn values_are_counted_outside_of_strings() {
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
    fn white_space_is_removed_between_values_only() {
        for (given, expected) in [
            ("{ \"a b\" :\t[ 1 ,\r\n 1e400 ] }", "{\"a b\":[1,1e400]}"),
            (r#"["\" ", " \\" , " "]"#, r#"["\" "," \\"," "]"#),
            ("\"ü \"", "\"ü \""),
        ] {
            assert_eq!(without_white_space(given), expected);
        }
    }
}
