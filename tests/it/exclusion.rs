//! Many tasks in several processes on one store: each issue belongs to one of them at a time, and the
//! first filed is claimed first.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_issue_tracker::domain::{Classification, IssueId, Status};
use agent_issue_tracker::store::json::JsonStoreOptions;
use agent_issue_tracker::store::{JsonStore, Store};
use tokio::runtime::Runtime;

use crate::support::commands::{add, all, at, claim, complete, return_issue};
use crate::support::directory_in_memory;
use crate::support::disk::{Disk, FaultyDuty};
use crate::support::stores::{apply, open_with};

const STORES: usize = 4;
const TASKS: usize = 6;
const OPERATIONS: usize = 60;

/// Who has what, as far as those know who were answered.
#[derive(Default)]
struct ClaimInfo(Mutex<HashMap<IssueId, usize>>);

impl ClaimInfo {
    /// Takes note of a claim that was answered.
    fn claimed(&self, issue: IssueId, by: usize) -> Result<(), String> {
        match self.0.lock().unwrap().insert(issue, by) {
            Some(other) => Err(format!("{issue} was claimed by {by} while {other} had it")),
            None => Ok(()),
        }
    }

    /// Takes note that an issue is about to be given up.
    fn gives_up(&self, issue: IssueId) {
        self.0.lock().unwrap().remove(&issue);
    }
}

/// `issues.json` is written all the time.
fn open(directory: &Path, disk: &Arc<Disk>) -> JsonStore {
    let options = JsonStoreOptions { publish_after: Duration::ZERO, ..Default::default() };
    open_with(directory, &disk.beside(), options)
}

/// Files, claims, returns and completes until its operations are used up; gives the claims in order.
async fn work(
    store: &JsonStore,
    number: usize,
    held: &ClaimInfo,
    next_id: &AtomicUsize,
) -> Result<(), String> {
    let text = |error: agent_issue_tracker::store::StoreError| error.to_string();
    let mut mine = None;
    for turn in 0..OPERATIONS {
        let now = at(turn as i64);
        let (own, rest) = (mine.take(), turn % 3);
        match (own, rest) {
            (Some(issue), 0) => {
                held.gives_up(issue);
                apply(store, return_issue(issue.into()), now).await.map_err(text)?;
            }
            (Some(issue), _) => {
                // Nobody else can have moved it on.
                let found = store.get(issue.into()).await.map_err(text)?;
                if found.status != Status::InProgress {
                    return Err(format!("{issue} is {} in its holder's hands", found.status));
                }
                held.gives_up(issue);
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

/// What became of the work of all tasks; every issue that was filed is there once.
fn hammer(neglect: FaultyDuty) -> Result<(), String> {
    let directory = directory_in_memory();
    let disk = Disk::new(directory.path(), neglect);
    let (held, next_id) = (Arc::new(ClaimInfo::default()), Arc::new(AtomicUsize::new(0)));
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
                return Err(format!("{filed} were filed, and {} are there", page.total));
            }
            store.close().await;
        }
        Ok(())
    })
}

#[test]
fn concurrent_tasks_never_claim_the_same_issue() {
    for _ in 0..3 {
        hammer(FaultyDuty::Nothing).unwrap();
    }
}

#[test]
fn checker_detects_ineffective_locks() {
    let noticed = (0..20).find_map(|_| hammer(FaultyDuty::Lock).err());
    let noticed = noticed.expect("nobody noticed that nothing is locked");
    assert!(!noticed.is_empty());
}

/// Claims go by place over all processes: between two claims of one task, no older issue was waiting
/// that nobody had returned meanwhile.
#[test]
fn oldest_issue_is_claimed_first_across_processes() {
    let directory = directory_in_memory();
    let disk = Disk::new(directory.path(), FaultyDuty::Nothing);
    Runtime::new().unwrap().block_on(async {
        let stores: Vec<_> = (0..STORES).map(|_| Arc::new(open(directory.path(), &disk))).collect();
        for number in 0..120 {
            let store = &stores[number as usize % STORES];
            apply(&**store, add(number, Classification::Bug), at(0)).await.unwrap();
        }
        let order = stores[0].list(all()).await.unwrap().issues;
        let place: HashMap<_, _> = order.iter().map(|issue| issue.id).zip(0..).collect();
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
            let claimed: Vec<i32> = task.await.unwrap().iter().map(|id| place[id]).collect();
            assert!(claimed.is_sorted(), "{claimed:?}");
            total += claimed.len();
        }
        assert_eq!(total, 120);
    });
}
