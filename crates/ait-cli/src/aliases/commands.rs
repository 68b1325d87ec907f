//! Commands of other programs, and the commands of ait that mean the same.

use clap::Command;
use clap::error::{Error, ErrorKind};

use super::line_error;
use super::table::{Row, fits, is_noun, rows};

/// The longest chain of rows, such as `task create`, then `create`.
const MAX_STEPS: usize = 5;

/// Replaces the command that the words begin with by that of ait.
///
/// # Errors
///
/// The words can mean two things.
pub(super) fn replaced(mut words: Vec<String>, definition: &Command) -> Result<Vec<String>, Error> {
    for _ in 0..MAX_STEPS {
        if let Some(command) = without_noun(&words, definition) {
            words[0] = command;
            continue;
        }
        let row = rows("commands").find_map(|row| Some((row, fitting(row, &words, definition)?)));
        match row {
            Some((row, _)) if row.is_refusal && row.words.contains(' ') => {
                return Err(line_error(row.text.to_owned(), ErrorKind::InvalidValue));
            }
            Some((row, count)) if !row.is_refusal => {
                let means = row.text.split(' ').map(|word| match word.split_once('$') {
                    Some((sign, place)) => {
                        let place: usize = place.parse().expect("the tests check the table");
                        format!("{sign}{}", words[place - 1])
                    }
                    None => word.to_owned(),
                });
                words = means.chain(words[count..].iter().cloned()).collect();
            }
            _ => break,
        }
    }
    Ok(words)
}

/// Returns the command of one such as `add-task`.
fn without_noun(words: &[String], definition: &Command) -> Option<String> {
    let first = words.first().filter(|first| !is_command(first, definition))?;
    let (command, noun) = first.rsplit_once(['-', '_'])?;
    (is_noun(noun) && is_command(command, definition)).then(|| command.to_owned())
}

/// Returns true if a word is a command of ait or of another program.
fn is_command(word: &str, definition: &Command) -> bool {
    let first = |row: Row| row.words.split(' ').next();
    let is_known = |word: &str| {
        let is_first = |first: &str| first.split('|').any(|one| one == word);
        definition.find_subcommand(word).is_some()
            || rows("commands").filter_map(first).any(is_first)
    };
    !word.starts_with('-') && is_known(&word.to_lowercase())
}

/// Returns how many words a row takes from the beginning of a line, if it fits.
fn fitting(row: Row, words: &[String], definition: &Command) -> Option<usize> {
    let mut count = 0;
    for pattern in row.words.split(' ') {
        let word = words.get(count);
        let is_end = pattern == "END";
        let is_it = match pattern {
            "END" => word.is_none_or(|word| word.starts_with('-')),
            "COMMAND" => is_command(word?, definition),
            _ => fits(pattern, word?),
        };
        if !is_it {
            return None;
        }
        count += usize::from(!is_end);
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns words that a row fits.
    fn sample(row: Row) -> Vec<String> {
        let word = |pattern: &str| match pattern {
            "ID" => "3f2a9c1e".to_owned(),
            "COMMAND" => "undo".to_owned(),
            "KEY" => "label".to_owned(),
            "NOUN" => "ticket".to_owned(),
            "PORT" => "3000".to_owned(),
            "TEXT" => "Login fails".to_owned(),
            "WORD" => "words".to_owned(),
            words => words.split('|').next().unwrap().to_owned(),
        };
        let words = row.words.strip_suffix(" END").map(str::to_owned);
        let words = words.unwrap_or_else(|| format!("{} more", row.words));
        words.split(' ').map(word).collect()
    }

    fn definition() -> Command {
        Command::new("ait").subcommand(Command::new("undo"))
    }

    #[test]
    fn each_row_can_fit_and_has_the_words_that_it_uses() {
        for (at, row) in rows("commands").enumerate() {
            let words = sample(row);
            let first =
                rows("commands").position(|row| fitting(row, &words, &definition()).is_some());
            assert_eq!(first, Some(at), "{} never fits", row.words);
            let patterns = row.words.split(' ').count();
            for (_, place) in row.text.split(' ').filter_map(|word| word.split_once('$')) {
                assert!((1..=patterns).contains(&place.parse().unwrap()), "{}", row.words);
            }
            assert!(!row.text.is_empty(), "{}", row.words);
        }
    }

    #[test]
    fn commands_that_fit_no_row_are_explained() {
        const OURS: &str = "add|edit|list|show|search|open|comment|link|unlink|log|next|ready|wait|review|worktree|\
             config|serve|mcp|init|status|board|questions|claim|release|return|complete|close|reopen|park|export|backup|\
             import|undo|help|ID|COMMAND|NOUN";
        let is_whole = |word: &str| {
            rows("commands").any(|row| {
                row.words
                    .strip_suffix(" END")
                    .unwrap_or(row.words)
                    .split('|')
                    .any(|one| one == word)
            })
        };
        for row in rows("commands") {
            let first = row.words.split(' ').next().unwrap();
            for word in first.split('|').filter(|word| !word.starts_with('-')) {
                let is_ours = OURS.split('|').any(|one| one == word);
                assert!(is_ours || is_whole(word), "{word}");
            }
        }
    }
}
