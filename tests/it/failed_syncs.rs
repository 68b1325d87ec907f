//! Failed syncs of the log, whose data never reaches the disk. Every acknowledged change is still durable, even if
//! other processes commit meanwhile, a process dies, or the power fails afterwards.

use std::sync::Arc;

use agent_issue_tracker::domain::{Classification, Status};
use agent_issue_tracker::store::{JsonStore, Store, StoreError};

use crate::faults::{Act, Scene};
use crate::support::commands::{add, at, claim, complete, number};
use crate::support::directory_in_memory;
use crate::support::disk::{Disk, FaultyDuty};
use crate::support::files::segments;
use crate::support::power::{fates, files_after, write_files};
use crate::support::scene::{Process, Visit};
use crate::support::stores::{apply, check};
use crate::support::trouble::{Call, EIO, Fault};

const ACTS: [Act; 4] = [Act::Change, Act::ChangeOfNewProcess, Act::Claim, Act::BehindUndurable];

/// Makes the next sync of a segment fail. Then calls `after` with the number of each later call.
fn fail_next_sync(disk: &Arc<Disk>, mut after: impl FnMut(usize, &Arc<Disk>) + Send + 'static) {
    let (disk, mut calls) = (Arc::downgrade(disk), None);
    let process = disk.upgrade().unwrap();
    process.trouble.with(EIO);
    process.hook(move |call: &Call| {
        let Some(disk) = disk.upgrade() else { return };
        if let Some(calls) = &mut calls {
            *calls += 1;
            after(*calls, &disk);
        } else if call.is("sync", ".log") {
            calls = Some(0);
            disk.trouble.begin(Fault::Once(1));
        }
    });
}

/// Makes one sync fail and lets all processes continue. Returns the number of power cuts simulated afterwards.
async fn fail_once(act: Act, faulty_duty: FaultyDuty) -> Result<usize, String> {
    let scene = Scene::new(act, faulty_duty).await;
    let before = scene.answers.moment();
    let old = segments(scene.path()).len();
    fail_next_sync(&scene.process.disk, |_, _| {});
    scene.act().await.map_err(|error| format!("{act:?}: {error}"))?;
    assert!(scene.process.disk.trouble.failed().is_some(), "{act:?}");
    if faulty_duty == FaultyDuty::Nothing {
        assert_eq!(segments(scene.path()).len(), old + 1, "{act:?}: no new segment was created");
    }
    scene.check(false).await?;
    let cuts = scene.answers.cut_from(before).await;
    scene.end().await;
    cuts
}

#[tokio::test]
async fn failed_sync_moves_the_change_to_a_new_segment() {
    for act in ACTS {
        let cuts = fail_once(act, FaultyDuty::Nothing)
            .await
            .unwrap_or_else(|wrong| panic!("{act:?}: {wrong}"));
        assert!(cuts > 50, "{act:?}: {cuts}");
    }
}

#[tokio::test]
async fn checker_detects_a_retried_sync_on_the_same_segment() {
    let noticed = fail_once(Act::Change, FaultyDuty::FailedSync).await.unwrap_err();
    assert!(noticed.contains("is lost") || noticed.contains("no change is possible"), "{noticed}");
}

/// At each call after a failed sync, kills the process or lets another one commit. Cuts the power after some steps.
async fn at_each_call_after_failure(
    act: Act,
    faulty_duty: FaultyDuty,
    dies: bool,
) -> Result<usize, String> {
    for number in 1.. {
        let scene = Scene::new(act, faulty_duty).await;
        let before = scene.answers.moment();
        let (answers, other) = (Arc::clone(&scene.answers), scene.other.clone());
        let visit = Arc::new(std::sync::Mutex::new(None));
        let slot = Arc::clone(&visit);
        fail_next_sync(&scene.process.disk, move |call, disk| {
            if call != number {
                return;
            }
            if dies {
                disk.die_at(1);
                return;
            }
            let (answers, other) = (Arc::clone(&answers), other.clone());
            // The visit counts this call as its first.
            let began = Visit::now(move || async move {
                answers.file(&other).await.unwrap();
                answers.claim(&other).await.unwrap();
            });
            *slot.lock().unwrap() = Some(began);
        });
        let acted = scene.act().await;
        let visit = visit.lock().unwrap().take();
        let was_reached = visit.is_some() || scene.process.disk.trouble.is_dead();
        if let Some(visit) = visit {
            visit.end().await;
        }
        scene.process.disk.unhook();
        if !was_reached {
            acted.map_err(|error| error.to_string())?;
            scene.end().await;
            return Ok(number - 1);
        }
        let at = |wrong| format!("{act:?}, call {number} after it ({acted:?}): {wrong}");
        if dies {
            scene.process.kill().await;
        } else {
            acted.as_ref().map_err(|error| at(error.to_string()))?;
        }
        scene.check(dies).await.map_err(at)?;
        if number % 3 == 1 || faulty_duty != FaultyDuty::Nothing {
            scene.answers.cut_between(before, scene.answers.moment(), 1).await.map_err(at)?;
        }
        scene.end().await;
    }
    unreachable!()
}

#[tokio::test]
async fn crash_at_any_call_after_a_failed_sync_loses_nothing() {
    for act in [Act::Change, Act::BehindUndurable] {
        let calls = at_each_call_after_failure(act, FaultyDuty::Nothing, true).await.unwrap();
        assert!(calls > 10, "{calls}");
    }
}

#[tokio::test]
async fn commits_by_others_after_a_failed_sync_are_kept() {
    for act in [Act::Change, Act::BehindUndurable] {
        let calls = at_each_call_after_failure(act, FaultyDuty::Nothing, false).await.unwrap();
        assert!(calls > 10, "{calls}");
    }
}

/// Another process appends after a batch whose sync is about to fail, and syncs both batches.
async fn other_process_commits_before_the_sync_fails(
    faulty_duty: FaultyDuty,
) -> Result<(), String> {
    let scene = Scene::new(Act::Change, faulty_duty).await;
    let before = scene.answers.moment();
    let (answers, other) = (Arc::clone(&scene.answers), scene.other.clone());
    let disk = Arc::downgrade(&scene.process.disk);
    let mut is_over = false;
    scene.process.disk.hook(move |call| {
        if call.is("sync", ".log") && !std::mem::replace(&mut is_over, true) {
            let (answers, other) = (Arc::clone(&answers), other.clone());
            // It cannot record that both are durable.
            other.disk.trouble.begin(Fault::Where(Arc::new(|call| call.is("write_at", "durable"))));
            let ended = Visit::now(move || async move {
                answers.file(&other).await.unwrap();
            });
            ended.join();
            disk.upgrade().unwrap().trouble.begin(Fault::Once(1));
        }
    });
    scene.act().await.map_err(|error| error.to_string())?;
    scene.process.disk.unhook();
    scene.other.disk.trouble.end();
    scene.check(false).await?;
    scene.answers.cut_from(before).await?;
    scene.end().await;
    Ok(())
}

#[tokio::test]
async fn new_segment_repeats_changes_acknowledged_by_others() {
    other_process_commits_before_the_sync_fails(FaultyDuty::Nothing).await.unwrap();
    let noticed =
        other_process_commits_before_the_sync_fails(FaultyDuty::Repeat).await.unwrap_err();
    eprintln!("{noticed}");
}

#[tokio::test]
async fn repeated_sync_failures_are_reported_and_need_no_restart() {
    let scene = Scene::new(Act::Change, FaultyDuty::Nothing).await;
    scene.process.disk.trouble.with(EIO);
    scene.process.disk.trouble.begin(Fault::Where(Arc::new(|call| call.name == "sync")));
    for _ in 0..3 {
        let refused = scene.act().await.unwrap_err();
        assert!(matches!(refused, StoreError::Uncertain(_) | StoreError::NotSaved(_)), "{refused}");
        let error = check(&*scene.process.store).await.unwrap_err();
        assert!(error.to_string().contains(".log"), "{error}");
    }
    scene.process.disk.trouble.end();
    scene.act().await.unwrap();
    check(&*scene.process.store).await.unwrap();
    scene.check(false).await.unwrap();
    scene.answers.cut_from(scene.answers.moment()).await.unwrap();
}

/// After an uncertain answer, a repeated command is confirmed only once it is durable.
#[tokio::test]
async fn change_repeated_after_an_uncertain_answer_is_made_once() {
    let directory = directory_in_memory();
    let disk = Disk::new(directory.path(), FaultyDuty::Nothing);
    let process = Process::start(directory.path(), Arc::clone(&disk));
    apply(&*process.store, add(1, Classification::Bug), at(0)).await.unwrap();
    apply(&*process.store, claim(None), at(1)).await.unwrap();
    let complete = || apply(&*process.store, complete(number(1).into()), at(2));
    disk.trouble.with(EIO);
    disk.trouble.begin(Fault::Where(Arc::new(|call| call.name == "sync")));
    let first = complete().await;
    assert!(matches!(first, Err(StoreError::Uncertain(_))), "{first:?}");
    let still = complete().await;
    assert!(still.is_err(), "confirmed before it was durable: {still:?}");
    disk.trouble.end();
    let done = complete().await.unwrap().unwrap();
    assert_eq!((done.status, done.comments.len()), (Status::Completed, 1));
    let steps = disk.steps();
    for fate in fates(0, 3) {
        let after = directory_in_memory();
        write_files(after.path(), &files_after(&steps, fate));
        let store = JsonStore::new(after.path().join("issues.json"));
        assert_eq!(store.get(number(1).into()).await.unwrap(), done, "{fate:?}");
    }
    process.kill().await;
}
