//! How long operations wait while `issues.json` is brought up to date, beside the same load without that and
//! beside a checkpoint that keeps the lock all the time.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use agent_issue_tracker::domain::Query;
use agent_issue_tracker::store::JsonStore;
use agent_issue_tracker::store::json::JsonStoreOptions;
use agent_issue_tracker::store::json::fs::RealFileSystem;
use agent_issue_tracker::tracker::Tracker;

use crate::figures::{ns, us};
use crate::fixture::{self, NO_CHECKPOINT};
use crate::issues::Filing;

const SIZES: [usize; 2] = [10_000, 100_000];
/// Tasks that change and read something in turn, each with a pause in between.
const CALLERS: usize = 4;
const PAUSE: Duration = Duration::from_millis(1);
const ROUNDS: usize = 8;
/// How long the load is measured without a checkpoint, in each round.
const QUIET: Duration = Duration::from_millis(600);

/// What was done, and when.
struct Done {
    begun: Instant,
    ended: Instant,
    is_change: bool,
}

type Log = Arc<Mutex<Vec<Done>>>;

pub fn run() {
    report(&mut io::stdout()).expect("somebody who reads this");
}

fn report(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Waits during a checkpoint, {CALLERS} callers, {ROUNDS} checkpoints, ms\n")?;
    writeln!(out, "| issues | | | count | p50 | p99 | p99.9 | longest |")?;
    writeln!(out, "|---|---|---|---:|---:|---:|---:|---:|")?;
    for size in SIZES {
        for (way, aside_from_bytes) in [("beside commits", 0), ("under the lock", u64::MAX)] {
            let (during, without, took) = measured(size, aside_from_bytes);
            for (name, done) in [("none", without), (way, during)] {
                for (what, is_change) in [("changes", true), ("reads", false)] {
                    row(out, size, name, what, &done, is_change)?;
                }
            }
            writeln!(out, "| {size} | {way} | the checkpoint | {ROUNDS} | {took:.0} | | | |")?;
        }
    }
    writeln!(out)
}

fn row(
    out: &mut dyn Write,
    size: usize,
    name: &str,
    what: &str,
    done: &[Done],
    is_change: bool,
) -> io::Result<()> {
    let of_kind = done.iter().filter(|done| done.is_change == is_change);
    let mut times: Vec<_> = of_kind.map(|done| ns(done.ended - done.begun)).collect();
    times.sort_unstable();
    let Some(last) = times.len().checked_sub(1) else { return Ok(()) };
    let [p50, p99, p999, longest] = [500, 990, 999, 1_000]
        .map(|of_thousand| us(times[(last * of_thousand).div_ceil(1_000)]) / 1e3);
    let count = times.len();
    writeln!(
        out,
        "| {size} | {name} | {what} | {count} | {p50:.2} | {p99:.2} | {p999:.2} | {longest:.2} |"
    )
}

/// What was done during checkpoints, and without one, and how many ms a checkpoint took (p50).
fn measured(size: usize, aside_from_bytes: u64) -> (Vec<Done>, Vec<Done>, f64) {
    let (runtime, directory) = (fixture::runtime(), fixture::directory_with(size));
    let options = JsonStoreOptions {
        checkpoint_after: NO_CHECKPOINT,
        aside_from_bytes,
        ..Default::default()
    };
    let path = directory.path().join("issues.json");
    let tracker = Tracker::new(Arc::new(JsonStore::with(path, Arc::new(RealFileSystem), options)));
    let (log, stop) = (Log::default(), Arc::new(AtomicBool::new(false)));
    let (mut during, mut without, mut took) = (Vec::new(), Vec::new(), Vec::new());
    runtime.block_on(async {
        fixture::add(&tracker, Filing::new(size)).await;
        let callers: Vec<_> = (0..CALLERS)
            .map(|_| tokio::spawn(load(tracker.clone(), Arc::clone(&log), Arc::clone(&stop))))
            .collect();
        for _ in 0..ROUNDS {
            let quiet = Instant::now();
            tokio::time::sleep(QUIET).await;
            let begun = Instant::now();
            tracker.save().await.expect("space on the disk");
            let ended = Instant::now();
            took.push(ns(ended - begun));
            // Those that were waiting are taken note of when they are done.
            tokio::time::sleep(QUIET / 4).await;
            for done in log.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
                let is_during = done.begun < ended && done.ended > begun;
                match is_during {
                    true => during.push(done),
                    false if done.begun > quiet && done.ended < begun => without.push(done),
                    false => {}
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
        for caller in callers {
            caller.await.expect("a caller that succeeds");
        }
    });
    took.sort_unstable();
    (during, without, us(took[took.len() / 2]) / 1e3)
}

/// Changes and reads something in turn.
async fn load(tracker: Tracker, log: Log, stop: Arc<AtomicBool>) {
    let done = |begun, is_change| {
        let done = Done { begun, ended: Instant::now(), is_change };
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
