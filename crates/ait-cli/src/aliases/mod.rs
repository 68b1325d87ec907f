//! Words that people bring from other programs: where they can mean only one thing, the command line is rewritten
//! before clap reads it.
//!
//! Three tables say what means the same: [`phrases`] for commands, [`options`] for options, and the values of options
//! here. What could mean two things stays, so that clap refuses it and `usage_error` says what there is instead.

mod options;
mod phrases;

use std::ffi::OsString;

use clap::error::{Error, ErrorKind};
use clap::{Arg, Command};

pub(super) use self::phrases::is_id;
use super::options::ME;
use super::unknown_command::{self, line_error};
use ait_domain::{AgentName, Classification, Classifications, Status};
use ait_interchange::words;
use ait_query::is_excluding;
use ait_setup::CLIENTS;

/// The options of every command that take a value.
const GLOBAL: [&str; 3] = ["--file", "--store", "--color"];
/// Commands that show something which is no issue.
const SHOWN: [&str; 8] =
    ["status", "stats", "board", "log", "config", "tree", "questions", "triage"];

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
    let is_command = |word: &str| {
        definition.find_subcommand(word).is_some()
            || word == "help"
            || phrases::begins_phrase(word)
            || unknown_command::is_explained(word)
    };
    // Its options before the server: `ait --port 3000 serve`.
    let line = [&["ait".to_owned()], &words[..]].concat();
    if let Some(&at) = positionals(&line, definition).first()
        && matches!(&*line[at], "serve" | "mcp")
    {
        words[..at].rotate_right(1);
    }
    // An option before the command: `ait --json list`.
    let before = match words.first().map(String::as_str) {
        Some("--json") => 1,
        Some("--agent" | "--as" | "-a") => 2,
        _ => 0,
    };
    if words.get(before).is_some_and(|word| is_command(word)) {
        words[..=before].rotate_left(before);
    }
    let words = match &words[..] {
        [option, command] if matches!(&**option, "-h" | "--help") => {
            vec!["help".to_owned(), command.clone()]
        }
        [show, command] if show == "show" && SHOWN.contains(&&**command) => vec![command.clone()],
        [command, help] if help == "help" && command != "search" && is_command(command) => {
            vec!["help".to_owned(), command.clone()]
        }
        _ => words,
    };
    if let [help, given] = &words[..]
        && help == "help"
    {
        let command = phrases::replaced(vec![given.clone()], is_command);
        // `all` alone lists issues, and `memory` finds entries.
        let command = match &**given {
            "all" => "--all",
            "memory" => "memory",
            _ => &command[0],
        };
        return Ok(vec![help.clone(), command.to_owned()]);
    }
    let mut words = phrases::replaced(words, is_command);
    let Some(first) = words.first_mut() else { return Ok(words) };
    let lower = first.to_lowercase();
    let command = definition.find_subcommand(&lower);
    match command {
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
        "list" | "search" => listed(words, command),
        "next" | "ready" | "wait" => Ok(of_kind(words, command)),
        // `ait show open issues`
        "show" if shows_several(&words, command) => {
            let list = [&["list".to_owned()], &words[1..]].concat();
            listed(list, definition.find_subcommand("list").unwrap_or(command))
        }
        "add" | "edit" => Ok(with_dashes(with_terms(words, command)?, command)),
        _ => Ok(words),
    }
}

/// Returns the kind of work that a word without an option means. Others, such as `task` and `docs`, mean more.
fn kind_of(word: &str) -> Option<Classification> {
    Classification::from_word(word).filter(|kind| Classifications::default().contains(*kind))
}

/// Makes an option of a kind of work: `ait next bug`.
fn of_kind(mut words: Vec<String>, command: &Command) -> Vec<String> {
    if let [at] = positionals(&words, command)[..]
        && let Some(kind) = kind_of(&words[at])
    {
        words.splice(at..=at, ["--classification".to_owned(), kind.to_string()]);
    }
    words
}

/// Returns true if `ait show` names no issue, but issues of some kind.
fn shows_several(words: &[String], command: &Command) -> bool {
    let places = positionals(words, command);
    let is_several = |at: &usize| list_option(&words[*at]).is_some() || is_noun(&words[*at]);
    let is_last = |at: &usize| matches!(&*words[*at], "latest" | "newest" | "oldest");
    !places.is_empty() && places.iter().all(is_several) && !places.iter().any(is_last)
}

/// Returns the argument that a command or the whole line defines for an option, such as `-m` or `--message`.
fn defined<'a>(option: &str, command: &'a Command) -> Option<&'a Arg> {
    let is_it = |arg: &&Arg| match option.strip_prefix("--") {
        Some(long) => {
            arg.get_long() == Some(long)
                || arg.get_all_aliases().is_some_and(|all| all.contains(&long))
        }
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

/// Returns the command that sets an issue to the status that `ait edit ID --status STATUS` names.
fn status_change(words: &[String], definition: &Command) -> Option<Vec<String>> {
    const NAMES: [&str; 3] = ["--status", "-s", "--state"];
    if words[0] != "edit" {
        return None;
    }
    if let Some(at) = words.iter().position(|word| word == "--claim") {
        let rest = words[1..at].iter().chain(&words[at + 1..]).cloned();
        return Some(["claim".to_owned()].into_iter().chain(rest).collect());
    }
    let name = |word: &String| word.split('=').next().is_some_and(|name| NAMES.contains(&name));
    let at = words.iter().position(name)?;
    let (status, rest) = match words[at].split_once('=') {
        Some((_, status)) => (status, &words[at + 1..]),
        None => (words.get(at + 1)?.as_str(), &words[at + 2..]),
    };
    let command: &[&str] = match status_of(status)? {
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
    let others = words[1..at].iter().chain(rest);
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

/// Returns the value of an option in the words of ait.
fn value(option: &Arg, given: &str) -> String {
    let each = |word: &dyn Fn(&str) -> String| {
        given.split(',').map(|one| word(one.trim())).collect::<Vec<_>>().join(",")
    };
    match option.get_long() {
        Some("status") => each(&|one| match status_of(one) {
            Some(status) => status.to_string(),
            None if one == "opened" => "open".to_owned(),
            None => one.to_owned(),
        }),
        Some("classification") => {
            let all = Classification::of_work().collect();
            let found = words::classification_of(given, &all)
                .or_else(|_| words::classification_of(given.trim_end_matches('s'), &all));
            found.ok().flatten().map_or_else(|| given.to_owned(), |kind| kind.to_string())
        }
        Some("priority") => match words::priority_of(given) {
            Some(priority) if given.chars().all(char::is_alphabetic) => priority.to_string(),
            _ => given.to_owned(),
        },
        Some("sort") => match &*given.to_lowercase() {
            "updated" | "modified" | "activity" | "recent" => "changed".to_owned(),
            "created" | "date" | "age" | "oldest" => "filed".to_owned(),
            "prio" | "urgency" => "priority".to_owned(),
            "name" => "title".to_owned(),
            _ => given.to_owned(),
        },
        Some("holder" | "assignee" | "assign" | "agent" | "by") => match &*given.to_lowercase() {
            "me" | "self" | "@me" | "@self" => ME.to_owned(),
            _ => given.strip_prefix('@').unwrap_or(given).to_owned(),
        },
        Some("client") => {
            let known = CLIENTS.iter().find(|client| client.is_called(&given.to_lowercase()));
            known.map_or(given, |client| client.name).to_owned()
        }
        _ => given.to_owned(),
    }
}

/// Makes options of the words of a list that name nothing else: `ait list closed bugs`, `ait list +ui` and `ait list
/// limit:5`.
fn listed(words: Vec<String>, command: &Command) -> Result<Vec<String>, Error> {
    let places = positionals(&words, command);
    let is_meant = |at: &usize| list_option(&words[*at]).is_some() || is_noun(&words[*at]);
    // Beside another word, each is searched for.
    let is_list = command.get_name() == "list";
    let are_options = is_list && places.iter().all(is_meant);
    if is_list
        && let [key, value] = places[..]
        && words[key].chars().all(char::is_alphabetic)
        && is_excluding(&format!("-{}:", words[key]))
    {
        let key = &words[key];
        let value = shell_words::quote(&words[value]);
        let text = format!(
            "`ait list {key}:{value}` lists by {key}, and `ait search {key} {value}` finds the words"
        );
        return Err(line_error(text, ErrorKind::InvalidValue));
    }
    let mut listed = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let is_word = places.contains(&at);
        let term = is_word.then(|| list_term(word)).flatten().transpose()?;
        match term {
            Some(term) => listed.extend(term),
            None if are_options && places.contains(&at) => {
                let option = list_option(word).transpose()?.unwrap_or_default();
                listed.extend(option.split_whitespace().map(str::to_owned));
            }
            None => listed.push(word.clone()),
        }
    }
    Ok(listed)
}

/// Returns true if a word is what other programs call an issue.
pub(super) fn is_noun(word: &str) -> bool {
    phrases::NOUNS.split(' ').any(|noun| noun == word.to_lowercase())
}

/// Returns what a word of a query means that looks like a term of another program.
fn list_term(word: &str) -> Option<Result<Vec<String>, Error>> {
    let option = |name: &str, value: &str| Some(Ok(vec![name.to_owned(), value.to_owned()]));
    if let Some(label) = word.strip_prefix('+').filter(|label| !label.is_empty()) {
        return option("--label", label);
    }
    // As in JQL and bd.
    if let Some((key, value)) = word.split_once('=')
        && key.chars().all(|one| one.is_alphabetic() || one == '-')
        && is_excluding(&format!("-{key}:"))
    {
        let term = format!("{key}:{value}");
        return list_term(&term).or(Some(Ok(vec![term])));
    }
    let (key, value) = word.split_once(':').filter(|(_, value)| !value.is_empty())?;
    match (key, words::priority_of(value)) {
        ("holder" | "assignee" | "filer" | "agent", _) if value == "me" => {
            Some(Ok(vec![format!("{key}:{ME}")]))
        }
        ("limit", _) => option("--limit", value),
        ("pri" | "priority", Some(number)) if value.chars().all(char::is_alphabetic) => {
            option("--priority", &number.to_string())
        }
        // As in `project.is:home`.
        _ if FOREIGN.split(' ').any(|foreign| key.split('.').next() == Some(foreign)) => {
            let text = format!(
                "issues have no {key}: queries have terms such as label:ui, parent:ID and is:parked, which `ait help list` \
                 lists; to search for the text, put it in double quotes within single ones: '{word:?}'"
            );
            Some(Err(line_error(text, ErrorKind::UnknownArgument)))
        }
        _ => None,
    }
}

/// The keys of other programs for which issues have nothing.
const FOREIGN: &str = "project proj wait scheduled until recur depends rec milestone sprint epic";

/// Returns the option that a word of a list means, if it means any.
fn list_option(word: &str) -> Option<Result<String, Error>> {
    let word = word.to_lowercase();
    let kind = kind_of(word.strip_suffix('s').unwrap_or(&word));
    let refuse = |text: String| Err(line_error(text, ErrorKind::InvalidValue));
    Some(match &*word {
        "open" | "all" | "any" => Ok(format!("--status {word}")),
        "opened" => Ok("--status open".to_owned()),
        "everything" => Ok("--status all".to_owned()),
        "ready" | "blocked" | "parked" => Ok(format!("--{word}")),
        "unassigned" => Ok("--assignee none".to_owned()),
        "stale" | "overdue" => Ok(format!("is:{word}")),
        "claimed" | "held" => Ok("is:claimed".to_owned()),
        "available" | "unblocked" => Ok("--ready".to_owned()),
        "unclaimed" => Ok("--status created".to_owned()),
        "review" | "reviews" => Ok("--status completed --status in_review".to_owned()),
        "newest" | "new" => Ok("--sort filed --reverse".to_owned()),
        "oldest" | "old" => Ok("--sort filed".to_owned()),
        "p0" | "p1" | "p2" | "p3" | "p4" => Ok(format!("--priority {}", &word[1..])),
        "recent" | "latest" => Ok("--sort changed".to_owned()),
        "mine" | "me" | "my" => refuse(
            "issues can be yours in two ways: `ait list --holder @me` lists those that you hold, and `ait list --assignee @me` \
             those that are for you"
                .to_owned(),
        ),
        "done" | "finished" | "resolved" | "complete" => refuse(
            "done can mean two things: `ait list --status completed` lists what waits for review, and `ait list --status \
             closed` what was accepted; `ait search` finds a word"
                .to_owned(),
        ),
        "today" | "yesterday" => refuse(format!(
            "say what happened then: `ait list created:{word}` or `ait list changed:{word}`; `ait search {word}` finds the word"
        )),
        "high" | "low" | "urgent" | "critical" | "highest" | "lowest" => refuse(format!(
            "`ait list -p {word}` lists the issues of that priority; `ait search {word}` finds the word"
        )),
        _ => match (kind, status_of(&word)) {
            (Some(kind), _) => Ok(format!("--classification {kind}")),
            (None, Some(status)) if is_usual(&word) => Ok(format!("--status {status}")),
            _ => return None,
        },
    })
}

/// Returns true if a word for a status is hardly ever searched for.
fn is_usual(word: &str) -> bool {
    const USUAL: &str = "todo wip doing active inprogress cancelled canceled wontfix";
    let is_ours = Status::words().any(|status| status == word.replace(['-', ' '], "_"));
    is_ours || USUAL.split(' ').any(|usual| usual == word)
}

/// Puts texts with a leading dash behind `--`, so that they are no options: `ait add '-v prints nothing'`.
fn with_dashes(words: Vec<String>, command: &Command) -> Vec<String> {
    let places = positionals(&words, command);
    let is_text =
        |at: usize| places.contains(&at) && words[at].starts_with('-') && words[at] != "-";
    if !(0..words.len()).any(is_text) || words.iter().any(|word| word == "--") {
        return words;
    }
    let texts = places.iter().map(|at| words[*at].clone());
    let rest = (0..words.len()).filter(|at| !places.contains(at)).map(|at| words[at].clone());
    rest.chain(["--".to_owned()]).chain(texts).collect()
}

/// Makes an option of a kind of work before a title in quotes: `ait add bug 'Login fails'`.
fn with_kind(mut words: Vec<String>, places: &[usize]) -> Vec<String> {
    let [kind, title] = places[..] else { return words };
    let is_title = words[title].contains(char::is_whitespace);
    if words[0] == "add" && is_title && is_noun(&words[kind]) {
        let given = words.remove(kind);
        if let Some(kind) = kind_of(&given) {
            words.extend(["--classification".to_owned(), kind.to_string()]);
        }
    }
    words
}

/// Makes options of the terms that Taskwarrior puts between the words of a title: `+urgent` and `priority:H`.
fn with_terms(words: Vec<String>, command: &Command) -> Result<Vec<String>, Error> {
    let places = positionals(&words, command);
    // A single word is a title as it is; of `ait edit`, it is the issue.
    if places.len() < 2 {
        return Ok(words);
    }
    let words = with_kind(words, &places);
    let places = positionals(&words, command);
    let is_edit = words[0] == "edit";
    let mut with_terms = Vec::new();
    for (at, word) in words.into_iter().enumerate() {
        let is_term = places.contains(&at) && !word.contains(char::is_whitespace);
        let label = word.strip_prefix('+').filter(|label| is_term && !label.is_empty());
        let term = word.split_once(':').filter(|(_, value)| is_term && !value.is_empty());
        let is_priority = is_term && is_edit && matches!(&*word, "p0" | "p1" | "p2" | "p3" | "p4");
        match (label, term) {
            (None, None) if is_priority => {
                with_terms.extend(["--priority".to_owned(), word[1..].to_owned()]);
            }
            (Some(label), _) => with_terms.extend(["--label".to_owned(), label.to_owned()]),
            (None, Some(("priority" | "pri", priority))) => {
                let priority = words::priority_of(priority)
                    .map_or_else(|| priority.to_owned(), |number| number.to_string());
                with_terms.extend(["--priority".to_owned(), priority]);
            }
            (None, Some((key @ ("due" | "estimate"), value))) => {
                with_terms.extend([format!("--{key}"), value.to_owned()]);
            }
            (None, Some((key, _))) if FOREIGN.split(' ').any(|foreign| foreign == key) => {
                let text = format!(
                    "an issue has no {key}: it has -p PRIORITY, -l LABEL, --assign NAME, --parent ID and --blocked-by ID, and \
                     `ait park ID --until TIME` lets it wait; if {word:?} belongs to the title, put the title in quotes"
                );
                return Err(line_error(text, ErrorKind::UnknownArgument));
            }
            _ => with_terms.push(word),
        }
    }
    Ok(with_terms)
}
