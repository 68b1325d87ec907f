//! Finds the commits and branches that a text names.
//!
//! A number of 40 hex digits is a commit. Shorter numbers and names count only behind the word `commit` or `branch`,
//! because many texts have numbers and words that look like them.

use std::ops::Range;

use crate::repository::is_in_branch;

/// The digits of a whole hash, and of the shortest beginning of one.
const HASH_DIGITS: usize = 40;
const MIN_DIGITS: usize = 7;
/// The longest name of a branch that becomes a link.
const MAX_BRANCH: usize = 200;
/// Names of branches that are also words.
const MAIN: [&str; 4] = ["main", "master", "develop", "trunk"];

/// Something in the repository.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reference<'a> {
    Commit(&'a str),
    Branch(&'a str),
}

/// Returns the places in a text that name something in the repository, in order.
pub(super) fn references(text: &str) -> impl Iterator<Item = (Range<usize>, Reference<'_>)> {
    let is_end = |character: char| !is_in_branch(character);
    let start = text.as_ptr() as usize;
    text.split(is_end).filter(|word| !word.is_empty()).filter_map(move |word| {
        let word = word.trim_end_matches(['.', '/', '-']);
        let begin = word.as_ptr() as usize - start;
        let before = &text[..begin];
        let after = &text[begin + word.len()..];
        // A part of an address or of a longer name.
        if before.ends_with([':', '@', '#', '=', '~', '$', '\\', '?', '&'])
            || after.starts_with(['@', '\\', '='])
        {
            return None;
        }
        Some((begin..begin + word.len(), reference(word, announced(before), false)?))
    })
}

/// Returns what a text in the form of code names. `before` is the text before it.
pub(super) fn in_code<'a>(code: &'a str, before: &str) -> Option<Reference<'a>> {
    code.chars().all(is_in_branch).then(|| reference(code, announced(before), true)).flatten()
}

/// A word that says what follows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Announced {
    Commit,
    Branch,
}

/// Returns what the end of a text says about what follows.
fn announced(before: &str) -> Option<Announced> {
    let last = before.trim_end_matches([' ', '\u{a0}']);
    if last.len() == before.len() {
        return None;
    }
    let last = last.rsplit(|character: char| !character.is_alphabetic()).next()?;
    match last.to_ascii_lowercase().as_str() {
        "commit" | "commits" | "revision" => Some(Announced::Commit),
        "branch" | "branches" => Some(Announced::Branch),
        _ => None,
    }
}

fn reference(word: &str, announced: Option<Announced>, is_code: bool) -> Option<Reference<'_>> {
    let is_hash = word.bytes().all(|byte| byte.is_ascii_hexdigit());
    match announced {
        _ if is_hash && word.len() == HASH_DIGITS => Some(Reference::Commit(word)),
        Some(Announced::Commit) if is_hash && (MIN_DIGITS..=HASH_DIGITS).contains(&word.len()) => {
            Some(Reference::Commit(word))
        }
        Some(Announced::Branch) if is_branch(word) => {
            let is_no_word = word.contains(|character: char| !character.is_alphabetic());
            (is_code || is_no_word || MAIN.contains(&word)).then_some(Reference::Branch(word))
        }
        _ => None,
    }
}

/// Returns true for a name that git accepts.
fn is_branch(name: &str) -> bool {
    let is_part =
        |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    name.len() <= MAX_BRANCH
        && !name.contains("..")
        && !name.starts_with('-')
        && !name.ends_with('.')
        && name.split('/').all(is_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "0123456789abcdef0123456789abcdef01234567";

    #[test]
    fn commits_and_branches_are_found_but_not_what_looks_like_them() {
        let in_sentence = format!("It is {HASH}.");
        for (text, expected) in [
            (&*in_sentence, &[HASH][..]),
            ("commit 3f2a9c1, on branch fix/login-loop.", &["3f2a9c1", "fix/login-loop"]),
            ("Commit 1234567 and the branch main", &["1234567", "main"]),
            ("the branch of another issue, a commit message", &[]),
            ("3f2a9c1 feedbeef 1234567 main fix/login", &[]),
            ("commit 3f2a9c, branch ../x branch a..b branch x.lock branch -x1", &[]),
            ("https://a.example/commit/0123456789abcdef0123456789abcdef01234567", &[]),
            ("", &[]),
        ] {
            let found: Vec<_> = references(text).map(|(place, _)| &text[place]).collect();
            assert_eq!(found, expected, "{text}");
        }
        for (code, before, expected) in [
            ("dev", "on branch ", Some(Reference::Branch("dev"))),
            ("dev", "on branch", None),
            (HASH, "", Some(Reference::Commit(HASH))),
            ("3f2a9c1", "in commit ", Some(Reference::Commit("3f2a9c1"))),
            ("a b", "branch ", None),
            ("fix/x", "", None),
        ] {
            assert_eq!(in_code(code, before), expected, "{before}{code}");
        }
    }
}
