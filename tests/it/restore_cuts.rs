//! A restore on a disk that fails at each call, and on one whose power is cut at each step: the store
//! holds what it held or what the backup holds, never a mixture, and what was replaced is kept first.
//!
//! Duties towards the disk are neglected once each, which must be noticed: all but that of the intent,
//! since a journal without changes cannot change what was restored, even when that is taken for an edit.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agent_issue_tracker::domain::{Classification, Issue};
use agent_issue_tracker::store::backup::{Consent, Replacement, Verdict, file};
use agent_issue_tracker::store::json::JsonStoreOptions;
use agent_issue_tracker::store::json::fs::FileSystem;
use agent_issue_tracker::store::{Document, JsonStore, MemoryStore, Store, StoreError};

use crate::support::commands::{add, all, at, claim, number};
use crate::support::directory_in_memory;
use crate::support::disk::{Disk, Neglect};
use crate::support::files::names;
use crate::support::power::{Fate, files_after, write_files};

const NEVER: Duration = Duration::from_secs(3600);

/// What the files are before the restore.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Files {
    /// In order, with changes in the journal that `issues.json` lacks.
    Sound,
    /// A change in the journal is damaged.
    BadJournal,
    /// The journal is damaged from its first byte on.
    NoJournal,
    /// `issues.json` is damaged.
    BadSnapshot,
}

pub fn open(directory: &Path, disk: &Arc<Disk>) -> JsonStore {
    let options = JsonStoreOptions {
        checkpoint_after: NEVER,
        second_look_after: Duration::ZERO,
        ..Default::default()
    };
    JsonStore::with(directory.join("issues.json"), Arc::clone(disk) as _, options)
}

pub async fn issues(store: &dyn Store) -> Result<Vec<Issue>, StoreError> {
    let page = store.list(all()).await?;
    Ok(page.issues.iter().map(|issue| Issue::clone(issue)).collect())
}

/// The backup: an issue that the store has, as it was, and one that it lacks.
pub async fn backup() -> Document {
    let store = MemoryStore::default();
    store.apply(add(1, Classification::Bug), at(1)).await.unwrap();
    store.apply(add(9, Classification::Feature), at(9)).await.unwrap();
    store.holdings().await.unwrap().document
}

/// Fills a store through a disk; gives a process that has it open, with all that it holds.
pub async fn filled(directory: &Path, disk: &Arc<Disk>, files: Files) -> (JsonStore, Vec<Issue>) {
    let first = open(directory, disk);
    first.apply(add(1, Classification::Bug), at(1)).await.unwrap();
    first.apply(add(2, Classification::Bug), at(2)).await.unwrap();
    first.close().await;
    let store = open(directory, disk);
    store.apply(add(3, Classification::Bug), at(3)).await.unwrap();
    store.apply(claim(None), at(4)).await.unwrap();
    store.apply(add(4, Classification::Bug), at(5)).await.unwrap();
    let all = issues(&store).await.unwrap();
    let (name, place) = match files {
        Files::Sound => return (store, all),
        Files::BadJournal => ("issues.json.journal", second_change(directory)),
        Files::NoJournal => ("issues.json.journal", 3),
        Files::BadSnapshot => ("issues.json", 3),
    };
    // Through the disk, which would not know of it otherwise.
    let open = disk.open(&directory.join(name)).unwrap().unwrap();
    disk.write_at(&open.file, place, b"\0").unwrap();
    disk.sync_data(&open.file).unwrap();
    (store, all)
}

/// A byte within the second change of the journal.
fn second_change(directory: &Path) -> u64 {
    let bytes = fs::read(directory.join("issues.json.journal")).unwrap();
    let lines: Vec<_> = (0..bytes.len()).filter(|&at| bytes[at] == b'\n').collect();
    lines[1] as u64 + 30
}

async fn restore(store: &JsonStore) -> Result<Replacement, StoreError> {
    store.replace(backup().await, Consent::Everything).await
}

/// Looks at what is left: `old`, or the backup with what was replaced kept beside it; then goes on.
async fn check(
    directory: &Path,
    files: Files,
    old: &[Issue],
    must_be_new: bool,
) -> Result<bool, String> {
    let new: Vec<_> = backup().await.issues.issues().map(Arc::unwrap_or_clone).collect();
    let disk = Disk::new(Neglect::Nothing);
    let mut store = open(directory, &disk);
    let holdings = store.holdings().await;
    let refuses = holdings.as_ref().map_or(true, |it| it.damage.is_some());
    let found = issues(&store).await.unwrap_or_default();
    let is_new = !refuses && found == new;
    if must_be_new && !is_new {
        return Err(format!("the restore was answered, and {holdings:?} is there"));
    }
    if is_new {
        kept(directory, files, old)?;
    } else if refuses && files != Files::Sound {
        // What can be read is a part of the old state, and it is not written to.
        if !found.iter().all(|issue| old.iter().any(|it| it.id == issue.id)) {
            return Err(format!("a mixture: {found:?}"));
        }
        if let Ok(written) = store.apply(add(5, Classification::Bug), at(6)).await {
            return Err(format!("damaged, and {written:?} was written"));
        }
        restore(&store).await.map_err(|error| format!("not again: {error}"))?;
        store = open(directory, &disk);
        if issues(&store).await.ok() != Some(new) {
            return Err("restoring again did not help".to_owned());
        }
    } else if files != Files::Sound || found != old {
        return Err(format!("neither the one nor the other: {holdings:?}"));
    }
    let before = issues(&store).await.map_err(|error| error.to_string())?;
    let more = store.apply(add(6, Classification::Bug), at(7)).await;
    let more = more.map_err(|error| error.to_string())?;
    let after = issues(&open(directory, &disk)).await.map_err(|error| error.to_string())?;
    let expected: Vec<_> = before.into_iter().chain(more.map(|it| Issue::clone(&it))).collect();
    if after != expected { Err("the next change did not follow".to_owned()) } else { Ok(is_new) }
}

/// Makes sure that what was replaced is there.
fn kept(directory: &Path, files: Files, old: &[Issue]) -> Result<(), String> {
    let names = names(directory);
    let path = |word: &str| names.iter().find(|name| name.contains(word));
    if files == Files::Sound {
        let kept = path(".before-restore-").ok_or("nothing was kept")?;
        let backup = file::load(&directory.join(kept)).map_err(|error| error.to_string())?;
        let issues = backup.document.issues.issues().map(Arc::unwrap_or_clone);
        return if issues.eq(old.iter().cloned()) {
            Ok(())
        } else {
            Err("another was kept".into())
        };
    }
    for word in ["issues.json.damaged-", "issues.json.journal.damaged-"] {
        let kept = path(word).ok_or_else(|| format!("no {word} in {names:?}"))?;
        let length = fs::metadata(directory.join(kept)).map_err(|error| error.to_string())?.len();
        if length < 100 {
            return Err(format!("{kept} has {length} bytes"));
        }
    }
    Ok(())
}

/// Cuts the power behind every step of a restore; gives how often the old and the new state was left.
async fn cut_everywhere(files: Files, neglect: Neglect) -> Result<BTreeMap<bool, usize>, String> {
    let (directory, disk) = (directory_in_memory(), Disk::new(neglect));
    let (_running, old) = filled(directory.path(), &disk, files).await;
    let begin = disk.steps().len();
    let restoring = open(directory.path(), &Disk::beside(&disk));
    let done = restore(&restoring).await.map_err(|error| error.to_string())?;
    assert_eq!(done.verdict, Verdict::Done);
    let (steps, mut left) = (disk.steps(), BTreeMap::new());
    for place in begin..=steps.len() {
        let mixed = (0..8).map(|seed| Fate::Mixed { seed: seed + place as u64 * 1000 });
        for fate in [Fate::Lost, Fate::Kept].into_iter().chain(mixed) {
            let directory = directory_in_memory();
            write_files(directory.path(), &files_after(&steps[..place], fate));
            let is_end = place == steps.len();
            let checked = check(directory.path(), files, &old, is_end).await;
            let is_new =
                checked.map_err(|error| format!("{fate:?} behind step {place}: {error}"))?;
            *left.entry(is_new).or_insert(0) += 1;
        }
    }
    Ok(left)
}

const ALL: [Files; 4] = [Files::Sound, Files::BadJournal, Files::NoJournal, Files::BadSnapshot];

#[tokio::test]
async fn a_power_cut_at_any_step_of_a_restore_leaves_the_one_state_or_the_other() {
    for files in ALL {
        let left = cut_everywhere(files, Neglect::Nothing).await;
        let left = left.unwrap_or_else(|error| panic!("{files:?}: {error}"));
        eprintln!("{files:?}: {left:?}");
        assert!(left[&false] > 10 && left[&true] > 10, "{files:?}: {left:?}");
    }
}

#[tokio::test]
async fn whichever_duty_of_a_restore_is_neglected_is_noticed() {
    for (files, neglect) in [
        (Files::Sound, Neglect::SyncTemp),
        (Files::Sound, Neglect::SyncDirectory),
        (Files::BadJournal, Neglect::SyncTemp),
        (Files::BadJournal, Neglect::SyncDirectory),
        (Files::BadSnapshot, Neglect::SyncTemp),
    ] {
        let noticed = cut_everywhere(files, neglect).await;
        let noticed = noticed.expect_err(&format!("{files:?}, {neglect:?} was not noticed"));
        eprintln!("{files:?}, {neglect:?}: {noticed}");
    }
}

/// What is done to a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Trouble {
    Fails,
    /// The process dies at it.
    Dies,
}

/// One call of a restore fails, or the process dies at it, beside a process that has the store open.
/// Gives the name of the call; `None` when there was none.
async fn trouble_at(
    call: usize,
    files: Files,
    trouble: Trouble,
) -> Result<Option<&'static str>, String> {
    let (directory, disk) = (directory_in_memory(), Disk::new(Neglect::Nothing));
    let (running, old) = filled(directory.path(), &disk, files).await;
    let mortal = Disk::beside(&disk);
    let restoring = open(directory.path(), &mortal);
    match trouble {
        Trouble::Fails => mortal.trouble.fail_call(call),
        Trouble::Dies => mortal.die_at(call),
    }
    let outcome = restore(&restoring).await;
    let name = mortal.failed();
    if trouble == Trouble::Dies {
        std::mem::forget(restoring);
    }
    let case = |error: String| format!("{name:?}, {outcome:?}: {error}");
    // The process that was there follows, or refuses; what it writes stands in the state that it shows.
    let shown = issues(&running).await;
    let written = running.apply(add(7, Classification::Bug), at(8)).await;
    if let (Ok(shown), Ok(Some(_))) = (&shown, &written) {
        let now = issues(&running).await.map_err(|error| case(error.to_string()))?;
        if now.len() != shown.len() + 1 || now[..shown.len()] != shown[..] {
            return Err(case(format!("{} became {}", shown.len(), now.len())));
        }
        // For the check of the rest, which knows nothing of it.
        if files == Files::Sound {
            let again = issues(&open(directory.path(), &Disk::new(Neglect::Nothing))).await;
            if again.ok() != Some(now) {
                return Err(case("others see something else".to_owned()));
            }
        }
        let is_new = shown.iter().any(|issue| issue.id == number(9));
        let is_true = match &outcome {
            Ok(_) => is_new,
            Err(StoreError::Uncertain(_)) => true,
            Err(_) => !is_new,
        };
        let is_dead = trouble == Trouble::Dies;
        return if is_true || is_dead { Ok(name) } else { Err(case(format!("is new: {is_new}"))) };
    }
    if outcome.is_ok() {
        return Err(case(format!("{shown:?}, {written:?}")));
    }
    check(directory.path(), files, &old, false).await.map_err(case)?;
    Ok(name)
}

#[tokio::test]
async fn whichever_call_of_a_restore_fails_or_is_the_last_the_answer_is_true_and_no_states_mix() {
    for trouble in [Trouble::Fails, Trouble::Dies] {
        for files in ALL {
            let mut names = Vec::new();
            for call in 1.. {
                let name = trouble_at(call, files, trouble).await;
                match name.unwrap_or_else(|error| panic!("{trouble:?}, {files:?}: {error}")) {
                    Some(name) => names.push(name),
                    None => break,
                }
            }
            for call in
                ["lock", "create_temp", "write", "sync", "place", "replace", "sync_directory"]
            {
                assert!(names.contains(&call), "{files:?}: {call} is not among {names:?}");
            }
        }
    }
}
