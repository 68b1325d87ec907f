//! The texts of callers, validated once at the edge.
//!
//! The limits apply to new input only. Texts in existing files are accepted as they are, so [`Issue`](super::Issue)
//! itself holds plain strings.

use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use strsim::levenshtein;

use super::DomainError;

/// Declares a text type whose values have passed `$check`.
macro_rules! checked_text {
    ($(#[$doc:meta])* $name:ident, $check:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(String);

        impl $name {
            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Returns the text as an owned string.
            pub fn into_string(self) -> String {
                self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = DomainError;

            fn try_from(text: String) -> Result<Self, DomainError> {
                let check: fn(String) -> Result<String, DomainError> = $check;
                check(text).map(Self)
            }
        }

        impl TryFrom<&str> for $name {
            type Error = DomainError;

            fn try_from(text: &str) -> Result<Self, DomainError> {
                Self::try_from(text.to_owned())
            }
        }

        impl FromStr for $name {
            type Err = DomainError;

            fn from_str(text: &str) -> Result<Self, DomainError> {
                Self::try_from(text)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

checked_text! {
    /// A title: 1 to 500 characters after trimming, on one line.
    Title,
    |text| {
        let text = trimmed("title", &text, Title::MAX_CHARS)?;
        if text.contains(is_line_break) {
            return Err(DomainError::LineBreakInTitle);
        }
        Ok(text)
    }
}

checked_text! {
    /// A description: up to 100,000 characters, kept as given; may be empty.
    Description,
    |text| at_most("description", text, Description::MAX_CHARS)
}

checked_text! {
    /// A comment: up to 100,000 characters, kept as given, not blank.
    CommentText,
    |text| {
        if text.chars().all(is_invisible) {
            return Err(DomainError::Blank { field: "comment", limit: CommentText::MAX_CHARS });
        }
        at_most("comment", text, CommentText::MAX_CHARS)
    }
}

checked_text! {
    /// The name of an agent: 1 to 200 characters after trimming.
    AgentName,
    |text| trimmed("agent", &text, AgentName::MAX_CHARS)
}

impl Title {
    /// The maximum number of characters (Unicode scalar values) in a title.
    pub const MAX_CHARS: usize = 500;

    /// Checks that a text is a valid title without trimming it.
    pub(super) fn check(text: &str) -> Result<(), DomainError> {
        if text.contains(is_line_break) && !text.trim().is_empty() {
            return Err(DomainError::LineBreakInTitle);
        }
        trimmed("title", text, Self::MAX_CHARS).map(drop)
    }
}

impl Description {
    /// The maximum number of characters (Unicode scalar values) in a description.
    pub const MAX_CHARS: usize = 100_000;
}

impl CommentText {
    /// The maximum number of characters (Unicode scalar values) in a comment.
    pub const MAX_CHARS: usize = 100_000;
}

impl Deref for AgentName {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl AgentName {
    /// The maximum number of characters (Unicode scalar values) in an agent's name.
    pub const MAX_CHARS: usize = 200;
}

/// The mandatory breaks of Unicode's line breaking algorithm (UAX #14: BK, CR, LF, NL).
fn is_line_break(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Blanks, and characters that leave no mark: zero-width ones, joiners, and marks of the writing direction.
fn is_invisible(character: char) -> bool {
    character.is_whitespace()
        || matches!(
            character,
            '\u{ad}' | '\u{34f}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{feff}'
        )
}

/// Returns a text without the white space around it.
///
/// # Errors
///
/// The text is blank or has more than `limit` characters.
pub fn trimmed(field: &'static str, text: &str, limit: usize) -> Result<String, DomainError> {
    let text = text.trim();
    if text.chars().all(is_invisible) {
        return Err(DomainError::Blank { field, limit });
    }
    at_most(field, text.to_owned(), limit)
}

fn at_most(field: &'static str, text: String, limit: usize) -> Result<String, DomainError> {
    let length = text.chars().count();
    if length > limit {
        return Err(DomainError::TooLong { field, length, limit });
    }
    Ok(text)
}

/// Formats a count with its noun.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// Returns true if a text begins with some words, in capital or small letters.
pub fn begins_with(text: &str, words: &str) -> bool {
    text.get(..words.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(words))
}

/// Truncates a text to a number of characters, with an ellipsis in place of the rest.
pub fn shortened(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

/// Returns the name among some that is most like a given one, if it is like it.
pub fn nearest<'a>(given: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let most = match given.chars().count() {
        0..=2 => return None,
        3..=4 => 1,
        _ => 2,
    };
    let distances = names.into_iter().map(|name| (levenshtein(given, name), name));
    distances.filter(|(distance, _)| *distance <= most).min().map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_limits_count_characters() {
        for (limit, accepts) in [
            (500, (|s| Title::try_from(s).is_ok()) as fn(String) -> bool),
            (200, |s| AgentName::try_from(s).is_ok()),
            (100_000, |s| CommentText::try_from(s).is_ok()),
            (100_000, |s| Description::try_from(s).is_ok()),
        ] {
            assert!(accepts("ß".repeat(limit)));
            assert!(!accepts("ß".repeat(limit + 1)));
        }
    }

    #[test]
    fn only_titles_and_agent_names_are_trimmed() {
        let spaced = " a b \n";
        assert_eq!(Title::try_from(spaced).unwrap().as_str(), "a b");
        assert_eq!(AgentName::try_from(spaced).unwrap().as_str(), "a b");
        assert_eq!(CommentText::try_from(spaced).unwrap().as_str(), spaced);
        assert_eq!(Description::try_from(spaced).unwrap().as_str(), spaced);
        let padded = format!("{}{}{}", " ".repeat(300), "x".repeat(500), " ".repeat(300));
        assert_eq!(Title::try_from(padded).unwrap().as_str().len(), 500);
    }

    #[test]
    fn only_a_description_may_be_blank() {
        for blank in ["", " ", "\t\n\u{3000}"] {
            assert!(Title::try_from(blank).is_err());
            assert!(AgentName::try_from(blank).is_err());
            assert!(CommentText::try_from(blank).is_err());
            assert!(Description::try_from(blank).is_ok());
        }
    }

    #[test]
    fn shortened_cuts_long_text_between_characters() {
        assert_eq!(shortened("äöü", 3), "äöü");
        assert_eq!(shortened("äöüß", 3), "äöü…");
        assert_eq!(shortened("", 0), "");
    }

    #[test]
    fn titles_with_line_breaks_are_rejected() {
        for text in ["a\nb", "a\rb", "a\u{2028}b", "a\u{2029}b", "a\u{85}b", "a\u{b}b", "a\u{c}b"] {
            assert_eq!(Title::try_from(text), Err(DomainError::LineBreakInTitle), "{text:?}");
        }
    }

    #[test]
    fn error_messages_contain_the_limit() {
        for (error, limit) in [
            (Title::try_from("x".repeat(501)).unwrap_err(), "500"),
            (Title::try_from("").unwrap_err(), "500"),
            (AgentName::try_from("x".repeat(201)).unwrap_err(), "200"),
            (AgentName::try_from(" ").unwrap_err(), "200"),
            (CommentText::try_from("x".repeat(100_001)).unwrap_err(), "100000"),
            (CommentText::try_from(" ").unwrap_err(), "100000"),
            (Description::try_from("x".repeat(100_001)).unwrap_err(), "100000"),
        ] {
            assert!(error.to_string().contains(limit), "{error}");
        }
    }
}
