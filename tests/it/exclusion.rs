//! Many tasks in several processes on one store: an issue has one holder at a time, and the oldest issue is claimed
//! first.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use agent_issue_tracker::domain::{Classification, IssueId, Status};
use agent_issue_tracker::store::files::StoreOptions;
use agent_issue_tracker::store::{SqliteStore, Store};
use tokio::runtime::Runtime;

use crate::support::commands::{add, all, at, claim, complete, return_issue};
use crate::support::directory_in_memory;
use crate::support::disk::{Disk, FaultyDuty};
use crate::support::stores::{apply, open_with};

const STORES: usize = 4;
const TASKS: usize = 6;
const OPERATIONS: usize = 60;

/// The holder of each issue, according to the acknowledged claims.
#[derive(Default)]
struct Holders(Mutex<HashMap<IssueId, usize>>);

impl Holders {
    /// Records an acknowledged claim.
    fn claimed(&self, issue: IssueId, by: usize) -> Result<(), String> {
        match self.0.lock().unwrap().insert(issue, by) {
            Some(other) => Err(format!("{issue} was claimed by {by} while {other} held it")),
            None => Ok(()),
        }
    }

    /// Records that the holder is about to give up an issue.
    fn release(&self, issue: IssueId) {
        self.0.lock().unwrap().remove(&issue);
    }
}

/// Opens a store that publishes after every change.
fn open(directory: &Path, disk: &Arc<Disk>) -> SqliteStore {
    let options = StoreOptions { publish_after: Duration::ZERO, ..Default::default() };
    open_with(directory, &disk.beside(), options)
}

/// Files, claims, returns and completes issues, with [`OPERATIONS`] operations in all.
async fn work(
    store: &SqliteStore,
    number: usize,
    held: &Holders,
    next_id: &AtomicUsize,
) -> Result<(), String> {
    let text = |error: agent_issue_tracker::store::StoreError| error.to_string();
    let mut mine = None;
    for turn in 0..OPERATIONS {
        let now = at(turn as i64);
        let (own, rest) = (mine.take(), turn % 3);
        match (own, rest) {
            (Some(issue), 0) => {
                held.release(issue);
                apply(store, return_issue(issue.into()), now).await.map_err(text)?;
            }
            (Some(issue), _) => {
                // Only the holder can have changed the status.
                let found = store.get(issue.into()).await.map_err(text)?;
                if found.status != Status::InProgress {
                    return Err(format!(
                        "{issue} is {} although its holder did not change it",
                        found.status
                    ));
                }
                held.release(issue);
                apply(store, complete(issue.into()), now).await.map_err(text)?;
            }
            (None, 0) => {
                let id = next_id.fetch_add(1, Ordering::Relaxed) as u32;
                apply(store, add(id, Classification::Bug), now).await.map_err(text)?;
            }
            (None, _) => {
                if let Some(issue) = apply(store, claim(None), now).await.map_err(text)? {
                    held.claimed(issue.id, number)?;
                    mine = Some(issue.id);
                }
            }
        }
    }
    Ok(())
}

/// Lets all tasks work. Checks their claims, and that every filed issue exists once.
fn stress(faulty_duty: FaultyDuty) -> Result<(), String> {
    let directory = directory_in_memory();
    let disk = Disk::new(faulty_duty);
    let (held, next_id) = (Arc::new(Holders::default()), Arc::new(AtomicUsize::new(0)));
    Runtime::new().unwrap().block_on(async {
        let stores: Vec<_> = (0..STORES).map(|_| Arc::new(open(directory.path(), &disk))).collect();
        let tasks: Vec<_> = (0..STORES * TASKS)
            .map(|number| {
                let store = Arc::clone(&stores[number % STORES]);
                let (held, next_id) = (Arc::clone(&held), Arc::clone(&next_id));
                tokio::spawn(async move { work(&store, number, &held, &next_id).await })
            })
            .collect();
        for task in tasks {
            task.await.map_err(|error| error.to_string())??;
        }
        for store in &stores {
            let page = store.list(all()).await.map_err(|error| error.to_string())?;
            let filed = next_id.load(Ordering::Relaxed);
            if page.total != filed {
                return Err(format!("{filed} issues were filed, but {} exist", page.total));
            }
            store.close().await;
        }
        Ok(())
    })
}

#[test]
fn concurrent_tasks_never_claim_the_same_issue() {
    for _ in 0..3 {
        stress(FaultyDuty::Nothing).unwrap();
    }
}

/// Another process makes the database, files issues and writes `issues.json` before one of the calls of this one.
/// Then that is no damage.
#[test]
fn a_store_that_another_process_makes_meanwhile_is_whole() {
    for reads in [true, false] {
        let mut number = 0;
        let mut is_met = true;
        while is_met {
            number += 1;
            is_met = make_before_call(number, reads);
        }
        assert!(number > 8, "{number} calls");
    }
}

/// Lets another process make the store before the call with this number. Returns false if there is no such call before
/// the first lock: then the other process would wait.
fn make_before_call(number: usize, reads: bool) -> bool {
    let directory = directory_in_memory();
    let disk = Disk::new(FaultyDuty::Nothing);
    let path = directory.path().to_owned();
    let is_made = Arc::new(AtomicBool::new(false));
    let (mut calls, made) = (0, Arc::clone(&is_made));
    disk.hook(move |call| {
        let is_free = calls < number && !call.is("lock", "");
        calls = if is_free { calls + 1 } else { usize::MAX };
        if calls == number {
            made.store(true, Ordering::SeqCst);
            thread::scope(|scope| scope.spawn(|| file_three(&path)).join()).unwrap();
        }
    });
    Runtime::new().unwrap().block_on(async {
        let store = open_with(directory.path(), &disk, StoreOptions::default());
        if reads {
            let found = store.list(all()).await.map(|page| page.total);
            let found = found.unwrap_or_else(|error| panic!("read, made at {number}: {error}"));
            assert!(found == 0 || found == 3, "{found}");
        } else {
            let filed = apply(&store, add(9, Classification::Bug), at(1)).await;
            filed.unwrap_or_else(|error| panic!("change, made at {number}: {error}"));
        }
        disk.unhook();
        let made = is_made.load(Ordering::SeqCst);
        let expected = usize::from(made) * 3 + usize::from(!reads);
        assert_eq!(store.list(all()).await.unwrap().total, expected, "made at {number}");
        store.close().await;
        made
    })
}

fn file_three(directory: &Path) {
    Runtime::new().unwrap().block_on(async {
        let store = open(directory, &Disk::new(FaultyDuty::Nothing));
        for id in 0..3 {
            apply(&store, add(id, Classification::Bug), at(0)).await.unwrap();
        }
        store.close().await;
    });
}

/// Claims follow the order of filing across all processes, so the claims of each task are in that order.
#[test]
fn oldest_issue_is_claimed_first_across_processes() {
    let directory = directory_in_memory();
    let disk = Disk::new(FaultyDuty::Nothing);
    Runtime::new().unwrap().block_on(async {
        let stores: Vec<_> = (0..STORES).map(|_| Arc::new(open(directory.path(), &disk))).collect();
        for number in 0..120 {
            let store = &stores[number as usize % STORES];
            apply(&**store, add(number, Classification::Bug), at(0)).await.unwrap();
        }
        let order = stores[0].list(all()).await.unwrap().issues;
        let position: HashMap<_, _> = order.iter().map(|issue| issue.id).zip(0..).collect();
        let tasks: Vec<_> = (0..STORES * TASKS)
            .map(|number| {
                let store = Arc::clone(&stores[number % STORES]);
                tokio::spawn(async move {
                    let mut claimed = Vec::new();
                    while let Some(issue) = apply(&*store, claim(None), at(1)).await.unwrap() {
                        claimed.push(issue.id);
                    }
                    claimed
                })
            })
            .collect();
        let mut total = 0;
        for task in tasks {
            let claimed: Vec<i32> = task.await.unwrap().iter().map(|id| position[id]).collect();
            assert!(claimed.is_sorted(), "{claimed:?}");
            total += claimed.len();
        }
        assert_eq!(total, 120);
    });
}
