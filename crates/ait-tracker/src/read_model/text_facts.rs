//! What the rules of the findings need of the texts of an open issue, computed once for each version of it.

use xxhash_rust::xxh3::xxh3_64;

use super::sketch::Sketch;
use ait_domain::Issue;
use ait_domain::thresholds::ENOUGH_DESCRIPTION_CHARS;
use ait_domain::titles::{normalized, words};

/// Words that make no title, alone or together.
const PLACEHOLDERS: &str = "\
    a an asdf bar blah bug change error feature fix fixme foo help improvement issue lorem \
    ipsum misc new placeholder problem report request something stuff task tbd temp test \
    the title tmp todo untitled";
/// What descriptions contain that say when the work is done, in lower case.
const ACCEPTANCE: [&str; 11] = [
    "accept",
    "criteri",
    "done when",
    "done if",
    "expect",
    "should",
    "must",
    "verif",
    "test",
    "- [ ]",
    "- [x]",
];
/// The facts.
#[derive(Clone, Debug)]
pub(crate) struct TextFacts {
    /// The hash of the words of the title. Titles that differ in order, case, endings and marks have the same one.
    pub(super) title: u64,
    pub(super) is_placeholder: bool,
    /// The length of the description in characters without white space, up to [`ENOUGH_DESCRIPTION_CHARS`].
    pub(super) description_chars: usize,
    pub(super) says_when_done: bool,
    pub(super) description: Sketch,
}

impl TextFacts {
    /// Returns the facts of an issue; `None` if it has ended.
    pub(in crate::read_model) fn of(issue: &Issue) -> Option<Box<Self>> {
        if issue.status.has_ended() {
            return None;
        }
        Some(Box::new(Self {
            title: xxh3_64(normalized(&issue.title).as_bytes()),
            is_placeholder: is_placeholder(&issue.title),
            description_chars: written_chars(&issue.description),
            says_when_done: says_when_done(&issue.description),
            description: Sketch::of(&issue.description),
        }))
    }

    /// Returns true if the description says enough to be compared with others.
    pub(super) fn is_described(&self) -> bool {
        self.description_chars >= ENOUGH_DESCRIPTION_CHARS
    }
}

/// Returns the length of a description in characters without white space, up to [`ENOUGH_DESCRIPTION_CHARS`].
pub(super) fn written_chars(description: &str) -> usize {
    let written = description.chars().filter(|character| !character.is_whitespace());
    written.take(ENOUGH_DESCRIPTION_CHARS).count()
}

fn says_when_done(description: &str) -> bool {
    let description = description.to_lowercase();
    ACCEPTANCE.iter().any(|word| description.contains(word))
}

fn is_placeholder(title: &str) -> bool {
    let title = title.to_lowercase();
    let says_nothing = |word: &str| {
        PLACEHOLDERS.split(' ').any(|one| one == word)
            || word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'x')
    };
    // One letter of most alphabets is no word, but one of Chinese can be.
    words(&title).all(|word| says_nothing(word) || (word.len() == 1 && word.is_ascii()))
}
