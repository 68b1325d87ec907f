//! Wrong arguments: arguments of other programs, missing quotes, and missing arguments.

use super::{Desk, Run};
use crate::support::files::names;
use crate::support::{BINARY, ait_through};

/// Wrong arguments, and a text that the hint for each must contain.
const WRONG: &[(&[&str], &str)] = &[
    (&["edit", "3f2a9c1e", "-m", "M"], "`ait comment ID -m TEXT`"),
    (&["add", "T", "--status", "closed"], "a new issue always has the status created"),
    (&["add"], "ait add 'TITLE'"),
    (&["add", "-c", "bug"], "ait add 'TITLE'"),
    (&["complete", "3f2a9c1e"], "say what you did, for the reviewer, with -m 'TEXT'"),
    (&["return", "3f2a9c1e"], "say why, for the next agent, with -m 'TEXT'"),
    (&["close", "3f2a9c1e", "--reject"], "say why it will not be done, with -m 'TEXT'"),
    (
        &["close", "3f2a9c1e", "-m", "all", "is", "fine"],
        "put the whole comment in quotes behind -m",
    ),
    (&["show"], "the issue is missing: ait show ID; `ait list` shows the ids"),
    (&["complete"], "ait complete ID -m 'TEXT'"),
    (&["next", "3f2a9c1e"], "it claims the first issue that waits; `ait claim ID`"),
    (&["review", "3f2a9c1e"], "it claims the first issue that waits; `ait show ID`"),
    (&["claim"], "the issue is missing: ait claim ID; `ait list` shows the ids"),
    (&["list", "--status", "done"], "what was accepted is closed"),
    (&["list", "--mine"], "--holder NAME"),
    (&["-v"], "`ait --version`"),
    (&["--verbose", "list"], "`ait` has no --verbose"),
    (&["list", "--verbose"], "`ait --log debug`"),
    (&["board", "--status", "created"], "ait list --status created"),
    (&["next", "--priority", "0"], "by priority"),
    (&["config", "porte"], "`ait config` shows them all"),
    (&["config", "port", "3001"], "write it to ait.toml"),
    (&["config", "set", "port", "3001"], "write it to ait.toml"),
    (&["search"], "ait search safari login"),
    (&["import"], "ait import backlog.csv"),
    (&["restore"], "ait restore FILE"),
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
    // Other unknown options are answered with those that there are.
    let text = desk.run(&["board", "--title"]).failed(2);
    assert!(text.contains("it has --watch, --limit") && text.contains("--file"), "{text}");
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
