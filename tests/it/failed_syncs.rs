//! Syncs of the log that fail, and leave what they were for unsaved for good: whoever is answered has a
//! durable change all the same, whatever others do meanwhile, whoever dies, and when the power fails then.

use std::sync::Arc;

use agent_issue_tracker::store::StoreError;

use crate::faults::{Act, Scene};
use crate::support::disk::{Disk, Neglect};
use crate::support::files::segments;
use crate::support::scene::Visit;
use crate::support::stores::check;
use crate::support::trouble::{Call, EIO, Fault};

const ACTS: [Act; 4] = [Act::Change, Act::ChangeOfNewProcess, Act::Claim, Act::BehindUndurable];

/// Lets the next sync of a segment by a process fail, and tells of each call behind it, by its number.
fn fail_next_sync(disk: &Arc<Disk>, mut behind: impl FnMut(usize, &Arc<Disk>) + Send + 'static) {
    let (disk, mut calls) = (Arc::downgrade(disk), None);
    let process = disk.upgrade().unwrap();
    process.trouble.with(EIO);
    process.hook(move |call: &Call| {
        let Some(disk) = disk.upgrade() else { return };
        if let Some(calls) = &mut calls {
            *calls += 1;
            behind(*calls, &disk);
        } else if call.is("sync", ".log") {
            calls = Some(0);
            disk.trouble.begin(Fault::Once(1));
        }
    });
}

/// A sync fails, once, and everybody goes on; gives the number of power cuts behind that.
async fn fail_once(act: Act, neglect: Neglect) -> Result<usize, String> {
    let scene = Scene::new(act, neglect).await;
    let before = scene.answers.moment();
    let old = segments(scene.path()).len();
    fail_next_sync(&scene.process.disk, |_, _| {});
    scene.act().await.map_err(|error| format!("{act:?}: {error}"))?;
    assert!(scene.process.disk.trouble.failed().is_some(), "{act:?}");
    if neglect == Neglect::Nothing {
        assert_eq!(segments(scene.path()).len(), old + 1, "{act:?}: no other file took it");
    }
    scene.check(false).await?;
    let cuts = scene.answers.cut_from(before).await;
    scene.end().await;
    cuts
}

#[tokio::test]
async fn a_change_whose_sync_fails_is_saved_in_another_file_before_it_is_answered() {
    for act in ACTS {
        let cuts = fail_once(act, Neglect::Nothing)
            .await
            .unwrap_or_else(|wrong| panic!("{act:?}: {wrong}"));
        assert!(cuts > 50, "{act:?}: {cuts}");
    }
}

#[tokio::test]
async fn a_sync_that_is_tried_again_on_the_same_file_is_noticed() {
    let noticed = fail_once(Act::Change, Neglect::FailedSync).await.unwrap_err();
    assert!(noticed.contains("is lost") || noticed.contains("nothing follows"), "{noticed}");
}

/// Lets something happen at each call behind a sync that failed, and cuts the power behind some steps.
async fn at_each_call_behind(act: Act, neglect: Neglect, dies: bool) -> Result<usize, String> {
    for number in 1.. {
        let scene = Scene::new(act, neglect).await;
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
            // This very call is the first that the visit counts.
            let began = Visit::now(move || async move {
                answers.file(&other).await.unwrap();
                answers.claim(&other).await.unwrap();
            });
            *slot.lock().unwrap() = Some(began);
        });
        let acted = scene.act().await;
        let visit = visit.lock().unwrap().take();
        let came = visit.is_some() || scene.process.disk.trouble.is_dead();
        if let Some(visit) = visit {
            visit.end().await;
        }
        scene.process.disk.unhook();
        if !came {
            acted.map_err(|error| error.to_string())?;
            scene.end().await;
            return Ok(number - 1);
        }
        let at = |wrong| format!("{act:?}, call {number} behind it ({acted:?}): {wrong}");
        if dies {
            scene.process.kill().await;
        } else {
            acted.as_ref().map_err(|error| at(error.to_string()))?;
        }
        scene.check(dies).await.map_err(at)?;
        if number % 3 == 1 || neglect != Neglect::Nothing {
            scene.answers.cut_between(before, scene.answers.moment(), 1).await.map_err(at)?;
        }
        scene.end().await;
    }
    unreachable!()
}

#[tokio::test]
async fn a_death_at_any_call_behind_a_sync_that_failed_loses_nothing() {
    for act in [Act::Change, Act::BehindUndurable] {
        let calls = at_each_call_behind(act, Neglect::Nothing, true).await.unwrap();
        assert!(calls > 10, "{calls}");
    }
}

#[tokio::test]
async fn what_others_commit_at_any_call_behind_a_sync_that_failed_is_kept() {
    for act in [Act::Change, Act::BehindUndurable] {
        let calls = at_each_call_behind(act, Neglect::Nothing, false).await.unwrap();
        assert!(calls > 10, "{calls}");
    }
}

/// Another process appends behind a batch whose sync is about to fail, and syncs both itself.
async fn other_is_answered_before_the_sync_fails(neglect: Neglect) -> Result<(), String> {
    let scene = Scene::new(Act::Change, neglect).await;
    let before = scene.answers.moment();
    let (answers, other) = (Arc::clone(&scene.answers), scene.other.clone());
    let disk = Arc::downgrade(&scene.process.disk);
    let mut is_over = false;
    scene.process.disk.hook(move |call| {
        if call.is("sync", ".log") && !std::mem::replace(&mut is_over, true) {
            let (answers, other) = (Arc::clone(&answers), other.clone());
            // It may not tell that it is durable.
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
async fn a_new_segment_repeats_what_others_were_answered() {
    other_is_answered_before_the_sync_fails(Neglect::Nothing).await.unwrap();
    let noticed = other_is_answered_before_the_sync_fails(Neglect::Repeat).await.unwrap_err();
    eprintln!("{noticed}");
}

#[tokio::test]
async fn a_disk_that_saves_nothing_for_a_while_is_told_and_needs_no_restart() {
    let scene = Scene::new(Act::Change, Neglect::Nothing).await;
    scene.process.disk.trouble.with(EIO);
    scene.process.disk.trouble.begin(Fault::Where(Arc::new(|call| call.name == "sync")));
    for _ in 0..3 {
        let refused = scene.act().await.unwrap_err();
        assert!(matches!(refused, StoreError::Uncertain(_) | StoreError::NotSaved(_)), "{refused}");
        let ill = check(&*scene.process.store).await.unwrap_err();
        assert!(ill.to_string().contains(".log"), "{ill}");
    }
    scene.process.disk.trouble.end();
    scene.act().await.unwrap();
    check(&*scene.process.store).await.unwrap();
    scene.check(false).await.unwrap();
    scene.answers.cut_from(scene.answers.moment()).await.unwrap();
}
