//! Publishing: writing `issues.json` and snapshots, and removing what they make superfluous.
//!
//! Both are renderings of a durable state, made without the lock of a commit. Nothing relies on `issues.json` being
//! up to date. It is put in place by an exchange of names; whatever stood there instead of what was published
//! last is an edit.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::edits;
use super::format;
use super::fs::{FileFingerprint, FileLock, FileSystem, Rename, directory_of, lock_at};
use super::ground::refused;
use super::kept;
use super::log::Segment;
use super::log::segment::{ordinals, path_of};
use super::place::Place;
use super::published::{Edited, KnownFile, Published, random};
use super::recovery;
use super::render::{RenderedFile, render};
use super::snapshot;
use super::support::lock;
use super::view::{Head, Shared, Source, View};
use super::writer::WriterHandle;
use crate::store::{State, StoreError};

/// How much longer than publishing took nothing is published.
const REST_FACTOR: u32 = 20;
/// From how many bytes of log on a snapshot is worth its while, at least.
const MIN_REPLAY_BYTES: u64 = 4 * 1024 * 1024;
/// How many snapshots are kept.
const KEPT_SNAPSHOTS: usize = 2;

/// What came of publishing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Publication {
    /// The file was up to date.
    UpToDate,
    /// It was written.
    Written,
    /// Another process is writing it.
    Busy,
}

/// When a file is left as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unless {
    /// If it tells everything that is durable, or is an edit since which nothing has changed: reading must not
    /// interfere with what git does to the file.
    Unchanged,
    /// Only if it was written so.
    Rendered,
}

/// Writes `issues.json` and snapshots. What changes the store goes through the writer thread.
pub(super) struct Publisher {
    pub shared: Arc<Shared>,
    pub writer: WriterHandle,
}

impl Publisher {
    /// Brings `issues.json` up to date with everything that is durable, unless another process is at it.
    ///
    /// # Errors
    ///
    /// What keeps it from being written. Nothing is lost then.
    pub fn publish(&self, unless: Unless) -> Result<Publication, StoreError> {
        /// How often somebody may edit the file while it is written.
        const MAX_ROUNDS: usize = 5;
        for _ in 0..MAX_ROUNDS {
            let view = self.settle()?;
            if view.head().is_none() {
                return Ok(Publication::UpToDate);
            }
            if let Some(damage) = &view.damage {
                return Err(StoreError::Damaged(damage.to_string()));
            }
            if let Some(problem) = lock(&self.shared.known).problem.clone() {
                return Err(StoreError::NotSaved(problem));
            }
            if self.is_published(&view, unless)
                && !edits::has_leftovers(&*self.shared.fs, &view.place)
            {
                return Ok(Publication::UpToDate);
            }
            self.shared.ground.survey(&*self.shared.fs, &view.place)?;
            let Some(_lock) = self.publish_lock(&view.place)? else { return Ok(Publication::Busy) };
            self.writer.run(edits::merge_leftovers)??;
            let known = self.shared.fresh_durable()?;
            // Whoever had the lock has just written it, or somebody has edited it.
            if edits::is_pending(&self.shared, &known) {
                continue;
            }
            // An edit that is taken over from here on is not what is replaced.
            let expected = {
                let known = lock(&self.shared.known);
                if let Some(problem) = &known.problem {
                    return Err(StoreError::NotSaved(problem.clone()));
                }
                known.looked_at.flatten()
            };
            let (view, state) = self.shared.durable_state()?;
            if self.is_published(&view, unless) {
                return Ok(Publication::UpToDate);
            }
            if self.replace(&view.place, &state, expected)? {
                return Ok(Publication::Written);
            }
        }
        Err(StoreError::Busy(format!("{} is edited all the time", self.shared.path.display())))
    }

    /// Takes over what somebody made of the file, and what this process knew of a log that is gone.
    pub fn settle(&self) -> Result<Arc<View>, StoreError> {
        self.writer.run(edits::adopt)??;
        self.shared.fresh_durable()
    }

    fn is_published(&self, view: &View, unless: Unless) -> bool {
        let found = self.shared.fs.fingerprint(&view.place.issues).ok().flatten();
        let published = Published::read(&*self.shared.fs, &view.place);
        found.zip(published).is_some_and(|(found, published)| {
            found == published.fingerprint
                && published.position() == view.durable
                && (unless == Unless::Unchanged || published.took_ms.is_some())
        })
    }

    /// Whether something is durable that the file does not tell, as far as the note says.
    pub fn is_behind(&self, view: &View) -> bool {
        let found = self.shared.fs.fingerprint(&view.place.issues).ok().flatten();
        let is_told = |published: Published| {
            published.position() == view.durable
                // Whoever wrote the note has died before it put the file in place.
                && found.is_none_or(|found| published.displaced != Some(found))
        };
        view.head().is_some()
            && lock(&self.shared.known).problem.is_none()
            && !Published::read(&*self.shared.fs, &view.place).is_some_and(is_told)
    }

    /// How long the file is to be left as it is, whichever process wrote it, so that writing it costs a small part of
    /// the time.
    pub fn rest(&self) -> Duration {
        let Some(view) = self.shared.latest() else { return Duration::ZERO };
        let fs = &*self.shared.fs;
        let found = fs.fingerprint(&view.place.issues).ok().flatten();
        let Some((found, note)) = found.zip(Published::read(fs, &view.place)) else {
            return Duration::ZERO;
        };
        let age = SystemTime::now().duration_since(found.modified()).unwrap_or_default();
        (Duration::from_millis(note.took_ms.unwrap_or(0)) * REST_FACTOR).saturating_sub(age)
    }

    fn publish_lock(&self, place: &Place) -> Result<Option<FileLock>, StoreError> {
        let (fs, path) = (&*self.shared.fs, place.publish_lock());
        let failed = |source| refused(&path, &source);
        lock_at(fs, &path, &place.issues, false).map_err(failed)
    }

    fn take_over(&self, theirs: State, edited: Edited) -> Result<(), StoreError> {
        self.writer.run(move |committer| edits::take_over(committer, &theirs, &edited).map(drop))?
    }

    /// Puts a rendering in the place of the file; false when somebody has edited that meanwhile.
    fn replace(
        &self,
        place: &Place,
        state: &State,
        expected: Option<FileFingerprint>,
    ) -> Result<bool, StoreError> {
        let shared = &self.shared;
        let fs = &*shared.fs;
        let (target, id) = (&place.issues, random());
        let (unfinished, temp) = (place.unfinished(id), place.temp(id));
        let failed = |source: io::Error| refused(target, &source);
        refuse_links(fs, target)?;
        let begun = Instant::now();
        let document = state.document();
        let rendered = render(fs, &unfinished, target, |sink| format::write(&document, sink));
        let RenderedFile { fingerprint, hash, .. } = rendered.map_err(failed)?;
        fs.rename(&unfinished, &temp, Rename::Replace).map_err(failed)?;
        let give_up = || {
            drop(fs.remove(&temp));
            Ok(false)
        };
        let lock_of_note = Published::lock(fs, place).map_err(failed)?;
        if fs.fingerprint(target).map_err(failed)? != expected {
            return give_up();
        }
        // Before the file is there: whoever looks at it then knows that nobody has edited it.
        let edited = Published::edits(fs, place);
        let noted = Published::new(state.position, fingerprint, hash);
        let took_ms = Some(u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX));
        let noted = Published { displaced: expected, took_ms, ..noted };
        noted.write(fs, place).map_err(failed)?;
        let was_there = expected.is_some();
        let put = if was_there {
            match fs.rename(&temp, target, Rename::Exchange) {
                // As near to one step as such a system allows.
                Err(error) if error.kind() == io::ErrorKind::Unsupported => {
                    fs.rename(&temp, target, Rename::Replace).map(|()| false)
                }
                // Somebody has just removed it.
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
            } else if !self.settle_displaced(place, &temp, fingerprint, edited)? {
                return Ok(false);
            }
        }
        fs.sync_directory(directory_of(target)).map_err(failed)?;
        *lock(&shared.known) = KnownFile { looked_at: Some(Some(fingerprint)), problem: None };
        Ok(true)
    }

    /// Looks at a file that somebody saved between the last look and the exchange; false when it was put back, because
    /// it is not valid.
    fn settle_displaced(
        &self,
        place: &Place,
        temp: &Path,
        rendered: FileFingerprint,
        edited: Edited,
    ) -> Result<bool, StoreError> {
        let fs = &*self.shared.fs;
        let failed = |source: io::Error| refused(temp, &source);
        match recovery::read_issues(fs, temp) {
            Ok(Some(file)) => {
                self.take_over(file.state, edited)?;
                kept::move_to(fs, place, temp, "edited").map_err(failed)?;
                Ok(true)
            }
            Ok(None) => Ok(true),
            Err(_) => {
                fs.rename(temp, &place.issues, Rename::Exchange).map_err(failed)?;
                // What somebody has saved meanwhile is merged with the next leftovers.
                if fs.fingerprint(temp).map_err(failed)? == Some(rendered) {
                    fs.remove(temp).map_err(failed)?;
                }
                Ok(false)
            }
        }
    }

    /// Whether so much log came after the newest snapshot that another one is worth its while.
    pub fn is_snapshot_due(&self, view: &View) -> bool {
        let is_due =
            |head: &Head| head.replayed_bytes > MIN_REPLAY_BYTES.max(head.snapshot_bytes / 4);
        view.damage.is_none() && view.head().is_some_and(is_due)
    }

    /// Writes a snapshot if that is worth its while, and removes what no opening needs any more.
    ///
    /// # Errors
    ///
    /// What keeps it from being written. Nothing is lost then.
    pub fn snapshot(&self) -> Result<bool, StoreError> {
        let known = self.shared.fresh_durable()?;
        if !self.is_snapshot_due(&known) {
            return Ok(false);
        }
        let Some(_lock) = self.publish_lock(&known.place)? else { return Ok(false) };
        let (view, state) = self.shared.durable_state()?;
        let (place, Some(head)) = (&view.place, view.head()) else { return Ok(false) };
        let fs = &*self.shared.fs;
        let store = &head.segment.header.store;
        let written = snapshot::write(fs, place, &state, store);
        let length = written.map_err(|source| refused(&place.directory, &source))?;
        let mut follower = self.shared.follower();
        if let Some(known) = follower.view.clone()
            && let Source::Log(head) = &known.source
        {
            let head = Head { replayed_bytes: 0, snapshot_bytes: length, ..head.clone() };
            let known = View { source: Source::Log(head), ..View::clone(&known) };
            self.shared.publish_view(&mut follower, known);
        }
        drop(follower);
        self.prune(place, &head.segment.header.store)
            .map_err(|source| refused(&place.log, &source))?;
        Ok(true)
    }

    /// Removes all but the newest snapshots, and segments that are behind the last of these and beyond what is to
    /// be kept, the oldest first. Sets aside the snapshots of a log that is gone.
    fn prune(&self, place: &Place, store: &str) -> io::Result<()> {
        let fs = &*self.shared.fs;
        let found = snapshot::list(fs, place)?.into_iter();
        let (own, strange): (Vec<_>, Vec<_>) =
            found.partition(|(number, path)| *path == place.snapshot(*number, store));
        for (_, path) in strange {
            kept::move_to(fs, place, &path, "snapshot-of-lost-log")?;
        }
        for (_, path) in own.iter().skip(KEPT_SNAPSHOTS) {
            fs.remove(path)?;
        }
        let Some(&(needed, _)) = own.iter().take(KEPT_SNAPSHOTS).next_back() else { return Ok(()) };
        let found = ordinals(fs, &place.log)?;
        let mut sizes = Vec::with_capacity(found.len());
        for &ordinal in &found {
            let found = fs.fingerprint(&path_of(&place.log, ordinal))?;
            sizes.push(
                found.map_or((0, None), |found| (found.length_bytes(), Some(found.modified()))),
            );
        }
        let mut total: u64 = sizes.iter().map(|(bytes, _)| bytes).sum();
        for (index, &ordinal) in found.iter().enumerate() {
            // What a segment holds ends where the next one begins.
            let Some(&next) = found.get(index + 1) else { break };
            let Ok(Some(next)) = Segment::open(fs, &place.log, next) else { break };
            let (bytes, modified) = sizes[index];
            if next.begin.position.number > needed
                || !self.shared.options.keep_events.is_exceeded(total, modified)
            {
                break;
            }
            fs.remove(&path_of(&place.log, ordinal))?;
            total -= bytes;
        }
        Ok(())
    }
}

/// Refuses to replace a file that has several names. Links are made without a trace in what the file is known by.
fn refuse_links(fs: &dyn FileSystem, target: &Path) -> Result<(), StoreError> {
    let found = fs.fingerprint(target).map_err(|source| refused(target, &source))?;
    if found.is_none_or(|found| found.links() <= 1) {
        return Ok(());
    }
    Err(StoreError::ReadOnly(format!(
        "{} has several hard links, and replacing it would part them: remove the others",
        target.display()
    )))
}
