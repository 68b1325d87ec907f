//! A store of an earlier version, which kept a log in `.ait/issues.json/log` or had other tables: every command refuses
//! it with what to do, and leaves it as it is.

use std::fs;
use std::path::Path;

use agent_issue_tracker::config::Arguments;
use clap::CommandFactory;
use serde_json::json;

use crate::damage::{Kind, kind};
use crate::support::files::{copy_directory, id, issue_json, names, store_directory, write_issues};
use crate::support::runs::run;
use crate::support::{Client, directory, get};

/// Returns a store that an earlier version made, with the files below it.
fn store() -> tempfile::TempDir {
    let directory = directory();
    write_issues(directory.path(), &[issue_json(&id(1), "one", "created")]);
    let log = store_directory(directory.path()).join("log");
    fs::create_dir_all(&log).unwrap();
    fs::write(log.join("0000000001.log"), "00000000 00000001 {}\n").unwrap();
    directory
}

/// Checks that the files of the earlier version are those of `before`, and that no database was made.
#[track_caller]
fn assert_untouched(path: &Path, before: &Path) {
    for file in ["issues.json", ".ait/issues.json/log/0000000001.log"] {
        assert_eq!(fs::read(path.join(file)).unwrap(), fs::read(before.join(file)).unwrap());
    }
    let made = names(&store_directory(path));
    assert!(!made.iter().any(|name| name.starts_with("queue")), "{made:?}");
}

#[track_caller]
fn assert_refused(text: &str) {
    for words in [
        "the store of an earlier version of ait",
        "`ait backup FILE` with the version that made it",
    ] {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    assert!(text.contains(" away, and run `ait restore FILE`"), "{text}");
}

#[test]
fn every_command_refuses_the_store_of_an_earlier_version() {
    let store = store();
    let (path, before) = (store.path(), directory());
    copy_directory(path, before.path());
    let backup = path.join("backup.json");
    fs::copy(path.join("issues.json"), &backup).unwrap();
    let command_line = Arguments::command();
    let of_issues =
        command_line.get_subcommands().filter_map(|command| match kind(command.get_name()) {
            Kind::Reads(arguments) | Kind::Refuses(arguments) => {
                Some([&[command.get_name()], arguments].concat())
            }
            Kind::Other => None,
        });
    let others = [vec!["restore", "backup.json", "--force"], vec!["doctor"]];
    for arguments in of_issues.chain(others) {
        let found = run(path, &arguments);
        assert_eq!(found.code, 1, "{arguments:?}: {found:?}");
        assert_refused(&format!("{}{}", found.out, found.log));
        assert_untouched(path, before.path());
    }
}

#[test]
fn agents_and_the_health_probe_are_told() {
    let store = store();
    let (path, before) = (store.path(), directory());
    copy_directory(path, before.path());
    let mut agent = Client::start(path);
    for (tool, arguments) in
        [("list_issues", json!({})), ("get_next_issue", json!({ "agent": "a" }))]
    {
        assert_refused(&agent.call(tool, arguments).refusal());
    }
    let health = get(agent.port(), "/health");
    assert_eq!(health.status, 503, "{}", health.body);
    assert_refused(&health.body);
    agent.close();
    assert_untouched(path, before.path());
}

/// What the doctor says works.
#[test]
fn issues_come_into_a_new_store_once_the_directory_is_moved() {
    let store = store();
    let path = store.path();
    run(path, &["list"]).refusal();
    let own = store_directory(path);
    fs::rename(&own, own.with_extension("json.earlier")).unwrap();
    run(path, &["next", "-a", "a"]).ok();
    assert!(run(path, &["list"]).ok().contains("one"));
    run(path, &["doctor"]).ok();
}

#[test]
fn a_database_of_an_earlier_version_is_refused_and_its_issues_are_restored() {
    let directory = directory();
    let path = directory.path();
    run(path, &["file", "one", "-a", "a"]).ok();
    run(path, &["backup", "backup.json"]).ok();
    let own = store_directory(path);
    let connect = || rusqlite::Connection::open(own.join("queue.db")).unwrap();
    connect().execute_batch("PRAGMA user_version = 1").unwrap();
    for arguments in [&["list"][..], &["next", "-a", "a"], &["doctor"]] {
        let found = run(path, arguments);
        assert_eq!(found.code, 1, "{arguments:?}: {found:?}");
        assert_refused(&format!("{}{}", found.out, found.log));
    }
    let version = connect().query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0));
    assert_eq!(version, Ok(1));
    fs::rename(&own, own.with_extension("json.earlier")).unwrap();
    run(path, &["restore", "backup.json"]).ok();
    assert!(run(path, &["list"]).ok().contains("one"));
    run(path, &["doctor"]).ok();
}
