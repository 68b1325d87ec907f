//! Restores with a disk fault, a power cut or a crash at each call: the store holds the old or the restored state,
//! never a mixture, and the replaced state is kept.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use agent_issue_tracker::domain::{Classification, Issue};
use agent_issue_tracker::store::backup::{OverwritePolicy, RestoreResult};
use agent_issue_tracker::store::{Document, MemoryStore, Store, StoreError};

use crate::support::commands::{add, at, claim};
use crate::support::directory_in_memory;
use crate::support::disk::{Disk, FaultyDuty};
use crate::support::files::{kept, newest_segment};
use crate::support::power::{Fate, fates, files_after, write_files};
use crate::support::scene::Process;
use crate::support::stores::{all_issues, apply};
use crate::support::trouble::{EIO, Fault};

/// The state of the log before the restore.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Log {
    Sound,
    /// An event in the middle is damaged.
    BadEvent,
    /// The first line is damaged.
    BadHeader,
}

const LOGS: [Log; 3] = [Log::Sound, Log::BadEvent, Log::BadHeader];

struct Scene {
    directory: tempfile::TempDir,
    log: Log,
    /// The process that restores.
    process: Process,
    /// A process that read the store before the damage.
    other: Process,
    before: Vec<Issue>,
    backup: Document,
    wanted: Vec<Issue>,
}

async fn issues(store: &dyn Store) -> Result<Vec<Issue>, StoreError> {
    Ok(all_issues(store).await?.iter().map(|issue| Issue::clone(issue)).collect())
}

/// A backup with one issue that the store has, unchanged, and one that it lacks.
async fn backup() -> Document {
    let store = MemoryStore::default();
    apply(&store, add(9, Classification::Feature), at(9)).await.unwrap();
    apply(&store, add(1, Classification::Bug), at(1)).await.unwrap();
    store.state().await.unwrap().document()
}

impl Scene {
    async fn new(log: Log) -> Self {
        let directory = directory_in_memory();
        let path = directory.path();
        let disk = Disk::new(path, FaultyDuty::Nothing);
        let other = Process::start(path, Arc::clone(&disk));
        for n in 1..=3 {
            apply(&*other.store, add(n, Classification::Bug), at(n.into())).await.unwrap();
        }
        other.publish().await.unwrap();
        apply(&*other.store, claim(None), at(4)).await.unwrap();
        let before = issues(&*other.store).await.unwrap();
        damage(path, log);
        // All current files of the disk count as durable.
        let disk = Disk::new(path, FaultyDuty::Nothing);
        let process = Process::start(path, disk);
        let backup = backup().await;
        let wanted = backup.issues.issues().map(|issue| Issue::clone(&issue)).collect();
        Self { directory, log, process, other, before, backup, wanted }
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    async fn restore(&self, process: &Process) -> Result<(), StoreError> {
        let maintenance = process.store.maintenance();
        let result =
            maintenance.restore(self.backup.clone(), OverwritePolicy::Everything).await?.result;
        assert!(matches!(result, RestoreResult::Done | RestoreResult::Unneeded), "{result:?}");
        Ok(())
    }

    /// Opens the store in `directory`. Returns whether it is restored, `None` if it is damaged as before, or an error
    /// if it has any other state.
    async fn found(&self, directory: &Path) -> Result<Option<bool>, String> {
        let process = Process::start(directory, Disk::new(directory, FaultyDuty::Nothing));
        let found = issues(&*process.store).await;
        let works = apply(&*process.store, add(50, Classification::Bug), at(50)).await;
        let is_restored = match found {
            Ok(found) if found == self.wanted => true,
            Ok(found) if found == self.before && self.log == Log::Sound => false,
            _ if self.log != Log::Sound && works.is_err() => return Ok(None),
            found => return Err(format!("neither state: {found:?}")),
        };
        works.map_err(|error| format!("no change is possible: {error}"))?;
        Ok(Some(is_restored))
    }

    /// Checks the store after a restore that returned `result`. If the restore did not take effect, a second one must.
    async fn check(&self, result: &Result<(), StoreError>) -> Result<(), String> {
        let copy = directory_in_memory();
        crate::support::files::copy_directory(self.path(), copy.path());
        let found = self.found(copy.path()).await?;
        match (result, found) {
            (Ok(()), Some(true)) | (Err(_), None | Some(false)) => {}
            (Err(StoreError::Uncertain(_)), Some(true)) => {}
            (result, found) => {
                return Err(format!(
                    "the restore returned {result:?}, but the store has {found:?}"
                ));
            }
        }
        if found != Some(true) {
            // A second restore succeeds, even with files that the first one left.
            let later = Process::start(self.path(), self.process.disk.beside());
            self.restore(&later)
                .await
                .map_err(|error| format!("the second restore failed: {error}"))?;
        }
        // A process that read the old state continues with the restored state.
        let known = issues(&*self.other.store).await.map_err(|error| error.to_string())?;
        if known != self.wanted {
            return Err(format!("another process continues with {known:?}"));
        }
        let more = apply(&*self.other.store, add(60, Classification::Bug), at(60)).await;
        more.map_err(|error| format!("another process cannot continue: {error}"))?;
        let later = Process::start(self.path(), self.process.disk.beside());
        let found = issues(&*later.store).await.map_err(|error| error.to_string())?;
        if found.len() != self.wanted.len() + 1 || found[..2] != self.wanted[..] {
            return Err(format!("mixed states: {found:?}"));
        }
        if self.log != Log::Sound && kept(self.path()).is_empty() {
            return Err("the damaged log is not kept".to_owned());
        }
        Ok(())
    }
}

fn damage(directory: &Path, log: Log) {
    let segment = newest_segment(directory);
    let mut bytes = fs::read(&segment).unwrap();
    let header = bytes.iter().position(|byte| *byte == b'\n').unwrap();
    match log {
        Log::Sound => return,
        Log::BadEvent => bytes[header + 40] ^= 1,
        Log::BadHeader => bytes[30] ^= 1,
    }
    fs::write(segment, bytes).unwrap();
}

#[tokio::test]
async fn fault_or_crash_at_any_restore_call_mixes_no_states() {
    for log in LOGS {
        for fault in [Fault::Once, Fault::From, Fault::Death] {
            for number in 1.. {
                let scene = Scene::new(log).await;
                scene.process.disk.trouble.with(EIO);
                scene.process.disk.trouble.begin(fault(number));
                let mut result = scene.restore(&scene.process).await;
                let call = scene.process.disk.trouble.failed();
                if scene.process.disk.trouble.is_dead() && result.is_err() {
                    // The dead process returned no result.
                    result = Err(StoreError::Uncertain("dead".to_owned()));
                    scene.process.kill().await;
                } else {
                    scene.process.disk.trouble.end();
                }
                let at = |wrong| format!("{log:?}, call {number}, {call:?}: {wrong}");
                scene.check(&result).await.map_err(at).unwrap();
                scene.other.kill().await;
                if call.is_none() {
                    assert!(number > 10);
                    break;
                }
            }
        }
    }
}

#[tokio::test]
async fn power_cut_during_restore_leaves_the_old_or_the_new_state() {
    for log in LOGS {
        let scene = Scene::new(log).await;
        let before = scene.process.disk.moment();
        scene.restore(&scene.process).await.unwrap();
        let steps = scene.process.disk.steps();
        let mut states = [0; 3];
        for moment in before..=steps.len() {
            for fate in fates(moment as u64, 3) {
                let directory = directory_in_memory();
                write_files(directory.path(), &files_after(&steps[..moment], fate));
                let at = |wrong| format!("{log:?}, {fate:?} behind step {moment}: {wrong}");
                let found = scene.found(directory.path()).await.map_err(at).unwrap();
                states[found.map_or(2, usize::from)] += 1;
                if moment == steps.len() {
                    assert_eq!(found, Some(true), "{log:?}, {fate:?}: confirmed and lost");
                }
            }
        }
        let first = &states[if log == Log::Sound { 0 } else { 2 }];
        assert!(*first > 0 && states[1] > 0, "{states:?}");
    }
}

/// Negative control: a restore that skips its final sync.
#[tokio::test]
async fn checker_detects_a_restore_acknowledged_before_its_sync() {
    let scene = Scene::new(Log::Sound).await;
    let disk = scene.process.disk.with_faulty_duty(FaultyDuty::SyncSegment);
    let hasty = Process::start(scene.path(), disk);
    scene.restore(&hasty).await.unwrap();
    let directory = directory_in_memory();
    write_files(directory.path(), &files_after(&hasty.disk.steps(), Fate::Lost));
    assert_eq!(scene.found(directory.path()).await, Ok(Some(false)));
}
