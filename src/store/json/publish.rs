//! Publishes: writes `issues.json` and snapshots, and prunes the log.
//!
//! Both files are renderings of a durable state, made without the lock of a commit. No correctness depends on an
//! up-to-date `issues.json`. Publishing exchanges the names of the new and the old file. If the old file is not the
//! one that was published last, it is an external edit.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::edits;
use super::format;
use super::fs::{FileFingerprint, FileLock, FileSystem, Rename, directory_of, lock_at};
use super::lock_check::write_error;
use super::log::Segment;
use super::log::segment::{ordinals, path_of};
use super::merge_state::merge_state;
use super::open;
use super::paths::StorePaths;
use super::published_note::{Edited, KnownFile, PublishedNote, random};
use super::quarantine;
use super::render::{RenderedFile, Sink, render};
use super::shared::Shared;
use super::snapshot;
use super::support::lock;
use super::view::{LogEnd, Source, View};
use super::writer::WriterHandle;
use crate::store::{EventPosition, State, StoreError};

/// The pause after publishing, as a multiple of the time that it took. Publishing takes at most 5 % of the time.
const PAUSE_FACTOR: u32 = 20;
/// The minimum size of the log after a snapshot that is worth another one, in bytes.
const MIN_REPLAY_BYTES: u64 = 4 * 1024 * 1024;
/// The number of snapshots to keep.
const KEPT_SNAPSHOTS: usize = 2;

/// The result of publishing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Publication {
    /// The file was up to date.
    UpToDate,
    /// The file was written.
    Written,
    /// Another process is writing it.
    Busy,
}

/// When publishing skips the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SkipPublish {
    /// If it shows every durable change, or is a merged edit with no change after it. Reading must not interfere with
    /// what git does to the file.
    Unchanged,
    /// Only if it is a rendering of the newest durable state.
    Rendered,
}

/// Writes `issues.json` and snapshots. Changes of the store go through the writer thread.
pub(super) struct Publisher {
    pub shared: Arc<Shared>,
    pub writer: WriterHandle,
}

impl Publisher {
    /// Writes `issues.json` if it lacks durable changes, unless another process is writing it.
    ///
    /// # Errors
    ///
    /// The reason why the file cannot be written. Nothing is lost then.
    pub fn publish(&self, unless: SkipPublish) -> Result<Publication, StoreError> {
        /// How often the file may be edited while it is being written.
        const MAX_ROUNDS: usize = 5;
        for _ in 0..MAX_ROUNDS {
            let view = self.settle()?;
            if view.log_end().is_none() {
                return Ok(Publication::UpToDate);
            }
            if let Some(damage) = &view.damage {
                return Err(damage.into());
            }
            if let Some(problem) = lock(&self.shared.known).problem.clone() {
                return Err(StoreError::NotSaved(problem));
            }
            if self.is_published(&view, unless)
                && !edits::has_leftovers(&*self.shared.fs, &view.paths)
            {
                return Ok(Publication::UpToDate);
            }
            self.shared.lock_check.check(&*self.shared.fs, &view.paths)?;
            let Some(_lock) = self.publish_lock(&view.paths)? else { return Ok(Publication::Busy) };
            self.writer.run(edits::merge_leftovers)??;
            let known = self.shared.fresh_durable()?;
            // The previous lock holder may have written the file, or a user may have edited it.
            if edits::needs_merge(&self.shared, &known) {
                continue;
            }
            // An edit that is merged from here on must not be the file that is replaced.
            let expected = {
                let known = lock(&self.shared.known);
                if let Some(problem) = &known.problem {
                    return Err(StoreError::NotSaved(problem.clone()));
                }
                known.checked.flatten()
            };
            let (view, state) = self.shared.durable_state()?;
            if self.is_published(&view, unless) {
                return Ok(Publication::UpToDate);
            }
            if self.replace(&view.paths, &state, expected)? {
                return Ok(Publication::Written);
            }
        }
        Err(StoreError::Busy(format!("other programs keep editing {}", self.shared.path.display())))
    }

    /// Merges external edits and the states of replaced logs.
    pub fn settle(&self) -> Result<Arc<View>, StoreError> {
        self.writer.run(edits::adopt_external_edit)??;
        self.shared.fresh_durable()
    }

    fn is_published(&self, view: &View, unless: SkipPublish) -> bool {
        let found = self.shared.fs.fingerprint(&view.paths.issues).ok().flatten();
        let published = PublishedNote::read(&*self.shared.fs, &view.paths);
        found.zip(published).is_some_and(|(found, published)| {
            found == published.fingerprint
                && published.position() == view.durable
                && (unless == SkipPublish::Unchanged || published.took_ms.is_some())
        })
    }

    /// Returns true if the note says that the file lacks durable changes.
    pub fn is_behind(&self, view: &View) -> bool {
        let found = self.shared.fs.fingerprint(&view.paths.issues).ok().flatten();
        let is_told = |published: PublishedNote| {
            published.position() == view.durable
                // A process died after it wrote the note and before it replaced the file.
                && found.is_none_or(|found| published.displaced != Some(found))
        };
        view.log_end().is_some()
            && lock(&self.shared.known).problem.is_none()
            && !PublishedNote::read(&*self.shared.fs, &view.paths).is_some_and(is_told)
    }

    /// Returns how long to wait before the next publication, whichever process made the last one. The pause keeps the
    /// cost of publishing a small part of the time.
    pub fn rest(&self) -> Duration {
        let Some(view) = self.shared.latest() else { return Duration::ZERO };
        let fs = &*self.shared.fs;
        let found = fs.fingerprint(&view.paths.issues).ok().flatten();
        let Some((found, note)) = found.zip(PublishedNote::read(fs, &view.paths)) else {
            return Duration::ZERO;
        };
        let age = SystemTime::now().duration_since(found.modified()).unwrap_or_default();
        (Duration::from_millis(note.took_ms.unwrap_or(0)) * PAUSE_FACTOR).saturating_sub(age)
    }

    fn publish_lock(&self, paths: &StorePaths) -> Result<Option<FileLock>, StoreError> {
        let (fs, path) = (&*self.shared.fs, paths.publish_lock());
        let failed = |source| write_error(&path, &source);
        lock_at(fs, &path, &paths.issues, false).map_err(failed)
    }

    fn merge_state(&self, theirs: State, edited: Edited) -> Result<(), StoreError> {
        self.writer.run(move |committer| merge_state(committer, &theirs, &edited).map(drop))?
    }

    /// Replaces `issues.json` with a rendering. Returns false if it was edited in the meantime.
    fn replace(
        &self,
        paths: &StorePaths,
        state: &State,
        expected: Option<FileFingerprint>,
    ) -> Result<bool, StoreError> {
        let document = state.document();
        let replaced = replace_file(
            &*self.shared.fs,
            paths,
            state.position,
            expected,
            |sink| format::write(&document, sink),
            |theirs, edited| self.merge_state(theirs, edited),
        )?;
        let Some(fingerprint) = replaced else { return Ok(false) };
        *lock(&self.shared.known) = KnownFile { checked: Some(Some(fingerprint)), problem: None };
        Ok(true)
    }

    /// Returns true if enough log follows the newest snapshot for another snapshot.
    pub fn is_snapshot_due(&self, view: &View) -> bool {
        let is_due = |log_end: &LogEnd| {
            log_end.replayed_bytes > MIN_REPLAY_BYTES.max(log_end.snapshot_bytes / 4)
        };
        view.damage.is_none() && view.log_end().is_some_and(is_due)
    }

    /// Writes a snapshot if one is due, and removes the files that it makes superfluous.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be written. Nothing is lost then.
    pub fn write_snapshot(&self) -> Result<bool, StoreError> {
        let known = self.shared.fresh_durable()?;
        if !self.is_snapshot_due(&known) {
            return Ok(false);
        }
        let Some(_lock) = self.publish_lock(&known.paths)? else { return Ok(false) };
        let (view, state) = self.shared.durable_state()?;
        let (paths, Some(log_end)) = (&view.paths, view.log_end()) else { return Ok(false) };
        let fs = &*self.shared.fs;
        let store = &log_end.segment.header.store;
        let written = snapshot::write(fs, paths, &state, store);
        let length = written.map_err(|source| write_error(&paths.directory, &source))?;
        let mut follower = self.shared.follower();
        if let Some(known) = follower.view.clone()
            && let Source::Log(log_end) = &known.source
        {
            let log_end = LogEnd { replayed_bytes: 0, snapshot_bytes: length, ..log_end.clone() };
            let known = View { source: Source::Log(log_end), ..View::clone(&known) };
            self.shared.show_view(&mut follower, known);
        }
        drop(follower);
        self.prune(paths, &log_end.segment.header.store)
            .map_err(|source| write_error(&paths.log, &source))?;
        Ok(true)
    }

    /// Removes all but the newest snapshots, and the oldest segments that the remaining snapshots do not need and
    /// that exceed the retention limits. Quarantines the snapshots of a replaced log.
    fn prune(&self, paths: &StorePaths, store: &str) -> io::Result<()> {
        let fs = &*self.shared.fs;
        let found = snapshot::list(fs, paths)?.into_iter();
        let (own, strange): (Vec<_>, Vec<_>) =
            found.partition(|(number, path)| *path == paths.snapshot(*number, store));
        for (_, path) in strange {
            quarantine::move_to(fs, paths, &path, "snapshot-of-lost-log")?;
        }
        for (_, path) in own.iter().skip(KEPT_SNAPSHOTS) {
            fs.remove(path)?;
        }
        let Some(&(needed, _)) = own.iter().take(KEPT_SNAPSHOTS).next_back() else { return Ok(()) };
        let found = ordinals(fs, &paths.log)?;
        let mut sizes = Vec::with_capacity(found.len());
        for &ordinal in &found {
            let found = fs.fingerprint(&path_of(&paths.log, ordinal))?;
            sizes.push(
                found.map_or((0, None), |found| (found.length_bytes(), Some(found.modified()))),
            );
        }
        let mut total: u64 = sizes.iter().map(|(bytes, _)| bytes).sum();
        for (index, &ordinal) in found.iter().enumerate() {
            // A segment ends where the next one begins.
            let Some(&next) = found.get(index + 1) else { break };
            let Ok(Some(next)) = Segment::open(fs, &paths.log, next) else { break };
            let (bytes, modified) = sizes[index];
            if next.begin.position.number > needed
                || !self.shared.options.keep_events.is_exceeded(total, modified)
            {
                break;
            }
            fs.remove(&path_of(&paths.log, ordinal))?;
            total -= bytes;
        }
        Ok(())
    }
}

/// Replaces `issues.json` with a rendering of the state at a position, and returns its fingerprint. `expected` is the
/// file that was seen last. Returns `None` if it was edited in the meantime. `merge` merges an edit that the rendering
/// displaced.
pub(in crate::store) fn replace_file(
    fs: &dyn FileSystem,
    paths: &StorePaths,
    position: EventPosition,
    expected: Option<FileFingerprint>,
    write: impl FnOnce(&mut Sink<'_>) -> io::Result<()>,
    merge: impl FnOnce(State, Edited) -> Result<(), StoreError>,
) -> Result<Option<FileFingerprint>, StoreError> {
    let (target, id) = (&paths.issues, random());
    let (unfinished, temp) = (paths.unfinished(id), paths.exchange_file(id));
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
pub(in crate::store) fn refuse_links(fs: &dyn FileSystem, target: &Path) -> Result<(), StoreError> {
    let found = fs.fingerprint(target).map_err(|source| write_error(target, &source))?;
    if found.is_none_or(|found| found.links() <= 1) {
        return Ok(());
    }
    Err(StoreError::ReadOnly(format!(
        "{} has several hard links, and replacing it would separate them: remove the others",
        target.display()
    )))
}
