//! A store on which a sync of the journal is about to fail, and what whoever uses it was answered.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_issue_tracker::domain::{Classification, IssueId};
use agent_issue_tracker::store::json::JsonStoreOptions;
use agent_issue_tracker::store::{JsonStore, Store, StoreError};

use super::commands::{add, all, at, ids, number};
use super::directory_in_memory;
use super::disk::{Disk, Neglect};
use super::power::{Fate, files_after, write_files};

const NEVER: Duration = Duration::from_secs(3600);

/// What the sync is for that fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum For {
    /// A change, by a process that has changed something before.
    Change,
    /// What others have left in the journal, before the first change of a process.
    Adoption,
    /// The end of a journal that a dead process did not write whole, when it is cut.
    Cut,
    /// The intent of a checkpoint under the lock.
    Intent,
    /// That of one beside commits.
    IntentAside,
}
pub use For::{Adoption, Change, Cut, Intent, IntentAside};

pub const ALL: [For; 5] = [Change, Adoption, Cut, Intent, IntentAside];

pub fn open(directory: &Path, disk: &Arc<Disk>, is_aside: bool) -> JsonStore {
    let options = JsonStoreOptions {
        checkpoint_after: NEVER,
        second_look_after: Duration::ZERO,
        aside_from_bytes: if is_aside { 0 } else { u64::MAX },
        ..Default::default()
    };
    JsonStore::with(directory.join("issues.json"), Arc::clone(disk) as _, options)
}

/// Who filed what, and behind which step of the disk that was answered.
pub struct Answers {
    pub disk: Arc<Disk>,
    asked: Mutex<Vec<IssueId>>,
    answered: Mutex<Vec<(IssueId, usize)>>,
}

impl Answers {
    pub async fn file(&self, store: &JsonStore) -> Result<(), StoreError> {
        let n = {
            let mut asked = self.asked.lock().unwrap();
            let n = asked.len() as u32;
            asked.push(number(n));
            n
        };
        let filed = store.apply(add(n, Classification::Bug), at(i64::from(n))).await?;
        let filed = filed.expect("a new issue").id;
        self.answered.lock().unwrap().push((filed, self.disk.steps().len()));
        Ok(())
    }

    /// What was answered before a step.
    pub fn before(&self, step: usize) -> Vec<IssueId> {
        let answered = self.answered.lock().unwrap();
        answered.iter().filter(|(_, answered)| *answered <= step).map(|(id, _)| *id).collect()
    }

    /// Tells what is wrong with what somebody finds: each issue that was answered is there, and none twice.
    pub async fn check(&self, store: &JsonStore, answered: &[IssueId]) -> Result<(), String> {
        let page = store.list(all()).await.map_err(|error| error.to_string())?;
        let (found, asked) = (ids(&page.issues), self.asked.lock().unwrap().clone());
        let is_known = found.iter().all(|id| asked.contains(id));
        let lost: Vec<_> = answered.iter().filter(|id| !found.contains(id)).collect();
        let mut once = found.clone();
        once.sort_unstable_by_key(ToString::to_string);
        once.dedup();
        if !lost.is_empty() || !is_known || once.len() != found.len() {
            return Err(format!("{lost:?} were answered, and {found:?} are there"));
        }
        Ok(())
    }

    /// Cuts the power behind each step from one on; gives the number of cuts.
    pub async fn cut_from(&self, first: usize) -> Result<usize, String> {
        let (steps, mut cuts) = (self.disk.steps(), 0);
        for place in first..=steps.len() {
            let mixed = (0..3).map(|seed| Fate::Mixed { seed: seed + place as u64 * 1000 });
            for fate in [Fate::Lost, Fate::Kept].into_iter().chain(mixed) {
                let directory = directory_in_memory();
                write_files(directory.path(), &files_after(&steps[..place], fate));
                let store = open(directory.path(), &Disk::new(Neglect::Nothing), false);
                let checked = self.check(&store, &self.before(place)).await;
                checked.map_err(|error| format!("{fate:?} behind step {place}: {error}"))?;
                let more = store.apply(add(900, Classification::Bug), at(900)).await;
                more.map_err(|error| {
                    format!("nothing follows {fate:?} behind step {place}: {error}")
                })?;
                cuts += 1;
            }
        }
        Ok(cuts)
    }
}

/// A store on which one process is about to have a sync that fails.
pub struct Scene {
    _directory: tempfile::TempDir,
    pub path: PathBuf,
    pub purpose: For,
    pub answers: Arc<Answers>,
    /// The disk of the process, and its store.
    pub disk: Arc<Disk>,
    pub store: Arc<JsonStore>,
    /// Another process that was there before.
    pub other: Arc<JsonStore>,
}

impl Scene {
    pub async fn new(purpose: For, neglect: Neglect) -> Self {
        let (directory, others) = (directory_in_memory(), Disk::new(neglect));
        let path = directory.path().to_owned();
        let (asked, answered) = (Mutex::default(), Mutex::default());
        let answers = Arc::new(Answers { disk: Arc::clone(&others), asked, answered });
        let other = Arc::new(open(&path, &others, purpose == IntentAside));
        answers.file(&other).await.unwrap();
        other.save().await.unwrap();
        answers.file(&other).await.unwrap();
        let disk = Disk::beside(&others);
        let store = Arc::new(open(&path, &disk, purpose == IntentAside));
        if purpose != Adoption {
            answers.file(&store).await.unwrap();
        }
        answers.file(&other).await.unwrap();
        // What a dead process left: a part of a batch, or a whole one that it did not sync.
        if let Some(last) = match purpose {
            Cut => Some("write_at"),
            Adoption => Some("sync_data"),
            Change | Intent | IntentAside => None,
        } {
            let mortal = Disk::beside(&others);
            let dying = open(&path, &mortal, false);
            answers.file(&dying).await.unwrap();
            let dies = Arc::downgrade(&mortal);
            mortal.hook(move |call| {
                if call == last {
                    dies.upgrade().unwrap().die_at(1);
                }
            });
            answers.file(&dying).await.unwrap_err();
            std::mem::forget(dying);
        }
        Self { _directory: directory, path, purpose, answers, disk, store, other }
    }

    /// Lets the next sync of a journal fail, and hands the number of each call behind it to `behind`.
    pub fn fail_next_sync(&self, mut behind: impl FnMut(usize, &Disk) + Send + 'static) {
        let (disk, mut calls) = (Arc::downgrade(&self.disk), None);
        self.disk.hook(move |call| {
            let Some(disk) = disk.upgrade() else { return };
            if let Some(calls) = &mut calls {
                *calls += 1;
                behind(*calls, &disk);
            } else if call == "sync_data" {
                calls = Some(0);
                disk.trouble.fail_call(1);
            }
        });
    }

    /// What the process does.
    pub async fn act(&self) -> Result<(), StoreError> {
        match self.purpose {
            Intent | IntentAside => self.store.save().await,
            Change | Adoption | Cut => self.answers.file(&self.store).await,
        }
    }
}
