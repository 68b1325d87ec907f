//! Checks the file system under a store: whether locks exclude, and whether `issues.json` can be replaced. Only locks
//! keep two agents from getting the same issue.
//!
//! Each process checks this before its first change, and not for reads:
//!
//! * A network file system is refused by its type, before anything is created on it. No test on one machine can show
//!   the locks of another machine.
//! * An `issues.json` that is a mount point is refused, because the database beside it would be on another file system.
//! * Everywhere else a test decides: a file that this process has locked must refuse a second lock.
//!
//! A passed check is not repeated while the files stay in the same directory.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::fs::{FileLock, FileSystem, FileSystemKind, directory_of};
use super::paths::StorePaths;
use super::support::lock;
use crate::StoreError;

/// The risk of a network file system.
pub const NETWORK_RISK: &str =
    "its locks may work on one machine only, so that two agents may get one issue";
/// The problem of an `issues.json` that is a mount point.
pub const OWN_MOUNT: &str = "is mounted by itself, so it cannot be replaced, and the database beside it is on another \
     file system";
pub const OWN_MOUNT_WAY_OUT: &str = "mount its directory instead";
/// The problem of locks that do not exclude.
pub const LOCKS_NOTHING: &str = "a lock that one process holds is given to others, too";

/// What is known of the file system.
#[derive(Debug, Default)]
pub(crate) struct LockCheck {
    allows_network: AtomicBool,
    /// The directory that passed the check.
    good: Mutex<Option<PathBuf>>,
}

impl LockCheck {
    /// Sets whether a network file system is allowed, because only one machine uses the store.
    pub fn allow_network(&self, allows: bool) {
        self.allows_network.store(allows, Ordering::Relaxed);
    }

    /// Refuses a network file system, and a file that is a mount point.
    pub fn check(&self, fs: &dyn FileSystem, paths: &StorePaths) -> Result<(), StoreError> {
        let directory = directory_of(&paths.issues);
        if self.is_good(directory) {
            return Ok(());
        }
        match fs.kind(&paths.issues) {
            Some(FileSystemKind::OwnMount) => Err(StoreError::ReadOnly(format!(
                "{} {OWN_MOUNT}; {OWN_MOUNT_WAY_OUT}",
                paths.issues.display()
            ))),
            Some(FileSystemKind::Network(_)) if self.allows_network.load(Ordering::Relaxed) => {
                Ok(())
            }
            Some(FileSystemKind::Network(name)) => Err(StoreError::NetworkFileSystem(format!(
                "{} is on {name}: {NETWORK_RISK}",
                directory.display()
            ))),
            Some(FileSystemKind::Local(_) | FileSystemKind::Program(_)) | None => Ok(()),
        }
    }

    /// Waits for the lock on an open file, and checks once that locks exclude.
    pub fn lock(
        &self,
        fs: &dyn FileSystem,
        paths: &StorePaths,
        path: &Path,
        file: &Arc<File>,
    ) -> Result<FileLock, StoreError> {
        self.check(fs, paths)?;
        let taken = fs.lock(file, true).map_err(|source| lock_error(path, &source))?;
        let taken =
            taken.ok_or_else(|| StoreError::Busy(format!("{} is locked", path.display())))?;
        let directory = directory_of(&paths.issues);
        if !self.is_good(directory) {
            ensure_lock_is_exclusive(fs, path)?;
            *lock(&self.good) = Some(directory.to_owned());
        }
        Ok(taken)
    }

    fn is_good(&self, directory: &Path) -> bool {
        lock(&self.good).as_deref() == Some(directory)
    }
}

/// Refuses locks that do not exclude. The caller holds the lock through another open file.
pub(crate) fn ensure_lock_is_exclusive(fs: &dyn FileSystem, path: &Path) -> Result<(), StoreError> {
    let failed = |source| lock_error(path, &source);
    let Some(file) = fs.open(path).map_err(failed)? else { return Ok(()) };
    if fs.lock(&file, false).map_err(failed)?.is_none() {
        return Ok(());
    }
    let path = path.display();
    Err(StoreError::ReadOnly(format!(
        "{path}: {LOCKS_NOTHING}, so that two agents may get one issue; keep the store on a disk of this machine"
    )))
}

/// Returns the error for a lock that cannot be taken.
fn lock_error(path: &Path, source: &io::Error) -> StoreError {
    match source.kind() {
        io::ErrorKind::Unsupported => StoreError::ReadOnly(format!(
            "{}: the file system does not support locks ({source}); keep the store on a disk of this machine",
            path.display()
        )),
        _ => write_error(path, source),
    }
}

/// Returns the error for a file that this process could open for reading only.
pub(crate) fn not_writable(path: &Path) -> StoreError {
    StoreError::ReadOnly(format!(
        "{} cannot be written: give this user the right to write there, or mount its file system writable",
        path.display()
    ))
}

/// Returns the error for a change that the file system refused.
pub(crate) fn write_error(path: &Path, source: &io::Error) -> StoreError {
    refused(source.kind(), format!("{}: {source}", path.display()))
}

/// Returns the error for a change that the file system refused, which a text tells.
pub(crate) fn refused(kind: io::ErrorKind, text: String) -> StoreError {
    match kind {
        io::ErrorKind::PermissionDenied => {
            StoreError::ReadOnly(format!("{text}: give this user the right to write there"))
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            StoreError::ReadOnly(format!("{text}: mount the file system writable"))
        }
        io::ErrorKind::IsADirectory => StoreError::NotSaved(format!("{text}: move it away")),
        _ => StoreError::NotSaved(text),
    }
}
