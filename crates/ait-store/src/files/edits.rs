//! External edits of `issues.json`: at any moment a user may edit the file, or git may replace it.

use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::fs::{FileSystem, read_file};
use super::lock_check::write_error;
use super::open::OpenError;
use super::paths::StorePaths;
use super::published_note::{Edited, PublishedNote};
use super::quarantine;
use super::skim::{EditedFile, KnownTexts, read_edited};
use crate::StoreError;
use ait_domain::IssueId;

/// How often an invalid file is read again. Editors write in place, and git removes a file first.
const MAX_REREADS: usize = 5;
/// The most edited issues that the note lists.
const MAX_NOTED: usize = 10_000;
/// The most conflicting issues that a warning names.
const MAX_NAMED: usize = 5;

/// Records that a file was merged, and which issues it edited. `before` is the note when the file was read, `merged`
/// the one for this file.
pub(crate) fn write_note(
    fs: &dyn FileSystem,
    paths: &StorePaths,
    before: Option<PublishedNote>,
    merged: PublishedNote,
    mut edited: Edited,
) -> io::Result<()> {
    let _lock = PublishedNote::lock(fs, paths)?;
    let current = PublishedNote::read(fs, paths);
    let is_there = fs.fingerprint(&paths.issues)? == Some(merged.fingerprint);
    let note = match current.clone().filter(|_| current == before) {
        _ if is_there => merged,
        // The file was saved again since it was read. The newer file includes the merged edit.
        Some(note) => note,
        // Another process has replaced the file and its note.
        None => return Ok(()),
    };
    edited.extend(current.map(|note| note.edited).unwrap_or_default());
    edited.sort_unstable();
    edited.dedup();
    edited.truncate(MAX_NOTED);
    PublishedNote { edited, ..note }.write(fs, paths)
}

/// Reads the file. Retries while it is invalid, because another program may be writing it.
pub(crate) fn read_edit(
    fs: &dyn FileSystem,
    path: &Path,
    known: &KnownTexts,
    reread_after: Duration,
) -> Result<Option<EditedFile>, OpenError> {
    for reread in 0.. {
        match read_edited(fs, path, known) {
            Err(OpenError::Format { .. }) if reread < MAX_REREADS => {
                thread::sleep(reread_after);
            }
            read => return read,
        }
    }
    Ok(None)
}

/// Keeps a copy of a file whose edits conflict, in quarantine.
pub(crate) fn quarantine_conflicts(
    fs: &dyn FileSystem,
    paths: &StorePaths,
    path: &Path,
    conflicts: &[(IssueId, Vec<&'static str>)],
) -> Result<(), StoreError> {
    let kept = (|| {
        let Some(bytes) = read_file(fs, path)? else { return Ok(None) };
        quarantine::copy_to(fs, paths, &bytes, "edited").map(Some)
    })();
    let kept = kept.map_err(|source| write_error(&paths.kept, &source))?;
    let named = conflicts
        .iter()
        .take(MAX_NAMED)
        .map(|(id, fields)| format!("{} ({})", id.short(), fields.join(", ")));
    let named: Vec<_> = named.collect();
    let more = if conflicts.len() > MAX_NAMED { ", …" } else { "" };
    tracing::warn!(
        "an edit of {} conflicts with changes that agents made meanwhile; the agents' changes stay: {}{more}. The \
         edited file is kept as {}",
        paths.issues.display(),
        named.join(", "),
        kept.map(|path| path.display().to_string()).unwrap_or_default(),
    );
    Ok(())
}

/// Returns true if there are temporary files of live or dead processes.
pub(crate) fn has_leftovers(fs: &dyn FileSystem, paths: &StorePaths) -> bool {
    let names = fs.list(&paths.directory).unwrap_or_default();
    names.iter().any(|name| StorePaths::is_exchange_file(name) || StorePaths::is_unfinished(name))
}
