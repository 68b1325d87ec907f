//! Sanitizes texts of agents for the user's terminal.
//!
//! Terminals must not interpret them: escape sequences could recolour, move or fake what a person reads, and some
//! terminals respond to them with input.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Replaces a control character.
const SHOWN_CONTROL: char = '\u{fffd}';
const CUT: char = '…';

/// Returns a text as one line: line breaks and tabs become spaces.
pub(super) fn line(text: &str) -> String {
    text.chars().map(|one| if is_space(one) { ' ' } else { harmless(one) }).collect()
}

/// Returns the lines of a text, with tabs kept.
pub(super) fn lines(text: &str) -> impl Iterator<Item = String> {
    text.lines()
        .map(|line| line.chars().map(|one| if one == '\t' { one } else { harmless(one) }).collect())
}

/// Returns the width of a text in columns.
pub(super) fn columns(text: &str) -> usize {
    text.width()
}

/// Cuts one line of text to a number of columns.
pub(super) fn cut(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut cut = String::new();
    let mut left = width.saturating_sub(1);
    for one in text.chars() {
        let wide = one.width().unwrap_or(0);
        if wide > left {
            break;
        }
        left -= wide;
        cut.push(one);
    }
    if width > 0 {
        cut.push(CUT);
    }
    cut
}

/// Returns as much of the end of a text as fits into a number of columns.
pub(super) fn end(text: &str, width: usize) -> &str {
    let mut left = width;
    let mut start = text.len();
    for (at, one) in text.char_indices().rev() {
        let wide = one.width().unwrap_or(0);
        if wide > left {
            break;
        }
        left -= wide;
        start = at;
    }
    &text[start..]
}

fn is_space(one: char) -> bool {
    matches!(one, '\n' | '\r' | '\t' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Replaces control characters and those that change the text direction (Unicode Bidi_Control), with which a text can
/// appear to say something else.
fn harmless(one: char) -> char {
    let turns = matches!(one, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if one.is_control() || turns { SHOWN_CONTROL } else { one }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_replaced() {
        assert_eq!(
            line("a\u{1b}[31mb\r\nc\u{9b}d\u{202e}e"),
            "a\u{fffd}[31mb  c\u{fffd}d\u{fffd}e"
        );
        let kept: Vec<_> = lines("a\tb\r\n\u{1b}]0;title\u{7}").collect();
        assert_eq!(kept, ["a\tb", "\u{fffd}]0;title\u{fffd}"]);
        assert_eq!(line("Grüße 日本 🙂"), "Grüße 日本 🙂");
    }

    #[test]
    fn truncated_text_fits_the_column_width() {
        for (text, width, expected) in [
            ("abc", 3, "abc"),
            ("abcd", 3, "ab…"),
            ("日本語", 6, "日本語"),
            ("日本語", 5, "日本…"),
            ("日本語", 4, "日…"),
            ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"),
            ("abc", 1, "…"),
            ("abc", 0, ""),
        ] {
            assert_eq!(cut(text, width), expected);
            assert!(columns(&cut(text, width)) <= width);
        }
    }
}
