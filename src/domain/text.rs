//! The texts that come in from callers, checked once, at the edge.
//!
//! The limits hold for what comes in. What a file already contains is taken as it is, which is why
//! [`Issue`](super::Issue) itself holds plain strings.

use std::fmt;
use std::str::FromStr;

use serde::Deserialize;

use super::DomainError;

/// Declares a text type whose values have passed `$check`.
macro_rules! checked_text {
    ($(#[$doc:meta])* $name:ident, $check:expr) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(String);

        impl $name {
            /// The text itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }

            /// Gives the text away.
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
    /// What an issue is called: 1 to 500 characters after trimming, on one line.
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
    /// What an issue is about: up to 100,000 characters, kept as given; may be empty.
    Description,
    |text| at_most("description", text, Description::MAX_CHARS)
}

checked_text! {
    /// What an agent says about an issue: up to 100,000 characters, kept as given, not blank.
    CommentText,
    |text| {
        if text.trim().is_empty() {
            return Err(DomainError::Blank { field: "comment", limit: CommentText::MAX_CHARS });
        }
        at_most("comment", text, CommentText::MAX_CHARS)
    }
}

checked_text! {
    /// Who acts: 1 to 200 characters after trimming.
    AgentName,
    |text| trimmed("agent", &text, AgentName::MAX_CHARS)
}

impl Title {
    /// The most characters (Unicode scalar values) in a title.
    pub const MAX_CHARS: usize = 500;

    /// Tells what keeps a text from being a title as it stands, untrimmed.
    pub(super) fn check(text: &str) -> Result<(), DomainError> {
        if text.contains(is_line_break) && !text.trim().is_empty() {
            return Err(DomainError::LineBreakInTitle);
        }
        trimmed("title", text, Self::MAX_CHARS).map(drop)
    }
}

impl Description {
    /// The most characters (Unicode scalar values) in a description.
    pub const MAX_CHARS: usize = 100_000;
}

impl CommentText {
    /// The most characters (Unicode scalar values) in a comment.
    pub const MAX_CHARS: usize = 100_000;
}

impl AgentName {
    /// The most characters (Unicode scalar values) in an agent's name.
    pub const MAX_CHARS: usize = 200;
}

/// The mandatory breaks of Unicode's line breaking algorithm (UAX #14: BK, CR, LF, NL).
fn is_line_break(character: char) -> bool {
    matches!(character, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

fn trimmed(field: &'static str, text: &str, limit: usize) -> Result<String, DomainError> {
    let text = text.trim();
    if text.is_empty() {
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

/// A text of at most so many characters: cut, with an ellipsis in the place of the rest.
pub fn shortened(text: &str, max_chars: usize) -> String {
    match text.char_indices().nth(max_chars) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_count_characters_and_hold_exactly() {
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
    fn titles_and_agents_are_trimmed_and_comments_and_descriptions_are_not() {
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
    fn a_text_is_cut_between_characters_and_only_where_it_is_too_long() {
        assert_eq!(shortened("äöü", 3), "äöü");
        assert_eq!(shortened("äöüß", 3), "äöü…");
        assert_eq!(shortened("", 0), "");
    }

    #[test]
    fn a_title_is_one_line() {
        for text in ["a\nb", "a\rb", "a\u{2028}b", "a\u{2029}b", "a\u{85}b", "a\u{b}b", "a\u{c}b"] {
            assert_eq!(Title::try_from(text), Err(DomainError::LineBreakInTitle), "{text:?}");
        }
    }

    #[test]
    fn the_limit_is_in_the_text_of_the_refusal() {
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
