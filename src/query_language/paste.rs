//! Texts that users paste, such as error messages: more words than a user types, and no syntax.

use super::keys::Key;
use super::{MAX_REQUIRED_WORDS, MAX_TERMS, ParsedQuery, Term};
use crate::domain::{Condition, Order};

/// Returns true if a text has more words than have to match, and no key, saved query or operator. Words in quotes do not
/// count.
pub(super) fn is_pasted(text: &str) -> bool {
    let outside: Vec<&str> = match text.matches('"').count() % 2 {
        0 => text.split('"').step_by(2).collect(),
        _ => vec![text],
    };
    let words = || outside.iter().flat_map(|part| part.split_whitespace());
    let is_syntax = |word: &str| {
        let word = word.trim_start_matches(['-', '(']);
        word == "OR" || word.split_once(':').is_some_and(|(name, _)| Key::named(name).is_some())
    };
    words().count() > MAX_REQUIRED_WORDS && !words().any(is_syntax)
}

/// Returns the query for at least half of the words of a text, the best matches first.
pub(super) fn query(text: &str) -> ParsedQuery {
    let mut texts: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = word.trim_matches(|one: char| !one.is_alphanumeric()).to_lowercase();
        if !word.is_empty() && !texts.contains(&word) && texts.len() < MAX_TERMS {
            texts.push(word);
        }
    }
    if texts.is_empty() {
        return ParsedQuery::default();
    }
    let at_least = texts.len().div_ceil(2);
    let condition = Condition::SomeTexts { texts, at_least };
    let terms = vec![Term { text: text.trim().to_owned(), condition }];
    ParsedQuery { terms, order: Some((Order::Relevance, false)), has_status: false }
}
