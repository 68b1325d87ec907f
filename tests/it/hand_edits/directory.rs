//! What people, and `git clean`, do to the directory beside `issues.json` while processes run: whatever becomes of
//! it, nothing is lost that a process which goes on was answered.

use std::fs;
use std::path::Path;

use agent_issue_tracker::store::Store;

use crate::faults::{Act, Scene};
use crate::support::directory_in_memory;
use crate::support::disk::{Disk, FaultyDuty};
use crate::support::files::copy_directory;
use crate::support::scene::Process;

/// What becomes of the directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    /// It is removed, as by `git clean -fdx`.
    Removed,
    /// The file too.
    BothRemoved,
    /// Both, and the file is checked out as it was once.
    RemovedAndCheckedOut,
    /// An old copy takes its place.
    Older,
    /// It is another store's.
    Anothers,
    /// The segments alone are gone.
    NoLog,
    /// It is renamed, and comes back.
    Away,
}

const FATES: [Fate; 7] = [
    Fate::Removed,
    Fate::BothRemoved,
    Fate::RemovedAndCheckedOut,
    Fate::Older,
    Fate::Anothers,
    Fate::NoLog,
    Fate::Away,
];

/// Copies that were made before.
struct Copies {
    older: tempfile::TempDir,
    anothers: tempfile::TempDir,
    file: Vec<u8>,
}

fn befall(directory: &Path, fate: Fate, copies: &Copies) {
    let (ait, file) = (directory.join(".ait"), directory.join("issues.json"));
    match fate {
        Fate::Removed => fs::remove_dir_all(ait).unwrap(),
        Fate::BothRemoved => {
            fs::remove_dir_all(ait).unwrap();
            fs::remove_file(file).unwrap();
        }
        Fate::RemovedAndCheckedOut => {
            fs::remove_dir_all(ait).unwrap();
            fs::remove_file(&file).unwrap();
            fs::write(file, &copies.file).unwrap();
        }
        Fate::Older | Fate::Anothers => {
            let copy = if fate == Fate::Older { &copies.older } else { &copies.anothers };
            fs::remove_dir_all(&ait).unwrap();
            copy_directory(copy.path(), &ait);
        }
        Fate::NoLog => fs::remove_dir_all(ait.join("issues.json/log")).unwrap(),
        Fate::Away => {
            let away = directory.join("away");
            fs::rename(&ait, &away).unwrap();
            fs::rename(away, ait).unwrap();
        }
    }
}

/// A store with two processes that work, and copies of what it was earlier.
async fn scene() -> (Scene, Copies) {
    let scene = Scene::new(Act::Change, FaultyDuty::Nothing).await;
    let path = scene.path();
    let (older, anothers) = (directory_in_memory(), directory_in_memory());
    copy_directory(&path.join(".ait"), older.path());
    let file = fs::read(path.join("issues.json")).unwrap();
    let other = Scene::new(Act::Claim, FaultyDuty::Nothing).await;
    copy_directory(&other.path().join(".ait"), anothers.path());
    other.end().await;
    for process in [&scene.process, &scene.other] {
        scene.answers.file(process).await.unwrap();
        scene.answers.claim(process).await.unwrap();
    }
    (scene, Copies { older, anothers, file })
}

/// Everybody goes on, and what everybody was answered is there for everybody.
async fn check(scene: &Scene, order: usize) -> Result<(), String> {
    let Scene { answers, process, other, .. } = scene;
    let mut processes = vec![process.clone(), other.clone()];
    processes.rotate_left(order % 2);
    // One that knew nothing may come before them.
    if order >= 2 {
        let new = Process::start(scene.path(), other.disk.beside());
        drop(answers.file(&new).await);
        processes.insert(0, new);
    }
    for round in 0..2 {
        for process in &processes {
            let filed = answers.file(process).await;
            if round == 1 {
                filed.map_err(|error| format!("nothing follows: {error}"))?;
                answers
                    .claim(process)
                    .await
                    .map_err(|error| format!("no claim follows: {error}"))?;
            }
        }
    }
    for process in &processes {
        process.store.counts().await.map_err(|error| error.to_string())?;
        answers.check(&*process.store).await?;
    }
    let later = Process::start(scene.path(), Disk::new(scene.path(), FaultyDuty::Nothing));
    answers.check(&*later.store).await.map_err(|wrong| format!("for a new process: {wrong}"))?;
    later.publish().await.map_err(|error| error.to_string())?;
    answers.check(&*later.store).await
}

#[tokio::test]
async fn directory_replacement_between_changes_loses_nothing() {
    for fate in FATES {
        for order in 0..4 {
            let (scene, copies) = scene().await;
            befall(scene.path(), fate, &copies);
            let checked = check(&scene, order).await;
            checked.unwrap_or_else(|wrong| panic!("{fate:?}, order {order}: {wrong}"));
            scene.end().await;
        }
    }
}

#[tokio::test]
async fn directory_replacement_at_any_call_loses_nothing() {
    for fate in FATES {
        for act in [Act::Change, Act::Publish] {
            for number in 1.. {
                let (scene, copies) = scene().await;
                let path = scene.path().to_owned();
                let before = scene.process.disk.calls().len();
                scene.process.disk.at_call(number, move || befall(&path, fate, &copies));
                // Its answer tells whether it is kept.
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
