//! What the file system of a test's disk is worth: its kind, its locks, and the room on it.

use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use agent_issue_tracker::store::json::fs::{FileSystem, Kind, RealFileSystem};

#[derive(Default)]
pub struct Ground {
    kind: Mutex<Option<Kind>>,
    locks_nothing: AtomicBool,
    is_full: AtomicBool,
}

impl Ground {
    /// Says from now on that it is of this kind.
    pub fn be(&self, kind: Kind) {
        *self.kind.lock().unwrap() = Some(kind);
    }

    /// Gives locks to everybody from now on, as far as somebody tries that.
    pub fn lock_nothing(&self) {
        self.locks_nothing.store(true, Ordering::SeqCst);
    }

    /// Whether there is no room for a trial.
    pub fn be_full(&self, is_full: bool) {
        self.is_full.store(is_full, Ordering::SeqCst);
    }

    /// A plain disk, unless it was said to be something else.
    pub fn kind(&self) -> Option<Kind> {
        let kind = self.kind.lock().unwrap().clone();
        Some(kind.unwrap_or(Kind::Local("a disk of a test".to_owned())))
    }

    pub fn excludes(&self, path: &Path) -> io::Result<bool> {
        Ok(RealFileSystem.excludes(path)? && !self.locks_nothing.load(Ordering::SeqCst))
    }

    pub fn try_write(&self, directory: &Path, length_bytes: usize) -> io::Result<()> {
        if self.is_full.load(Ordering::SeqCst) {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "no space left on device"));
        }
        RealFileSystem.try_write(directory, length_bytes)
    }
}
