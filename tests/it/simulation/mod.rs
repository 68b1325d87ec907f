//! Histories of several processes on one store, call by call, by seed: whatever fails, dies, loses its power or is
//! edited, what was answered is there, once, and the store goes on.
//!
//! `AIT_TEST_FACTOR` makes that many times more histories, `AIT_SIMULATION_SEED` replays one. The order of calls
//! follows from the seed; ids and salts are random, so that what is left of a sector may differ.

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
/// In how many histories a neglected duty must be noticed.
const CONTROLS: u64 = 1000;
/// How much of a history is told of one that went wrong.
const TOLD: usize = 40;

/// What went wrong in a history, and what happened before.
struct Wrong {
    seed: u64,
    wrong: String,
    story: Vec<String>,
}

/// Plays histories on all processors until one is wrong.
fn play(seeds: Range<u64>, neglect: FaultyDuty) -> (Tally, Option<Wrong>) {
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
                    let mut history = History::new(seed, neglect);
                    let played = runtime.block_on(history.play());
                    let mut found = found.lock().unwrap();
                    found.0.add(history.tally);
                    if let Err(wrong) = played {
                        is_over.store(true, Ordering::Relaxed);
                        found.1 = Some(Wrong { seed, wrong, story: history.story });
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
    let (tally, wrong) = play(seeds, FaultyDuty::Nothing);
    eprintln!("{tally:?}");
    if let Some(Wrong { seed, wrong, story }) = wrong {
        story[story.len().saturating_sub(TOLD)..].iter().for_each(|line| eprintln!("{line}"));
        panic!("AIT_SIMULATION_SEED={seed}: {wrong}");
    }
    let Tally { changes, faults, deaths, cuts, edits, .. } = tally;
    let is_rich = [changes, faults, deaths, cuts, edits].iter().all(|count| *count > 100);
    assert!(seed.is_some() || is_rich, "{tally:?}");
}

#[test]
fn simulation_detects_each_omitted_sync_and_lock() {
    for neglect in [
        FaultyDuty::SyncSegment,
        FaultyDuty::SyncTemp,
        FaultyDuty::SyncDirectory,
        FaultyDuty::FailedSync,
        FaultyDuty::Lock,
    ] {
        let (tally, wrong) = play(0..CONTROLS, neglect);
        let Wrong { seed, wrong, .. } =
            wrong.unwrap_or_else(|| panic!("{neglect:?} was not noticed"));
        eprintln!("{neglect:?} in history {}, seed {seed}: {wrong:.200}", tally.histories);
    }
}
