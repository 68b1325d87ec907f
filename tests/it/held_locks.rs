//! Commands while another process holds the lock of the store: each ends in time or reports that it waits.

use std::io::Read;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::files::{id, issue_json, stored_issues};
use crate::support::http::lock_turn;
use crate::support::runs::run;
use crate::support::{Log, ait, directory, wait};

/// How long commands wait for the lock.
const BUSY_AFTER: Duration = Duration::from_secs(10);
/// The delay that a busy machine may add.
const MARGIN: Duration = Duration::from_secs(4);

/// All commands wait at the same time, so the test takes only one timeout.
#[test]
fn commands_waiting_for_a_lock_time_out_as_busy() {
    let directory = directory();
    let path = directory.path();
    run(path, &["add", "one", "-c", "bug", "-a", "a"]).ok();
    run(path, &["backup", "backup.json"]).ok();
    run(path, &["add", "other", "-c", "bug", "-a", "a"]).ok();
    let lock = lock_turn(path);
    let begun = Instant::now();
    let commands = [
        (&["save"][..], true),
        (&["restore", "backup.json", "--force"], false),
        (&["add", "t", "-c", "bug", "-a", "a"], false),
        (&["next", "-a", "a"], false),
    ];
    thread::scope(|scope| {
        for (arguments, may_succeed) in commands {
            scope.spawn(move || {
                let ended = run(path, arguments);
                let took = begun.elapsed();
                assert!(took < BUSY_AFTER + MARGIN, "{arguments:?}: {took:?}");
                if ended.code == 0 {
                    assert!(may_succeed, "{arguments:?}: {}", ended.out);
                } else {
                    assert!(ended.log.contains("busy"), "{arguments:?}: {}", ended.log);
                    assert!(
                        ended.log.contains("nothing was changed"),
                        "{arguments:?}: {}",
                        ended.log
                    );
                }
            });
        }
    });
    lock.unlock().unwrap();
    let issues = stored_issues(path);
    assert_eq!(issues.len(), 2);
    assert!(issues.iter().all(|issue| issue["status"] == "created"), "{issues:?}");
}

#[test]
fn import_reports_waiting_for_a_lock_and_then_continues() {
    let directory = directory();
    let path = directory.path();
    run(path, &["add", "one", "-c", "bug", "-a", "a"]).ok();
    let line = |number| issue_json(&id(number), "imported", "created").to_string() + "\n";
    std::fs::write(path.join("more.jsonl"), (1..=3).map(line).collect::<String>()).unwrap();
    let lock = lock_turn(path);
    let mut child = ait(path).args(["import", "more.jsonl"]).spawn().unwrap();
    let said = Log::of(child.stderr.take().unwrap());
    let begun = Instant::now();
    said.wait_for("wait");
    assert!(begun.elapsed() < BUSY_AFTER + MARGIN, "{:?}", begun.elapsed());
    assert_eq!(child.try_wait().unwrap(), None, "{}", said.text());
    lock.unlock().unwrap();
    assert!(wait(&mut child).success(), "{}", said.whole());
    let mut report = String::new();
    child.stdout.take().unwrap().read_to_string(&mut report).unwrap();
    assert!(report.contains("3 new") || report.contains("3 issues"), "{report}");
    assert_eq!(stored_issues(path).len(), 4);
}
