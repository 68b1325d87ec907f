//! Texts that users paste, such as error messages: more words than a user types, and no syntax.

use std::cmp::Reverse;

use super::keys::Key;
use super::{MAX_REQUIRED_WORDS, ParsedQuery, Term};
use ait_domain::{Condition, Order};

/// How many words of a pasted text are looked for: the longest ones, which say the most.
const MAX_WORDS: usize = 12;
/// A word with fewer bytes occurs within others of nearly every text.
const MIN_BYTES: usize = 3;

/// Returns true if a text has more words than have to match, and no key, saved query or operator. Words in quotes do
/// not count.
pub(super) fn is_pasted(text: &str) -> bool {
    let words = words_outside_quotes(text);
    words.len() > MAX_REQUIRED_WORDS && !words.into_iter().any(is_syntax)
}

/// Returns true if a text has more words than have to match, and hardly any syntax: if it cannot be parsed, it is none.
pub(super) fn is_mostly_words(text: &str) -> bool {
    let words: Vec<_> = text.split_whitespace().collect();
    let syntax = words.iter().filter(|word| is_syntax(word)).count();
    words.len() - syntax > MAX_REQUIRED_WORDS.max(4 * syntax)
}

fn words_outside_quotes(text: &str) -> Vec<&str> {
    let outside: Vec<&str> = match text.matches('"').count() % 2 {
        0 => text.split('"').step_by(2).collect(),
        _ => vec![text],
    };
    outside.into_iter().flat_map(str::split_whitespace).collect()
}

fn is_syntax(word: &str) -> bool {
    let word = word.trim_start_matches(['-', '(']);
    word == "OR" || word.split_once(':').is_some_and(|(name, _)| Key::named(name).is_some())
}

/// Returns the query for a quarter of the longest words of a text, the best matches first.
pub(super) fn query(text: &str) -> ParsedQuery {
    let mut texts: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let word = word.trim_matches(|one: char| !one.is_alphanumeric()).to_lowercase();
        if !word.is_empty() && !texts.contains(&word) {
            texts.push(word);
        }
    }
    if texts.iter().any(|word| word.len() >= MIN_BYTES) {
        texts.retain(|word| word.len() >= MIN_BYTES);
    }
    if texts.is_empty() {
        return ParsedQuery::default();
    }
    texts.sort_by_key(|word| Reverse(word.chars().count()));
    texts.truncate(MAX_WORDS);
    let at_least = texts.len().div_ceil(4);
    let condition = Condition::SomeTexts { texts, at_least };
    let terms = vec![Term { text: text.trim().to_owned(), condition }];
    ParsedQuery { terms, order: Some((Order::Relevance, false)) }
}
