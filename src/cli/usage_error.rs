//! Explains wrong arguments: what to type instead.

use clap::Command;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use super::options::is_issue_ref;
use super::unknown_command::{self, line_error};
use crate::setup::PROGRAM;

/// Options that people know from other programs, each with the commands where they may try it and what to type instead.
/// No command means any, and "" is `ait` without a command.
const OPTIONS: [(&[&str], &[&str], &str); 30] = [
    (&["", "serve"], &["-p"], "the port is --port: ait --port 3001"),
    (
        &[],
        &["-v", "--verbose"],
        "`ait --version` prints the version, and `ait --log debug` is a server that logs more",
    ),
    (
        &[
            "show", "tree", "claim", "release", "return", "complete", "close", "edit", "comment",
            "link", "park", "unpark",
        ],
        &["--id", "--issue"],
        "the id of an issue needs no option, as in ait show ID; ids are in `ait list`",
    ),
    (&["log"], &["--tail", "--last", "--lines"], "the latest events are -n COUNT: ait log -n 20"),
    (
        &["board"],
        &[
            "-s",
            "--status",
            "--state",
            "-c",
            "--classification",
            "-p",
            "--priority",
            "-l",
            "--label",
        ],
        "the board shows all open issues; `ait list` filters, as in ait list --status created",
    ),
    (
        &["next", "review"],
        &["-p", "--priority", "-l", "--label", "-n", "--limit"],
        "it claims one issue, by priority; `ait list` filters, and `ait claim ID` claims an issue of your choice for work",
    ),
    (
        &["export", "backup"],
        &["-o", "--output", "--out", "--to"],
        "the file needs no option, as in ait export FILE",
    ),
    (
        &["add"],
        &["--title", "--name", "--summary", "--subject"],
        "the title needs no option: ait add 'TITLE'",
    ),
    (
        &["add"],
        &["-t", "--type", "--kind", "-k", "--bug", "--feature"],
        "the kind of work is -c bug, -c improvement or -c feature: ait add 'TITLE' -c bug",
    ),
    (
        &["add"],
        &["-b", "--body", "-m", "--message", "--desc", "--comment"],
        "the description is -d TEXT: ait add 'TITLE' -d 'TEXT'",
    ),
    (
        &["add"],
        &["-s", "--status", "--state"],
        "a new issue always has the status created; `ait claim ID` claims it",
    ),
    (
        &["add", "edit", "list"],
        &["--labels", "--tag", "--tags"],
        "labels are -l: ait add 'TITLE' -l ui,login, or ait list -l ui",
    ),
    (
        &["add", "edit"],
        &["--add-label", "--add-labels", "--remove-label", "--remove-labels"],
        "labels are -l: -l ui adds one, and ait edit ID -l -ui removes it",
    ),
    (
        &["edit"],
        &["-b", "--body", "--desc"],
        "the description is -d TEXT, and the title -t TEXT: ait edit ID -d 'TEXT'",
    ),
    (
        &["show"],
        &["--comments", "--history", "--full"],
        "it shows the comments and the history already: ait show ID",
    ),
    (
        &["list", "search", "log"],
        &["--author", "--creator", "--user", "--by"],
        "--agent NAME finds what an agent filed, claimed or changed: ait list --agent NAME",
    ),
    (
        &["edit", "complete", "return"],
        &["--claim", "--take", "--start"],
        "`ait claim ID` claims an issue",
    ),
    (
        &["add", "edit"],
        &["--holder", "--owner"],
        "the agent that an issue is for is --assign NAME; `ait claim ID --agent NAME` claims it",
    ),
    (
        &["add", "edit"],
        &["--depends-on", "--blocker", "--deps"],
        "the issues that must end first are --blocked-by ID,ID",
    ),
    (
        &["add", "edit"],
        &["--blocks"],
        "`ait link OTHER blocked-by ID` says that an issue blocks another one",
    ),
    (
        &["edit"],
        &["-s", "--status", "--state"],
        "`ait claim`, `ait return`, `ait complete` and `ait close` change the status",
    ),
    (
        &["edit"],
        &["-m", "--message", "--comment"],
        "`ait comment ID -m TEXT` comments on an issue; its description is -d TEXT",
    ),
    (
        &["list"],
        &["--all", "-A", "--closed"],
        "issues in every status are --status all, or name one",
    ),
    (
        &["list"],
        &["--mine", "--my", "--me"],
        "what an agent holds is --holder NAME, and what is for it is --assignee NAME",
    ),
    (&["list"], &["--state"], "the status is --status: ait list --status closed"),
    (
        &["list"],
        &["--assign", "--assigned"],
        "the agent that an issue is for is --assignee NAME, and the one that holds it is --holder NAME",
    ),
    (&["list"], &["-t", "--type", "--kind", "-k"], "the kind of work is -c: ait list -c bug"),
    (
        &["list"],
        &["--search", "-q", "--query", "--grep"],
        "the words to find need no option: ait list WORD",
    ),
    (
        &["comment", "release", "return", "complete", "close", "park"],
        &["--comment", "-c", "--body", "-b", "--reason", "--text", "-t"],
        "the comment is -m 'TEXT'",
    ),
    (
        &["next", "claim", "review", "complete", "release", "return", "close"],
        &["--as", "--assignee", "--holder", "--name"],
        "the name of the agent is --agent NAME",
    ),
];

/// Values that people know from other programs, each with a word that is valid in their place and what to type instead.
const VALUES: [(&[&str], &str, &str); 5] = [
    (
        &["blocks", "blocking", "blocker-of"],
        "blocked-by",
        "turn it round: ait link B blocked-by A says that A blocks B",
    ),
    (
        &["child", "child-of", "part-of", "subtask-of"],
        "blocked-by",
        "the whole is the parent: ait link PART parent WHOLE",
    ),
    (
        &["done", "finished", "resolved", "merged"],
        "in_progress",
        "what waits for review is completed, and what was accepted is closed",
    ),
    (
        &["todo", "new", "ready", "backlog", "pending"],
        "in_progress",
        "what waits to be claimed is created; `ait ready` lists what can be claimed",
    ),
    (
        &["task", "story", "chore", "enhancement", "epic"],
        "improvement",
        "the kinds of work are bug, improvement and feature",
    ),
];

/// Improves an error of clap; `line` is the whole command line definition.
pub fn explain(mut error: Error, line: &mut Command) -> Error {
    let hint = match error.kind() {
        ErrorKind::InvalidSubcommand => return unknown_command::explain(error, line),
        ErrorKind::UnknownArgument => unknown_argument(&error),
        ErrorKind::MissingRequiredArgument => missing_argument(&error),
        ErrorKind::InvalidValue => invalid_value(&error),
        _ => None,
    };
    if let Some(hint) = hint {
        return line_error(hint, error.kind());
    }
    // clap takes many options for --file.
    if matches!(error.get(ContextKind::SuggestedArg), Some(ContextValue::String(suggested)) if suggested == "--file")
        && !matches!(error.get(ContextKind::InvalidArg), Some(ContextValue::String(given)) if given.starts_with("--f"))
    {
        error.remove(ContextKind::SuggestedArg);
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

fn unknown_argument(error: &Error) -> Option<String> {
    let ContextValue::String(given) = error.get(ContextKind::InvalidArg)? else { return None };
    let command = command(error)?;
    if given.starts_with('-') {
        let is_it = |(commands, options, _): &&(&[&str], &[&str], &str)| {
            (commands.is_empty() || commands.contains(&&*command)) && options.contains(&&**given)
        };
        let (_, _, hint) = OPTIONS.iter().find(is_it)?;
        let program = format!("ait {command}");
        return Some(format!("`{}` has no {given}: {hint}", program.trim_end()));
    }
    let is_id = is_issue_ref(given);
    Some(match &*command {
        "add" => {
            "the title is one argument: put it in quotes, as in ait add 'Login fails on Safari'"
                .to_owned()
        }
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
        "show" | "claim" | "release" | "edit" | "comment" | "complete" | "return" | "close"
        | "park" | "unpark"
            if is_id =>
        {
            format!("`ait {command}` takes one issue: run it again for {given:?}")
        }
        "comment" | "release" | "complete" | "return" | "close" | "park" => format!(
            "{given:?} is too much: put the comment in quotes behind -m, as in ait {command} ID -m 'what the next agent must know'"
        ),
        _ => return None,
    })
}

fn invalid_value(error: &Error) -> Option<String> {
    let ContextValue::String(given) = error.get(ContextKind::InvalidValue)? else { return None };
    let ContextValue::Strings(valid) = error.get(ContextKind::ValidValue)? else { return None };
    let is_it = |(words, place, _): &&(&[&str], &str, &str)| {
        words.contains(&&*given.to_lowercase()) && valid.iter().any(|word| word == place)
    };
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
        "show" | "claim" | "release" | "edit" | "unpark" if lacks("<ID>") => {
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
