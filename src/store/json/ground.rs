//! What the files of a store stand on: whether its locks can be relied on. Everything that keeps two agents from
//! getting one issue is a lock.
//!
//! Found out before this process makes its first change, and not for reading:
//!
//! * A file system of a network is refused by its name, before anything is made there. What another machine locks
//!   shows in no trial that this one could make.
//! * On all others it is tried: what this process has locked, it must not get once more.
//!
//! What was found good is not asked about again, as long as the files are in the same directory.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use super::fs::{FileSystem, Kind, Lock, directory_of};
use super::replica;
use super::session::refused;
use super::view::Place;
use crate::store::StoreError;

/// What may happen on a file system of a network.
pub const NETWORK_RISK: &str =
    "its locks may hold on one machine only, so that two agents may get one issue";
/// What to do about it.
pub const NETWORK_WAY_OUT: &str = "keep the store on a disk of this machine, and let others reach it over HTTP \
     (`ait serve`); if no other machine uses it, say so with network-file-system = \"allow\" in ait.toml, or \
     AIT_NETWORK_FILE_SYSTEM=allow";
/// What is wrong where everybody gets a lock.
pub const LOCKS_NOTHING: &str = "locks that one process has are given to others, too";

/// What is known of the ground.
#[derive(Debug, Default)]
pub(super) struct Ground {
    allows_network: AtomicBool,
    /// The directory that was found good.
    good: Mutex<Option<PathBuf>>,
}

impl Ground {
    /// Takes note whether somebody has said that no other machine uses the store.
    pub fn allow_network(&self, allows: bool) {
        self.allows_network.store(allows, Ordering::Relaxed);
    }

    /// Refuses a file system of a network.
    pub fn survey(&self, fs: &dyn FileSystem, place: &Place) -> Result<(), StoreError> {
        let directory = directory_of(&place.snapshot);
        if self.is_good(directory) || self.allows_network.load(Ordering::Relaxed) {
            return Ok(());
        }
        match fs.kind(directory) {
            Some(Kind::Network(name)) => Err(StoreError::ReadOnly(format!(
                "{} is on {name}: {NETWORK_RISK}; {NETWORK_WAY_OUT}",
                directory.display()
            ))),
            Some(Kind::Local(_) | Kind::Program(_)) | None => Ok(()),
        }
    }

    /// Waits for the lock of a commit.
    pub fn lock(&self, fs: &dyn FileSystem, place: &Place) -> Result<Lock, StoreError> {
        self.survey(fs, place)?;
        let lock = fs.lock(&place.lock).map_err(|source| not_locked(&place.lock, &source))?;
        self.try_locks(fs, place)?;
        Ok(lock)
    }

    /// Takes the lock of a commit if nobody has it.
    pub fn try_lock(&self, fs: &dyn FileSystem, place: &Place) -> Result<Option<Lock>, StoreError> {
        self.survey(fs, place)?;
        let lock = fs.try_lock(&place.lock).map_err(|source| not_locked(&place.lock, &source))?;
        if lock.is_some() {
            self.try_locks(fs, place)?;
        }
        Ok(lock)
    }

    /// Tries whether the lock of a commit, which is held, keeps others out.
    fn try_locks(&self, fs: &dyn FileSystem, place: &Place) -> Result<(), StoreError> {
        let directory = directory_of(&place.snapshot);
        if self.is_good(directory) {
            return Ok(());
        }
        must_exclude(fs, &place.lock)?;
        *replica::lock(&self.good) = Some(directory.to_owned());
        Ok(())
    }

    fn is_good(&self, directory: &Path) -> bool {
        replica::lock(&self.good).as_deref() == Some(directory)
    }
}

/// Refuses locks that lock nothing; of a lock file that is there.
pub(super) fn must_exclude(fs: &dyn FileSystem, lock: &Path) -> Result<(), StoreError> {
    if fs.excludes(lock).map_err(|source| not_locked(lock, &source))? {
        return Ok(());
    }
    let lock = lock.display();
    Err(StoreError::ReadOnly(format!(
        "{lock}: {LOCKS_NOTHING}, so that two agents may get one issue; keep the store on a disk of this machine"
    )))
}

/// The refusal of a change because a lock cannot be had at all.
fn not_locked(path: &Path, source: &io::Error) -> StoreError {
    match source.kind() {
        io::ErrorKind::Unsupported => StoreError::ReadOnly(format!(
            "{}: the file system has no locks ({source}); keep the store on a disk of this machine",
            path.display()
        )),
        _ => refused(path, source),
    }
}
