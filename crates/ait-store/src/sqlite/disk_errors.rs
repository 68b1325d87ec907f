//! What follows an error of the disk, and whether the database is damaged.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;

use super::database::{Database, Opened, check};
use super::error::Failure;
use super::place::Place;
use crate::StoreError;
use crate::files::fs::{FileSystem, remove_if_exists};
use crate::files::lock_check::write_error;
use crate::files::open::OpenError;
use crate::files::paths::{StorePaths, trial};
use crate::files::published_note::random;

/// Writes some bytes to a new file in a directory, lets `then` do more with it, and removes it.
pub(super) fn write_trial(
    fs: &dyn FileSystem,
    paths: &StorePaths,
    directory: &Path,
    bytes: usize,
    then: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    let path = trial(directory, random());
    let file = fs.create(&path, &paths.issues)?;
    let written = fs.write_at(&file, 0, &vec![b'.'; bytes]).and_then(|()| then(&file));
    // Another process may have removed it as a leftover.
    let removed = remove_if_exists(fs, &path);
    written.and(removed)
}

impl Database {
    /// Moves everything into the database, and syncs that, after a sync failed: the kernel may take for written what
    /// never was, and would not write it again.
    ///
    /// A new file shows before whether the disk is well. A file system such as ext4 may lose even what is written later
    /// to the places in a file that a failed sync was about.
    pub fn save_again(&self, opened: &Opened) -> Result<(), StoreError> {
        if !self.has_failed_to_sync.load(Ordering::Relaxed) {
            return Ok(());
        }
        let Opened { connection, paths, .. } = opened;
        let fs = &*self.fs;
        let files = [paths.database(), paths.database_log()];
        let found = files.iter().filter_map(|path| fs.fingerprint(path).ok().flatten());
        let all = found.map(|found| found.length_bytes()).sum::<u64>();
        let bytes = usize::try_from(all).unwrap_or(usize::MAX);
        let tried = write_trial(fs, paths, &paths.directory, bytes, |file| fs.sync(file));
        tried.map_err(|error| write_error(&paths.database(), &error))?;
        let read = |row: &rusqlite::Row<'_>| row.get::<_, bool>(0);
        let is_busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], read);
        if is_busy.map_err(|error| Failure::from(error).of_change())? {
            let why = "the disk failed, and what was written before cannot be saved again yet";
            return Err(StoreError::Busy(why.to_owned()));
        }
        self.has_failed_to_sync.store(false, Ordering::Relaxed);
        Ok(())
    }

    /// Moves what the log of SQLite has into its database, if the log was removed and no process has begun another one.
    /// Without it, the file may lack half of what was being moved. The caller has the turn.
    pub fn save_without_log(&self, opened: &Opened) {
        let paths = &opened.paths;
        let is_alone = Place::find(&*self.fs, paths).is_ok_and(|now| {
            now.is_some_and(|now| {
                opened.connection.place.file.is_same_file(&now.file) && now.log.is_none()
            })
        });
        if is_alone {
            let moved = opened.connection.query_row("PRAGMA wal_checkpoint(FULL)", [], |_| Ok(()));
            if let Err(error) = moved {
                tracing::warn!("{}: {error}", paths.database().display());
            }
        }
    }

    /// Checks the whole database. Returns what is damaged in it, or in the file without which there is none yet.
    pub fn examine(&self) -> Result<Option<StoreError>, StoreError> {
        match self.read(check) {
            Ok(_) => Ok(self.damage()),
            Err(Failure::Open(error @ OpenError::Format { .. })) => Ok(Some(error.into())),
            Err(failure) => {
                let error = self.located(failure.of_read());
                if error.is_damage() { Ok(Some(error)) } else { Err(error) }
            }
        }
    }

    /// Names the database in the error of a system call.
    pub fn located(&self, error: StoreError) -> StoreError {
        let path = StorePaths::of(self.issues().to_owned()).database();
        let file = self.issues().file_name().unwrap_or_default().to_string_lossy();
        let with_path = |why: String| {
            if why.contains(&*file) { why } else { format!("{}: {why}", path.display()) }
        };
        match error {
            StoreError::Unreadable(why) => StoreError::Unreadable(with_path(why)),
            StoreError::NotSaved(why) => StoreError::NotSaved(with_path(why)),
            StoreError::ReadOnly(why) => StoreError::ReadOnly(with_path(why)),
            StoreError::Uncertain(why) => StoreError::Uncertain(with_path(why)),
            error => error,
        }
    }
}
