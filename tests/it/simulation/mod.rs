//! Thousands of short histories of several processes on one simulated disk, each of them from a seed: in which
//! order they come to the disk, which calls fail, who dies where, and when the power is cut. Whatever is
//! answered is compared with a model.
//!
//! | file | what |
//! |---|---|
//! | `history`, `operation` | what the processes are told to do, and what goes wrong |
//! | `world` | the gate before the disk, at which one process at a time goes on |
//! | `asker` | the thread of a process that asks its store for something |
//! | `disk`, `platter` | the calls on the file system, and what they leave |
//! | `editor` | somebody who edits `issues.json` by hand |
//! | `ledger`, `facts` | the model, and what is wrong |
//! | `story`, `tally` | what happened |
//!
//! `AIT_TEST_FACTOR=n` plays so many times as many; `AIT_SIMULATION_SEED=n` plays one and tells its story.

mod asker;
mod disk;
mod editor;
mod facts;
mod history;
mod ledger;
mod ledger_checks;
mod neglect;
mod operation;
mod platter;
mod story;
mod tally;
mod world;

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use self::editor::Edits;
use self::history::{Report, Stage};
use self::neglect::Neglect;
use self::tally::Tally;
use crate::support::factor;

const HISTORIES: u64 = 1500;
/// The same, where somebody edits `issues.json` meanwhile.
const EDITED: u64 = 800;
/// In how many histories at most a neglected duty must be noticed.
const CONTROLS: u64 = 6000;
/// How many are played twice.
const REPEATED: u64 = 60;
/// How much of the story of a failure is told.
const TOLD: usize = 60;

#[test]
fn whatever_happens_nothing_is_lost_and_nothing_is_given_twice() {
    let Some(tally) = all_is_well(HISTORIES, Edits::Alone) else { return };
    // Each of these happened, and not only now and then.
    let Tally { changes, refusals, reads, visits, saves, failures, uncertain, .. } = tally;
    let Tally { cuts, deaths, touches, edits, .. } = tally;
    let often = [changes, refusals, reads, visits, saves, failures, cuts, deaths, touches, edits];
    assert!(often.iter().all(|count| *count > 100) && uncertain > 0, "{tally:?}");
}

#[test]
fn whatever_is_edited_meanwhile_arrives_and_undoes_nothing() {
    let Some(tally) = all_is_well(EDITED, Edits::Meanwhile) else { return };
    let Tally { changes, reads, saves, cuts, deaths, edits, .. } = tally;
    assert!([changes, reads, saves, cuts, deaths, edits].iter().all(|it| *it > 100), "{tally:?}");
}

/// Plays histories, or the one that somebody asks for, which must go well.
fn all_is_well(histories: u64, edits: Edits) -> Option<Tally> {
    let seed = std::env::var("AIT_SIMULATION_SEED").ok().and_then(|text| text.parse().ok());
    if let Some(seed) = seed {
        let report = Stage::default().play(seed, edits, Neglect::Nothing);
        report.story.iter().for_each(|line| eprintln!("{line}"));
        eprintln!("{:?}", report.tally);
        assert_eq!(report.wrong, None, "seed {seed}");
        return None;
    }
    let (tally, wrong) = play(0..histories * factor(), edits, Neglect::Nothing);
    eprintln!("{tally:?}");
    if let Some((seed, report)) = wrong {
        let begin = report.story.len().saturating_sub(TOLD);
        report.story[begin..].iter().for_each(|line| eprintln!("{line}"));
        panic!("AIT_SIMULATION_SEED={seed}: {}", report.wrong.unwrap_or_default());
    }
    Some(tally)
}

/// Each duty is neglected until that is noticed, for one of the reasons that it can have.
#[test]
fn whichever_duty_is_neglected_is_noticed() {
    for neglect in [
        Neglect::SyncData,
        Neglect::LateSync,
        Neglect::SyncTemp,
        Neglect::SyncDirectory,
        Neglect::FailedSync,
        Neglect::Truncate,
        Neglect::Intent,
        Neglect::Epoch,
        Neglect::Lock,
        Neglect::Cleaning,
        Neglect::CatchingUp,
        Neglect::Edit,
        Neglect::Displaced,
        Neglect::Mark,
    ] {
        let edits = match neglect {
            Neglect::Displaced | Neglect::Mark => Edits::Meanwhile,
            _ => Edits::Alone,
        };
        let (tally, wrong) = play(0..CONTROLS, edits, neglect);
        let (seed, report) = wrong.unwrap_or_else(|| panic!("{neglect:?} was not noticed"));
        let wrong = report.wrong.unwrap_or_default();
        eprintln!("{neglect:?} in history {}, seed {seed}: {wrong:.300}", tally.histories);
    }
}

#[test]
fn a_seed_tells_everything() {
    let stage = Stage::default();
    for seed in 0..REPEATED {
        let play = || stage.play(seed, Edits::Alone, Neglect::Nothing);
        let (one, other) = (play(), play());
        let differs = one.story.iter().zip(&other.story).position(|(one, other)| one != other);
        assert_eq!(differs, None, "seed {seed}");
        assert_eq!((one.story.len(), one.tally), (other.story.len(), other.tally), "seed {seed}");
    }
}

/// Plays histories on all processors until one is wrong; tells what happened in them, and which was it.
fn play(seeds: Range<u64>, edits: Edits, neglect: Neglect) -> (Tally, Option<(u64, Report)>) {
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let (next, is_over) = (AtomicU64::new(seeds.start), AtomicBool::new(false));
    let found = Mutex::new((Tally::default(), None));
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let stage = Stage::default();
                while !is_over.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds.end {
                        return;
                    }
                    let report = stage.play(seed, edits, neglect);
                    let mut found = found.lock().unwrap();
                    found.0.add(&report.tally);
                    if report.wrong.is_some() {
                        is_over.store(true, Ordering::Relaxed);
                        found.1.get_or_insert((seed, report));
                    }
                }
            });
        }
    });
    found.into_inner().unwrap()
}
