//! Changes of JSON texts that do not parse them.
//!
//! Some texts are nearly valid, from programs that cut strings within a character: JavaScript strings are UTF-16. Half of a surrogate pair is a string there, and since ES2019
//! `JSON.stringify` writes it as an escape such as `\ud83d`. RFC 8259, section 8.2, leaves open what a
//! reader makes of it; Rust's strings cannot hold it.

/// The escape of U+FFFD, which stands for what cannot be represented.
const REPLACEMENT: &[u8] = b"\\ufffd";
const ESCAPE_BYTES: usize = 6;

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
