//! Unknown commands.

use super::Desk;
use crate::support::files::names;

/// Commands of other programs, and a text that the hint for each must contain.
const OF_OTHER_PROGRAMS: &[(&str, &str)] = &[
    ("delete", "`ait close ID --reject -m REASON`"),
    ("rm", "`ait close ID --reject -m REASON`"),
    ("start", "`ait next`"),
    ("take", "`ait claim ID`"),
    ("assign", "`ait edit ID --assign NAME`"),
    ("done", "`ait complete ID -m TEXT`"),
    ("finish", "`ait close ID -m TEXT`"),
    ("unclaim", "`ait release ID`"),
    ("reject", "`ait close ID --reject -m REASON`"),
    ("web", "`ait open`"),
    ("ui", "`ait open`"),
    ("UI", "`ait open`"),
    ("stop", "Ctrl-C"),
    ("kill", "`ait status`"),
    ("termui", "`ait board --watch`"),
    ("report", "`ait stats`"),
    ("label", "`ait edit ID -l LABEL`"),
    ("priority", "`ait edit ID -p NUMBER`"),
    ("block", "`ait link ID blocked-by ID`"),
    ("snooze", "`ait park ID --until TIME`"),
    ("todo", "`ait ready`"),
    ("pick", "`ait next`"),
    ("approve", "`ait close ID -m TEXT`"),
    ("move", "`ait edit ID`"),
    ("prime", "`ait init`"),
    ("purge", "issues are never deleted"),
    ("transition", "`ait claim`, `ait return`, `ait complete` and `ait close` change the status"),
    ("comments", "`ait show ID` shows an issue with its comments"),
    ("quickstart", "`ait init`"),
    ("epic", "`ait add TITLE --parent ID`"),
    ("browse", "`ait open`"),
    ("login", "--agent NAME says who acts"),
    (
        "3000",
        "the port is --port, as in `ait --port 3000`; if it is the id of an issue, `ait show ID`",
    ),
];

#[test]
fn commands_of_other_programs_get_a_hint() {
    let desk = Desk::new();
    for (word, hint) in OF_OTHER_PROGRAMS {
        let text = desk.run(&[word]).failed(2);
        let expected = format!("error: there is no command `{word}`: ");
        assert!(text.starts_with(&expected) && text.contains(hint), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
    }
    // `ait hooks` has its own subcommands.
    let text = desk.run(&["hooks", "delete"]).failed(2);
    assert!(text.starts_with("error: unrecognized subcommand 'delete'\n"), "{text}");
    assert!(names(desk.path()).is_empty());
}

#[test]
fn hints_name_commands_that_exist() {
    let desk = Desk::new();
    let issue = desk.add("t");
    let blocker = desk.add("blocker");
    desk.run(&["link", &issue, "blocked-by", &blocker]).done();
    desk.run(&["tree", &issue]).done();
    desk.run(&["unlink", &issue, "blocked-by", &blocker]).done();
    desk.run(&["claim", &issue]).done();
    desk.run(&["release", &issue]).done();
    desk.run(&["edit", &issue, "-l", "ui", "-p", "1", "--assign", "dev-1"]).done();
    desk.run(&["edit", &issue, "-l", "-ui", "--assign", "none"]).done();
    desk.run(&["comment", &issue, "-m", "m"]).done();
    desk.run(&["park", &issue, "-m", "m", "--until", "2h"]).done();
    desk.run(&["search", "t"]).done();
    desk.run(&["ready"]).done();
    desk.run(&["log", "--issue", &issue]).done();
    desk.run(&["save"]).ends_with(0);
    desk.run(&["config"]).done();
    desk.run(&["--version"]).done();
    desk.run(&["stats"]).done();
    desk.run(&["add", "part", "--parent", &blocker]).done();
    desk.run(&["close", &issue, "--reject", "-m", "m"]).done();
}

#[test]
fn only_commands_that_change_nothing_are_suggested() {
    let desk = Desk::new();
    for (word, suggested) in
        [("lst", "list"), ("stauts", "status"), ("srve", "serve"), ("serach", "search")]
    {
        let text = desk.run(&[word]).failed(2);
        assert!(text.contains(&format!("did you mean `ait {suggested}`?")), "{text}");
    }
    for words in [
        &["nxt"][..],
        &["clos"],
        &["complte"],
        &["retrun"],
        &["resotre"],
        &["reviw"],
        &["imprt"],
        &["ad"],
        &["hooks", "uninstall"],
    ] {
        let text = desk.run(words).failed(2);
        assert!(text.starts_with("error: "), "{text}");
        assert!(!text.contains("tip: ") && !text.contains("did you mean"), "{text}");
    }
}

#[test]
fn familiar_aliases_work_and_are_in_the_help() {
    let desk = Desk::new();
    desk.run(&["new", "by an alias"]).done();
    assert!(desk.run(&["ls"]).done().stdout().contains("by an alias"));
    let help = desk.run(&["help", "--all"]).done().stdout();
    assert!(help.contains("[alias: ls]") && help.contains("[alias: new]"), "{help}");
}
