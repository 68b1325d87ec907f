//! The table of words, `words.txt`: how its rows are read, and when one fits.

use std::sync::LazyLock;

use ait_query::is_excluding;

const TABLE: &str = include_str!("words.txt");
/// What other programs call an issue.
const NOUNS: &str =
    "issue|issues|task|tasks|ticket|tickets|item|items|bug|card|cards|story|stories|entry|job";

/// A row of the table.
#[derive(Clone, Copy)]
pub(crate) struct Row {
    pub words: &'static str,
    /// Whether the text says why the words mean nothing.
    pub is_refusal: bool,
    /// What the words mean.
    pub text: &'static str,
}

/// The rows, each with its section. Each command line is compared with many of them.
static ROWS: LazyLock<Vec<(&str, Row)>> = LazyLock::new(|| {
    let mut section = "";
    let mut all = Vec::new();
    for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[') {
            section = name.trim_end_matches(']');
        } else if let Some(at) = line.find(" =").into_iter().chain(line.find(" !")).min() {
            let (words, text) = line.split_at(at);
            let is_refusal = text.starts_with(" !");
            all.push((section, Row { words, is_refusal, text: text[2..].trim_start() }));
        }
    }
    all
});

/// Returns the rows of a section.
pub(crate) fn rows(section: &str) -> impl Iterator<Item = Row> {
    ROWS.iter().filter(move |(of, _)| *of == section).map(|(_, row)| *row)
}

/// Returns what the table says of the value of an option, such as `--sort`, or of an argument, such as `<ID>`.
pub(crate) fn of_value(place: &str, given: &str, is_refusal: bool) -> Option<&'static str> {
    let row = rows("values").filter(|row| row.is_refusal == is_refusal).find(|row| {
        let of_place = row.words.split_once(' ').filter(|(name, _)| place.starts_with(name));
        of_place.is_some_and(|(_, words)| fits(words, given))
    });
    row.map(|row| row.text)
}

/// Returns true if a word is one of those in a pattern.
pub(crate) fn fits(pattern: &str, word: &str) -> bool {
    let lower = word.to_lowercase();
    pattern.split('|').any(|one| match one {
        "ID" => is_id(word),
        "KEY" => word.chars().all(char::is_alphabetic) && is_excluding(&format!("-{word}:")),
        "NOUN" => is_noun(word),
        "PORT" => word.len() > 3 && word.parse::<u16>().is_ok(),
        "TEXT" => word.contains(char::is_whitespace),
        "WORD" => !word.starts_with('-'),
        one if word.starts_with('-') => one == word,
        one => one == lower,
    })
}

/// Returns true if a word is what other programs call an issue.
pub(crate) fn is_noun(word: &str) -> bool {
    fits(NOUNS, word)
}

/// Returns true if a word names an issue: the first digits of its id, or its id in another program, such as 12, #12,
/// ABC-12 or bd-a1b2.
pub(crate) fn is_id(word: &str) -> bool {
    let (name, is_marked) = match word.strip_prefix('#') {
        Some(name) => (name, true),
        None => (word, false),
    };
    let is_number = |text: &str| {
        text.starts_with(|first: char| first.is_ascii_digit())
            && text.chars().all(|one| one.is_ascii_digit() || one == '.')
    };
    let is_key = || {
        name.split_once('-').is_some_and(|(project, number)| {
            project.starts_with(|first: char| first.is_ascii_alphabetic())
                && project.chars().all(char::is_alphanumeric)
                && number.chars().any(|one| one.is_ascii_digit())
                && number.chars().all(|one| one.is_ascii_alphanumeric() || one == '.')
        })
    };
    crate::options::is_issue_ref(name) || is_number(name) || is_key() || is_marked
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_a_row() {
        let is_row = |line: &&str| !line.is_empty() && !line.starts_with(['#', '[']);
        let count = TABLE.lines().filter(is_row).count();
        let sections = ["commands", "options", "lists", "values"];
        assert_eq!(sections.map(|section| rows(section).count()).iter().sum::<usize>(), count);
        for row in rows("options").chain(rows("values")) {
            assert_eq!(row.words.split(' ').count(), 2, "{}", row.words);
        }
    }
}
