//! Simulated histories of several processes on one store, call by call: through faults, crashes, power cuts and edits,
//! acknowledged changes stay in the store exactly once, and the store keeps working.
//!
//! `AIT_TEST_FACTOR` multiplies the number of histories, `AIT_SIMULATION_SEED` replays one. The seed fixes the order of
//! calls; ids and salts are random, so the contents of torn sectors may differ.

mod gate;
mod history;

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use tokio::runtime::Builder;

use self::history::{History, Tally};
use crate::support::disk::FaultyDuty;
use crate::support::factor;

const HISTORIES: u64 = 300;
/// The number of histories within which an omitted duty must be detected.
const CONTROLS: u64 = 1000;
/// The number of trace lines printed for a failed history.
const TRACE_LINES: usize = 40;

/// A failed history: its seed, the failure and the steps before it.
struct Failure {
    seed: u64,
    failure: String,
    trace: Vec<String>,
}

/// Plays histories on all processors until one fails.
fn play(seeds: Range<u64>, faulty_duty: FaultyDuty) -> (Tally, Option<Failure>) {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let (next, is_over) = (AtomicU64::new(seeds.start), AtomicBool::new(false));
    let found = Mutex::new((Tally::default(), None));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let runtime = Builder::new_current_thread().enable_all().build().unwrap();
                while !is_over.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    let mut history = History::new(seed, faulty_duty);
                    let played = runtime.block_on(history.play());
                    let mut found = found.lock().unwrap();
                    found.0.add(history.tally);
                    if let Err(failure) = played {
                        is_over.store(true, Ordering::Relaxed);
                        found.1 = Some(Failure { seed, failure, trace: history.trace });
                    }
                }
            });
        }
    });
    found.into_inner().unwrap()
}

#[test]
fn simulated_histories_lose_no_acknowledged_change() {
    let seed = std::env::var("AIT_SIMULATION_SEED").ok().and_then(|text| text.parse().ok());
    let seeds = seed.map_or(0..HISTORIES * factor(), |seed| seed..seed + 1);
    let (tally, failure) = play(seeds, FaultyDuty::Nothing);
    eprintln!("{tally:?}");
    if let Some(Failure { seed, failure, trace }) = failure {
        trace[trace.len().saturating_sub(TRACE_LINES)..]
            .iter()
            .for_each(|line| eprintln!("{line}"));
        panic!("AIT_SIMULATION_SEED={seed}: {failure}");
    }
    let Tally { changes, faults, deaths, cuts, edits, .. } = tally;
    let is_rich = [changes, faults, deaths, cuts, edits].iter().all(|count| *count > 100);
    assert!(seed.is_some() || is_rich, "{tally:?}");
}

#[test]
fn simulation_detects_each_omitted_sync_and_lock() {
    for faulty_duty in [
        FaultyDuty::SyncSegment,
        FaultyDuty::SyncTemp,
        FaultyDuty::SyncDirectory,
        FaultyDuty::FailedSync,
        FaultyDuty::Lock,
    ] {
        let (tally, failure) = play(0..CONTROLS, faulty_duty);
        let Failure { seed, failure, .. } =
            failure.unwrap_or_else(|| panic!("{faulty_duty:?} was not detected"));
        eprintln!("{faulty_duty:?} in history {}, seed {seed}: {failure:.200}", tally.histories);
    }
}
