//! What the files of a store stand on: whether its locks can be relied on, and whether `issues.json` can be replaced.
//! Everything that keeps two agents from getting one issue is a lock.
//!
//! Found out before this process makes its first change, and not for reading:
//!
//! * A file system of a network is refused by its name, before anything is made there. What another machine locks
//!   shows in no trial that this one could make.
//! * An `issues.json` that is mounted by itself is refused: the log beside it would be elsewhere.
//! * On all others it is tried: what this process has locked, it must not get once more.
//!
//! What was found good is not asked about again, as long as the files are in the same directory.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::fs::{FileLock, FileSystem, Kind, directory_of};
use super::place::Place;
use super::support::lock;
use crate::store::StoreError;

/// What may happen on a file system of a network.
pub const NETWORK_RISK: &str =
    "its locks may hold on one machine only, so that two agents may get one issue";
/// What to do about it.
pub const NETWORK_WAY_OUT: &str = "keep the store on a disk of this machine, and let others reach it over HTTP \
     (`ait serve`); if no other machine uses it, say so with network-file-system = \"allow\" in ait.toml, or \
     AIT_NETWORK_FILE_SYSTEM=allow";
/// What is wrong with an `issues.json` that is a mount of its own.
pub const OWN_MOUNT: &str = "is mounted by itself, so that nothing can take its place, and the log beside it is not \
     where it is";
/// What to do about it.
pub const OWN_MOUNT_WAY_OUT: &str = "mount its directory instead";
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

    /// Refuses a file system of a network, and a file that is mounted by itself.
    pub fn survey(&self, fs: &dyn FileSystem, place: &Place) -> Result<(), StoreError> {
        let directory = directory_of(&place.issues);
        if self.is_good(directory) {
            return Ok(());
        }
        match fs.kind(&place.issues) {
            Some(Kind::OwnMount) => Err(StoreError::ReadOnly(format!(
                "{} {OWN_MOUNT}; {OWN_MOUNT_WAY_OUT}",
                place.issues.display()
            ))),
            Some(Kind::Network(_)) if self.allows_network.load(Ordering::Relaxed) => Ok(()),
            Some(Kind::Network(name)) => Err(StoreError::ReadOnly(format!(
                "{} is on {name}: {NETWORK_RISK}; {NETWORK_WAY_OUT}",
                directory.display()
            ))),
            Some(Kind::Local(_) | Kind::Program(_)) | None => Ok(()),
        }
    }

    /// Waits for the lock on an open file.
    pub fn lock(
        &self,
        fs: &dyn FileSystem,
        place: &Place,
        path: &Path,
        file: &Arc<File>,
    ) -> Result<FileLock, StoreError> {
        self.survey(fs, place)?;
        let taken = fs.lock(file, true).map_err(|source| not_locked(path, &source))?;
        let taken =
            taken.ok_or_else(|| StoreError::Busy(format!("{} is locked", path.display())))?;
        let directory = directory_of(&place.issues);
        if !self.is_good(directory) {
            must_exclude(fs, path)?;
            *lock(&self.good) = Some(directory.to_owned());
        }
        Ok(taken)
    }

    fn is_good(&self, directory: &Path) -> bool {
        lock(&self.good).as_deref() == Some(directory)
    }
}

/// Refuses locks that lock nothing; of a file that is locked through another opening.
pub(super) fn must_exclude(fs: &dyn FileSystem, path: &Path) -> Result<(), StoreError> {
    let failed = |source| not_locked(path, &source);
    let Some(open) = fs.open(path).map_err(failed)? else { return Ok(()) };
    if fs.lock(&open.file, false).map_err(failed)?.is_none() {
        return Ok(());
    }
    let path = path.display();
    Err(StoreError::ReadOnly(format!(
        "{path}: {LOCKS_NOTHING}, so that two agents may get one issue; keep the store on a disk of this machine"
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

/// The refusal of a change because of what a file system said.
pub(super) fn refused(path: &Path, source: &io::Error) -> StoreError {
    let text = format!("{}: {source}", path.display());
    match source.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            StoreError::ReadOnly(format!("{text}: give this user the right to write there"))
        }
        _ => StoreError::NotSaved(text),
    }
}
