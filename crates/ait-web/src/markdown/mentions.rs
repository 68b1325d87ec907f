//! Finds the issues that a text names: `issue-3f2a9c1e`, `#3f2a9c1e`, or an id alone.

use std::ops::Range;

use crate::repository::Repository;
use ait_domain::IssueRef;

/// A link to what a text names.
pub(crate) struct Mention {
    pub path: String,
    /// Shown on hover, unless it is empty.
    pub title: String,
}

/// Returns the link for a reference; `None` if there is no such issue.
pub(crate) type FindIssue<'a> = dyn Fn(&IssueRef) -> Option<Mention> + 'a;

/// What the names in texts lead to.
#[derive(Clone, Copy)]
pub(crate) struct Links<'a> {
    pub issue: &'a FindIssue<'a>,
    pub repository: Option<&'a Repository>,
}

impl Links<'_> {
    /// Names lead nowhere.
    pub const NONE: Self = Links { issue: &|_| None, repository: None };
}

/// Returns the places in a text that may name issues, in order. Parts of longer words, paths and addresses do not.
pub(super) fn mentions(text: &str) -> impl Iterator<Item = (Range<usize>, IssueRef)> {
    words(text).filter_map(|word| {
        let before = &text[..word.start];
        let after = &text[word.end..];
        let (before, begin) = match before.strip_suffix('#') {
            Some(before) => (before, word.start - 1),
            None => (before, word.start),
        };
        let mut follows = after.chars();
        let goes_on = match follows.next() {
            Some('/' | '@' | '\\') => true,
            Some('.' | ':') => follows.next().is_some_and(char::is_alphanumeric),
            _ => false,
        };
        let is_inside = |last: char| last.is_alphanumeric() || "/\\@.=#&:".contains(last);
        if goes_on || before.chars().next_back().is_some_and(is_inside) {
            return None;
        }
        let place = begin..word.end;
        Some((place.clone(), text[place].parse().ok()?))
    })
}

/// Returns the places of the words, which consist of letters, digits, hyphens and underscores.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let is_in_word =
        |character: char| character.is_alphanumeric() || matches!(character, '-' | '_');
    let pieces = text.split(move |character| !is_in_word(character));
    let start = text.as_ptr() as usize;
    pieces.filter(|piece| !piece.is_empty()).map(move |piece| {
        let word = piece.trim_end_matches('-');
        let begin = piece.as_ptr() as usize - start;
        begin..begin + word.len()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_but_not_parts_of_words() {
        let whole = "3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73";
        for (text, expected) in [
            (
                "see issue-3f2a9c1e, #3f2a9c1e or 3F2A9C1E.",
                &["issue-3f2a9c1e", "#3f2a9c1e", "3F2A9C1E"][..],
            ),
            (whole, &[whole]),
            ("(Issue-3f2a9c1e)", &["Issue-3f2a9c1e"]),
            ("3f2a9c1e: done. 3f2a9c1e - 4f2a9c1e-", &["3f2a9c1e", "3f2a9c1e", "4f2a9c1e"]),
            ("3f2a9c1 x3f2a9c1e 3f2a9c1ex é3f2a9c1e 3f2a9c1e_", &[]),
            ("a/3f2a9c1e 3f2a9c1e/b a@3f2a9c1e 3f2a9c1e.txt ##3f2a9c1e a#3f2a9c1e", &[]),
            ("tissue-3f2a9c1e issue-issue-3f2a9c1e #issue-3f2a9c1e", &[]),
            ("0123456789abcdef0123456789abcdef01234567", &[]),
            ("", &[]),
        ] {
            let found: Vec<_> = mentions(text).map(|(place, _)| &text[place]).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
