//! `ait restore`: it checks the backup, refuses to lose newer changes, and takes effect in all processes at once.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::support::files::{
    database, id, issue_json, kept, names, settle, stored_issues, write_issues,
};
use crate::support::runs::{Run, assert_snapshot, run};
use crate::support::{Client, ait, directory, health_issue_count, until};

/// The bytes of the store's files.
fn bytes(path: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    settle(path);
    let files = [path.join("issues.json"), database(path)].into_iter();
    files.map(|file| (file.clone(), fs::read(file).unwrap())).collect()
}

/// Returns the backups that restores have kept.
fn before_restores(path: &Path) -> Vec<PathBuf> {
    let mut kept = kept(path);
    kept.retain(|path| path.to_string_lossy().contains("before-restore"));
    kept
}

fn titles(path: &Path) -> Vec<String> {
    stored_issues(path).iter().map(|issue| issue["title"].as_str().unwrap().to_owned()).collect()
}

/// A store with two issues, a backup of it, and newer work: one issue claimed, one filed.
fn store_with_backup(path: &Path) {
    let issues = [issue_json(&id(1), "one", "created"), issue_json(&id(2), "two", "created")];
    write_issues(path, &issues);
    run(path, &["backup", "b.json"]).ok();
    run(path, &["next", "-a", "a"]).ok();
    run(path, &["add", "three", "-c", "bug", "-a", "a"]).ok();
    // Publish now: otherwise a background process may publish between two reads of the files.
    run(path, &["save"]).ok();
}

/// Masks the id that differs between runs in the output of a command.
fn without_new_ids(path: &Path, run: Run) -> Run {
    let new = stored_issues(path).into_iter().map(|issue| issue["id"].as_str().unwrap().to_owned());
    new.filter(|id| !id.ends_with("000000000000")).fold(run, |run, id| Run {
        code: run.code,
        out: run.out.replace(&id, "[ID]").replace(&id[..8], "[ID]"),
        log: run.log.replace(&id, "[ID]").replace(&id[..8], "[ID]"),
    })
}

#[test]
fn restore_drops_newer_changes_only_with_force_and_keeps_them() {
    let directory = directory();
    let path = directory.path();
    store_with_backup(path);
    let before = bytes(path);
    for (name, arguments) in [
        ("restore_refused", &["restore", "b.json"][..]),
        ("restore_refused_json", &["restore", "b.json", "--json"]),
        ("restore_dry_run_refused", &["restore", "b.json", "--dry-run"]),
        ("restore_dry_run_force", &["restore", "b.json", "--dry-run", "--force"]),
    ] {
        assert_snapshot(name, path, &without_new_ids(path, run(path, arguments)));
        assert_eq!(bytes(path), before, "{name}");
    }
    let forced = without_new_ids(path, run(path, &["restore", "b.json", "--force"]));
    assert_eq!(titles(path), ["one", "two"]);
    let kept = before_restores(path);
    assert_eq!(kept.len(), 1, "{kept:?}");
    let forced = Run { out: forced.out.replace(&new_id(&kept[0]), "[ID]"), ..forced };
    let kept = [kept[0].to_str().unwrap()];
    assert_snapshot("restore_forced", path, &forced);
    // The replaced state is a backup: going back to it loses nothing and needs no force.
    let undone = run(path, &["restore", kept[0]]);
    assert_snapshot("restore_undone", path, &without_new_ids(path, undone));
    assert_eq!(titles(path), ["one", "two", "three"]);
    assert_eq!(stored_issues(path)[0]["status"], "in_progress");
    assert_snapshot("restore_unneeded", path, &run(path, &["restore", kept[0]]));
    let json = run(path, &["restore", "b.json", "--force", "--json"]);
    let report: Value = serde_json::from_str(&json.ok()).unwrap();
    assert_eq!(
        (&report["restored"], &report["verified"]),
        (&json!(true), &json!(true)),
        "{report}"
    );
    assert_eq!(report["difference"]["missing"]["count"], 1, "{report}");
    assert!(Path::new(report["kept"][0].as_str().unwrap()).exists(), "{report}");
}

/// Returns the first digits of the id of the last issue in a backup.
fn new_id(path: &Path) -> String {
    let document: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let last = document["issues"].as_array().unwrap().last().unwrap()["id"].clone();
    last.as_str().unwrap()[..8].to_owned()
}

#[test]
fn restore_refuses_corrupt_backups_and_changes_nothing() {
    let directory = directory();
    let path = directory.path();
    store_with_backup(path);
    let (good, before) = (fs::read(path.join("b.json")).unwrap(), bytes(path));
    let text = String::from_utf8(good.clone()).unwrap();
    let digit = text.rfind("xxh3-128:").unwrap() + 9;
    let other_digit = if good[digit] == b'0' { "1" } else { "0" };
    let mut flipped = good.clone();
    flipped[text.find("\"two\"").unwrap() + 1] ^= 1;
    let mut wrong = text.clone();
    wrong.replace_range(digit..=digit, other_digit);
    for (name, bad) in [
        ("restore_cut", good[..good.len() / 2].to_vec()),
        ("restore_flipped", flipped),
        ("restore_wrong_checksum", wrong.into_bytes()),
        ("restore_no_issues", b"{\"a\": 1}".to_vec()),
    ] {
        fs::write(path.join("bad.json"), bad).unwrap();
        for arguments in [&["restore", "bad.json"][..], &["restore", "bad.json", "--force"]] {
            let refused = run(path, arguments);
            assert_eq!(refused.code, 1);
            assert_snapshot(name, path, &refused);
        }
        assert_eq!(bytes(path), before, "{name}");
    }
    assert_snapshot("restore_missing", path, &run(path, &["restore", "none.json"]));
    assert_eq!(run(path, &["restore"]).code, 2);
}

#[test]
fn restore_accepts_a_copy_of_issues_json_as_unverified() {
    let directory = directory();
    let path = directory.path();
    store_with_backup(path);
    run(path, &["save"]).ok();
    fs::copy(path.join("issues.json"), path.join("copy.json")).unwrap();
    run(path, &["restore", "b.json", "--force"]).ok();
    assert_snapshot(
        "restore_unchecked",
        path,
        &without_new_ids(path, run(path, &["restore", "copy.json"])),
    );
    assert_eq!(titles(path), ["one", "two", "three"]);
}

#[test]
fn restore_works_in_an_empty_directory() {
    let (from, to) = (directory(), directory());
    store_with_backup(from.path());
    let backup = from.path().join("b.json");
    run(to.path(), &["restore", backup.to_str().unwrap()]).ok();
    assert_eq!(titles(to.path()), ["one", "two"]);
    assert_eq!(names(to.path()), crate::support::files::STORE_FILES);
    let original: Value = serde_json::from_slice(&fs::read(backup).unwrap()).unwrap();
    run(to.path(), &["save"]).ok();
    let restored = fs::read(to.path().join("issues.json")).unwrap();
    let restored: Value = serde_json::from_slice(&restored).unwrap();
    assert_eq!(restored, json!({ "issues": original["issues"] }));
}

#[test]
fn running_servers_and_agents_continue_with_the_restored_state() {
    let directory = directory();
    let path = directory.path();
    store_with_backup(path);
    let mut serve = ait(path).args(["serve", "--port", "0"]).spawn().unwrap();
    let log = crate::support::Log::of(serve.stderr.take().unwrap());
    let log = log.wait_for("pages: http://localhost:");
    let port = log.rsplit(':').next().unwrap().trim().parse().unwrap();
    let mut agent = Client::start(path);
    assert_eq!(health_issue_count(port), 3);
    assert!(agent.call("list_issues", json!({})).ok().contains("\"count\":3"));
    for round in 1..=3 {
        run(path, &["restore", "b.json", "--force"]).ok();
        assert_eq!(health_issue_count(port), 2);
        assert!(agent.call("list_issues", json!({})).ok().contains("\"count\":2"));
        // In the backup, the first issue is not claimed.
        let claimed = agent.call("get_next_issue", json!({ "agent": "b" })).issue();
        assert_eq!(claimed["id"], id(1));
        agent.add(&format!("after {round}"), "bug");
        assert_eq!(health_issue_count(port), 3);
    }
    assert!(agent.close().success());
    crate::support::signal(&serve, "TERM");
    assert!(crate::support::wait(&mut serve).success());
    assert_eq!(titles(path), ["one", "two", "after 3"]);
    assert_eq!(before_restores(path).len(), 3);
}

/// Agents file issues during restores. Every confirmed issue is in the store or in a kept backup; every error says
/// that the outcome is not certain.
#[test]
fn changes_around_a_restore_are_stored_or_kept_aside() {
    let directory = directory();
    let path = directory.path();
    store_with_backup(path);
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let mut answered = Vec::new();
    thread::scope(|scope| {
        let writers: Vec<_> = (0..2)
            .map(|_| {
                scope.spawn(|| {
                    let (mut client, mut filed) = (Client::start(path), Vec::new());
                    while !is_over.load(std::sync::atomic::Ordering::SeqCst) {
                        let answer = client.call("add_issue", json!({ "title": "t", "description": "", "classification": "bug", "agent": "a" }));
                        if answer.is_error {
                            assert!(answer.text.contains("not certain"), "{}", answer.text);
                        } else {
                            filed.push(crate::support::id_in(&answer.text));
                        }
                    }
                    filed
                })
            })
            .collect();
        for _ in 0..6 {
            run(path, &["restore", "b.json", "--force"]).ok();
            thread::sleep(Duration::from_millis(30));
        }
        is_over.store(true, std::sync::atomic::Ordering::SeqCst);
        answered.extend(writers.into_iter().flat_map(|writer| writer.join().unwrap()));
    });
    let kept = before_restores(path).into_iter();
    let texts: Vec<_> = kept.map(|path| fs::read_to_string(path).unwrap()).collect();
    let now: Vec<_> =
        stored_issues(path).iter().map(|issue| issue["id"].as_str().unwrap().to_owned()).collect();
    for id in &answered {
        let is_kept = now.contains(id) || texts.iter().any(|text| text.contains(id.as_str()));
        assert!(is_kept, "{id} is lost");
    }
    assert!(answered.len() > 10, "{}", answered.len());
}

#[test]
fn killed_restore_leaves_the_old_or_the_new_state() {
    const ISSUES: usize = 3000;
    let directory = directory();
    let path = directory.path();
    let all: Vec<_> = (0..ISSUES).map(|number| issue_json(&id(number), "old", "created")).collect();
    write_issues(path, &all);
    run(path, &["backup", "old.json"]).ok();
    let all: Vec<_> = (0..ISSUES).map(|number| issue_json(&id(number), "new", "created")).collect();
    write_issues(path, &all);
    run(path, &["backup", "new.json"]).ok();
    let (mut restored, mut unchanged) = (0, 0);
    for round in 0..12 * crate::support::factor() {
        let now = titles(path);
        let other = if now[0] == "old" { "new" } else { "old" };
        let file = format!("{other}.json");
        let mut child = ait(path).args(["restore", &file, "--force"]).spawn().unwrap();
        thread::sleep(Duration::from_millis(15 + 71 * round % 400));
        let _ = child.kill();
        child.wait().unwrap();
        let then = titles(path);
        assert_eq!(then.len(), ISSUES, "round {round}");
        assert!(then.iter().all(|title| *title == then[0]), "round {round}: mixed states");
        if then[0] == other {
            restored += 1;
        } else {
            unchanged += 1;
        }
        run(path, &["add", "x", "-c", "bug", "-a", "a"]).ok();
        let x = stored_issues(path).into_iter().find(|issue| issue["title"] == "x").unwrap();
        assert_eq!(x["status"], "created", "round {round}");
        run(path, &["restore", &format!("{}.json", then[0]), "--force"]).ok();
        for kept in before_restores(path) {
            fs::remove_file(kept).unwrap();
        }
    }
    eprintln!("{restored} restores finished before the kill, {unchanged} did not");
    // A background process may still be publishing the file.
    until("no temp file is left", || names(path).iter().all(|name| !name.ends_with(".tmp")));
}

/// The suspended process still has an issue that the restore removed, and the events of the removal are pruned.
#[test]
fn suspended_process_does_not_resurrect_removed_issues() {
    let directory = directory();
    let path = directory.path();
    store_with_backup(path);
    fs::write(path.join("ait.toml"), "keep-events = \"1KiB\"\n").unwrap();
    let mut sleeper = Client::start(path);
    assert!(sleeper.call("list_issues", json!({})).ok().contains("\"count\":3"));
    sleeper.signal("STOP");
    run(path, &["restore", "b.json", "--force"]).ok();
    let number = |sql: &str| {
        let connection = rusqlite::Connection::open(database(path)).unwrap();
        connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap()
    };
    let restored = number("SELECT max(number) FROM events");
    let mut other = Client::begin(ait(path).args(["--toolsets", "all"]));
    let comment = json!({ "issue_id": id(2), "comment": "x".repeat(2000), "agent": "a" });
    until("the events of the restore are pruned", || {
        other.call("update_issue", comment.clone()).ok();
        number("SELECT min(number) FROM events") > restored
    });
    sleeper.signal("CONT");
    sleeper.call("get_next_issue", json!({ "agent": "b" })).issue();
    other.add("the last", "bug");
    assert!(sleeper.close().success() && other.close().success());
    assert_eq!(titles(path), ["one", "two", "the last"]);
}
