//! Explains words that are no commands of `ait`, and filters what clap suggests instead.

use clap::Command;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};

use super::options::is_issue_ref;

/// Words for which there is no command, and what `ait` has instead.
const ELSEWHERE: [(&[&str], &str); 33] = [
    (
        &["delete", "rm", "remove", "purge"],
        "issues are never deleted; `ait close ID --reject -m REASON` rejects one",
    ),
    (&["reject", "cancel", "wontfix"], "`ait close ID --reject -m REASON` rejects an issue"),
    (
        &["start", "take", "pick"],
        "`ait next` claims the next issue, and `ait claim ID` claims one of your choice",
    ),
    (
        &["assign", "unassign"],
        "`ait edit ID --assign NAME` says for whom an issue is, or `none` for any agent",
    ),
    (
        &["done", "finish", "resolve"],
        "`ait complete ID -m TEXT` hands an issue over to review, and `ait close ID -m TEXT` closes it",
    ),
    (&["approve", "accept"], "`ait close ID -m TEXT` closes an issue that you reviewed"),
    (&["unclaim"], "`ait release ID` gives back an issue that you hold"),
    (&["note"], "`ait comment ID -m TEXT` comments on an issue"),
    (
        &["comments"],
        "`ait show ID` shows an issue with its comments, and `ait comment ID -m TEXT` adds one",
    ),
    (
        &["stale"],
        "`ait status` shows old claims, and those of agents that are gone; `ait list` shows what changed last first",
    ),
    (
        &["epic", "epics", "subtask"],
        "`ait add TITLE --parent ID` files a part of an issue, and `ait tree ID` draws an issue with its parts",
    ),
    (
        &["login", "logout", "auth"],
        "a local store has no logins; --agent NAME says who acts, and `ait serve --token-file FILE` demands tokens",
    ),
    (
        &["update", "change", "modify", "set", "move", "transition"],
        "`ait edit ID` changes an issue; `ait claim`, `ait return`, `ait complete` and `ait close` change its status",
    ),
    (&["revert", "rollback"], "`ait undo` takes changes back; `ait log` shows their numbers"),
    (&["create"], "`ait add TITLE` files an issue"),
    (
        &["issue", "issues", "task", "tasks", "ticket", "tickets"],
        "leave that word out: `ait list` lists issues, `ait show ID` shows one, and `ait add TITLE` files one",
    ),
    (
        &["todo", "todos", "backlog", "queue"],
        "`ait ready` lists what you can claim now, and `ait add TITLE` files an issue",
    ),
    (&["find", "grep", "query"], "`ait search QUERY` searches all issues"),
    (&["view", "get"], "`ait show ID` shows one issue"),
    (&["label", "labels", "tag"], "`ait edit ID -l LABEL` adds a label, and -l -LABEL removes it"),
    (
        &["priority", "prioritize"],
        "`ait edit ID -p NUMBER` sets the priority: 0 is first, 4 is last",
    ),
    (
        &["block", "depend", "dep", "deps"],
        "`ait link ID blocked-by ID` makes an issue wait for another one, and `ait tree ID` draws them",
    ),
    (
        &["defer", "postpone", "snooze", "hold"],
        "`ait park ID -m WHY --until TIME` keeps an issue from being claimed until then",
    ),
    (
        &["mcp"],
        "`ait` without a command is the MCP server when a client starts it; `ait init` sets clients up",
    ),
    (
        &["web", "ui", "gui", "page", "dashboard", "browse"],
        "`ait` in a terminal serves the web page, and `ait open` opens it in the browser",
    ),
    (
        &["stop", "kill", "quit", "exit"],
        "Ctrl-C stops an `ait` that runs in a terminal; `ait status` lists the processes that use the store",
    ),
    (
        &["prime", "onboard", "setup", "install", "quickstart"],
        "`ait init` sets up the clients of your agents, with the prompts that tell agents how to work",
    ),
    (
        &["sync", "push", "pull", "flush"],
        "nothing needs it, as all processes share the store; `ait save` updates issues.json now, such as before a commit",
    ),
    (&["version"], "`ait --version` prints the version"),
    (
        &["whoami", "me", "user"],
        "`ait config` shows the agent that you act as; --agent NAME or AIT_AGENT=NAME names another one",
    ),
    (&["kanban"], "`ait board` shows the board"),
    (&["tui", "watch", "top"], "`ait board --watch` shows the work in the terminal, as it happens"),
    (&["statistics", "report"], "`ait stats` shows the statistics; `ait status` counts the issues"),
];

/// The commands that change nothing, which may be suggested for any word.
const HARMLESS: [&str; 18] = [
    "serve",
    "list",
    "ls",
    "show",
    "ready",
    "blocked",
    "tree",
    "search",
    "stats",
    "board",
    "log",
    "open",
    "status",
    "doctor",
    "config",
    "completions",
    "man",
    "help",
];

/// Improves clap's error for an unknown command; `line` is the whole command line definition.
///
/// An unknown word that is a command of other programs gets a hint. For other unknown words, commands are suggested
/// only if they change nothing: a suggestion invites the user to run it.
pub(super) fn explain(mut error: Error, line: &mut Command) -> Error {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else {
        return error;
    };
    let is_of = |usage: &ContextValue| usage.to_string() == line.render_usage().to_string();
    if error.get(ContextKind::Usage).is_some_and(is_of) {
        let lower = word.to_lowercase();
        let elsewhere = ELSEWHERE.iter().find(|(words, _)| words.contains(&lower.as_str()));
        let hint = match elsewhere {
            Some((_, hint)) => Some((*hint).to_owned()),
            None if word.parse::<u16>().is_ok() && word.len() > 3 => Some(format!(
                "the port is --port, as in `ait --port {word}`; if it is the id of an issue, `ait show {word}` shows that \
                 issue"
            )),
            None if is_issue_ref(word) => {
                let id = word.trim_start_matches('#');
                Some(format!("if it is the id of an issue, `ait show {id}` shows that issue"))
            }
            None if lower != *word && line.find_subcommand(&lower).is_some() => {
                Some(format!("commands are in lower case, as in `ait {lower}`"))
            }
            None => None,
        };
        if let Some(hint) = hint {
            let text = format!("there is no command `{word}`: {hint}");
            return line_error(text, ErrorKind::InvalidSubcommand);
        }
    }
    if let Some(ContextValue::Strings(mut words)) = error.remove(ContextKind::SuggestedSubcommand) {
        let is_harmless = |word: &String| HARMLESS.contains(&word.as_str());
        // The most similar one comes last. Without it, the others would mislead.
        if words.last().is_some_and(is_harmless) {
            words.retain(is_harmless);
            error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(words));
        }
    }
    // There are no values that such a word could be.
    error.remove(ContextKind::Suggested);
    error
}

/// Creates an error that prints the text, without clap's usage.
pub(super) fn line_error(text: String, kind: ErrorKind) -> Error {
    Error::raw(kind, text + "\n")
}
