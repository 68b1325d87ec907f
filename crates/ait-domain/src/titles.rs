//! Titles that say nearly the same.

use std::collections::BTreeSet;

use super::thresholds::NEAR_TITLES;

/// Words that say nothing about what a title means.
const FILLERS: [&str; 16] = [
    "a", "an", "and", "are", "be", "for", "in", "is", "it", "of", "on", "or", "the", "to", "when",
    "with",
];

/// Returns the words of a text: the longest sequences of letters and digits.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|character: char| !character.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Returns the words of a title that mean something, sorted, in lower case and without endings.
pub fn significant_words(title: &str) -> Vec<String> {
    let title = title.to_lowercase();
    let mut found: Vec<&str> =
        words(&title).filter(|word| !FILLERS.contains(word)).map(stem).collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(str::to_owned).collect()
}

/// Returns the [significant words](significant_words) of a title, separated by spaces.
pub fn normalized(title: &str) -> String {
    significant_words(title).join(" ")
}

/// Returns true if two titles say nearly the same. Titles with different numbers do not, nor do those of one character.
pub fn are_near(one: &str, other: &str) -> bool {
    let numbers = |title| {
        let words = words(title).filter(|word| word.bytes().all(|byte| byte.is_ascii_digit()));
        words.map(str::to_owned).collect::<BTreeSet<_>>()
    };
    let both = [numbers(one), numbers(other)];
    let is_numbered = both.iter().all(|numbers| !numbers.is_empty());
    let one = normalized(one);
    one.chars().count() > 1
        && !(is_numbered && both[0] != both[1])
        && similarity(&one, &normalized(other)) >= NEAR_TITLES
}

/// Returns how similar two normalized titles are, from 0 to 1: the Sørensen-Dice coefficient of their pairs of
/// neighbouring characters. That of `strsim` counts bytes, so that it is too low for other alphabets.
pub fn similarity(one: &str, other: &str) -> f64 {
    let pairs = |title: &str| {
        let letters: Vec<char> = title.chars().filter(|letter| !letter.is_whitespace()).collect();
        letters.windows(2).map(|pair| [pair[0], pair[1]]).collect::<Vec<_>>()
    };
    let ours = pairs(one);
    let mut left = pairs(other);
    let all = ours.len() + left.len();
    let mut common = 0;
    for pair in &ours {
        if let Some(at) = left.iter().position(|other| other == pair) {
            left.swap_remove(at);
            common += 1;
        }
    }
    if all == 0 { f64::from(u8::from(one == other)) } else { f64::from(2 * common) / all as f64 }
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

    #[test]
    fn near_titles_differ_in_little_that_matters() {
        for (one, other, is_near) in [
            ("Login fails on Safari", "Safari: login fails", true),
            ("Login fails on Safari", "Login fails on Safari 17", true),
            ("The importer drops the last line", "Importer drops last lines of a file", true),
            ("ログインできない", "ログインできない問題", true),
            ("Login fails on Safari", "Logout fails on Firefox", false),
            ("Fix typo in README", "Fix typo in changelog", false),
            ("Translate the settings page", "Translate the start page", false),
            ("On it", "Is it?", false),
            ("Translate page 1 of the manual", "Translate page 2 of the manual", false),
            ("t", "t", false),
        ] {
            assert_eq!(are_near(one, other), is_near, "{one:?} {other:?}");
        }
    }
}
