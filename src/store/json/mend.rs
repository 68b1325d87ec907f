//! Repairs of the files of a store that lose nothing.
//!
//! What the next change would put in order by itself is left to it.

use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::format;
use super::fs::{FileSystem, Lock, RealFileSystem, sync_name};
use super::ground::must_exclude;
use super::look::{Files, files};
use super::pieces;
use super::session::{keep_copy, refused, timestamp};
use super::stale;
use super::view::Place;
use crate::store::StoreError;

/// How long the lock is waited for, and how often it is asked for.
const LOCK_WITHIN: Duration = Duration::from_secs(2);
const ASK_EVERY: Duration = Duration::from_millis(10);

/// Keeps copies of `issues.json` and its journal beside them, as they are now; gives their names.
///
/// # Errors
///
/// Not everything could be copied.
pub fn keep_copies(path: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let (fs, files) = (RealFileSystem, files_of(path)?);
    let _lock = lock(&fs, &files)?;
    let time = timestamp(fs.now()).to_string().replace(':', "");
    let place = Place::of(files.snapshot.clone());
    let mut kept = Vec::new();
    for path in [&files.snapshot, &files.journal] {
        let mut target = path.as_os_str().to_owned();
        target.push(format!(".before-doctor-{time}"));
        let target = PathBuf::from(target);
        if keep_copy(&fs, path, &target, &place)?.is_some() {
            kept.push(target);
        }
    }
    Ok(kept)
}

/// Removes the temporary files that dead processes left; gives the names under which those are kept that somebody may
/// have saved.
///
/// # Errors
///
/// The lock cannot be had, or one of those cannot be kept.
pub fn remove_temps(path: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let (fs, files) = (RealFileSystem, files_of(path)?);
    let _lock = lock(&fs, &files)?;
    stale::remove(&fs, &Place::of(files.snapshot))
}

/// Leaves out of `issues.json` what stands in it once more, the same in every respect. False when it would
/// not be valid then; nothing has changed in that case.
///
/// # Errors
///
/// It cannot be read or replaced.
pub fn remove_copies(path: &Path) -> Result<bool, StoreError> {
    let (fs, files) = (RealFileSystem, files_of(path)?);
    let target = &files.snapshot;
    let failed = |source: io::Error| refused(target, &source);
    let _lock = lock(&fs, &files)?;
    let Some(contents) = fs.read(target).map_err(failed)? else { return Ok(false) };
    let bytes = pieces::without_copies(&contents.bytes);
    if bytes == contents.bytes || format::parse(bytes.clone()).is_err() {
        return Ok(false);
    }
    let mut temp = fs.create_temp(target, target).map_err(failed)?;
    fs.write(&mut temp, &bytes).map_err(failed)?;
    fs.sync(&temp).map_err(failed)?;
    // Somebody may have saved another one meanwhile, who takes no lock.
    if fs.stamp(target).map_err(failed)? != Some(contents.stamp) {
        return Ok(false);
    }
    fs.replace(temp, target).map_err(failed)?;
    sync_name(&fs, target).map_err(failed)?;
    Ok(true)
}

fn files_of(path: &Path) -> Result<Files, StoreError> {
    files(path).map_err(|unsound| StoreError::Unreadable(unsound.to_string()))
}

fn lock(fs: &dyn FileSystem, files: &Files) -> Result<Lock, StoreError> {
    let begun = Instant::now();
    loop {
        let lock = fs.try_lock(&files.lock).map_err(|source| refused(&files.lock, &source))?;
        if let Some(lock) = lock {
            must_exclude(fs, &files.lock)?;
            return Ok(lock);
        }
        if begun.elapsed() >= LOCK_WITHIN {
            let path = files.lock.display();
            return Err(StoreError::Busy(format!("another process keeps {path} locked")));
        }
        thread::sleep(ASK_EVERY);
    }
}
