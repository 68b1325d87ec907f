//! Concurrent commits by several callers and processes: what they wait for, and what must not block them.

use std::fs::File;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agent_issue_tracker::store::json::JsonStoreOptions;
use agent_issue_tracker::store::{Store, StoreError};

use crate::faults::{Act, Scene};
use crate::support::commands::{at, claim};
use crate::support::disk::{Disk, FaultyDuty};
use crate::support::files::newest_segment;
use crate::support::scene::{Process, Visit};
use crate::support::stores::{add, apply, ids, now, open, open_with, quiet};
use crate::support::{PATIENCE, directory_in_memory};

#[tokio::test]
async fn held_lock_times_out_as_busy_and_withdraws_the_command() {
    let directory = directory_in_memory();
    let options = JsonStoreOptions { busy_after: Duration::from_millis(50), ..quiet() };
    let store =
        open_with(directory.path(), &Disk::new(directory.path(), FaultyDuty::Nothing), options);
    apply(&store, add(), now()).await.unwrap();
    let other = File::open(newest_segment(directory.path())).unwrap();
    other.lock().unwrap();
    let busy = apply(&store, add(), now()).await;
    assert!(
        matches!(&busy, Err(StoreError::Busy(text)) if text.contains("issues.json")),
        "{busy:?}"
    );
    // Readers do not need the lock.
    assert_eq!(store.counts().await.unwrap().total(), 1);
    other.unlock().unwrap();
    apply(&store, add(), now()).await.unwrap();
    assert_eq!(store.counts().await.unwrap().total(), 2, "the withdrawn command was carried out");
}

#[tokio::test]
async fn concurrent_commands_share_one_write_and_one_sync() {
    let directory = directory_in_memory();
    let disk = Disk::new(directory.path(), FaultyDuty::Nothing);
    let store = open(directory.path(), &disk);
    apply(&store, add(), now()).await.unwrap();
    let counts = || (disk.count_of("write_at", ".log"), disk.count_of("sync", ".log"));
    let before = counts();
    let lock = File::open(newest_segment(directory.path())).unwrap();
    lock.lock().unwrap();
    let mut waiting: Vec<_> = (0..100).map(|_| Box::pin(apply(&store, add(), now()))).collect();
    // The first poll hands a command to the writer, which waits for the lock.
    for command in &mut waiting {
        assert!(futures::poll!(command).is_pending());
    }
    lock.unlock().unwrap();
    for outcome in futures::future::join_all(waiting).await {
        outcome.unwrap();
    }
    assert_eq!(counts(), (before.0 + 1, before.1 + 1));
    let later = open(directory.path(), &disk.beside());
    assert_eq!(ids(&later).await.len(), 101);
}

/// While a process syncs a change, its readers and other processes continue.
#[tokio::test]
async fn neither_readers_nor_other_processes_wait_for_a_sync() {
    let directory = directory_in_memory();
    let disk = Disk::new(directory.path(), FaultyDuty::Nothing);
    let (store, other) = (open(directory.path(), &disk), open(directory.path(), &disk.beside()));
    apply(&store, add(), now()).await.unwrap();
    let pause = disk.pause_at(|call| call.is("sync", ".log"));
    let store = Arc::new(store);
    let change = tokio::spawn({
        let store = Arc::clone(&store);
        async move { apply(&*store, add(), now()).await }
    });
    pause.reached().await;
    assert!(store.counts().await.unwrap().total() >= 1);
    let newest = store.events(0, 10).await.unwrap();
    assert_eq!(newest.events.len(), 1, "an event was shown before it was durable");
    apply(&other, add(), now()).await.unwrap();
    assert!(!change.is_finished());
    pause.end().await;
    change.await.unwrap().unwrap();
    assert_eq!(store.counts().await.unwrap().total(), 3);
}

/// If the caller of a claim is gone before the answer, the issue returns to the queue.
#[tokio::test]
async fn claim_of_a_cancelled_caller_lapses() {
    let directory = directory_in_memory();
    let disk = Disk::new(directory.path(), FaultyDuty::Nothing);
    let store = Arc::new(open(directory.path(), &disk));
    apply(&*store, add(), now()).await.unwrap();
    for calls in ["sync", "write_at", "lock"] {
        let pause = disk.pause_at(move |call| call.is(calls, ".log"));
        let caller = tokio::spawn({
            let store = Arc::clone(&store);
            async move { apply(&*store, claim(None), now()).await }
        });
        pause.reached().await;
        let begun = Instant::now();
        caller.abort();
        assert!(caller.await.unwrap_err().is_cancelled());
        pause.end().await;
        let claimed = loop {
            // The issue stays claimed until the claim lapses.
            match apply(&*store, claim(None), now()).await.unwrap() {
                Some(claimed) => break claimed,
                None => assert!(begun.elapsed() < PATIENCE, "the claim did not lapse"),
            }
        };
        assert_eq!(claimed.history.last().unwrap().action, "Issue claimed for work");
        let lapse = agent_issue_tracker::domain::Command::LapseClaim {
            issue: claimed.id,
            entry: claimed.claim_entry().unwrap(),
            reason: "again".to_owned(),
            client: None,
        };
        apply(&*store, lapse, at(0)).await.unwrap();
    }
}

/// Repeats an act. Each time, another process claims, files and publishes at the next call of the act.
async fn interrupt_at_each_call(act: Act, faulty_duty: FaultyDuty) -> Result<usize, String> {
    for number in 1.. {
        let scene = Scene::new(act, faulty_duty).await;
        let (answers, other) = (Arc::clone(&scene.answers), scene.other.clone());
        let visited = Arc::new(Mutex::new(None));
        let slot = Arc::clone(&visited);
        let visit = Visit::at_call(&scene.process.disk, number, move || async move {
            let done = async {
                answers.claim(&other).await?;
                answers.file(&other).await?;
                other.publish().await
            };
            *slot.lock().unwrap() = Some(done.await);
        });
        let acted = scene.act().await;
        scene.process.disk.unhook();
        let was_reached = visit.end().await;
        acted.map_err(|error| format!("{act:?}, call {number}: {error}"))?;
        if was_reached {
            let visited = visited.lock().unwrap().take().unwrap();
            visited
                .map_err(|error| format!("{act:?}, the other process at call {number}: {error}"))?;
        }
        let checked = scene.check(false).await;
        checked.map_err(|wrong| format!("{act:?}, call {number}: {wrong}"))?;
        scene.end().await;
        if !was_reached {
            return Ok(number - 1);
        }
    }
    unreachable!()
}

#[tokio::test]
async fn changes_by_another_process_at_any_call_are_kept() {
    for act in crate::faults::ALL {
        let calls = interrupt_at_each_call(act, FaultyDuty::Nothing).await.unwrap();
        assert!(calls >= 2, "{act:?}: {calls}");
    }
}

#[tokio::test]
async fn checker_detects_ineffective_locks() {
    let noticed = interrupt_at_each_call(Act::Claim, FaultyDuty::Lock).await.unwrap_err();
    eprintln!("{noticed}");
}

/// A process stops in the middle of a change while another process makes three.
#[tokio::test]
async fn stalled_process_loses_no_changes() {
    let directory = directory_in_memory();
    let disk = Disk::new(directory.path(), FaultyDuty::Nothing);
    let first = Process::start(directory.path(), Arc::clone(&disk));
    let answers = crate::support::scene::Answers::new(&disk);
    answers.file(&first).await.unwrap();
    let pause = first.disk.pause_at(|call| call.is("fingerprint", ".log"));
    let late = tokio::spawn({
        let (answers, first) = (Arc::clone(&answers), first.clone());
        async move { answers.file(&first).await.map(drop) }
    });
    pause.reached().await;
    let second = first.beside(directory.path());
    for _ in 0..3 {
        answers.file(&second).await.unwrap();
        second.publish().await.unwrap();
    }
    pause.end().await;
    late.await.unwrap().unwrap();
    answers.check(&*second.store).await.unwrap();
    answers.check(&*first.store).await.unwrap();
}
