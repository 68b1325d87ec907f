//! `ait backup`: a consistent copy of the queue under concurrent changes, written completely or not at all.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use agent_issue_tracker::domain::Timestamp;
use agent_issue_tracker::store::backup::{BackupContent, BackupError, SaveOptions, file};
use serde_json::Value;

use crate::support::disk::{Disk, FaultyDuty};
use crate::support::files::{
    damage_text, database, id, issue_json, issues_in_file, names, write_issues,
};
use crate::support::runs::{assert_snapshot, run, run_with};
use crate::support::stores::{WholeState, add, apply, now, open};
use crate::support::trouble::Fault;
use crate::support::{Client, ait, directory, until};

fn ids_in(path: &Path) -> Vec<String> {
    let backup = file::load(path).unwrap();
    assert!(backup.about.is_some(), "no checksum");
    backup.document.issues.issues().map(|issue| issue.id.to_string()).collect()
}

#[test]
fn backup_holds_all_issues_and_is_a_valid_issues_json() {
    let directory = directory();
    let path = directory.path();
    let issues = [issue_json(&id(1), "one", "created"), issue_json(&id(2), "two", "closed")];
    write_issues(path, &issues);
    // Only the database has this issue.
    assert!(run(path, &["add", "three", "-c", "bug", "-a", "a"]).code == 0);
    let saved = run(path, &["backup", "b.json"]);
    assert_snapshot("backup", path, &saved);
    assert_eq!(ids_in(&path.join("b.json")).len(), 3);
    let other = path.join("copied");
    fs::create_dir(&other).unwrap();
    fs::copy(path.join("b.json"), other.join("issues.json")).unwrap();
    run(&other, &["add", "four", "-c", "bug", "-a", "a"]).ok();
    assert_eq!(run(&other, &["list", "--json", "-s", "all"]).ok().matches("\"title\"").count(), 4);
    // The published file has no checksum, because the issues have changed.
    run(&other, &["save"]).ok();
    assert!(!fs::read_to_string(other.join("issues.json")).unwrap().contains("checksum"));
    assert_eq!(issues_in_file(&other).len(), 4);
}

#[test]
fn backup_json_output_and_refusals_have_the_expected_text() {
    let directory = directory();
    let path = directory.path();
    write_issues(path, &[issue_json(&id(1), "one", "created")]);
    assert_snapshot("backup_json", path, &run(path, &["backup", "b.json", "--json"]));
    let before = fs::read(path.join("b.json")).unwrap();
    assert_snapshot("backup_exists", path, &run(path, &["backup", "b.json"]));
    assert_eq!(fs::read(path.join("b.json")).unwrap(), before);
    run(path, &["add", "two", "-c", "bug", "-a", "a"]).ok();
    run(path, &["backup", "--force", "b.json"]).ok();
    assert_eq!(ids_in(&path.join("b.json")).len(), 2);
    for file in [path.join("issues.json"), database(path)] {
        let before = fs::read(&file).unwrap();
        let refused = run(path, &["backup", "--force", file.to_str().unwrap()]).refusal();
        assert!(refused.contains("belongs to the store itself"), "{refused}");
        assert_eq!(fs::read(&file).unwrap(), before);
    }
    assert_snapshot("backup_no_directory", path, &run(path, &["backup", "none/b.json"]));
    assert_snapshot("backup_usage", path, &run(path, &["backup", "-", "--json"]));
}

#[test]
fn backup_defaults_to_a_timestamped_name_and_can_use_stdout() {
    let directory = directory();
    let path = directory.path();
    write_issues(path, &[issue_json(&id(1), "one", "created")]);
    run(path, &["backup"]).ok();
    fs::create_dir(path.join("there")).unwrap();
    run(path, &["backup", "there"]).ok();
    let is_backup =
        |name: &String| name.starts_with("issues-backup-20") && name.ends_with("Z.json");
    assert_eq!(names(path).iter().filter(|name| is_backup(name)).count(), 1);
    assert!(names(&path.join("there")).iter().all(is_backup));
    let piped = run(path, &["backup", "-"]).ok();
    let restored = run_with(path, &["restore", "-"], piped.as_bytes()).ok();
    assert!(restored.contains("nothing to do"), "{restored}");
}

#[test]
fn backups_of_a_directory_are_listed_and_only_the_newest_are_kept() {
    let directory = directory();
    let path = directory.path();
    write_issues(path, &[issue_json(&id(1), "one", "created")]);
    let there = path.join("there");
    fs::create_dir(&there).unwrap();
    let none = run(path, &["backup", "there", "--list"]);
    assert!(none.code == 1 && none.out.contains("no backups of this queue in there"), "{none:?}");
    for _ in 0..3 {
        run(path, &["backup", "there"]).ok();
    }
    // Not one of ours, and not named after its time.
    for other in ["other-backup-2026-01-31T093000.000Z.json", "issues-backup-mine.json"] {
        fs::write(there.join(other), "{}").unwrap();
    }
    let before = names(&there);
    run(path, &["backup", "there", "--keep", "2"]).ok();
    let kept = names(&there);
    assert_eq!(kept.len(), 4, "{kept:?}");
    assert_eq!(kept.iter().filter(|name| before.contains(name)).count(), 3, "{kept:?}");
    let listed = run(path, &["backup", "there", "--list"]).ok();
    let lines: Vec<_> = listed.lines().collect();
    assert_eq!(lines.len(), 2, "{listed}");
    assert!(lines[0] > lines[1] && lines[0].contains("Z.json  1 issue, "), "{listed}");

    let newest = there.join(
        kept.iter()
            .filter(|name| name.contains("Z.json") && name.starts_with("issues"))
            .max()
            .unwrap(),
    );
    let text = fs::read_to_string(&newest).unwrap().replace("one", "two");
    fs::write(&newest, text).unwrap();
    let damaged = run(path, &["backup", "there", "--list", "--json"]);
    assert_eq!(damaged.code, 1);
    let rows: Value = serde_json::from_str(&damaged.out).unwrap();
    assert!(rows[0]["trouble"].as_str().unwrap().contains("checksum"), "{rows}");
    assert_eq!((&rows[1]["issues"], &rows[1]["trouble"]), (&Value::from(1), &Value::Null));
    for arguments in [["--keep", "2"], ["--every", "1h"]] {
        let refused = run(path, &[&["backup", "b.json"][..], &arguments].concat());
        assert!(refused.code == 2 && refused.log.contains("name a directory"), "{refused:?}");
    }
}

#[test]
fn backups_go_on_until_they_are_ended() {
    let directory = directory();
    let path = directory.path();
    write_issues(path, &[issue_json(&id(1), "one", "created")]);
    let there = path.join("there");
    fs::create_dir(&there).unwrap();
    let mut child = ait(path)
        .args(["backup", "there", "--every", "20ms", "--keep", "2"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    until("a backup", || !names(&there).is_empty());
    let first = names(&there).into_iter().min().unwrap();
    until("it is removed", || !names(&there).contains(&first));
    assert!(names(&there).len() <= 3);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn backup_contains_all_changes_acknowledged_before_it_began() {
    const WRITERS: usize = 3;
    let directory = directory();
    let (path, is_over) = (directory.path(), AtomicBool::new(false));
    let acknowledged = std::sync::Mutex::new(HashSet::new());
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (is_over, acknowledged) = (&is_over, &acknowledged);
            scope.spawn(move || {
                let mut client = Client::start(path);
                while !is_over.load(Ordering::SeqCst) {
                    let id = client.add(&format!("of {writer}"), "bug");
                    acknowledged.lock().unwrap().insert(id);
                }
            });
        }
        // On a slow disk there is little to lose in the first rounds.
        for round in 0..80 {
            let before = acknowledged.lock().unwrap().clone();
            if round >= 8 && before.len() > 20 {
                break;
            }
            let name = format!("{round}.json");
            let saved = thread::spawn({
                let (path, name) = (path.to_owned(), name.clone());
                move || run(&path, &["backup", &name])
            });
            // The file is always complete or absent.
            while !saved.is_finished() {
                if path.join(&name).exists() {
                    ids_in(&path.join(&name));
                }
            }
            saved.join().unwrap().ok();
            let saved: HashSet<_> = ids_in(&path.join(&name)).into_iter().collect();
            assert!(
                saved.is_superset(&before),
                "round {round}: {} acknowledged issues are missing",
                before.difference(&saved).count()
            );
        }
        is_over.store(true, Ordering::SeqCst);
    });
    assert!(acknowledged.into_inner().unwrap().len() > 20);
}

#[tokio::test]
async fn failed_file_system_call_leaves_no_partial_backup() {
    let directory = directory();
    let store = open(directory.path(), &Disk::new(FaultyDuty::Nothing));
    apply(&store, add(), now()).await.unwrap();
    let document = store.state().await.unwrap().document();
    let target = directory.path().join("b.json");
    let mut failed = Vec::new();
    for call in 1.. {
        let disk = Disk::new(FaultyDuty::Nothing);
        disk.trouble.begin(Fault::Once(call));
        let (path, store) = (target.clone(), store.maintenance().files());
        let saving =
            SaveOptions { path, replaces: false, store, now: Timestamp::from(chrono::Utc::now()) };
        let saved = saving.save_with(&*disk, BackupContent::of(document.clone(), None));
        let is_over = disk.trouble.failed().is_none();
        assert!(!is_over || names(directory.path()).iter().all(|name| !name.ends_with(".tmp")));
        if target.exists() {
            assert_eq!(ids_in(&target).len(), 1);
            fs::remove_file(&target).unwrap();
        } else {
            assert!(saved.is_err());
        }
        let Some(name) = disk.trouble.failed() else { break };
        // A failed cleanup after the backup is no failure of the backup.
        let is_cleanup = matches!(name.name, "list" | "remove" | "fingerprint" | "open");
        assert!(
            is_cleanup || matches!(saved, Err(BackupError::NotSaved { .. })),
            "{name:?}: {saved:?}"
        );
        failed.push(name.name);
    }
    for name in ["resolve", "create", "write_at", "sync", "rename", "sync_directory"] {
        assert!(failed.contains(&name), "{name} is not among {failed:?}");
    }
}

#[test]
fn backup_has_the_file_mode_of_the_store() {
    use std::os::unix::fs::PermissionsExt;

    let directory = directory();
    let path = directory.path();
    write_issues(path, &[]);
    fs::set_permissions(path.join("issues.json"), fs::Permissions::from_mode(0o600)).unwrap();
    run(path, &["backup", "b.json"]).ok();
    assert_eq!(fs::metadata(path.join("b.json")).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn backup_refuses_a_damaged_store_without_partial() {
    let directory = directory();
    let path = directory.path();
    let mut client = Client::start(path);
    for title in ["one", "two", "three", "four"] {
        client.add(title, "bug");
    }
    client.signal("KILL");
    client.wait();
    damage_text(path, "three");
    let refused = run(path, &["backup", "b.json"]).refusal();
    assert!(
        refused.contains("is not what was written") && refused.contains("--partial"),
        "{refused}"
    );
    assert!(!path.join("b.json").exists());
    let saved = run(path, &["backup", "b.json", "--partial", "--json"]);
    assert_eq!(saved.code, 1, "something is lost");
    let partial: Value = serde_json::from_str(&saved.out).unwrap();
    assert!(partial["partial"].as_str().unwrap().contains("lost: the issue"), "{partial}");
    assert_eq!(ids_in(&path.join("b.json")).len() as u64, partial["issues"].as_u64().unwrap());
}
