//! Words that people bring from other programs: where they can mean only one thing, the command line is rewritten
//! before clap reads it.
//!
//! `words.txt` says what means what, and [`table`] reads it: for [`commands`], for [`options`], and for the words of
//! lists here. What could mean two things stays, so that clap refuses it and `usage_error` says what there is instead.

mod commands;
mod options;
pub(super) mod table;

use std::ffi::OsString;

use clap::error::{Error, ErrorKind};
use clap::{Arg, Command};

use super::options::ME;
use ait_domain::{AgentName, Status};
use ait_interchange::words;
use ait_query::is_excluding;

/// The options of every command that take a value.
const GLOBAL: [&str; 3] = ["--file", "--store", "--color"];
/// The keys of other programs for which issues have nothing.
const FOREIGN: &str = "project|proj|wait|scheduled|until|recur|depends|rec|milestone|sprint|epic";

/// Returns a command line in the words of ait; `definition` is the whole command line definition.
///
/// # Errors
///
/// A word can mean two things, and clap would take it for a third.
pub fn rewritten(line: Vec<OsString>, definition: &Command) -> Result<Vec<OsString>, Error> {
    let words: Option<Vec<String>> =
        line.iter().map(|word| word.to_str().map(str::to_owned)).collect();
    let Some(words) = words else { return Ok(line) };
    let (before, words) = words.split_at(command_at(&words));
    let words = in_our_words(words.to_vec(), definition)?;
    Ok(before.iter().cloned().chain(words).map(OsString::from).collect())
}

/// Replaces `@me`, as a value of an option or of a term of a query, by the name that `name` returns for the line with
/// another name in its place.
pub fn with_own_name(
    line: Vec<OsString>,
    name: impl FnOnce(&[OsString]) -> Option<AgentName>,
) -> Vec<OsString> {
    let is_own = |at: usize| {
        let word = line[at].to_str().unwrap_or_default();
        let is_value = at > 0 && line[at - 1].to_str().is_some_and(is_option);
        (word == ME && is_value) || word.ends_with(":@me") || word.ends_with("=@me")
    };
    let own: Vec<_> = (0..line.len()).filter(|at| is_own(*at)).collect();
    let with = |name: &str| {
        let mut line = line.clone();
        for at in &own {
            let word = line[*at].to_string_lossy();
            let before = word.strip_suffix(ME).unwrap_or_default();
            let is_quoted = before.ends_with(':') && name.contains(char::is_whitespace);
            let quote = if is_quoted { "\"" } else { "" };
            line[*at] = format!("{before}{quote}{name}{quote}").into();
        }
        line
    };
    if own.is_empty() {
        return line;
    }
    name(&with("me")).map(|name| with(name.as_str())).unwrap_or(line)
}

/// Returns the words from the command on, as far as they are texts.
pub(super) fn from_command(line: &[OsString]) -> Vec<&str> {
    let words: Vec<_> = line.iter().map_while(|word| word.to_str()).collect();
    words[command_at(&words)..].to_vec()
}

/// Returns where the command is: after the name of the program and the options that every command has.
fn command_at(words: &[impl AsRef<str>]) -> usize {
    let mut at = 1;
    while let Some(word) = words.get(at).map(AsRef::as_ref) {
        match GLOBAL.into_iter().find(|option| word.starts_with(option)) {
            Some(option) if word == option => at += 2,
            Some(_) => at += 1,
            None => break,
        }
    }
    at.min(words.len())
}

fn in_our_words(mut words: Vec<String>, definition: &Command) -> Result<Vec<String>, Error> {
    // Its options before the server: `ait --port 3000 serve`.
    let line = [&["ait".to_owned()], &words[..]].concat();
    if let Some(&at) = positionals(&line, definition).first()
        && matches!(&*line[at], "serve" | "mcp")
    {
        words[..at].rotate_right(1);
    }
    let mut words = commands::replaced(words, definition)?;
    if let [help, given] = &words[..]
        && help == "help"
        && definition.find_subcommand(given).is_none()
    {
        let given = commands::replaced(vec![given.clone()], definition)?;
        return Ok(vec![help.clone(), given[0].clone()]);
    }
    let Some(first) = words.first_mut() else { return Ok(words) };
    match definition.find_subcommand(first.to_lowercase()) {
        Some(command) => *first = command.get_name().to_owned(),
        None if first.starts_with('-') => return Ok(options::replaced(&words, definition)),
        None => return Ok(words),
    }
    if let Some(changed) = status_change(&words, definition) {
        words = changed;
    }
    let command = definition.find_subcommand(&words[0]).unwrap_or(definition);
    let words = [&words[..1], &options::replaced(&words[1..], command)].concat();
    match &*words[0] {
        "list" | "search" => with_terms(words, command, true),
        "add" | "edit" => Ok(with_dashes(with_terms(words, command, false)?, command)),
        _ => Ok(words),
    }
}

/// Returns the argument that a command or the whole line defines for an option, such as `-m` or `--message`.
fn defined<'a>(option: &str, command: &'a Command) -> Option<&'a Arg> {
    let is_it = |arg: &&Arg| match option.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => {
            let mut letters = option.chars().skip(1);
            arg.get_short().is_some() && arg.get_short() == letters.next()
        }
    };
    command.get_arguments().find(is_it)
}

/// Returns true if the next word is the value of the option.
fn takes_next(arg: &Arg) -> bool {
    let is_optional = arg.get_num_args().is_some_and(|range| range.min_values() == 0);
    arg.get_action().takes_values() && !is_optional
}

/// Returns true if a word is an option, and not a text with a leading dash.
fn is_option(word: &str) -> bool {
    let name = word.split('=').next().unwrap_or_default();
    name.len() > 1 && name.starts_with('-') && !name.contains(char::is_whitespace)
}

/// Splits an option from a value in the same word: `--status=open`, `-sopen`.
fn split<'a>(word: &'a str, command: &Command) -> (&'a str, Option<&'a str>) {
    if word.starts_with("--") {
        return word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
    }
    match word.char_indices().nth(2) {
        // Several flags in one word are left to clap.
        Some((at, _)) if defined(word, command).is_none_or(takes_next) => {
            let value = &word[at..];
            (&word[..at], Some(value.strip_prefix('=').unwrap_or(value)))
        }
        _ => (word, None),
    }
}

/// Returns where the words are that belong to no option.
fn positionals(words: &[String], command: &Command) -> Vec<usize> {
    let mut found = Vec::new();
    let mut at = 1;
    while let Some(word) = words.get(at) {
        if word == "--" {
            break;
        }
        if is_option(word) {
            let (option, attached) = split(word, command);
            let takes = defined(option, command).is_some_and(takes_next);
            at += usize::from(takes && attached.is_none());
        } else {
            found.push(at);
        }
        at += 1;
    }
    found
}

/// Returns the command that sets an issue to the status that `ait edit ID --status STATUS` names, unless the line
/// changes more than that.
fn status_change(words: &[String], definition: &Command) -> Option<Vec<String>> {
    let is_status = |word: &String| {
        matches!(word.split('=').next(), Some("--status" | "-s" | "--state" | "--claim"))
    };
    let at = words.iter().position(is_status).filter(|_| words[0] == "edit")?;
    let (status, end) = match words[at].split_once('=') {
        _ if words[at] == "--claim" => (Status::InProgress, at + 1),
        Some((_, status)) => (status_of(status)?, at + 1),
        None => (status_of(words.get(at + 1)?)?, at + 2),
    };
    let command: &[&str] = match status {
        Status::Created => &["return"],
        Status::InProgress => &["claim"],
        Status::Completed => &["complete"],
        Status::InReview | Status::Kept => return None,
        Status::Closed => &["close"],
        Status::Rejected => &["close", "--reject"],
    };
    let edit = definition.find_subcommand("edit")?;
    let other = definition.find_subcommand(command[0])?;
    let is_only_for_edit = |word: &String| {
        let (option, _) = split(word, edit);
        is_option(word) && defined(option, edit).is_some() && defined(option, other).is_none()
    };
    let others = words[1..at].iter().chain(&words[end..]);
    if others.clone().any(is_only_for_edit) {
        return None;
    }
    let command = command.iter().map(|word| (*word).to_owned());
    Some(command.chain(others.cloned()).collect())
}

/// Returns the status that a word of other programs means; `None` if it could mean several.
fn status_of(word: &str) -> Option<Status> {
    const AMBIGUOUS: &str = "open opened reopened ready approved accepted assigned";
    let squeezed = words::squeezed(word);
    let found = words::status_of(word).filter(|found| !found.is_parked)?.status;
    let is_ours = words::squeezed(found.as_str()) == squeezed;
    // What other programs call done may wait for a review here.
    let has_ended = matches!(found, Status::Completed | Status::Closed);
    let is_ambiguous = has_ended || AMBIGUOUS.split(' ').any(|one| one == squeezed);
    (is_ours || !is_ambiguous).then_some(found)
}

/// Makes options of terms of other programs, and of the words of a list that name nothing else: `ait list closed bugs`,
/// `ait list limit:5` and `ait add Fix it +ui priority:H`.
fn with_terms(words: Vec<String>, command: &Command, is_list: bool) -> Result<Vec<String>, Error> {
    let places = positionals(&words, command);
    // A single word is a title as it is; of `ait edit`, it is the issue.
    if !is_list && places.len() < 2 {
        return Ok(words);
    }
    let row = |at: &usize| table::rows("lists").find(|row| table::fits(row.words, &words[*at]));
    // Beside another word, each is searched for.
    let are_options = words[0] == "list" && places.iter().all(|at| row(at).is_some());
    let mut replaced = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let is_word = places.contains(&at);
        let means = match row(&at).filter(|_| is_word && are_options) {
            Some(row) if row.is_refusal => {
                return Err(line_error(row.text.to_owned(), ErrorKind::InvalidValue));
            }
            Some(row) => Some(row.text.replace('$', &word.to_lowercase())),
            None if is_word && !word.contains(char::is_whitespace) => term(word, is_list)?,
            None => None,
        };
        match means {
            Some(means) => {
                let means: Vec<_> = means.split_whitespace().map(str::to_owned).collect();
                replaced.extend(options::replaced(&means, command));
            }
            None => replaced.push(word.clone()),
        }
    }
    Ok(replaced)
}

/// Returns what a term of another program means.
fn term(word: &str, is_list: bool) -> Result<Option<String>, Error> {
    if let Some(label) = word.strip_prefix('+').filter(|label| !label.is_empty()) {
        return Ok(Some(format!("--label {label}")));
    }
    // = as in JQL and bd.
    let separators: &[char] = if is_list { &[':', '='] } else { &[':'] };
    let Some((key, value)) = word.split_once(separators).filter(|(_, value)| !value.is_empty())
    else {
        return Ok(None);
    };
    let is_word = value.chars().all(char::is_alphabetic);
    Ok(match key {
        "priority" | "pri" if !is_list || is_word => Some(format!("--priority {value}")),
        "limit" if is_list => Some(format!("--limit {value}")),
        "due" | "estimate" if !is_list => Some(format!("--{key} {value}")),
        "holder" | "assignee" | "filer" | "agent" if is_list && value == "me" => {
            Some(format!("{key}:{ME}"))
        }
        // As in `project.is:home`.
        _ if key.split('.').next().is_some_and(|key| table::fits(FOREIGN, key)) => {
            let instead = if is_list {
                "queries have terms such as label:ui, parent:ID and is:parked, which `ait help list` lists; to search for the \
                 text, put it in double quotes within single ones"
            } else {
                "it has -p PRIORITY, -l LABEL, --assign NAME, --parent ID and --blocked-by ID, and `ait park ID --until TIME` \
                 lets it wait; if this belongs to the title, put the title in quotes"
            };
            let text = format!("an issue has no {key}: {instead}");
            return Err(line_error(text, ErrorKind::UnknownArgument));
        }
        _ => (is_list && is_excluding(&format!("-{key}:"))).then(|| format!("{key}:{value}")),
    })
}

/// Puts texts with a leading dash behind `--`, so that they are no options: `ait add '-v prints nothing'`.
fn with_dashes(words: Vec<String>, command: &Command) -> Vec<String> {
    let places = positionals(&words, command);
    let is_dashed = |at: &usize| words[*at].starts_with('-') && words[*at] != "-";
    if !places.iter().any(is_dashed) || words.iter().any(|word| word == "--") {
        return words;
    }
    let (texts, rest): (Vec<_>, Vec<_>) =
        words.into_iter().enumerate().partition(|(at, _)| places.contains(at));
    let words = rest.into_iter().chain([(0, "--".to_owned())]).chain(texts);
    words.map(|(_, word)| word).collect()
}

/// Creates an error that prints the text, without clap's usage.
pub(super) fn line_error(text: String, kind: ErrorKind) -> Error {
    Error::raw(kind, text + "\n")
}
