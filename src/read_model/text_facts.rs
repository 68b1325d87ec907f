//! What the rules of the findings need of the texts of an open issue, computed once for each version of it.

use xxhash_rust::xxh3::xxh3_64;

use super::sketch::{Sketch, words};
use crate::domain::Issue;
use crate::domain::thresholds::ENOUGH_DESCRIPTION_CHARS;

/// Words that make no title, alone or together.
const PLACEHOLDERS: [&str; 34] = [
    "a",
    "an",
    "asdf",
    "bar",
    "blah",
    "bug",
    "change",
    "error",
    "feature",
    "fix",
    "fixme",
    "foo",
    "help",
    "improvement",
    "issue",
    "lorem",
    "ipsum",
    "misc",
    "new",
    "placeholder",
    "problem",
    "report",
    "request",
    "something",
    "stuff",
    "task",
    "tbd",
    "temp",
    "test",
    "the",
    "title",
    "tmp",
    "todo",
    "untitled",
];
/// Words that say nothing about what a title means.
const FILLERS: [&str; 16] = [
    "a", "an", "and", "are", "be", "for", "in", "is", "it", "of", "on", "or", "the", "to", "when",
    "with",
];

/// The facts.
#[derive(Clone, Debug)]
pub(crate) struct TextFacts {
    /// The hash of the words of the title. Titles that differ in order, case, endings and marks have the same one.
    pub(super) title: u64,
    pub(super) is_placeholder: bool,
    /// The length of the description in characters without white space, up to [`ENOUGH_DESCRIPTION_CHARS`].
    pub(super) description_chars: usize,
    pub(super) description: Sketch,
}

impl TextFacts {
    /// Returns the facts of an issue; `None` if it has ended.
    pub(in crate::read_model) fn of(issue: &Issue) -> Option<Box<Self>> {
        if issue.status.has_ended() {
            return None;
        }
        let written = issue.description.chars().filter(|character| !character.is_whitespace());
        Some(Box::new(Self {
            title: xxh3_64(normalized(&issue.title).as_bytes()),
            is_placeholder: is_placeholder(&issue.title),
            description_chars: written.take(ENOUGH_DESCRIPTION_CHARS).count(),
            description: Sketch::of(&issue.description),
        }))
    }

    /// Returns true if the description says enough to be compared with others.
    pub(super) fn is_described(&self) -> bool {
        self.description_chars >= ENOUGH_DESCRIPTION_CHARS
    }
}

/// Returns the words of a title that mean something, sorted, in lower case and without endings.
pub(super) fn normalized(title: &str) -> String {
    let title = title.to_lowercase();
    let mut found: Vec<&str> =
        words(&title).filter(|word| !FILLERS.contains(word)).map(stem).collect();
    found.sort_unstable();
    found.dedup();
    found.join(" ")
}

/// Cuts off what distinguishes the forms of an English word. Good enough to compare titles, and wrong for many words.
fn stem(word: &str) -> &str {
    const SHORTEST: usize = 3;
    let endings = ["ing", "ed", "es", "s", "e"];
    let mut stems = endings.iter().filter_map(|ending| word.strip_suffix(ending));
    let stem = stems.find(|stem| stem.chars().count() >= SHORTEST).unwrap_or(word);
    // `dropped` and `drops`.
    let is_doubled = |letter: char| stem[..stem.len() - letter.len_utf8()].ends_with(letter);
    match stem.chars().next_back() {
        Some(last) if last.is_alphabetic() && is_doubled(last) => {
            &stem[..stem.len() - last.len_utf8()]
        }
        _ => stem,
    }
}

fn is_placeholder(title: &str) -> bool {
    let title = title.to_lowercase();
    let says_nothing = |word: &str| {
        PLACEHOLDERS.contains(&word)
            || word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'x')
    };
    // One letter of most alphabets is no word, but one of Chinese can be.
    words(&title).all(|word| says_nothing(word) || (word.len() == 1 && word.is_ascii()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_that_say_the_same_are_normalized_to_the_same() {
        for (one, other, is_same) in [
            ("Login fails on Safari", "login failed, on Safari!", true),
            ("Fix the login", "fix: Login", true),
            ("Sorting the list", "Sort lists", true),
            ("Login fails on Safari", "Login fails on Firefox", false),
            ("Bestätigung fehlt", "BESTÄTIGUNG fehlt", true),
            ("Page 1", "Page 2", false),
        ] {
            assert_eq!(normalized(one) == normalized(other), is_same, "{one:?} {other:?}");
        }
    }
}
