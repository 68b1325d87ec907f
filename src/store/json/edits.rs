//! External edits of `issues.json`: detects them and merges them.
//!
//! At any moment a user may edit the file or git may replace it. [`merge_state`](super::merge_state) merges the edited
//! file into the store; this module knows which file is an edit, and which edits were merged before.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::commit::Committer;
use super::fs::{FileSystem, read_file};
use super::lock_check::write_error;
use super::merge_state::merge_state;
use super::open::{self, IssuesFile, OpenError};
use super::paths::StorePaths;
use super::published_note::{Edited, KnownFile, PublishedNote};
use super::quarantine;
use super::replaced_logs::merge_replaced_logs;
use super::shared::Shared;
use super::support::lock;
use super::view::View;
use crate::domain::IssueId;
use crate::store::{EventPosition, State, StoreError};

/// How often an invalid file is read again. Editors write in place, and git removes a file first.
const MAX_REREADS: usize = 5;
/// The most edited issues that the note lists.
const MAX_NOTED: usize = 10_000;
/// The most conflicting issues that a warning names.
const MAX_NAMED: usize = 5;

/// Returns true if there may be something to merge: an external edit that this process has not seen, or the state of
/// a replaced log.
pub(super) fn needs_merge(shared: &Shared, view: &View) -> bool {
    !shared.follower().replaced_logs.is_empty() || may_be_edited(shared, view)
}

/// Returns true if `issues.json` may have an external edit that this process has not seen.
fn may_be_edited(shared: &Shared, view: &View) -> bool {
    if view.log_end().is_none() {
        return false;
    }
    let found = shared.fs.fingerprint(&view.paths.issues).ok().flatten();
    let mut known = lock(&shared.known);
    if known.checked == Some(found) {
        return false;
    }
    // A missing file is no edit. The next change writes it again.
    let is_published = found.is_none_or(|found| {
        PublishedNote::read_up_to(&*shared.fs, &view.paths, view.state.position)
            .is_some_and(|published| published.knows(&found))
    });
    if is_published {
        *known = KnownFile { checked: Some(found), problem: None };
    }
    !is_published
}

/// Merges the external edit of `issues.json`, if any, and the states of replaced logs.
///
/// # Errors
///
/// The reason why changes cannot be made. An invalid file is no error: the store continues without it.
pub(super) fn adopt_external_edit(committer: &mut Committer) -> Result<(), StoreError> {
    let shared = Arc::clone(&committer.shared);
    let mut view = shared.fresh()?;
    if !shared.follower().replaced_logs.is_empty() {
        merge_replaced_logs(committer)?;
        view = shared.fresh()?;
    }
    if !may_be_edited(&shared, &view) {
        return Ok(());
    }
    let path = &view.paths.issues;
    let found = shared.fs.fingerprint(path).ok().flatten();
    let set_known = |problem: Option<String>| {
        *lock(&shared.known) = KnownFile { checked: Some(found), problem };
    };
    // Read before the file, because a newer note may list edits that an older file does not include.
    let note = PublishedNote::read_up_to(&*shared.fs, &view.paths, view.state.position);
    let file = match read_edit(&*shared.fs, path, shared.options.reread_after) {
        Ok(Some(file)) => file,
        Ok(None) => return Ok(()),
        Err(error) => {
            let problem = format!("{error}; meanwhile agents continue with the issues in the log");
            if lock(&shared.known).problem.as_ref() != Some(&problem) {
                tracing::warn!("{problem}");
            }
            // The file may become readable later.
            let checked = matches!(error, OpenError::Format { .. }).then_some(found);
            *lock(&shared.known) = KnownFile { checked, problem: Some(problem) };
            return Ok(());
        }
    };
    let (mut edited, mut has_lost) = (Vec::new(), false);
    if note.as_ref().is_none_or(|note| note.hash() != file.hash) {
        if is_foreign(&view.state, &file.state) {
            let problem = format!(
                "{} has no issue in common with the store, so it was not merged as an edit: put the previous file \
                 back, and import this one as another file",
                path.display()
            );
            tracing::warn!("{problem}");
            set_known(Some(problem));
            return Ok(());
        }
        let before = note.as_ref().map_or(&[][..], |note| &note.edited);
        let merged = merge_state(committer, &file.state, before)?;
        has_lost = !merged.conflicts.is_empty();
        if has_lost {
            quarantine_conflicts(&*shared.fs, &view.paths, path, &merged.conflicts)?;
        }
        edited.extend(merged.edited());
    }
    *lock(&shared.known) = KnownFile { checked: Some(Some(file.fingerprint)), problem: None };
    // The note keeps its position, because the file does not show the events since then. A file with conflicts must
    // be written again, even if no event follows.
    let shown = match note.as_ref() {
        _ if has_lost => EventPosition::default(),
        Some(note) => note.position(),
        None => view.durable,
    };
    let merged = PublishedNote::new(shown, file.fingerprint, file.hash);
    if let Err(error) = write_note(&*shared.fs, &view.paths, note, merged, edited) {
        tracing::debug!("{}: {error}", view.paths.published().display());
    }
    Ok(())
}

/// Records that a file was merged, and which issues it edited. `before` is the note when the file was read, `merged`
/// the one for this file.
pub(in crate::store) fn write_note(
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
pub(in crate::store) fn read_edit(
    fs: &dyn FileSystem,
    path: &Path,
    reread_after: Duration,
) -> Result<Option<IssuesFile>, OpenError> {
    for reread in 0.. {
        match open::read_issues(fs, path) {
            Err(OpenError::Format { .. }) if reread < MAX_REREADS => {
                thread::sleep(reread_after);
            }
            read => return read,
        }
    }
    Ok(None)
}

/// Keeps a copy of a file whose edits conflict, in quarantine.
pub(in crate::store) fn quarantine_conflicts(
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
pub(in crate::store) fn has_leftovers(fs: &dyn FileSystem, paths: &StorePaths) -> bool {
    let names = fs.list(&paths.directory).unwrap_or_default();
    names.iter().any(|name| StorePaths::is_exchange_file(name) || StorePaths::is_unfinished(name))
}

/// Merges the temporary files of dead processes. A file may be an edit that was exchanged for a rendering and never
/// examined. The caller holds the publish lock.
///
/// # Errors
///
/// The reason why changes cannot be made, or files cannot be read or removed.
pub(super) fn merge_leftovers(committer: &mut Committer) -> Result<(), StoreError> {
    let shared = Arc::clone(&committer.shared);
    let (fs, paths) = (&*shared.fs, shared.paths()?);
    for name in fs.list(&paths.directory).unwrap_or_default() {
        let path = paths.directory.join(&name);
        if StorePaths::is_unfinished(&name) {
            // A live process may be writing its note.
            let _lock =
                PublishedNote::lock(fs, &paths).map_err(|source| write_error(&path, &source))?;
            let _ = fs.remove(&path);
        }
        if !StorePaths::is_exchange_file(&name) {
            continue;
        }
        match open::read_issues(fs, &path) {
            Ok(Some(file)) => {
                // An empty `edited` list: otherwise a rendering would look like an edit that undoes the edits merged
                // since.
                let edit = merge_state(committer, &file.state, &[])?;
                if !edit.conflicts.is_empty() {
                    quarantine_conflicts(fs, &paths, &path, &edit.conflicts)?;
                }
            }
            Ok(None) => continue,
            // An editor was still writing the file when a rendering replaced it.
            Err(OpenError::Format { .. }) => {
                let kept = quarantine::move_to(fs, &paths, &path, "invalid");
                kept.map_err(|source| write_error(&paths.kept, &source))?;
                continue;
            }
            Err(error) => return Err(error.into()),
        }
        fs.remove(&path).map_err(|source| write_error(&path, &source))?;
    }
    Ok(())
}

/// Returns true if a file is no edit of this store: it has issues, and shares none with the store.
pub(super) fn is_foreign(ours: &State, theirs: &State) -> bool {
    let mut issues = theirs.issues.issues();
    !ours.issues.is_empty()
        && !theirs.issues.is_empty()
        && issues.all(|issue| ours.issues.get(issue.id).is_none())
}
