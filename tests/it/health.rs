//! The health probe: it reports "ok" only if the store can be read and written.

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use agent_issue_tracker::domain::Timestamp;
use agent_issue_tracker::metrics::Metrics;
use agent_issue_tracker::read_model::ReadModel;
use agent_issue_tracker::store::files::StoreOptions;
use agent_issue_tracker::tracker::Tracker;
use agent_issue_tracker::web::{WebOptions, router_with};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

use crate::support::disk::{Disk, FaultyDuty};
use crate::support::files::{
    id, issue_json, issues_in_file, names, store_directory, wait_for_file, write_issues,
};
use crate::support::http::lock_turn;
use crate::support::stores::{add, apply, now, open, open_with, quiet};
use crate::support::trouble::{Call, Fault};
use crate::support::{Client, directory, get, has_no_store_files, until};

const NEVER_AGAIN: Duration = Duration::from_secs(3600);

/// Serves a store on a test disk from this process, for as long as the runtime lives.
fn serve(directory: &Path, disk: &Arc<Disk>, trial_every: Duration) -> (Runtime, u16) {
    let runtime = Runtime::new().unwrap();
    let options = WebOptions { trial_every, ..WebOptions::default() };
    let port = serve_on(&runtime, directory, disk, options);
    (runtime, port)
}

fn serve_on(runtime: &Runtime, directory: &Path, disk: &Arc<Disk>, options: WebOptions) -> u16 {
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
    let port = listener.local_addr().unwrap().port();
    // Waiting for the disk must not block the threads that answer.
    let options_of_store = StoreOptions { reads_in_place: false, ..quiet() };
    let tracker = Tracker::new(Arc::new(open_with(directory, disk, options_of_store)));
    let router = router_with(ReadModel::new(tracker), Metrics::new(), options);
    runtime.spawn(async { axum::serve(listener, router).await });
    port
}

/// Returns true if a write trial begins with this call.
fn begins_trial(call: &Call) -> bool {
    call.name == "create" && call.file.starts_with(".trial.")
}

fn keys(report: &Value) -> Vec<&str> {
    report.as_object().unwrap().keys().map(String::as_str).collect()
}

#[test]
fn health_report_has_its_fields_in_a_fixed_order() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let response = get(client.port(), "/health");
    assert_eq!(
        (response.status, &response.headers["cache-control"]),
        (200, &"no-store".parse().unwrap())
    );
    let report = response.json();
    let fields = [
        "status",
        "issueCount",
        "version",
        "uptimeSeconds",
        "lastDurableWrite",
        "snapshotAgeSeconds",
        "store",
        "storeId",
    ];
    assert_eq!(keys(&report), fields);
    assert_eq!((&report["status"], &report["issueCount"]), (&"ok".into(), &0.into()));
    assert_eq!(report["version"], env!("CARGO_PKG_VERSION"));
    assert!(report["uptimeSeconds"].is_u64(), "{report}");
    assert!(report["lastDurableWrite"].is_null() && report["snapshotAgeSeconds"].is_null());
    assert_eq!(report["store"], "issues.json");
    assert_eq!(report["storeId"].as_str().unwrap().len(), 32);
    assert!(has_no_store_files(directory.path()));

    client.add("t", "bug");
    let report = get(client.port(), "/health").json();
    let written = report["lastDurableWrite"].as_str().unwrap();
    assert_eq!(Timestamp::parse(written).unwrap().to_string(), written);
    wait_for_file(directory.path(), |issues| issues.len() == 1);
    let report = get(client.port(), "/health").json();
    assert_eq!(keys(&report), fields);
    assert!(report["snapshotAgeSeconds"].is_u64(), "{report}");
}

#[test]
fn unreadable_store_is_degraded_and_has_no_issue_count() {
    let directory = directory();
    fs::write(directory.path().join("issues.json"), "{").unwrap();
    let client = Client::start(directory.path());
    let response = get(client.port(), "/health");
    assert_eq!(
        (response.status, &response.headers["cache-control"]),
        (503, &"no-store".parse().unwrap())
    );
    let report = response.json();
    assert_eq!(report["status"], "degraded");
    assert!(report["reason"].as_str().unwrap().contains("issues.json"), "{report}");
    assert_eq!(keys(&report)[..4], ["status", "reason", "issueCount", "version"]);
    assert_eq!(report["issueCount"], Value::Null);
    let slashed = get(client.port(), "/health/");
    assert_eq!((slashed.status, keys(&slashed.json())), (503, keys(&report)));
}

/// Agents continue without the file. The health probe reports the error and its position.
#[test]
fn invalid_edit_is_degraded_with_its_position_while_agents_work() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    let id = client.add("kept in the database", "bug");
    wait_for_file(directory.path(), |issues| issues.len() == 1);
    let port = client.port();
    let path = directory.path().join("issues.json");
    let valid = fs::read_to_string(&path).unwrap();
    let broken = valid.replace("\"title\": ", "\"title\": , ");
    for (text, place) in [(broken.as_str(), "line 5, column 16"), ("", "line 1, column")] {
        fs::write(&path, text).unwrap();
        let response = get(port, "/health");
        let report = response.json();
        assert_eq!((response.status, &report["status"]), (503, &"degraded".into()), "{report}");
        assert_eq!(report["issueCount"], 1, "{report}");
        let reason = report["reason"].as_str().unwrap();
        assert!(reason.contains("issues.json") && reason.contains(place), "{place}: {reason}");
        let claimed = client.call("get_next_issue", json!({ "agent": "a" })).issue();
        assert_eq!(claimed["id"], json!(id));
        let back = json!({ "issue_id": id, "comment": "c", "agent": "a" });
        client.call("return_issue", back).ok();
        // Longer than the usual delay of publishing.
        thread::sleep(Duration::from_millis(1500));
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "the file was overwritten");
    }
    fs::write(&path, valid.replace("kept in the database", "and edited")).unwrap();
    until("the edit is adopted", || get(port, "/health").status == 200);
    let issue = client.call("list_issues", json!({ "issue_id": id })).issue();
    assert_eq!(issue["title"], "and edited");
    let last = issue["history"].as_array().unwrap().last().unwrap().clone();
    assert_eq!([&last["agent"], &last["action"]], ["hand-edit", "Issue edited by hand"]);
    assert!(client.close().success());
    assert_eq!(issues_in_file(directory.path())[0], issue);
}

/// Every call that needs disk space fails.
fn is_full_disk() -> Fault {
    Fault::Where(Arc::new(|call| ["create", "create_directory", "write_at"].contains(&call.name)))
}

#[test]
fn full_disk_is_degraded_until_space_is_freed() {
    let directory = directory();
    let disk = Disk::new(FaultyDuty::Nothing);
    write_issues(directory.path(), &[issue_json(&id(1), "t", "created")]);
    let (_runtime, port) = serve(directory.path(), &disk, Duration::ZERO);
    for is_full in [false, true, false] {
        if is_full {
            disk.trouble.begin(is_full_disk());
        } else {
            disk.trouble.end();
        }
        let response = get(port, "/health");
        let report = response.json();
        assert_eq!(report["issueCount"], 1);
        if is_full {
            assert_eq!((response.status, &report["status"]), (503, &"degraded".into()));
            let reason = report["reason"].as_str().unwrap().to_lowercase();
            for words in ["no space left", "nothing was changed", "fix that"] {
                assert!(reason.contains(words), "no {words:?} in {reason}");
            }
        } else {
            assert_eq!((response.status, &report["status"]), (200, &"ok".into()));
        }
    }
    assert_eq!(names(directory.path()), ["issues.json"]);
}

#[test]
fn held_lock_is_degraded_until_it_is_released() {
    let directory = directory();
    let mut client = Client::start(directory.path());
    client.add("t", "bug");
    drop(client);
    let disk = Disk::new(FaultyDuty::Nothing);
    let (_runtime, port) = serve(directory.path(), &disk, Duration::ZERO);
    assert_eq!(get(port, "/health").status, 200);
    let lock = lock_turn(directory.path());
    let response = get(port, "/health");
    let report = response.json();
    assert_eq!((response.status, &report["status"]), (503, &"degraded".into()));
    let reason = report["reason"].as_str().unwrap();
    assert!(reason.contains("turn.lock has been locked for more than 2 s"), "{reason}");
    assert_eq!(report["issueCount"], 1);
    lock.unlock().unwrap();
    assert_eq!(get(port, "/health").status, 200);
}

#[test]
fn hanging_disk_is_reported_to_all_probes_and_blocks_one_thread() {
    let directory = directory();
    let disk = Disk::new(FaultyDuty::Nothing);
    let runtime = Runtime::new().unwrap();
    let probe_within = Duration::from_millis(200);
    let options = WebOptions { trial_every: Duration::ZERO, probe_within, ..WebOptions::default() };
    let port = serve_on(&runtime, directory.path(), &disk, options);
    let pause = disk.pause_at(begins_trial);
    let probes: Vec<_> = (0..3).map(|_| thread::spawn(move || get(port, "/health"))).collect();
    runtime.block_on(pause.reached());
    for response in probes.into_iter().map(|probe| probe.join().unwrap()) {
        let report = response.json();
        assert_eq!((response.status, &report["status"]), (503, &"degraded".into()));
        assert_eq!(report["reason"], "the store did not answer within 200ms");
    }
    assert_eq!(disk.count_of("create", ".tmp"), 0);
    runtime.block_on(pause.end());
    until("the health probe is ok again", || get(port, "/health").status == 200);
}

#[test]
fn probes_share_a_write_trial_but_always_check_the_files() {
    let directory = directory();
    let disk = Disk::new(FaultyDuty::Nothing);
    let (runtime, port) = serve(directory.path(), &disk, NEVER_AGAIN);
    let pause = disk.pause_at(begins_trial);
    let probes: Vec<_> =
        (0..3).map(|_| thread::spawn(move || get(port, "/health").status)).collect();
    runtime.block_on(pause.reached());
    runtime.block_on(pause.end());
    assert!(probes.into_iter().all(|probe| probe.join().unwrap() == 200));
    // No further write trial runs, but the probe still notices errors that need no trial.
    disk.trouble.begin(is_full_disk());
    assert_eq!(get(port, "/health").status, 200);
    fs::write(directory.path().join("issues.json"), "{").unwrap();
    assert_eq!(get(port, "/health").status, 503);
    fs::remove_file(directory.path().join("issues.json")).unwrap();
    assert_eq!(disk.count_of("create", ".tmp"), 1);
}

/// The calls of a write trial whose failure must be reported.
const REPORTED: [&str; 4] = ["lock", "create", "write_at", "remove"];

#[test]
fn failed_write_trial_is_reported_and_leaves_no_files() {
    let directory = directory();
    let disk = Disk::new(FaultyDuty::Nothing);
    let (store, runtime) = (open(directory.path(), &disk), Runtime::new().unwrap());
    runtime.block_on(apply(&store, add(), now())).unwrap();
    let before = names(&store_directory(directory.path()));
    let mut failed = HashSet::new();
    for number in 1.. {
        disk.trouble.begin(Fault::Once(number));
        let outcome = runtime.block_on(store.maintenance().try_writing());
        let Some(call) = disk.trouble.failed() else {
            outcome.unwrap();
            break;
        };
        failed.insert(call.name);
        match outcome {
            // Another lookup may make up for a failed one.
            Ok(()) => assert!(!REPORTED.contains(&call.name), "{call:?}"),
            Err(error) => {
                let text = error.to_string().to_lowercase();
                assert!(text.contains("no space left"), "{call:?}: {text}");
            }
        }
        disk.trouble.end();
        for left in names(&store_directory(directory.path())) {
            // The file whose removal failed.
            let is_excused = call.name == "remove" && left.ends_with(".tmp");
            assert!(before.contains(&left) || is_excused, "{call:?}: {left}");
        }
    }
    for name in REPORTED {
        assert!(failed.contains(name), "{name} is not among {failed:?}");
    }
}
