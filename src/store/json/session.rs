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
use super::fs::{FileSystem, Lock, directory_of};
use super::replica::Replica;
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
    pub fn begin(replica: &'a Replica) -> Result<Self, StoreError> {
        let place = replica.place()?;
        let lock = replica.fs.lock(&place.lock).map_err(|source| refused(&place.lock, &source))?;
        Ok(Self { replica, place, lock, claimed: None })
    }

    /// Takes the lock if nobody has it.
    pub fn try_begin(replica: &'a Replica) -> Result<Option<Self>, StoreError> {
        let place = replica.place()?;
        let lock = replica.fs.try_lock(&place.lock);
        let lock = lock.map_err(|source| refused(&place.lock, &source))?;
        Ok(lock.map(|lock| Self { replica, place, lock, claimed: None }))
    }

    /// Removes what dead processes left. Living ones have temporary files only under the lock.
    pub fn clean(&self) {
        self.replica.fs.remove_stale_temps(&self.place.snapshot);
        self.replica.fs.remove_stale_temps(&self.place.journal);
    }

    /// The newest state, with files that are ready to be appended to.
    pub fn settle(&mut self) -> Result<(Arc<View>, Arc<Journal>), Interrupted> {
        // Each round puts one thing in order.
        const MAX_ROUNDS: usize = 4;
        for _ in 0..MAX_ROUNDS {
            // Loading takes long, and is done without the lock.
            let view = self.replica.quick_at(&self.place)?.ok_or(Interrupted::Overtaken)?;
            if let Some(journal) = &view.journal {
                self.claim(journal)?;
            }
            let next = match (&view.standing, &view.journal) {
                (Standing::Damaged { why, .. }, _) => {
                    return Err(StoreError::Damaged(why.clone()).into());
                }
                (Standing::Settled, Some(journal)) => {
                    self.cut_torn_tail(&view, journal)?;
                    return Ok((Arc::clone(&view), Arc::clone(journal)));
                }
                (Standing::Unsettled { .. }, _) if view.unsaved > 0 => {
                    checkpoint::checkpoint(self, &view)?
                }
                (Standing::Unsettled { .. } | Standing::Settled, _) => {
                    checkpoint::begin_journal(self, &view)?
                }
            };
            self.replica.publish(next);
        }
        Err(Interrupted::Overtaken)
    }

    fn claim(&mut self, journal: &Arc<Journal>) -> Result<(), Interrupted> {
        if self.claimed.as_ref().is_some_and(|claimed| Arc::ptr_eq(claimed, journal)) {
            return Ok(());
        }
        writable(journal, &self.place)?;
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
    /// it was answered: its writer would have had to sync it, and that was alone under the lock.
    fn cut_torn_tail(&self, view: &View, journal: &Journal) -> Result<(), Interrupted> {
        let fs = &*self.replica.fs;
        let failed = |source| Interrupted::from(refused(&self.place.journal, &source));
        let torn = fs.read_at(&journal.open.file, view.end).map_err(failed)?;
        if torn.is_empty() {
            return Ok(());
        }
        let kept = self.place.torn(&timestamp(fs.now()).to_string());
        let path = &self.place.journal;
        let mut temp = fs.create_temp(path, path).map_err(failed)?;
        fs.write(&mut temp, &torn).map_err(failed)?;
        fs.sync(&temp).map_err(failed)?;
        fs.replace(temp, &kept).map_err(failed)?;
        fs.sync_directory(directory_of(path)).map_err(failed)?;
        fs.truncate(&journal.open.file, view.end).map_err(failed)?;
        fs.sync_data(&journal.open.file).map_err(failed)?;
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

fn timestamp(time: SystemTime) -> Timestamp {
    Timestamp::from(DateTime::<Utc>::from(time))
}

/// Refuses when this process may not write to the journal.
pub(super) fn writable(journal: &Journal, place: &Place) -> Result<(), StoreError> {
    if journal.open.is_writable {
        return Ok(());
    }
    Err(refused(&place.journal, &io::ErrorKind::PermissionDenied.into()))
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

/// Reaches the file system of a session.
pub(super) fn fs_of<'a>(session: &'a Session<'_>) -> &'a dyn FileSystem {
    &*session.replica.fs
}
