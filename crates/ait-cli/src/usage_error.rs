//! Explains wrong commands and arguments: what to type instead, as the table in `aliases/` says.

use clap::Command;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use strsim::levenshtein;

use super::aliases::line_error;
use super::aliases::table::{fits, of_value, rows};
use ait_setup::PROGRAM;

/// How much a word may differ from a command to be taken for a mistyped one.
const MAX_TYPOS: usize = 2;
/// The commands that change nothing, which may be suggested for any word: a suggestion invites the user to run it.
const HARMLESS: &str = "serve|list|ls|show|ready|blocked|tree|search|stats|board|log|open|status|doctor|config|completions|man|help";
/// What is said of a word that is like no command.
const OTHERWISE: &str = "`ait help --all` lists the commands, `ait add TITLE` files an issue, and `ait search WORD` finds one";

/// Improves an error of clap; `line` is the whole command line definition.
pub fn explain(mut error: Error, line: &mut Command) -> Error {
    let hint = match error.kind() {
        ErrorKind::InvalidSubcommand => unknown_command(&error, line),
        ErrorKind::UnknownArgument => unknown_argument(&error, line),
        ErrorKind::ValueValidation | ErrorKind::InvalidValue => wrong_value(&error),
        ErrorKind::MissingRequiredArgument => missing_argument(&error),
        _ => None,
    };
    if let Some(hint) = hint {
        return line_error(hint, error.kind());
    }
    // What clap suggests may change something, or not exist.
    error.remove(ContextKind::SuggestedSubcommand);
    error.remove(ContextKind::Suggested);
    error
}

fn text(error: &Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text),
        _ => None,
    }
}

fn texts(error: &Error, kind: ContextKind) -> Option<&[String]> {
    match error.get(kind)? {
        ContextValue::Strings(texts) => Some(texts),
        _ => None,
    }
}

/// Returns the command that the usage of an error names; empty if it is that of `ait` without a command.
fn command(error: &Error) -> Option<String> {
    let usage = error.get(ContextKind::Usage)?.to_string();
    let mut words = usage.split_whitespace().skip_while(|word| *word != PROGRAM).skip(1);
    let word = words.next()?;
    // Otherwise an option or [OPTIONS] comes next.
    Some(if word.starts_with(char::is_alphabetic) { word.to_owned() } else { String::new() })
}

/// Returns what the table says of an argument of a command.
fn explained(command: &str, is_it: impl Fn(&str) -> bool) -> Option<String> {
    let row = rows("options").filter(|row| row.is_refusal).find(|row| {
        row.words.split_once(' ').is_some_and(|(commands, arguments)| {
            (commands == "*" || fits(commands, command)) && arguments.split('|').any(&is_it)
        })
    });
    row.map(|row| row.text.replace("$1", command))
}

fn unknown_command(error: &Error, line: &mut Command) -> Option<String> {
    let word = text(error, ContextKind::InvalidSubcommand)?;
    // Commands such as `ait hooks` have their own.
    if error.get(ContextKind::Usage)?.to_string() != line.render_usage().to_string() {
        return None;
    }
    let mut rows = rows("commands").filter(|row| row.is_refusal && !row.words.contains(' '));
    let row = rows.find(|row| fits(row.words, word));
    // The most similar one comes last.
    let near = texts(error, ContextKind::SuggestedSubcommand).and_then(<[String]>::last);
    let near = near.filter(|near| {
        fits(HARMLESS, near) && levenshtein(near, &word.to_lowercase()) <= MAX_TYPOS
    });
    let hint = match (row, near) {
        (Some(row), _) => row.text.to_owned(),
        (None, Some(near)) => format!("did you mean `ait {near}`?"),
        (None, None) => OTHERWISE.to_owned(),
    };
    Some(format!("there is no command `{word}`: {hint}"))
}

fn unknown_argument(error: &Error, line: &Command) -> Option<String> {
    let given = text(error, ContextKind::InvalidArg)?;
    let command = command(error)?;
    let is_it = |one: &str| fits(one.split('=').next().unwrap_or(one), given);
    let hint = explained(&command, is_it);
    let program = format!("ait {command}");
    let program = program.trim_end();
    if !given.starts_with('-') {
        return Some(format!("`{program}` takes no {given:?}: {}", hint?));
    }
    let of_command = || {
        if command.is_empty() {
            return Some(
                "`ait help` shows the commands, and `ait help serve` the options of a server"
                    .to_owned(),
            );
        }
        let of_all = line.get_arguments().filter(|arg| arg.is_global_set());
        let options = line.find_subcommand(&command)?.get_arguments().chain(of_all);
        let options = options.filter(|arg| !arg.is_hide_set()).filter_map(|arg| arg.get_long());
        let options: Vec<_> = options.map(|long| format!("--{long}")).collect();
        Some(format!("it has {}; `ait help {command}` explains them", options.join(", ")))
    };
    Some(format!("`{program}` has no {given}: {}", hint.or_else(of_command)?))
}

fn wrong_value(error: &Error) -> Option<String> {
    let given = text(error, ContextKind::InvalidValue)?;
    let hint = of_value(text(error, ContextKind::InvalidArg)?, given, true)?;
    Some(match texts(error, ContextKind::ValidValue) {
        Some(valid) => format!("{given:?} is none of {}: {hint}", valid.join(", ")),
        None => format!("{given:?} is no id: {hint}"),
    })
}

fn missing_argument(error: &Error) -> Option<String> {
    let missing = texts(error, ContextKind::InvalidArg)?;
    let is_it = |one: &str| {
        one == "*" || one.starts_with('<') && missing.iter().any(|argument| argument.contains(one))
    };
    explained(&command(error)?, is_it)
}
