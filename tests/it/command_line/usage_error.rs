//! Wrong arguments: arguments of other programs, missing quotes, and missing arguments.

use super::{Desk, Run};
use crate::support::files::names;
use crate::support::{BINARY, ait_through};

/// Wrong arguments, and a text that the hint for each must contain.
const WRONG: &[(&[&str], &str)] = &[
    (&["add", "--title", "T"], "ait add 'TITLE'"),
    (&["new", "--title=T"], "ait add 'TITLE'"),
    (&["add", "T", "-t", "bug"], "ait add 'TITLE' -c bug"),
    (&["add", "T", "--tag", "ui"], "labels are -l"),
    (&["add", "T", "--depends-on", "3f2a9c1e"], "--blocked-by ID,ID"),
    (&["add", "T", "--owner", "a"], "--assign NAME"),
    (&["edit", "3f2a9c1e", "--status", "closed"], "`ait close` change the status"),
    (&["edit", "3f2a9c1e", "-m", "M"], "`ait comment ID -m TEXT`"),
    (&["add", "T", "--body", "B"], "-d 'TEXT'"),
    (&["add", "T", "-m", "B"], "-d 'TEXT'"),
    (&["add", "T", "--status", "closed"], "a new issue always has the status created"),
    (&["add", "Login", "fails"], "put it in quotes"),
    (&["add"], "ait add 'TITLE'"),
    (&["add", "-c", "bug"], "ait add 'TITLE'"),
    (&["list", "--state", "closed"], "--status closed"),
    (&["list", "--assign", "a"], "--assignee NAME"),
    (&["complete", "3f2a9c1e"], "say what you did, for the reviewer, with -m 'TEXT'"),
    (&["return", "3f2a9c1e"], "say why, for the next agent, with -m 'TEXT'"),
    (&["close", "3f2a9c1e", "--reject"], "say how it ended, with -m 'TEXT'"),
    (&["close", "3f2a9c1e", "--comment", "x"], "the comment is -m 'TEXT'"),
    (&["close", "3f2a9c1e", "-m", "all", "is", "fine"], "put the comment in quotes behind -m"),
    (&["close", "3f2a9c1e", "8d1f02aa", "-m", "x"], "run it again for \"8d1f02aa\""),
    (&["show", "3f2a9c1e", "8d1f02aa"], "run it again for \"8d1f02aa\""),
    (&["show"], "the issue is missing: ait show ID; `ait list` shows the ids"),
    (&["complete"], "ait complete ID -m 'TEXT'"),
    (&["next", "3f2a9c1e"], "it claims the first issue that waits; `ait claim ID`"),
    (&["review", "3f2a9c1e"], "it claims the first issue that waits; `ait show ID`"),
    (&["claim"], "the issue is missing: ait claim ID; `ait list` shows the ids"),
    (&["release", "3f2a9c1e", "8d1f02aa"], "run it again for \"8d1f02aa\""),
    (&["next", "--as", "dev-1"], "--agent NAME"),
    (&["link", "3f2a9c1e", "blocks", "8d1f02aa"], "ait link B blocked-by A"),
    (&["link", "3f2a9c1e", "child-of", "8d1f02aa"], "ait link PART parent WHOLE"),
    (&["list", "--status", "done"], "what was accepted is closed"),
    (&["list", "--status", "todo"], "what waits to be claimed is created"),
    (&["add", "T", "-c", "task"], "the kinds of work are bug, improvement and feature"),
    (&["list", "--all"], "--status all"),
    (&["list", "--mine"], "--holder NAME"),
    (&["-p", "3001"], "`ait` has no -p: the port is --port"),
    (&["serve", "-p", "3001"], "the port is --port"),
    (&["serve", "8080"], "ait serve --port 8080"),
    (&["-v"], "`ait --version`"),
    (&["--verbose", "list"], "`ait` has no --verbose"),
    (&["list", "--verbose"], "`ait --log debug`"),
    (&["log", "--tail", "5"], "ait log -n 20"),
    (&["log", "3f2a9c1e"], "ait log --issue 3f2a9c1e"),
    (&["board", "--status", "created"], "ait list --status created"),
    (&["next", "--priority", "0"], "by priority"),
    (&["show", "--id", "3f2a9c1e"], "needs no option, as in ait show ID"),
    (&["export", "-o", "x.json"], "ait export FILE"),
    (&["status", "3f2a9c1e"], "`ait show 3f2a9c1e`"),
    (&["config", "porte"], "`ait config` shows them all"),
    (&["config", "port", "3001"], "write it to ait.toml"),
    (&["config", "set", "port", "3001"], "write it to ait.toml"),
    (&["search"], "ait search safari login"),
    (&["import"], "ait import backlog.csv"),
    (&["restore"], "ait restore FILE"),
    (
        &["edit", "3f2a9c1e", "--add-label", "ui"],
        "-l ui adds one, and ait edit ID -l -ui removes it",
    ),
    (&["add", "T", "--add-label", "ui"], "labels are -l"),
    (&["edit", "3f2a9c1e", "--body", "B"], "ait edit ID -d 'TEXT'"),
    (&["show", "3f2a9c1e", "--comments"], "it shows the comments and the history already"),
    (&["list", "--author", "a"], "ait list --agent NAME"),
    (&["edit", "3f2a9c1e", "--claim"], "`ait claim ID` claims an issue"),
    (&["ask", "3f2a9c1e"], "as in ait ask ID 'Which database?' --option SQLite"),
    (&["ask"], "ait ask ID 'QUESTION'; `ait list` shows the ids"),
    (&["answer", "3f2a9c1e"], "ait answer ID 'TEXT', or --option NUMBER"),
    (&["answer"], "`ait questions` lists those that wait for an answer"),
];

#[test]
fn wrong_arguments_get_a_hint_that_says_what_to_type() {
    let desk = Desk::new();
    for (arguments, hint) in WRONG {
        let text = desk.run(arguments).failed(2);
        assert!(text.starts_with("error: ") && text.contains(hint), "{arguments:?}: {text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
    for arguments in [&["list", "--assignee", "@me"][..], &["add", "T", "--assign", "@ME"]] {
        let text = desk.run(arguments).failed(2);
        assert!(text.contains("`ait config` shows as which one you act"), "{text}");
    }
    // clap reports all other unknown options, but must not suggest --file.
    let text = desk.run(&["board", "--title"]).failed(2);
    assert!(text.contains("Usage: ait board") && !text.contains("similar"), "{text}");
    assert!(desk.run(&["board", "--fil"]).failed(2).contains("'--file'"));
    assert!(names(desk.path()).is_empty());
}

#[test]
fn json_error_is_printed_once() {
    let desk = Desk::new();
    for (arguments, code) in [("list --json --fields bad", 2), ("show 3f2a9c1e --json", 1)] {
        let script = format!("exec {BINARY} {arguments} 2>&1");
        let mut command = ait_through("sh", desk.path());
        let run = Run(command.args(["-c", &script]).output().unwrap()).ends_with(code);
        assert_eq!(run.json()["recoverable"], true);
        // stderr is for the user while a program reads stdout.
        let arguments: Vec<_> = arguments.split(' ').collect();
        assert!(desk.run(&arguments).failed(code).starts_with("error: "));
    }
}

#[test]
fn ids_may_have_a_number_sign_and_others_are_explained() {
    let desk = Desk::new();
    let issue = desk.add("Login fails");
    for id in [format!("#{issue}"), issue[..4].to_owned(), format!("#{}", &issue[..4])] {
        assert!(desk.run(&["show", &id]).done().stdout().contains("Login fails"));
    }
    let text = desk.run(&["show", "log in"]).failed(2);
    assert!(text.contains("\"log in\" is no id") && text.contains("`ait list 'log in'`"), "{text}");
    for short in ["3f2", "#3f2"] {
        let text = desk.run(&["show", short]).failed(2);
        assert!(text.contains("\"3f2\" is too short: type at least 4 hex digits"), "{text}");
        assert!(text.contains("`ait list` shows the first 8 digits"), "{text}");
    }
}

#[test]
fn changes_to_claims_of_others_name_the_holder() {
    let desk = Desk::new();
    let issue = desk.add("Login fails");
    let change = |command: &str, agent: &str| {
        desk.run(&[command, &issue, "-m", "m", "--agent", agent]).done().stdout()
    };
    let short = &issue[..8];
    let printed = change("return", "a");
    assert_eq!(printed, format!("{short} created: Login fails (it was in the queue already)\n"));
    desk.run(&["next", "--agent", "dev-1"]).done();
    let printed = change("complete", "a");
    assert_eq!(printed, format!("{short} completed: Login fails (it was held by dev-1)\n"));
    let printed = change("complete", "b");
    assert_eq!(
        printed,
        format!("{short} completed: Login fails (it was completed already, by a)\n")
    );
    desk.run(&["review", "--agent", "rev"]).done();
    assert_eq!(change("return", "rev"), format!("{short} created: Login fails\n"));
    desk.run(&["next", "--agent", "dev-2"]).done();
    let printed = change("close", "a");
    assert_eq!(printed, format!("{short} closed: Login fails (it was held by dev-2)\n"));
}
