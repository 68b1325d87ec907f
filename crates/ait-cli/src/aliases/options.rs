//! Options of other programs, and the options of ait that mean the same.

use std::collections::VecDeque;

use clap::{Arg, Command};

use super::table::{Row, fits, of_value, rows};
use super::{defined, is_option, split, status_of, takes_next};
use crate::options::ME;
use ait_domain::{Classification, Classifications, Status};
use ait_interchange::words;
use ait_setup::CLIENTS;

/// How many words a line may have after its options were replaced; more are left as they are.
const MAX_WORDS: usize = 1_000;

/// Replaces the options that `command` does not have by those of ait. `words` are those behind the command.
pub(super) fn replaced(words: &[String], command: &Command) -> Vec<String> {
    let mut rest: VecDeque<String> = words.iter().cloned().collect();
    let mut replaced = Vec::new();
    while let Some(word) = rest.pop_front() {
        if word == "--" || replaced.len() > MAX_WORDS {
            replaced.push(word);
            break;
        }
        if !is_option(&word) {
            replaced.push(word);
            continue;
        }
        // As in `git log -5`.
        if word[1..].chars().all(|one| one.is_ascii_digit())
            && defined("--limit", command).is_some()
        {
            replaced.extend(["--limit".to_owned(), word[1..].to_owned()]);
            continue;
        }
        let (option, attached) = split(&word, command);
        let option = option.to_owned();
        let attached = attached.map(str::to_owned);
        // As in `ls -la`.
        if attached.is_some()
            && let Some((means, _)) = meaning(&word, None, command)
        {
            means.into_iter().rev().for_each(|word| rest.push_front(word));
            continue;
        }
        let given = attached.as_deref().or(rest.front().map(String::as_str));
        let is_list = |given: &str| attached.is_some() || is_list_of_names(given);
        if option == "--json" && given.is_some_and(is_list) {
            // In gh it has the fields to print.
            let fields = given.unwrap_or_default().split(',');
            let fields: Vec<_> =
                fields.map(|name| of_value(&option, name, false).unwrap_or(name)).collect();
            let fields = fields.join(",");
            if attached.is_none() {
                rest.pop_front();
            }
            match defined("--fields", command) {
                Some(_) => replaced.extend(["--fields".to_owned(), fields]),
                None => replaced.push(option),
            }
        } else if let Some(arg) = defined(&option, command) {
            match attached {
                // Alone, such a value would look like an option.
                Some(attached) if attached.starts_with('-') => replaced.push(word),
                Some(attached) => replaced.extend([option, value(arg, &attached)]),
                None => {
                    replaced.push(word);
                    let next = if takes_next(arg) { rest.pop_front() } else { None };
                    replaced.extend(next.map(|next| value(arg, &next)));
                }
            }
        } else if let Some((means, takes_value)) = meaning(&option, given, command) {
            if takes_value && attached.is_none() {
                rest.pop_front();
            }
            means.into_iter().rev().for_each(|word| rest.push_front(word));
        } else {
            replaced.push(word);
        }
    }
    replaced.extend(rest);
    without_first_of_two_messages(replaced)
}

/// Returns true if a word can only be the fields that gh takes behind `--json`.
fn is_list_of_names(word: &str) -> bool {
    word.contains(',') && word.split(',').all(|one| one.chars().all(char::is_alphanumeric))
}

/// Leaves out a reason that is the first of two messages: the second one says more.
fn without_first_of_two_messages(mut words: Vec<String>) -> Vec<String> {
    let is_message = |at: &usize| matches!(&*words[*at], "--message" | "-m");
    let messages: Vec<_> = (0..words.len()).filter(is_message).collect();
    if let [first, _] = messages[..]
        && words.get(first + 1).is_some_and(|reason| words::means_rejected(reason))
    {
        words.drain(first..first + 2);
    }
    words
}

/// Returns what stands for an option, and whether that has its value.
fn meaning(option: &str, given: Option<&str>, command: &Command) -> Option<(Vec<String>, bool)> {
    let is_one = |one: &str| match one.split_once('=') {
        Some((name, value)) => name == option && given.is_some_and(|given| is_value(value, given)),
        None => one == option,
    };
    let fitting = |row: Row| {
        let (commands, options) = row.words.split_once(' ')?;
        let first = row.text.split(' ').next().unwrap_or_default();
        let is_known = match commands {
            "*" => row.is_refusal || first.is_empty() || defined(first, command).is_some(),
            commands => fits(commands, command.get_name()),
        };
        let one = options.split('|').find(|one| is_one(one)).filter(|_| is_known)?;
        Some((row, row.text.contains('$') || one.contains('=')))
    };
    let (row, takes_value) =
        rows("options").find_map(fitting).filter(|(row, _)| !row.is_refusal)?;
    let words = row.text.split(' ').filter(|word| !word.is_empty());
    let words = words.map(|word| match given {
        // Each label of several is removed by a sign of its own.
        Some(given) if word == "-$" => Some(format!("-{}", given.replace(',', ",-"))),
        Some("me") if word.ends_with(":$") => Some(word.replace('$', ME)),
        Some(given) => Some(word.replace('$', given)),
        None => (!word.contains('$')).then(|| word.to_owned()),
    });
    Some((words.collect::<Option<_>>()?, takes_value))
}

/// Returns true if a value is what a row of the table says: the word itself, or one of its kind.
fn is_value(wanted: &str, given: &str) -> bool {
    match wanted {
        "ANY" => true,
        "CREATED" => status_of(given) == Some(Status::Created),
        "KIND" => {
            matches!(words::classification_of(given, &Classifications::default()), Ok(Some(_)))
        }
        "REJECTED" => words::means_rejected(given),
        "STATUS" => status_of(given).is_some(),
        word => word == given || words::squeezed(given) == word,
    }
}

/// Returns the value of an option in the words of ait.
fn value(option: &Arg, given: &str) -> String {
    let lower = given.to_lowercase();
    let name = option.get_long().unwrap_or_default();
    let means = match name {
        "status" => {
            let status = |one: &str| match status_of(one) {
                Some(status) => status.as_str().to_owned(),
                None => of_value("--status", one, false).unwrap_or(one).to_owned(),
            };
            let each: Vec<_> = given.split(',').map(|one| status(one.trim())).collect();
            Some(each.join(","))
        }
        "classification" => {
            let all = Classification::of_work().collect();
            let found = words::classification_of(given, &all)
                .or_else(|_| words::classification_of(given.trim_end_matches('s'), &all));
            found.ok().flatten().map(|kind| kind.to_string())
        }
        "priority"
            if given.starts_with(char::is_alphabetic) && !given.contains([',', '-', '.']) =>
        {
            words::priority_of(given).map(|priority| priority.to_string())
        }
        "holder" | "assignee" | "assign" | "agent" | "by" => match lower.trim_start_matches('@') {
            "me" | "self" => Some(ME.to_owned()),
            _ => given.strip_prefix('@').map(str::to_owned),
        },
        "client" => {
            let known = CLIENTS.iter().find(|client| client.is_called(&lower));
            known.map(|client| client.name.to_owned())
        }
        _ => of_value(&format!("--{name}"), given, false).map(str::to_owned),
    };
    means.unwrap_or_else(|| given.to_owned())
}
