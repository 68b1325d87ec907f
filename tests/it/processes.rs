//! Several processes on one file: they lose no change, claim no issue twice, and keep the file valid throughout.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, fcntl_lock};
use serde_json::{Value, json};

use crate::support::files::{
    STORE_FILES, copy_directory, database, issues_in_file, names, stored_issues, wait_for_file,
};
use crate::support::http::lock_turn;
use crate::support::runs::run;
use crate::support::{
    Answer, Client, PATIENCE, ait, directory, get, health_issue_count, id_in, until,
};

const PROCESSES: usize = 8;
const ISSUES_EACH: usize = 25;

/// Files issues, then claims and completes until none is left. Returns the filed and the claimed ids.
fn work(directory: &Path, number: usize) -> (Vec<String>, Vec<String>) {
    let mut client = Client::start(directory);
    let filed = (0..ISSUES_EACH).map(|n| client.add(&format!("{number}/{n}"), "bug")).collect();
    let mut claimed = Vec::new();
    let agent = format!("agent-{number}");
    loop {
        let answer = client.call("get_next_issue", json!({ "agent": agent })).ok();
        let Ok(issue) = serde_json::from_str::<Value>(&answer) else { break };
        let id = issue["id"].as_str().unwrap().to_owned();
        // A process reads its own acknowledged write.
        let mine = client.call("list_issues", json!({ "issue_id": id })).issue();
        assert_eq!(mine, issue);
        let done = json!({ "issue_id": id, "comment": "done", "agent": agent });
        client.call("complete_issue", done).ok();
        claimed.push(id);
    }
    assert!(client.close().success());
    (filed, claimed)
}

/// When a process closes a file, POSIX ends all its locks on it, also those of SQLite. Without them, the next program
/// that closes the database would delete the log that the process writes to.
#[test]
fn a_probe_keeps_the_locks_of_the_database() {
    let directory = directory();
    let path = directory.path();
    let mut server = Client::start(path);
    server.add("before the probe", "bug");
    let is_locked = || {
        let file = File::options().write(true).open(database(path)).unwrap();
        fcntl_lock(file, FlockOperation::NonBlockingLockExclusive).is_err()
    };
    assert!(is_locked());
    assert_eq!(get(server.port(), "/health").json()["issueCount"], 1);
    assert!(is_locked());
    assert!(server.close().success());
}

/// Any of the files may be removed alone: SQLite would begin another log, or read the old one by another index.
#[test]
fn changes_before_the_removal_of_a_file_of_sqlite_are_kept() {
    let gone: [&[&str]; 4] = [&["db-wal"], &["db-shm"], &["db-wal", "db-shm"], &["db"]];
    for extensions in gone {
        let directory = directory();
        let path = directory.path();
        let mut client = Client::start(path);
        let mut other = Client::start(path);
        client.add("before", "bug");
        other.add("by another", "bug");
        for extension in extensions {
            fs::remove_file(database(path).with_extension(extension)).unwrap();
        }
        let mut late = Client::start(path);
        let after =
            json!({ "title": "after", "description": "", "classification": "bug", "agent": "a" });
        for client in [&mut late, &mut client, &mut other] {
            let started = Instant::now();
            while let Some(refusal) = refused(client.call("add_issue", after.clone())) {
                assert!(started.elapsed() < PATIENCE, "{extensions:?}: {refusal}");
            }
        }
        client.signal("KILL");
        client.wait();
        other.signal("KILL");
        other.wait();
        let mut titles: Vec<_> = stored_issues(path)
            .iter()
            .map(|issue| issue["title"].as_str().unwrap().to_owned())
            .collect();
        titles.sort();
        assert_eq!(titles, ["after", "after", "after", "before", "by another"], "{extensions:?}");
        assert!(late.close().success());
        run(path, &["doctor"]).ok();
    }
}

/// The text of an answer that refuses.
fn refused(answer: Answer) -> Option<String> {
    answer.is_error.then_some(answer.text)
}

#[test]
fn eight_processes_lose_nothing_and_claim_each_issue_once() {
    let directory = directory();
    let path = directory.path();
    let ended = AtomicBool::new(false);
    let (reads, results) = thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            let mut reads = 0;
            while !ended.load(Ordering::Relaxed) {
                if path.join("issues.json").exists() {
                    issues_in_file(path);
                    reads += 1;
                }
            }
            reads
        });
        let workers: Vec<_> =
            (0..PROCESSES).map(|number| scope.spawn(move || work(path, number))).collect();
        let results: Vec<_> = workers.into_iter().map(|worker| worker.join()).collect();
        ended.store(true, Ordering::Relaxed);
        (watcher.join().unwrap(), results)
    });
    assert!(reads > 0, "the watcher never read the file");
    let results: Vec<_> = results.into_iter().map(|result| result.unwrap()).collect();
    let filed: Vec<String> = results.iter().flat_map(|(filed, _)| filed.clone()).collect();
    let claimed: Vec<String> = results.iter().flat_map(|(_, claimed)| claimed.clone()).collect();
    let unique: HashSet<_> = filed.iter().collect();
    assert_eq!(unique.len(), PROCESSES * ISSUES_EACH);
    assert_eq!(claimed.iter().collect::<HashSet<_>>(), unique);
    assert_eq!(claimed.len(), filed.len(), "an issue was claimed twice");
    let issues = stored_issues(path);
    assert_eq!(issues.len(), filed.len());
    for issue in &issues {
        assert_eq!(issue["status"], "completed");
        let actions: Vec<_> =
            issue["history"].as_array().unwrap().iter().map(|entry| &entry["action"]).collect();
        assert_eq!(actions, ["Issue filed", "Issue claimed for work", "Issue completed"]);
    }
    // On a busy machine, the last process to end leaves the file to the next one.
    run(path, &["save"]).ok();
    assert_eq!(issues_in_file(path), issues);
    assert_eq!(names(path), STORE_FILES);
}

#[test]
fn change_by_one_process_is_visible_to_all_others_at_once() {
    let directory = directory();
    let mut clients: Vec<_> = (0..3).map(|_| Client::start(directory.path())).collect();
    for round in 0..10 {
        let writer = round % clients.len();
        let id = clients[writer].add(&format!("round {round}"), "bug");
        for client in &mut clients {
            client.call("list_issues", json!({ "issue_id": id })).issue();
            assert_eq!(health_issue_count(client.port()), round as u64 + 1);
        }
    }
}

#[test]
fn external_edit_between_two_calls_is_merged() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let id = client.add("tpyo", "bug");
    wait_for_file(directory.path(), |issues| issues.len() == 1);
    let file = directory.path().join("issues.json");
    // Some editors write in place, here with the same length.
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("tpyo", "typo")).unwrap();
    let issue = client.call("get_next_issue", json!({ "agent": "a" })).issue();
    assert_eq!((&issue["title"], &issue["id"]), (&json!("typo"), &json!(id)));
    assert_eq!(stored_issues(directory.path())[0]["title"], "typo");
}

/// Agents work while something like `git clean -fdx` removes the log again and again.
#[test]
fn repeated_removal_loses_no_acknowledged_change() {
    let directory = directory();
    let path = directory.path();
    let is_over = AtomicBool::new(false);
    let confirmed_count = AtomicUsize::new(0);
    let add = json!({ "title": "t", "description": "", "classification": "bug", "agent": "a" });
    let (mut clients, filed): (Vec<_>, Vec<_>) = thread::scope(|scope| {
        let worker = || {
            let mut client = Client::start(path);
            // Calls may be refused; only confirmed ones must survive. Before a confirmation there may be a warning: a
            // read that meets half of the files takes them for damaged.
            let call = json!({ "name": "add_issue", "arguments": add });
            let answers = (0..40).map(|_| client.request("tools/call", call.clone()));
            let confirmed = answers.filter(|answer| answer["isError"] != true);
            let confirmed = confirmed.inspect(|_| {
                confirmed_count.fetch_add(1, Ordering::Relaxed);
            });
            let id = |answer: Value| {
                id_in(answer["content"].as_array()?.last()?["text"].as_str()?).into()
            };
            let filed = confirmed.filter_map(id).collect::<Vec<String>>();
            (client, filed)
        };
        let workers = [(); 4].map(|()| scope.spawn(worker));
        let remover = scope.spawn(|| {
            for pause_ms in [0, 5, 30].into_iter().cycle() {
                let before = confirmed_count.load(Ordering::Relaxed);
                let begun = Instant::now();
                // On a busy machine, nothing would be confirmed between two removals.
                while confirmed_count.load(Ordering::Relaxed) == before
                    && begun.elapsed() < Duration::from_millis(200)
                    && !is_over.load(Ordering::Relaxed)
                {
                    thread::sleep(Duration::from_millis(1));
                }
                thread::sleep(Duration::from_millis(pause_ms));
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                // This may fail while a process creates the files.
                let _ = fs::remove_dir_all(path.join(".ait"));
            }
        });
        let done = workers.map(|worker| worker.join());
        is_over.store(true, Ordering::Relaxed);
        remover.join().unwrap();
        done.into_iter().map(|done| done.unwrap()).unzip()
    });
    // The processes that know the removed log still run.
    for client in &mut clients {
        let begun = Instant::now();
        while client.call("add_issue", add.clone()).is_error {
            assert!(begun.elapsed() < PATIENCE, "no change is possible: {}", client.log().text());
        }
        assert!(client.close().success(), "{}", client.log().text());
    }
    let filed: Vec<String> = filed.into_iter().flatten().collect();
    let issues = stored_issues(path);
    let kept: HashSet<_> = issues.iter().map(|issue| issue["id"].as_str().unwrap()).collect();
    let lost: Vec<_> = filed.iter().filter(|id| !kept.contains(id.as_str())).collect();
    let logs: Vec<_> = clients.iter().map(|client| client.log().text()).collect();
    assert!(lost.is_empty(), "of {} confirmed changes {lost:?}: {logs:#?}", filed.len());
    assert!(!filed.is_empty(), "no change was confirmed");
}

#[test]
fn stores_with_similar_names_do_not_interfere() {
    let directory = directory();
    let path = directory.path();
    let start = |file: &str| {
        let mut client = Client::spawn(ait(path).args(["--file", file]));
        client.initialize();
        client
    };
    for (file, title) in [("issues", "one"), ("issues.json", "other")] {
        let mut client = start(file);
        client.add(title, "bug");
        assert!(client.close().success());
    }
    for bystander in [".issues.json.tmp", ".issues.json.00000000.tmp", "issues.json.journal"] {
        fs::write(path.join(bystander), "another program's").unwrap();
    }
    let other_temp = path.join(".ait/issues/issues.00000000.tmp");
    fs::write(&other_temp, "left by a dead process").unwrap();
    let mut client = start("issues.json");
    client.add("another", "bug");
    wait_for_file(path, |issues| issues.len() == 2);
    assert!(other_temp.exists());
    let left = names(path);
    let left: Vec<_> = left.iter().filter(|name| fs::read(path.join(name)).is_ok()).collect();
    let all =
        [".issues.json.00000000.tmp", ".issues.json.tmp", "issues.json", "issues.json.journal"];
    assert!(all.iter().all(|name| left.iter().any(|other| other == name)), "{left:?}");
    let mut client = start("issues");
    client.add("more", "bug");
    until("the temp file of the dead process is removed", || !other_temp.exists());
    assert!(client.close().success());
}

#[test]
fn database_replaced_during_a_lock_wait_is_not_written_to() {
    let directory = directory();
    let path = directory.path();
    let mut client = Client::start(path);
    client.add("first", "bug");
    let old = lock_turn(path);
    let add =
        json!({ "title": "second", "description": "", "classification": "bug", "agent": "a" });
    let waiting = client.ask_tool("add_issue", add);
    client.request("ping", json!({}));
    copy_directory(&path.join(".ait"), &path.join("copy"));
    let new = File::open(path.join("copy/issues.json/turn.lock")).unwrap();
    new.lock().unwrap();
    fs::rename(path.join(".ait"), path.join("old")).unwrap();
    fs::rename(path.join("copy"), path.join(".ait")).unwrap();
    // The client gets the old lock, which excludes no other process any more, and must not rely on it.
    old.unlock().unwrap();
    // No signal shows that the client waits again, so give a faulty client more than enough time to finish.
    thread::sleep(Duration::from_millis(300));
    assert_eq!(stored_issues(path).len(), 1);
    new.unlock().unwrap();
    client.answer(waiting).unwrap().ok();
    assert_eq!(stored_issues(path).len(), 2);
}
