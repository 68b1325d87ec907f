//! What happens under the lock of a commit: getting the files in order, and appending.
//!
//! A session holds `issues.json.lock`, and the journal itself beside it: should somebody remove the
//! lock file, two processes could each lock one of their own, but only one of them gets the journal.
//! Settling brings the files into the one state in which something may be appended: the
//! journal follows `issues.json`, and nothing stands behind its last whole batch.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use chrono::{DateTime, Utc};

use super::checkpoint;
use super::edits;
use super::fs::{FileSystem, Lock, Stamp, sync_name};
use super::journal::{self, Rest};
use super::load;
use super::replica::Replica;
use super::stale;
use super::suspect;
use super::view::{Journal, Place, Standing, View};
use crate::domain::Timestamp;
use crate::store::StoreError;

/// Why a session did not come to its end.
#[derive(Debug)]
pub(super) enum Interrupted {
    /// Begin another session: somebody changed the files, or the lock is not worth anything.
    Overtaken,
    /// It cannot be done.
    Failed(StoreError),
    /// It cannot be done, and going on would do harm.
    Hopeless(StoreError),
}

impl<E: Into<StoreError>> From<E> for Interrupted {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// The exclusive right to change the files, until it is dropped.
pub(super) struct Session<'a> {
    pub replica: &'a Replica,
    pub place: Place,
    pub lock: Lock,
    claimed: Option<Arc<Journal>>,
}

impl<'a> Session<'a> {
    /// Waits for the lock for as long as another process has it.
    pub fn begin(replica: &'a Replica, place: Place) -> Result<Self, StoreError> {
        let lock = replica.ground.lock(&*replica.fs, &place)?;
        Ok(Self { replica, place, lock, claimed: None })
    }

    /// Takes the lock if nobody has it.
    pub fn try_begin(replica: &'a Replica, place: Place) -> Result<Option<Self>, StoreError> {
        let lock = replica.ground.try_lock(&*replica.fs, &place)?;
        Ok(lock.map(|lock| Self { replica, place, lock, claimed: None }))
    }

    pub fn fs(&self) -> &'a dyn FileSystem {
        &*self.replica.fs
    }

    /// Removes what dead processes left.
    pub fn clean(&self) {
        if let Err(error) = stale::remove(self.fs(), &self.place) {
            // The next process looks at it again.
            tracing::warn!("what a process left that died is not in order: {error}");
        }
    }

    /// The newest state, with files that are ready to be appended to. What has to be loaded for that
    /// is loaded under the lock only if `may_load`, since it can take long.
    pub fn settle(&mut self, may_load: bool) -> Result<(Arc<View>, Arc<Journal>), Interrupted> {
        // Each round puts one thing in order.
        const MAX_ROUNDS: usize = 5;
        for _ in 0..MAX_ROUNDS {
            let view = match self.replica.quick_at(&self.place)? {
                Some(view) => view,
                None if may_load => self.replica.fresh_to_write(&self.place)?,
                None => return Err(Interrupted::Overtaken),
            };
            if let Standing::Damaged { why, .. } = &view.standing {
                return Err(StoreError::Damaged(why.clone()).into());
            }
            if let Some(journal) = view.journal.as_ref().filter(|it| !it.open.is_writable) {
                self.replica.publish(self.reopened(&view, journal)?);
                continue;
            }
            if let Some(journal) = &view.journal {
                self.claim(journal)?;
                self.cut_torn_tail(&view, journal)?;
            }
            let mut kept = None;
            let next = match (&view.standing, &view.journal) {
                (Standing::Settled, Some(journal)) => {
                    // It may have been replaced between the look and the claim.
                    let is_at = self.fs().is_at(&journal.open.file, &self.place.journal);
                    if !is_at.map_err(|source| refused(&self.place.journal, &source))? {
                        return Err(Interrupted::Overtaken);
                    }
                    if self.replica.suspects.why(&view).is_none() {
                        return Ok((Arc::clone(&view), Arc::clone(journal)));
                    }
                    suspect::begin_anew(self, &view)?
                }
                (Standing::Unsettled { .. }, _) if view.unsaved > 0 => {
                    kept = view.edit.as_ref().map(|_| edits::keep(self, &view)).transpose()?;
                    checkpoint::checkpoint(self, &view)?
                }
                _ => suspect::begin_behind(self, &view)?,
            };
            self.replica.publish(next);
            if let Some(edit) = &view.edit {
                edits::tell(&view, edit, kept.as_ref());
            }
        }
        Err(Interrupted::Overtaken)
    }

    /// The same state with the journal opened again, now that somebody may have permitted writing.
    fn reopened(&self, view: &View, journal: &Journal) -> Result<View, StoreError> {
        let found = load::open_journal(self.fs(), &self.place);
        let found = found.map_err(|source| refused(&self.place.journal, &source))?;
        let same = |it: &Arc<Journal>| it.open.is_writable && it.epoch() == journal.epoch();
        let found = found.map(|(journal, _)| journal);
        let journal = found.filter(same).ok_or_else(|| not_writable(&self.place))?;
        Ok(View { journal: Some(journal), ..view.clone() })
    }

    fn claim(&mut self, journal: &Arc<Journal>) -> Result<(), Interrupted> {
        if self.claimed.as_ref().is_some_and(|claimed| Arc::ptr_eq(claimed, journal)) {
            return Ok(());
        }
        self.release();
        let claimed = self.replica.fs.claim(&journal.open.file);
        if !claimed.map_err(|source| refused(&self.place.journal, &source))? {
            return Err(Interrupted::Overtaken);
        }
        self.claimed = Some(Arc::clone(journal));
        Ok(())
    }

    fn release(&mut self) {
        if let Some(journal) = self.claimed.take() {
            self.replica.fs.release(&journal.open.file);
        }
    }

    /// Cuts what a process that died left behind the last whole batch, and keeps it for people. None of
    /// it was answered: what was synced is whole.
    fn cut_torn_tail(&self, view: &View, journal: &Journal) -> Result<(), Interrupted> {
        let fs = self.fs();
        let failed = |source| Interrupted::from(refused(&self.place.journal, &source));
        let torn = fs.read_at(&journal.open.file, view.end).map_err(failed)?;
        if torn.is_empty() {
            return Ok(());
        }
        // What the look before the claim has missed, because somebody held another lock file.
        let scan = journal::scan(journal.epoch(), view.end, view.seq, &torn);
        if !scan.entries.is_empty() || scan.rest != Rest::Torn {
            return Err(Interrupted::Overtaken);
        }
        let kept = self.place.torn(&timestamp(fs.now()).to_string(), view.end);
        let path = &self.place.journal;
        let mut temp = fs.create_temp(path, path).map_err(failed)?;
        fs.write(&mut temp, &torn).map_err(failed)?;
        fs.sync(&temp).map_err(failed)?;
        fs.replace(temp, &kept).map_err(failed)?;
        sync_name(fs, path).map_err(failed)?;
        fs.truncate(&journal.open.file, view.end).map_err(failed)?;
        if self.replica.suspects.why(view).is_none() {
            // Where that fails, all of the journal is in another file before anything is appended.
            let _ = self.replica.sync(journal, None);
        }
        tracing::warn!(
            "a process ended while it wrote a change that nobody was told of; its {} bytes are kept in {}",
            torn.len(),
            kept.display(),
        );
        Ok(())
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        // Before the lock, which the fields' own drop gives up.
        self.release();
    }
}

/// Keeps a copy of a file, durably; gives what identified it, and `None` when there is none to copy. `place` is
/// that of the store.
pub(super) fn keep_copy(
    fs: &dyn FileSystem,
    path: &Path,
    kept: &Path,
    place: &Place,
) -> Result<Option<Stamp>, StoreError> {
    let failed = |source| refused(kept, &source);
    let Some(contents) = fs.read(path).map_err(failed)? else { return Ok(None) };
    // Called like those of `issues.json`, so that the next process clears it away should this one die.
    let mut temp = fs.create_temp(&place.snapshot, path).map_err(failed)?;
    fs.write(&mut temp, &contents.bytes).map_err(failed)?;
    fs.sync(&temp).map_err(failed)?;
    fs.place(temp, kept).map_err(failed)?;
    sync_name(fs, kept).map_err(failed)?;
    Ok(Some(contents.stamp))
}

pub(super) fn timestamp(time: SystemTime) -> Timestamp {
    Timestamp::from(DateTime::<Utc>::from(time))
}

/// Tells whether this process may write to a journal, or could if it opened it now.
pub(super) fn is_writable(fs: &dyn FileSystem, journal: &Journal, place: &Place) -> bool {
    let could = || matches!(fs.open(&place.journal), Ok(Some(open)) if open.is_writable);
    journal.open.is_writable || could()
}

pub(super) fn not_writable(place: &Place) -> StoreError {
    refused(&place.journal, &io::ErrorKind::PermissionDenied.into())
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
