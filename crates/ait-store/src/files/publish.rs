//! Replaces `issues.json` with a rendering.
//!
//! The new and the old file exchange their names. If the old file is not the one that was published last, it is an
//! external edit.

use std::io;
use std::path::Path;
use std::time::Instant;

use super::fs::{FileFingerprint, FileSystem, Rename, directory_of};
use super::lock_check::write_error;
use super::open;
use super::paths::StorePaths;
use super::published_note::{Edited, PublishedNote, random};
use super::quarantine;
use super::render::{RenderedFile, Sink, render};
use crate::{EventPosition, State, StoreError};

/// Replaces `issues.json` with a rendering of the state at a position, and returns its fingerprint. `expected` is the
/// file that was seen last. Returns `None` if it was edited in the meantime. `merge` merges an edit that the rendering
/// displaced.
pub(crate) fn replace_file(
    fs: &dyn FileSystem,
    paths: &StorePaths,
    position: EventPosition,
    expected: Option<FileFingerprint>,
    write: impl FnOnce(&mut Sink<'_>) -> io::Result<()>,
    merge: impl FnOnce(State, Edited) -> Result<(), StoreError>,
) -> Result<Option<FileFingerprint>, StoreError> {
    let target = &paths.issues;
    let id = random();
    let unfinished = paths.unfinished(id);
    let temp = paths.exchange_file(id);
    let failed = |source: io::Error| write_error(target, &source);
    refuse_links(fs, target)?;
    let begun = Instant::now();
    let rendered = render(fs, &unfinished, target, write);
    let RenderedFile { fingerprint, hash, .. } = rendered.map_err(failed)?;
    fs.rename(&unfinished, &temp, Rename::Replace).map_err(failed)?;
    let give_up = || {
        drop(fs.remove(&temp));
        Ok(None)
    };
    let lock_of_note = PublishedNote::lock(fs, paths).map_err(failed)?;
    if fs.fingerprint(target).map_err(failed)? != expected {
        return give_up();
    }
    // The note comes before the file, so that every process recognises the new file as a rendering.
    let edited = PublishedNote::edits(fs, paths);
    let noted = PublishedNote::new(position, fingerprint, hash);
    let took_ms = Some(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
    let noted = PublishedNote { displaced: expected, took_ms, ..noted };
    noted.write(fs, paths).map_err(failed)?;
    let was_there = expected.is_some();
    let put = if was_there {
        match fs.rename(&temp, target, Rename::Exchange) {
            // The fallback on a system without an exchange: the closest to one step.
            Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                fs.rename(&temp, target, Rename::Replace).map(|()| false)
            }
            // The file was removed in the meantime.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return give_up(),
            exchanged => exchanged.map(|()| true),
        }
    } else {
        match fs.rename(&temp, target, Rename::KeepOther) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return give_up(),
            placed => placed.map(|()| false),
        }
    };
    let is_exchanged = put.map_err(|source| {
        drop(fs.remove(&temp));
        failed(source)
    })?;
    drop(lock_of_note);
    if is_exchanged {
        let displaced = fs.fingerprint(&temp).map_err(failed)?;
        if displaced == expected {
            fs.remove(&temp).map_err(failed)?;
        } else if !merge_displaced_edit(fs, paths, &temp, fingerprint, |theirs| {
            merge(theirs, edited)
        })? {
            return Ok(None);
        }
    }
    fs.sync_directory(directory_of(target)).map_err(failed)?;
    Ok(Some(fingerprint))
}

/// Merges a file that was saved between the last check and the exchange. Returns false if the file is invalid and
/// was put back.
fn merge_displaced_edit(
    fs: &dyn FileSystem,
    paths: &StorePaths,
    temp: &Path,
    rendered: FileFingerprint,
    merge: impl FnOnce(State) -> Result<(), StoreError>,
) -> Result<bool, StoreError> {
    let failed = |source: io::Error| write_error(temp, &source);
    match open::read_issues(fs, temp) {
        Ok(Some(file)) => {
            merge(file.state)?;
            quarantine::move_to(fs, paths, temp, "edited").map_err(failed)?;
            Ok(true)
        }
        Ok(None) => Ok(true),
        Err(_) => {
            fs.rename(temp, &paths.issues, Rename::Exchange).map_err(failed)?;
            // A file that was saved in the meantime stays, and is merged with the next leftovers.
            if fs.fingerprint(temp).map_err(failed)? == Some(rendered) {
                fs.remove(temp).map_err(failed)?;
            }
            Ok(false)
        }
    }
}

/// Refuses to replace a file with several hard links. The fingerprint does not show new links.
pub(crate) fn refuse_links(fs: &dyn FileSystem, target: &Path) -> Result<(), StoreError> {
    let found = fs.fingerprint(target).map_err(|source| write_error(target, &source))?;
    if found.is_none_or(|found| found.links() <= 1) {
        return Ok(());
    }
    Err(StoreError::ReadOnly(format!(
        "{} has several hard links, and replacing it would separate them: remove the others",
        target.display()
    )))
}
