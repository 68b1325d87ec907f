//! Histories of several clones of a repository that tracks its queue: merges, rebases, cherry-picks, stashes and
//! octopus merges at random, compared with a model of what must be there in the end.
//!
//! Most histories merge in memory, with the merge of the driver and the common ancestors that git would choose. Others
//! are branches in worktrees of a real repository, in which git calls the driver.

mod by_hand;
mod history;
mod in_git;
mod in_memory;

use std::thread;

use agent_issue_tracker::store::files::merge_files::merge_files;

use self::history::{Clones, History};
use self::in_git::GitClones;
use self::in_memory::MemoryClones;
use crate::support::factor;

/// How many threads run histories at the same time.
const THREADS: u64 = 2;

/// Runs histories from seeds below `count`, and returns what was lost in them.
fn run<C: Clones>(count: u64, clones: impl Fn(u64, usize) -> C + Sync) -> Vec<String> {
    let run_some = |thread: u64| -> Vec<String> {
        let seeds = (0..count).filter(|seed| seed % THREADS == thread);
        seeds.filter_map(|seed| History::run(seed, &clones).err()).collect()
    };
    thread::scope(|scope| {
        let threads: Vec<_> =
            (0..THREADS).map(|thread| scope.spawn(move || run_some(thread))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    })
}

/// Merges as the driver does.
fn by_driver(base: &[u8], ours: &[u8], theirs: &[u8]) -> Vec<u8> {
    merge_files(base, ours, theirs).unwrap().bytes
}

#[test]
fn nothing_is_lost_in_random_histories() {
    let lost = run(1000 * factor(), |_, count| MemoryClones::new(count, by_driver));
    assert!(lost.is_empty(), "{} histories: {lost:#?}", lost.len());
}

#[test]
fn nothing_is_lost_in_random_histories_by_git() {
    // The worktrees of a repository share its list of stashes.
    let repositories: Vec<_> = (0..THREADS).map(|_| in_git::Repository::new()).collect();
    let repository = |seed: u64| &repositories[(seed % THREADS) as usize];
    let lost = run(100 * factor(), |seed, count| GitClones::new(repository(seed), seed, count));
    assert!(lost.is_empty(), "{} histories: {lost:#?}", lost.len());
}

/// The control: a merge that drops a side is noticed.
#[test]
fn a_merge_that_takes_one_side_is_noticed() {
    let ours_alone = |_: &[u8], ours: &[u8], _: &[u8]| ours.to_vec();
    let lost = run(20, |_, count| MemoryClones::new(count, ours_alone));
    assert!(lost.len() > 10, "{lost:?}");
}
