//! Explains wrong arguments: what to type instead.

use clap::Command;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use super::options::is_issue_ref;
use super::unknown_command::{self, has_word, line_error};
use ait_setup::PROGRAM;

/// Options that people know from other programs, each with the commands where they may try it and what to type instead.
/// An empty text stands for any command.
const OPTIONS: &[(&str, &str, &str)] = &[
    (
        "",
        "-v --verbose",
        "`ait --version` prints the version, and `ait --log debug` is a server that logs more",
    ),
    (
        "board",
        "-s --status --state -c --classification -p --priority -l --label",
        "the board shows all open issues; `ait list` filters, as in ait list --status created",
    ),
    (
        "next review",
        "-p --priority -l --label -n --limit",
        "it claims one issue, by priority; `ait list` filters, and `ait claim ID` claims an issue of your choice for work",
    ),
    (
        "add",
        "-s --status --state",
        "a new issue always has the status created; `ait claim ID` claims it",
    ),
    (
        "add edit comment",
        "--body-file --file-body --description-file -F",
        "the text - is read from stdin: ait add TITLE -d - < FILE, or ait comment ID - < FILE",
    ),
    (
        "close",
        "--duplicate-of --duplicate --dup",
        "`ait link ID duplicate-of ID` links the two, and `ait close ID --reject -m TEXT` ends the one that repeats",
    ),
    ("edit complete return", "--claim --take --start", "`ait claim ID` claims an issue"),
    (
        "add edit",
        "--holder --owner",
        "the agent that an issue is for is --assign NAME; `ait claim ID --agent NAME` claims it",
    ),
    (
        "add edit",
        "--blocks",
        "`ait link OTHER blocked-by ID` says that an issue blocks another one",
    ),
    (
        "edit",
        "-s --status --state --close --done --reopen --reject",
        "`ait claim`, `ait return`, `ait complete` and `ait close` change the status",
    ),
    (
        "edit",
        "-m --message --comment --note --notes --append-notes --ac --prompt --plan",
        "`ait comment ID -m TEXT` comments on an issue; its description is -d TEXT",
    ),
    (
        "list",
        "--watch --follow -f",
        "`ait board --watch` shows the work as it happens, and `ait tui` also changes it",
    ),
    (
        "list",
        "--mine --my --me",
        "what an agent holds is --holder NAME, and what is for it is --assignee NAME",
    ),
    (
        "",
        "--jq -q --template --query-json",
        "it has --json, and jq reads that: ait list --json | jq '.issues[].title'",
    ),
    (
        "",
        "--csv --format -o --output -O -F --md --markdown --table",
        "it prints a table, or JSON with --json; `ait export FILE` writes JSON, JSON Lines or CSV",
    ),
    (
        "list",
        "--long -l --quiet --ids --oneline --minimal --no-header",
        "--fields id,title prints the fields of your choice as JSON, and `ait show ID` the whole issue",
    ),
    (
        "ready blocked",
        "-p --priority -l --label --assignee --parent --sort",
        "`ait list --ready` and `ait list --blocked` have all filters, as in ait list --ready -p 0-1",
    ),
    ("show", "--web -w --browser", "`ait open` opens the web page in the browser"),
    ("list", "--web -w --browser", "`ait open` opens the web page in the browser"),
    (
        "list search ready blocked board",
        "--due --overdue --estimate --points",
        "`ait list 'due:<3d'`, `ait list is:overdue` and `ait list 'estimate:>=3'` find issues by due date and estimate",
    ),
    (
        "",
        "--project --milestone --epic --sprint",
        "issues have no such field; -l LABEL and --parent ID group them, and `ait park ID --until TIME` lets one wait",
    ),
];

/// Values that people know from other programs, each with a word that is valid in their place and what to type instead.
const VALUES: [(&str, &str, &str); 6] = [
    ("to with and on", "blocked-by", "say how the issues are linked, as in ait link A related B"),
    (
        "blocks blocking blocker-of",
        "blocked-by",
        "turn it round: ait link B blocked-by A says that A blocks B",
    ),
    (
        "child child-of part-of subtask-of",
        "blocked-by",
        "the whole is the parent: ait link PART parent WHOLE",
    ),
    (
        "done finished resolved merged",
        "in_progress",
        "what waits for review is completed, and what was accepted is closed",
    ),
    (
        "todo new ready backlog pending",
        "in_progress",
        "what waits to be claimed is created; `ait ready` lists what can be claimed",
    ),
    (
        "task story chore enhancement epic",
        "improvement",
        "the kinds of work are bug, improvement and feature",
    ),
];

/// Improves an error of clap; `line` is the whole command line definition.
pub fn explain(mut error: Error, line: &mut Command) -> Error {
    // clap takes many options for --file.
    if matches!(error.get(ContextKind::SuggestedArg), Some(ContextValue::String(suggested)) if suggested == "--file")
        && !matches!(error.get(ContextKind::InvalidArg), Some(ContextValue::String(given)) if given.starts_with("--f"))
    {
        error.remove(ContextKind::SuggestedArg);
    }
    let hint = match error.kind() {
        ErrorKind::InvalidSubcommand => return unknown_command::explain(error, line),
        ErrorKind::UnknownArgument => unknown_argument(&error, line),
        ErrorKind::ValueValidation => no_issue(&error),
        ErrorKind::MissingRequiredArgument => missing_argument(&error),
        ErrorKind::InvalidValue => invalid_value(&error),
        _ => None,
    };
    if let Some(hint) = hint {
        return line_error(hint, error.kind());
    }
    error
}

/// Returns the command that the usage of an error names; empty if it is that of `ait` without a command.
fn command(error: &Error) -> Option<String> {
    let usage = error.get(ContextKind::Usage)?.to_string();
    let mut words = usage.split_whitespace().skip_while(|word| *word != PROGRAM).skip(1);
    let word = words.next()?;
    // Otherwise an option or [OPTIONS] comes next.
    Some(if word.starts_with(char::is_alphabetic) { word.to_owned() } else { String::new() })
}

/// Lists the options that a command has.
fn known_options(given: &str, command: &str, line: &Command) -> Option<String> {
    if command.is_empty() {
        return Some(format!(
            "`ait` has no {given}: `ait help` shows the commands, and `ait help serve` the options of a server"
        ));
    }
    let of_command = line.find_subcommand(command)?;
    let options = of_command.get_arguments().filter(|arg| !arg.is_hide_set());
    let options: Vec<_> =
        options.filter_map(|arg| arg.get_long()).map(|long| format!("--{long}")).collect();
    Some(format!(
        "`ait {command}` has no {given}: it has {}; `ait help {command}` explains them",
        options.join(", ")
    ))
}

fn unknown_argument(error: &Error, line: &Command) -> Option<String> {
    let ContextValue::String(given) = error.get(ContextKind::InvalidArg)? else { return None };
    let command = command(error)?;
    if given.starts_with('-') {
        let is_it = |(commands, options, _): &&(&str, &str, &str)| {
            (commands.is_empty() || has_word(commands, &command)) && has_word(options, given)
        };
        let program = format!("ait {command}");
        let program = program.trim_end();
        return match OPTIONS.iter().find(is_it) {
            Some((_, _, hint)) => Some(format!("`{program}` has no {given}: {hint}")),
            None if error.get(ContextKind::SuggestedArg).is_none() => {
                known_options(given, &command, line)
            }
            None => None,
        };
    }
    let is_id = is_issue_ref(given);
    Some(match &*command {
        "status" if is_id => format!(
            "`ait status` shows the store, not an issue: `ait show {given}` shows one with its status"
        ),
        "log" if is_id => format!("the issue is --issue: ait log --issue {given}"),
        "serve" if given.parse::<u16>().is_ok() => {
            format!("the port is --port: ait serve --port {given}")
        }
        "config" => format!(
            "`ait config` changes nothing: to set {given:?}, write it to ait.toml beside the store, as in port = 3001, or use its option or environment variable, which `ait help` lists"
        ),
        "next" | "review" => format!(
            "`ait {command}` takes no {given:?}: it claims the first issue that waits; {}",
            match &*command {
                "next" => "`ait claim ID` claims an issue of your choice",
                _ => "`ait show ID` shows an issue of your choice",
            }
        ),
        "resolve" => "`ait resolve` resolves a conflict that git left in issues.json; `ait complete ID -m TEXT` hands an issue \
             over to review, and `ait close ID -m TEXT` closes it"
            .to_owned(),
        "merge" => format!(
            "`ait merge` merges the branch of one issue: run it again for {given:?}, or `ait link ID duplicate-of ID` says that \
             two issues are one"
        ),
        "claim" | "worktree" | "wait" | "tree" if is_id => {
            format!("`ait {command}` takes one issue: run it again for {given:?}")
        }
        "" => return None,
        _ => format!("`ait {command}` takes no {given:?}: `ait help {command}` explains what it takes"),
    })
}

/// Says what to type for a word that stands in the place of an id.
fn no_issue(error: &Error) -> Option<String> {
    let ContextValue::String(argument) = error.get(ContextKind::InvalidArg)? else { return None };
    let ContextValue::String(given) = error.get(ContextKind::InvalidValue)? else { return None };
    if !argument.contains("<ID>") {
        return None;
    }
    let hint = match &*given.to_lowercase() {
        "all" | "everything" => {
            "`ait list` lists issues, and `ait bulk QUERY` changes all that a query finds"
        }
        "last" | "latest" | "newest" | "recent" | "current" | "this" | "head" | "it" => {
            "`ait list --sort filed --reverse -n 1` shows the newest issue with its id, and `ait board` who works on which"
        }
        "next" | "first" | "oldest" => {
            "`ait ready -n 1` shows the next issue with its id, and `ait next` claims it"
        }
        "list" | "ls" => "`ait list` lists issues, and `git worktree list` the worktrees",
        _ => return None,
    };
    Some(format!("{given:?} is no id: {hint}"))
}

fn invalid_value(error: &Error) -> Option<String> {
    let ContextValue::String(given) = error.get(ContextKind::InvalidValue)? else { return None };
    let ContextValue::Strings(valid) = error.get(ContextKind::ValidValue)? else { return None };
    let is_it = |(words, place, _): &&(&str, &str, &str)| {
        has_word(words, &given.to_lowercase()) && valid.iter().any(|word| word == place)
    };
    if is_issue_ref(given) && valid.iter().any(|word| word == "blocked-by") {
        let kinds = valid.join(", ");
        return Some(format!("say how the issues are linked, with one of {kinds} between them"));
    }
    let (_, _, hint) = VALUES.iter().find(is_it)?;
    Some(format!("{given:?} is none of {}: {hint}", valid.join(", ")))
}

fn missing_argument(error: &Error) -> Option<String> {
    let ContextValue::Strings(missing) = error.get(ContextKind::InvalidArg)? else { return None };
    let lacks = |what: &str| missing.iter().any(|missing| missing.contains(what));
    let command = command(error)?;
    let ids = "`ait list` shows the ids; leave out a #, after which a shell reads nothing";
    Some(match &*command {
        "add" => {
            "the title is missing: ait add 'TITLE', or ait add --edit to write it in an editor"
                .to_owned()
        }
        "search" => {
            "the words to find are missing, as in ait search safari login; `ait list` lists the open issues"
                .to_owned()
        }
        "import" => {
            "the file is missing, as in ait import backlog.csv; - is stdin, and --dry-run writes nothing".to_owned()
        }
        "restore" => {
            "the backup is missing: ait restore FILE, with a file of `ait backup`; --dry-run changes nothing"
                .to_owned()
        }
        "show" | "claim" | "release" | "edit" | "unpark" | "worktree" | "merge" if lacks("<ID>") => {
            format!("the issue is missing: ait {command} ID; {ids}")
        }
        "link" | "unlink" => format!(
            "say which issues and how they are linked: ait {command} ID blocked-by ID, or parent, related, duplicate-of"
        ),
        "ask" if lacks("<ID>") => format!("the issue is missing: ait ask ID 'QUESTION'; {ids}"),
        "ask" => "the question is missing, as in ait ask ID 'Which database?' --option SQLite --option Postgres"
            .to_owned(),
        "answer" if lacks("<ID>") => {
            "the issue is missing: ait answer ID 'TEXT'; `ait questions` lists those that wait for an answer"
                .to_owned()
        }
        "answer" => "the answer is missing: ait answer ID 'TEXT', or --option NUMBER for one of the answers to choose from"
            .to_owned(),
        "comment" | "complete" | "return" | "close" | "park" if lacks("<ID>") => {
            format!("the issue is missing: ait {command} ID -m 'TEXT'; {ids}")
        }
        "complete" => {
            "the comment is missing: say what you did, for the reviewer, with -m 'TEXT'".to_owned()
        }
        "return" => {
            "the comment is missing: say why, for the next agent, with -m 'TEXT'".to_owned()
        }
        "comment" => "the comment is missing: give it with -m 'TEXT'".to_owned(),
        "park" => "the reason is missing: say why, with -m 'TEXT'".to_owned(),
        "close" => "the comment is missing: say how it ended, with -m 'TEXT'".to_owned(),
        _ => return None,
    })
}
