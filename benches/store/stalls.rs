//! The waits of changes and reads during a publish, and during a publish with a snapshot, compared with the same load
//! alone.

use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use agent_issue_tracker::domain::{Command, Description, Issue, IssueId, Query};
use agent_issue_tracker::store::Store;
use agent_issue_tracker::store::json::paths::StorePaths;
use agent_issue_tracker::store::json::{JsonStore, JsonStoreOptions, KeepEvents};
use agent_issue_tracker::tracker::Tracker;

use benches::figures::{ns, us};
use benches::fixture;
use benches::issues::Filing;

const SIZE: usize = 100_000;
/// The number of tasks that alternately change and read, with a pause after each.
const CALLERS: usize = 4;
const PAUSE: Duration = Duration::from_millis(1);
const ROUNDS: usize = 8;
/// How long each round measures the load alone.
const QUIET: Duration = Duration::from_millis(600);
/// The fewest bytes of log after which the store writes a snapshot.
const MIN_REPLAY_BYTES: u64 = 4 << 20;

/// A finished operation and its time.
struct Operation {
    begun: Instant,
    ended: Instant,
    is_change: bool,
}

type Log = Arc<Mutex<Vec<Operation>>>;

/// The measured operations.
#[derive(Default)]
struct Measured {
    during: Vec<Operation>,
    without: Vec<Operation>,
    /// The duration of each publish, in ns.
    took: Vec<u64>,
}

pub fn report(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Waits at {SIZE} issues, {CALLERS} callers, {ROUNDS} times each, ms\n")?;
    writeln!(
        out,
        "| | | count | p50 | p99 | p99.9 | longest |\n|---|---|---:|---:|---:|---:|---:|"
    )?;
    for (load, has_snapshot) in [("publish", false), ("publish and snapshot", true)] {
        let mut measured = measure(has_snapshot);
        for (name, done) in [("none", &measured.without), (load, &measured.during)] {
            for (what, is_change) in [("changes", true), ("reads", false)] {
                let selected = done.iter().filter(|done| done.is_change == is_change);
                row(out, name, what, selected.map(|done| ns(done.ended - done.begun)).collect())?;
            }
        }
        row(out, load, "itself", std::mem::take(&mut measured.took))?;
    }
    writeln!(out, "\nTarget: changes during either at most 50 at p99.9\n")
}

fn row(out: &mut dyn Write, name: &str, what: &str, mut times: Vec<u64>) -> io::Result<()> {
    times.sort_unstable();
    let Some(last) = times.len().checked_sub(1) else { return Ok(()) };
    let [p50, p99, p999, longest] = [500, 990, 999, 1_000]
        .map(|of_thousand| us(times[(last * of_thousand).div_ceil(1_000)]) / 1e3);
    let count = times.len();
    writeln!(out, "| {name} | {what} | {count} | {p50:.2} | {p99:.2} | {p999:.2} | {longest:.2} |")
}

fn measure(has_snapshot: bool) -> Measured {
    let (runtime, directory) = (fixture::runtime(), fixture::directory_with(SIZE));
    let path = directory.path().join("issues.json");
    // Remove old segments with each snapshot.
    let keep_events = KeepEvents::Bytes(0);
    let options = JsonStoreOptions { keep_events, ..fixture::unpublished() };
    let store = Arc::new(fixture::open(&path, options));
    let (maintenance, tracker) = (store.maintenance(), Tracker::new(Arc::clone(&store) as _));
    let (log, stop) = (Log::default(), Arc::new(AtomicBool::new(false)));
    let mut measured = Measured::default();
    runtime.block_on(async {
        let issue = fixture::add(&tracker, Filing::new(SIZE)).await;
        maintenance.publish().await.expect("space on the disk");
        let callers: Vec<_> = (0..CALLERS)
            .map(|_| tokio::spawn(load(tracker.clone(), Arc::clone(&log), Arc::clone(&stop))))
            .collect();
        for _ in 0..ROUNDS {
            let length_bytes = fs::metadata(&path).expect("a file").len();
            let snapshot = newest_snapshot(&path);
            if has_snapshot {
                lengthen_log(&store, issue, MIN_REPLAY_BYTES + length_bytes / 4).await;
            }
            let quiet = Instant::now();
            tokio::time::sleep(QUIET).await;
            let begun = Instant::now();
            maintenance.publish().await.expect("space on the disk");
            let ended = Instant::now();
            measured.took.push(ns(ended - begun));
            assert_eq!(
                newest_snapshot(&path) != snapshot,
                has_snapshot,
                "a snapshot is written exactly if it is due"
            );
            // Waiting operations are recorded when they finish.
            tokio::time::sleep(QUIET / 4).await;
            for done in log.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
                if done.begun < ended && done.ended > begun {
                    measured.during.push(done);
                } else if done.begun > quiet && done.ended < begun {
                    measured.without.push(done);
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
        for caller in callers {
            caller.await.expect("a caller that succeeds");
        }
        tracker.close().await;
    });
    measured
}

fn newest_snapshot(issues_json: &Path) -> Option<u64> {
    let entries = fs::read_dir(StorePaths::of(issues_json.to_owned()).directory).expect("a store");
    let names = entries.map(|entry| entry.expect("a name").file_name());
    names.filter_map(|name| StorePaths::snapshot_number(&name.to_string_lossy())).max()
}

/// Lengthens the log by at least `bytes`, with alternating long descriptions of one issue.
async fn lengthen_log(store: &JsonStore, issue: IssueId, bytes: u64) {
    const CHARS: usize = Description::MAX_CHARS;
    let (now, issue) =
        (chrono::Utc::now().into(), store.get(issue.into()).await.expect("an issue"));
    let versions = ["a", "b"].map(|letter| {
        Arc::new(Issue { description: letter.repeat(CHARS), ..Issue::clone(&issue) })
    });
    // Each event holds the description before and after the change.
    let count = usize::try_from(bytes).expect("less than the memory") / (2 * CHARS);
    for version in versions.iter().cycle().take(count) {
        let command =
            Command::ReplaceIssue { issue: Arc::clone(version), agent: "bench".to_owned() };
        let committed = store.commit(vec![command], now).await.expect("space on the disk");
        assert!(committed.outcomes.iter().all(Option::is_some));
    }
}

/// Alternately changes and reads.
async fn load(tracker: Tracker, log: Log, stop: Arc<AtomicBool>) {
    let done = |begun, is_change| {
        let done = Operation { begun, ended: Instant::now(), is_change };
        log.lock().unwrap_or_else(PoisonError::into_inner).push(done);
    };
    for number in 0.. {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let begun = Instant::now();
        fixture::add(&tracker, Filing::new(number)).await;
        done(begun, true);
        tokio::time::sleep(PAUSE).await;
        let begun = Instant::now();
        let page = tracker.list_issues(Query { take: 20, ..Query::default() }).await;
        assert_eq!(page.expect("issues").issues.len(), 20);
        done(begun, false);
        tokio::time::sleep(PAUSE).await;
    }
}
