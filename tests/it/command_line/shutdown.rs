//! Failed commands: they exit with 1, or with 2 for wrong usage, and the error names the next step.

use std::fs;

use super::{Desk, assert_written};
use crate::support::files::{id, issue_json, names};

#[test]
fn refusals_suggest_the_next_step_in_command_line_terms() {
    let alike = ["3f2a9c1e-0000-4000-8000-000000000001", "3f2a9c1e-0000-4000-8000-000000000002"];
    let desk = Desk::with(&[
        issue_json(alike[0], "one", "created"),
        issue_json(alike[1], "two", "created"),
        issue_json(&id(5), "ended", "closed"),
    ]);
    let mut written = String::new();
    let long = "x".repeat(501);
    let cases: [(&[&str], i32); 12] = [
        (&["show", &id(9)], 1),
        (&["show", "3f2a9c1e"], 1),
        (&["return", "3f2a9c1e", "-m", "m"], 1),
        (&["complete", &id(5), "-m", "m"], 1),
        (&["close", &id(5), "-m", "m"], 1),
        (&["show", "xyz"], 2),
        (&["close", &id(1), "-m", ""], 2),
        (&["complete", &id(1)], 2),
        (&["add", " ", "-c", "bug"], 2),
        (&["add", &long, "-c", "bug"], 2),
        (&["add", "t", "-c", "thing"], 2),
        (&["show", "3F2"], 2),
    ];
    for (arguments, code) in cases {
        let text = desk.run(arguments).failed(code);
        let line = arguments.join(" ").replace(&long, "xxx...");
        written.push_str(&format!("$ ait {line}\n{code}: {text}\n"));
    }
    assert_written!("refusals", written.replace(&long, "xxx..."));
    assert_eq!(names(desk.path()), ["issues.json"]);
}

#[test]
fn every_command_reports_an_unreadable_store() {
    let desk = Desk::new();
    fs::write(desk.path().join("issues.json"), "{\"issues\": 7}").unwrap();
    let issue = id(1);
    let commands: [&[&str]; 12] = [
        &["add", "t", "-c", "bug"],
        &["list"],
        &["show", &issue],
        &["next"],
        &["review"],
        &["return", &issue, "-m", "m"],
        &["complete", &issue, "-m", "m"],
        &["close", &issue, "-m", "m"],
        &["log"],
        &["log", "-f"],
        &["board"],
        &["board", "--watch"],
    ];
    for command in commands {
        let text = desk.run(command).failed(1);
        assert!(text.starts_with("error: the store cannot be read: "), "{command:?}: {text}");
        assert!(text.contains("issues.json"), "{command:?}: {text}");
        assert_eq!(text.lines().count(), 1, "{command:?}: {text}");
    }
    assert_eq!(fs::read_to_string(desk.path().join("issues.json")).unwrap(), "{\"issues\": 7}");
}

#[test]
fn directory_in_place_of_a_file_is_named() {
    let desk = Desk::new();
    desk.add("t");
    let lock = desk.path().join(".ait/issues.json/publish.lock");
    fs::remove_file(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    let expected = "publish.lock: a directory, not a regular file: move it away";
    let text = desk.run(&["add", "u"]).ends_with(0).stderr();
    assert!(text.contains(expected), "{text}");
    let text = desk.run(&["save"]).failed(1);
    assert!(text.contains(expected), "{text}");
    fs::remove_dir(&lock).unwrap();
    desk.run(&["save"]).done();
    let lock = desk.path().join(".ait/issues.json/turn.lock");
    fs::remove_file(&lock).unwrap();
    fs::create_dir(&lock).unwrap();
    let text = desk.run(&["add", "u"]).failed(1);
    assert!(text.contains("a directory, not a regular file"), "{text}");
    let text = desk.run(&["doctor"]).ends_with(1).stdout();
    assert!(text.contains("a directory, not a regular file"), "{text}");
    assert!(!text.contains("free some space"), "{text}");
}

#[cfg(target_os = "linux")]
#[test]
fn read_only_directory_refuses_changes_but_can_be_read() {
    use std::os::unix::fs::PermissionsExt;

    let desk = Desk::with(&[issue_json(&id(1), "t", "created")]);
    let closed = |mode| fs::set_permissions(desk.path(), fs::Permissions::from_mode(mode)).unwrap();
    closed(0o555);
    let is_free = fs::write(desk.path().join("probe"), "").is_ok();
    if is_free {
        closed(0o755);
        eprintln!("skipped: root writes everywhere");
        return;
    }
    let added = desk.run(&["add", "t", "-c", "bug"]);
    let listed = desk.run(&["list"]);
    closed(0o755);
    let text = added.failed(1);
    assert!(text.contains("nothing was changed"), "{text}");
    assert!(listed.done().stdout().contains("created"));
}
