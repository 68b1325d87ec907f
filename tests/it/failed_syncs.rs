//! Syncs of the journal that fail, and leave what they were for unsaved for good: whoever is answered has a
//! durable change all the same, whatever others do meanwhile, whoever dies, and when the power fails then.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agent_issue_tracker::domain::Classification;
use agent_issue_tracker::store::{Store, StoreError};
use tokio::runtime::{Handle, Runtime};

use crate::support::commands::{add, at};
use crate::support::directory_in_memory;
use crate::support::disk::{Disk, Neglect};
use crate::support::files::{id, issue_json, names, stored_issues, write_issues};
use crate::support::power::{Fate, Step, files_after};
use crate::support::scene::{ALL, Adoption, Change, For, Intent, IntentAside, Scene, open};
use crate::support::trouble::EIO;

/// Longer than a commit takes whose lock is free.
const COMMIT: Duration = Duration::from_millis(60);
/// How many calls lie between those at which the power is cut at every step.
const CUT_EVERY: usize = 4;
/// More calls than anything here makes.
const MAX_CALLS: usize = 200;

/// A sync fails, once, and the process goes on; gives the number of power cuts behind that.
async fn fail_once(purpose: For, neglect: Neglect) -> Result<usize, String> {
    let scene = Scene::new(purpose, neglect).await;
    let (answers, before) = (&scene.answers, scene.answers.disk.steps().len());
    scene.fail_next_sync(|_, _| {});
    let acted = scene.act().await;
    assert_eq!(scene.disk.failed(), Some("sync_data"), "{purpose:?}");
    // A checkpoint is tried again another time; a change is saved in another file.
    let is_checkpoint = matches!(purpose, Intent | IntentAside);
    if let Err(error) = acted.as_ref().map(drop) {
        assert!(is_checkpoint, "{purpose:?}: {error}");
        assert!(error.to_string().contains("issues.json.journal"), "{error}");
    }
    if neglect == Neglect::Nothing {
        scene.store.check().await.map_err(|error| format!("still ill: {error}"))?;
    }
    for store in [&scene.store, &scene.other, &scene.store] {
        answers.file(store).await.map_err(|error| error.to_string())?;
    }
    scene.store.save().await.map_err(|error| error.to_string())?;
    answers.cut_from(before).await
}

#[test]
fn a_change_whose_sync_fails_is_saved_in_another_file_before_it_is_answered() {
    let runtime = Runtime::new().unwrap();
    for purpose in ALL {
        let cuts = runtime.block_on(fail_once(purpose, Neglect::Nothing));
        let cuts = cuts.unwrap_or_else(|error| panic!("{purpose:?}: {error}"));
        eprintln!("{purpose:?}: {cuts} power cuts");
        assert!(cuts > 50, "{purpose:?}: {cuts}");
    }
}

/// What happens to whoever tries the same sync again, which succeeds.
#[test]
fn a_sync_that_is_tried_again_on_the_same_file_is_noticed() {
    let runtime = Runtime::new().unwrap();
    for purpose in [Change, Adoption] {
        let noticed = runtime.block_on(fail_once(purpose, Neglect::FailedSync)).unwrap_err();
        eprintln!("{purpose:?}: {noticed}");
        assert!(noticed.contains("were answered") || noticed.contains("nothing follows"));
    }
}

/// How a process died, and how many power cuts there were behind that.
struct Death {
    steps: usize,
    cuts: usize,
}

/// A sync fails, and the process dies at a call behind that; another one goes on, which was there before or
/// comes later. `None` when there are not so many calls. What was on the disk after `known` steps need not be
/// tried again.
async fn die(
    purpose: For,
    was_there: bool,
    number: usize,
    neglect: Neglect,
    known: usize,
) -> Result<Option<Death>, String> {
    let scene = Scene::new(purpose, neglect).await;
    let (answers, reached) = (&scene.answers, Arc::new(AtomicBool::new(false)));
    let at_call = Arc::clone(&reached);
    scene.fail_next_sync(move |call, disk| {
        if call == number {
            at_call.store(true, Ordering::SeqCst);
            disk.die_at(1);
        }
    });
    let _ = scene.act().await;
    let death = answers.disk.steps().len();
    scene.disk.die_at(1);
    std::mem::forget(Arc::clone(&scene.store));
    let next = if was_there {
        Arc::clone(&scene.other)
    } else {
        Arc::new(open(&scene.path, &Disk::beside(&scene.disk), purpose == IntentAside))
    };
    let case = |error: StoreError| format!("at {:?}: {error}", scene.disk.failed());
    answers.file(&next).await.map_err(case)?;
    answers.file(&next).await.map_err(case)?;
    answers.check(&next, &answers.before(usize::MAX)).await?;
    let journal = std::fs::read_to_string(scene.path.join("issues.json.journal")).unwrap();
    if journal.contains("\"edited\"") {
        return Err("a journal that was begun anew was taken for an edit".to_owned());
    }
    let cuts = match death == known {
        true => 0,
        false => {
            answers.cut_from(death).await.map_err(|error| format!("call {number}: {error}"))?
        }
    };
    Ok(reached.load(Ordering::SeqCst).then_some(Death { steps: death, cuts }))
}

fn deaths(purpose: For, was_there: bool, neglect: Neglect) -> Result<(usize, usize), String> {
    let (runtime, mut cuts, mut known) = (Runtime::new().unwrap(), 0, 0);
    for number in 1..MAX_CALLS {
        match runtime.block_on(die(purpose, was_there, number, neglect, known))? {
            Some(death) => (cuts, known) = (cuts + death.cuts, death.steps),
            None => return Ok((number - 1, cuts)),
        }
    }
    Err("it does not end".to_owned())
}

#[test]
fn a_death_at_any_call_behind_a_sync_that_failed_loses_nothing_that_others_are_answered() {
    for purpose in ALL {
        for was_there in [false, true] {
            let died = deaths(purpose, was_there, Neglect::Nothing);
            let (deaths, cuts) = died.unwrap_or_else(|error| panic!("{purpose:?}: {error}"));
            eprintln!("{purpose:?}, {was_there}: {deaths} deaths, {cuts} power cuts");
            assert!(deaths > 10 && cuts > deaths, "{purpose:?}: {deaths}");
        }
    }
}

#[test]
fn a_process_that_relies_on_what_it_finds_is_noticed() {
    let noticed = deaths(Change, false, Neglect::WriteAgain).unwrap_err();
    eprintln!("{noticed}");
    assert!(noticed.contains("were answered") || noticed.contains("only reads"), "{noticed}");
}

/// A sync fails, and another process files an issue at a call behind that: one that was there before, or one
/// that was never told of the failure. Gives the number of power cuts; `None` when there are not so many calls.
async fn intrude(purpose: For, is_new: bool, number: usize) -> Result<Option<usize>, String> {
    let scene = Scene::new(purpose, Neglect::Nothing).await;
    let (runtime, answers) = (Handle::current(), Arc::clone(&scene.answers));
    let (path, work) = (scene.path.clone(), Arc::new(Mutex::new(None)));
    let (other, beside) = (Arc::clone(&scene.other), Disk::beside(&scene.disk));
    let begun = Arc::clone(&work);
    scene.fail_next_sync(move |call, _| {
        if call != number {
            return;
        }
        let other = match is_new {
            true => Arc::new(open(&path, &beside, purpose == IntentAside)),
            false => Arc::clone(&other),
        };
        let answers = Arc::clone(&answers);
        let filing = runtime.spawn(async move { answers.file(&other).await });
        // It need not come to its end while the process goes on, if that has the lock.
        let since = Instant::now();
        while !filing.is_finished() && since.elapsed() < COMMIT {
            std::thread::sleep(Duration::from_millis(1));
        }
        *begun.lock().unwrap() = Some(filing);
    });
    let before = scene.answers.disk.steps().len();
    let acted = scene.act().await;
    scene.disk.hook(|_| {});
    let filing = work.lock().unwrap().take();
    let is_reached = filing.is_some();
    if let Some(filing) = filing {
        filing.await.unwrap().map_err(|error| format!("the other at call {number}: {error}"))?;
    }
    if !matches!(purpose, Intent | IntentAside) {
        acted.map_err(|error| format!("at call {number}: {error}"))?;
    }
    let answers = &scene.answers;
    for store in [&scene.store, &scene.other] {
        answers.file(store).await.map_err(|error| format!("behind call {number}: {error}"))?;
        answers.check(store, &answers.before(usize::MAX)).await?;
    }
    // The disk takes the same steps again and again; what differs is when the other came.
    let first = if number.is_multiple_of(CUT_EVERY) { before } else { answers.disk.steps().len() };
    let cuts = answers.cut_from(first).await.map_err(|error| format!("call {number}: {error}"))?;
    Ok(is_reached.then_some(cuts))
}

#[test]
fn what_others_commit_at_any_call_behind_a_sync_that_failed_is_kept() {
    let runtime = Runtime::new().unwrap();
    for (purpose, is_new) in [(Change, false), (Change, true), (Intent, true), (IntentAside, false)]
    {
        let (mut calls, mut cuts) = (0, 0);
        while let Some(more) = runtime.block_on(intrude(purpose, is_new, calls + 1)).unwrap() {
            (calls, cuts) = (calls + 1, cuts + more);
            assert!(calls < MAX_CALLS);
        }
        eprintln!("{purpose:?}, {is_new}: {calls} calls, {cuts} power cuts");
        assert!(calls > 10, "{purpose:?}: {calls}");
    }
}

/// A disk that takes nothing for a while: what was appended is uncertain, what comes later is refused, and the
/// process goes on by itself when the disk is mended.
#[tokio::test]
async fn a_disk_that_saves_nothing_for_a_while_is_told_and_needs_no_restart() {
    for names in [&["sync_data", "sync"][..], &["sync_data", "create_temp"]] {
        let scene = Scene::new(Change, Neglect::Nothing).await;
        let (answers, trouble) = (&scene.answers, &scene.disk.trouble);
        trouble.with(EIO);
        trouble.fail_calls(names);
        let uncertain = answers.file(&scene.store).await.unwrap_err();
        assert!(matches!(uncertain, StoreError::Uncertain(_)), "{uncertain}");
        let refused = answers.file(&scene.store).await.unwrap_err();
        assert!(matches!(refused, StoreError::NotSaved(_)), "{refused}");
        let ill = scene.store.check().await.unwrap_err();
        for error in [uncertain, refused, ill] {
            let text = error.to_string();
            assert!(text.contains("issues.json.journal"), "{text}");
            assert!(text.contains("os error 5"), "{text}");
        }
        // Others have a disk that is in order, and can be read by all.
        answers.file(&scene.other).await.unwrap();
        answers.check(&scene.store, &answers.before(usize::MAX)).await.unwrap();
        trouble.mend();
        answers.file(&scene.store).await.unwrap();
        scene.store.check().await.unwrap();
        answers.check(&scene.other, &answers.before(usize::MAX)).await.unwrap();
    }
}

/// Nobody has to change something for that.
#[tokio::test]
async fn a_mended_disk_is_found_by_whoever_looks_after_the_file() {
    let scene = Scene::new(Change, Neglect::Nothing).await;
    scene.disk.trouble.fail_calls(&["sync_data", "create_temp"]);
    scene.answers.file(&scene.store).await.unwrap_err();
    scene.disk.trouble.mend();
    scene.store.check().await.unwrap_err();
    scene.store.save().await.unwrap();
    scene.store.check().await.unwrap();
}

/// The journal can be neither saved nor read back: what is in memory is written, and the journal kept.
#[tokio::test]
async fn a_journal_that_cannot_be_read_back_is_put_aside_and_costs_nothing() {
    let mut calls = 0;
    for number in 1..MAX_CALLS {
        let scene = Scene::new(Change, Neglect::Nothing).await;
        let (answers, before) = (&scene.answers, scene.answers.disk.steps().len());
        let path = scene.path.join("issues.json.journal");
        let known = std::fs::metadata(&path).unwrap().len();
        let is_dead = Arc::new(AtomicBool::new(false));
        let dead = Arc::clone(&is_dead);
        scene.fail_next_sync(move |call, disk| {
            // What this process has read stays in memory; what is behind it can be read.
            if call == 1 {
                disk.lose(&path, known);
            }
            if call == number {
                dead.store(true, Ordering::SeqCst);
                disk.die_at(1);
            }
        });
        let acted = answers.file(&scene.store).await;
        scene.disk.hook(|_| {});
        let next = match is_dead.load(Ordering::SeqCst) {
            true => &scene.other,
            false => &scene.store,
        };
        assert!(acted.is_ok() || is_dead.load(Ordering::SeqCst), "{number}: {acted:?}");
        answers.file(next).await.unwrap();
        answers.check(next, &answers.before(usize::MAX)).await.unwrap();
        let kept: Vec<_> =
            names(&scene.path).into_iter().filter(|name| name.contains(".suspect-")).collect();
        answers.cut_from(before).await.unwrap_or_else(|error| panic!("call {number}: {error}"));
        if !is_dead.load(Ordering::SeqCst) {
            assert_eq!(kept.len(), 1, "{kept:?}");
            break;
        }
        calls = number;
    }
    assert!((20..MAX_CALLS - 1).contains(&calls), "{calls}");
}

/// An `issues.json` that somebody else wrote, and that the disk fails to save: what it holds goes to another file,
/// at once or when the disk is mended.
#[tokio::test]
async fn an_edited_file_that_cannot_be_saved_is_not_synced_again_but_written_anew() {
    use std::os::unix::fs::MetadataExt;
    for lasts in [false, true] {
        let (directory, disk) = (directory_in_memory(), Disk::new(Neglect::Nothing));
        write_issues(directory.path(), &[issue_json(&id(1), "edited", "created")]);
        let inode = || std::fs::metadata(directory.path().join("issues.json")).unwrap().ino();
        let (before, store) = (inode(), open(directory.path(), &disk, false));
        let file = |n| store.apply(add(n, Classification::Bug), at(1));
        if lasts {
            disk.trouble.fail_calls(&["sync_data", "create_temp"]);
            file(2).await.unwrap_err();
            assert_eq!(inode(), before);
            disk.trouble.mend();
        } else {
            disk.trouble.fail_calls(&["sync_data"]);
            let trouble = Arc::downgrade(&disk);
            disk.hook(move |call| {
                if call == "create_temp" {
                    trouble.upgrade().unwrap().trouble.mend();
                }
            });
        }
        file(2).await.unwrap();
        assert_ne!(inode(), before, "{lasts}");
        assert_eq!(stored_issues(directory.path())[0]["title"], "edited");
        assert_eq!(stored_issues(directory.path()).len(), 2);
        // One that can be saved is left as it is.
        let (directory, disk) = (directory_in_memory(), Disk::new(Neglect::Nothing));
        write_issues(directory.path(), &[issue_json(&id(1), "edited", "created")]);
        let store = open(directory.path(), &disk, false);
        let bytes = || std::fs::read(directory.path().join("issues.json")).unwrap();
        let before = bytes();
        store.apply(add(2, Classification::Bug), at(1)).await.unwrap();
        assert_eq!(bytes(), before);
    }
}

/// The check of the check: the disk itself takes a sync that is tried again for nothing.
#[test]
fn what_was_dropped_is_not_saved_by_a_later_sync() {
    let disk = Disk::new(Neglect::Nothing);
    let directory = directory_in_memory();
    let store = open(directory.path(), &disk, false);
    let runtime = Runtime::new().unwrap();
    runtime.block_on(store.apply(add(1, Classification::Bug), at(1))).unwrap();
    let is_dropped = |step: &Step| matches!(step, Step::Dropped(_));
    assert!(!disk.steps().iter().any(is_dropped));
    disk.hook({
        let (disk, mut has_failed) = (Arc::downgrade(&disk), false);
        move |call| {
            if call == "sync_data" && !std::mem::replace(&mut has_failed, true) {
                disk.upgrade().unwrap().trouble.fail_call(1);
            }
        }
    });
    runtime.block_on(store.apply(add(2, Classification::Bug), at(2))).unwrap();
    let steps = disk.steps();
    let place = steps.iter().position(is_dropped).unwrap();
    let Step::Dropped(file) = steps[place] else { unreachable!() };
    let mut retried = steps[..=place].to_vec();
    retried.push(Step::Synced(file));
    let journal = |steps: &[Step]| files_after(steps, Fate::Kept)["issues.json.journal"].clone();
    assert_eq!(journal(&retried), journal(&steps[..=place]));
    assert!(journal(&steps).len() > journal(&retried).len());
}
