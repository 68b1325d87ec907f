//! People and `git clean` change the directory beside `issues.json` while processes run. The processes lose no
//! acknowledged change, whatever happens to the directory.

use std::fs;
use std::path::Path;

use agent_issue_tracker::store::Store;

use crate::faults::{Act, Scene};
use crate::support::disk::{Disk, FaultyDuty};
use crate::support::files::{copy_directory, id, issue_json, settle, write_issues};
use crate::support::scene::Process;
use crate::support::stores::WholeState;
use crate::support::{directory_in_memory, factor, until};

/// What happens to the directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    /// It is removed, as by `git clean -fdx`.
    Removed,
    /// The directory and the file are removed.
    BothRemoved,
    /// Both are removed, and an old version of the file is checked out.
    RemovedAndCheckedOut,
    /// An old copy replaces it.
    Older,
    /// The directory of another store replaces it.
    Foreign,
    /// Only the database is removed.
    NoDatabase,
    /// It is renamed, and renamed back.
    Away,
}

const FATES: [Fate; 7] = [
    Fate::Removed,
    Fate::BothRemoved,
    Fate::RemovedAndCheckedOut,
    Fate::Older,
    Fate::Foreign,
    Fate::NoDatabase,
    Fate::Away,
];

/// Older copies of the directory and the file, and a copy of the directory of another store.
struct Copies {
    older: tempfile::TempDir,
    foreign: tempfile::TempDir,
    file: Vec<u8>,
}

fn apply_fate(directory: &Path, fate: Fate, copies: &Copies) {
    let (ait, file) = (directory.join(".ait"), directory.join("issues.json"));
    // A thread of a process may be making a file in it.
    let remove = || until("the directory is removed", || fs::remove_dir_all(&ait).is_ok());
    // A process that sees half a copy would damage the rest, so the copy appears at once.
    let put = |from: &Path| {
        until("the directory is replaced", || {
            drop(fs::remove_dir_all(&ait));
            fs::rename(from, &ait).is_ok()
        });
    };
    match fate {
        Fate::Removed => remove(),
        Fate::BothRemoved => {
            remove();
            fs::remove_file(file).unwrap();
        }
        Fate::RemovedAndCheckedOut => {
            remove();
            fs::remove_file(&file).unwrap();
            fs::write(file, &copies.file).unwrap();
        }
        Fate::Older | Fate::Foreign => {
            let copy = if fate == Fate::Older { &copies.older } else { &copies.foreign };
            let beside = directory.join("copy");
            copy_directory(copy.path(), &beside);
            put(&beside);
        }
        Fate::NoDatabase => {
            for name in ["queue.db", "queue.db-wal", "queue.db-shm"] {
                fs::remove_file(ait.join("issues.json").join(name)).unwrap();
            }
        }
        Fate::Away => {
            let away = directory.join("away");
            fs::rename(&ait, &away).unwrap();
            put(&away);
        }
    }
}

/// Returns a copy of the directory of a store that may be in use. All of it is in one file, because several are not
/// copied at one moment.
fn copy_store(directory: &Path) -> tempfile::TempDir {
    let copy = directory_in_memory();
    settle(directory);
    copy_directory(&directory.join(".ait"), copy.path());
    for name in ["queue.db-wal", "queue.db-shm"] {
        drop(fs::remove_file(copy.path().join("issues.json").join(name)));
    }
    copy
}

/// Returns a store with two processes that work, and the copies.
async fn scene() -> (Scene, Copies) {
    let scene = Scene::new(Act::Change, FaultyDuty::Nothing).await;
    let path = scene.path();
    let older = copy_store(path);
    let file = fs::read(path.join("issues.json")).unwrap();
    let other = Scene::new(Act::Claim, FaultyDuty::Nothing).await;
    let foreign = copy_store(other.path());
    other.end().await;
    for process in [&scene.process, &scene.other] {
        scene.answers.file(process).await.unwrap();
        scene.answers.claim(process).await.unwrap();
    }
    (scene, Copies { older, foreign, file })
}

/// Checks that every process can continue and sees every acknowledged change.
async fn check(scene: &Scene, order: usize) -> Result<(), String> {
    let Scene { answers, process, other, .. } = scene;
    let mut processes = vec![process.clone(), other.clone()];
    processes.rotate_left(order % 2);
    // A new process may act before them.
    if order >= 2 {
        let new = Process::start(scene.path(), other.disk.beside());
        drop(answers.file(&new).await);
        processes.insert(0, new);
    }
    for round in 0..2 {
        for process in &processes {
            let filed = answers.file(process).await;
            if round == 1 {
                filed.map_err(|error| format!("no change is possible: {error}"))?;
                answers
                    .claim(process)
                    .await
                    .map_err(|error| format!("no claim is possible: {error}"))?;
            }
        }
    }
    for process in &processes {
        process.store.counts().await.map_err(|error| error.to_string())?;
        answers.check(&*process.store).await?;
    }
    let later = Process::start(scene.path(), Disk::new(FaultyDuty::Nothing));
    answers.check(&*later.store).await.map_err(|wrong| format!("for a new process: {wrong}"))?;
    later.publish().await.map_err(|error| error.to_string())?;
    answers.check(&*later.store).await
}

#[tokio::test]
async fn directory_replacement_between_changes_loses_nothing() {
    for fate in FATES {
        for order in 0..4 {
            let (scene, copies) = scene().await;
            apply_fate(scene.path(), fate, &copies);
            let checked = check(&scene, order).await;
            checked.unwrap_or_else(|wrong| panic!("{fate:?}, order {order}: {wrong}"));
            scene.end().await;
        }
    }
}

#[tokio::test]
async fn directory_replacement_at_any_call_loses_nothing() {
    for (place, fate) in FATES.into_iter().enumerate() {
        for act in [Act::Change, Act::Publish] {
            // Each call takes a store of its own, so that only the long tests try every fate at every call.
            let (first, step) = if factor() == 1 { (1 + place % 2, 2) } else { (1, 1) };
            for number in (first..).step_by(step) {
                let (scene, copies) = scene().await;
                let path = scene.path().to_owned();
                let before = scene.process.disk.calls().len();
                scene.process.disk.at_call(number, move || apply_fate(&path, fate, &copies));
                // The answer decides whether the change must be kept.
                let acted = if act == Act::Publish {
                    scene.process.publish().await
                } else {
                    scene.answers.file(&scene.process).await.map(drop)
                };
                scene.process.disk.unhook();
                if scene.process.disk.calls().len() - before < number {
                    acted.unwrap();
                    scene.end().await;
                    break;
                }
                let checked = check(&scene, number).await;
                checked.unwrap_or_else(|wrong| {
                    panic!("{fate:?} at call {number} of {act:?} ({acted:?}): {wrong}")
                });
                scene.end().await;
            }
        }
    }
}

/// A file that was edited while there is no database is another state with the same number of changes.
#[tokio::test]
async fn edit_of_a_file_without_a_database_is_in_the_whole_state() {
    let directory = directory_in_memory();
    let path = directory.path();
    write_issues(path, &[issue_json(&id(1), "one", "created")]);
    let process = Process::start(path, Disk::new(FaultyDuty::Nothing));
    assert_eq!(process.store.state().await.unwrap().issues.len(), 1);
    write_issues(
        path,
        &[issue_json(&id(1), "one", "created"), issue_json(&id(2), "two", "created")],
    );
    assert_eq!(process.store.state().await.unwrap().issues.len(), 2);
    process.kill().await;
}

/// A read that follows the removal shows what was answered before.
#[tokio::test]
async fn reads_after_a_removal_show_every_change() {
    for fate in [Fate::Removed, Fate::BothRemoved, Fate::NoDatabase] {
        let (scene, copies) = scene().await;
        apply_fate(scene.path(), fate, &copies);
        for process in [&scene.process, &scene.other] {
            let checked = scene.answers.check(&*process.store).await;
            checked.unwrap_or_else(|wrong| panic!("{fate:?}: {wrong}"));
        }
        scene.end().await;
    }
}
