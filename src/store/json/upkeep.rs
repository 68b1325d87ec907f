//! Bringing `issues.json` up to date: whether it is needed, and in which of the two ways.

use std::sync::Arc;
use std::time::Duration;

use super::aside::Aside;
use super::checkpoint;
use super::commit::{Committer, IfTaken};
use super::fs::{Lock, sync_name};
use super::replica::Replica;
use super::schedule::Unsaved;
use super::session::{Interrupted, refused};
use super::view::View;
use crate::store::StoreError;

/// What became of the wish to bring `issues.json` up to date.
pub(super) enum Saved {
    /// It was written, which took so long; and what it lacks by now, if anything.
    Now(Duration, Option<Unsaved>),
    /// It was up to date.
    UpToDate,
    /// It was written so recently that this, which it lacks, has to wait.
    Later(Duration, Unsaved),
}

impl Committer {
    /// Brings `issues.json` up to date, unless somebody has just done that; tells `waits` when it begins to
    /// wait for a lock, and when it has it.
    pub fn checkpoint(&mut self, waits: impl Fn(bool)) -> Result<Saved, StoreError> {
        let replica = Arc::clone(self.replica());
        if let Some(saved) = need_not_save(&replica, &*replica.fresh()?) {
            return Ok(saved);
        }
        let need_not_save = |view: &View| need_not_save(&replica, view);
        self.checkpoint_unless(IfTaken::Try, IfTaken::Wait, need_not_save, waits)
    }

    /// Brings `issues.json` up to date, unless others keep the lock.
    pub fn last_checkpoint(&mut self) -> Result<Saved, StoreError> {
        self.checkpoint_unless(IfTaken::Try, IfTaken::Try, |_| None, |_| ())
    }

    /// Brings `issues.json` up to date in any case.
    pub fn checkpoint_now(&mut self) -> Result<(), StoreError> {
        if self.replica().fresh()?.unsaved == 0 {
            return Ok(());
        }
        self.checkpoint_unless(IfTaken::Wait, IfTaken::Wait, |_| None, |_| ()).map(drop)
    }

    /// Brings `issues.json` up to date unless `need_not` says why not; a large one while others commit. What
    /// to do where the lock of a checkpoint is taken, and where that of a commit is, are two things.
    fn checkpoint_unless(
        &mut self,
        if_written: IfTaken,
        if_taken: IfTaken,
        need_not: impl FnOnce(&View) -> Option<Saved>,
        waits: impl Fn(bool),
    ) -> Result<Saved, StoreError> {
        let replica = Arc::clone(self.replica());
        let known = replica.fresh()?;
        // Before the lock of a commit: whoever has both has waited for neither in vain.
        let alone = match replica.is_large(&known) {
            true => match alone(&replica, if_written)? {
                Some(alone) => Some(alone),
                None => {
                    let unsaved = unsaved_in(&known);
                    return Ok(Saved::Later(unsaved.expected(), unsaved));
                }
            },
            false => None,
        };
        let mut settled = || {
            waits(true);
            let settled = self.session(&replica, if_taken);
            waits(false);
            settled
        };
        let (session, view, _) = settled()?;
        // While the lock was waited for, another process may have done it.
        if let Some(saved) = need_not(&view) {
            return Ok(saved);
        }
        if view.unsaved == 0 {
            return Ok(Saved::UpToDate);
        }
        let Some(alone) = alone else {
            let saved = checkpoint::checkpoint(&session, &view);
            let saved = saved.map(|saved| replica.publish(saved));
            return self.saved(saved);
        };
        drop(session);
        let written = || -> Result<Arc<View>, Interrupted> {
            let mut aside = Aside::write(&replica, alone, view)?;
            let (session, view, _) = settled()?;
            drop(session);
            aside.catch_up(&replica, &view)?;
            let (session, view, _) = settled()?;
            let (saved, replaced) = aside.finish(&session, &view)?;
            let saved = replica.publish(saved);
            drop(session);
            // Others need not wait for this, nor until the room of a large file is free.
            if let Some(journal) = &saved.journal
                && sync_name(&*replica.fs, &saved.place.journal).is_ok()
            {
                journal.adopt();
            }
            drop(replaced);
            Ok(saved)
        };
        let written = written();
        self.saved(written)
    }

    /// What became of a checkpoint.
    fn saved(&mut self, saved: Result<Arc<View>, Interrupted>) -> Result<Saved, StoreError> {
        match saved {
            Ok(saved) => {
                let took_ms = saved.journal.as_ref().map_or(0, |it| it.header.took_ms);
                let rest = (saved.unsaved > 0).then(|| unsaved_in(&saved));
                Ok(Saved::Now(Duration::from_millis(took_ms), rest))
            }
            Err(Interrupted::Overtaken) => {
                Err(StoreError::Busy("somebody changed it meanwhile".to_owned()))
            }
            Err(Interrupted::Failed(error)) => Err(error),
            Err(Interrupted::Hopeless(error)) => Err(self.give_up(error)),
        }
    }
}

/// The lock of whoever writes a large `issues.json`; `None` when another process does.
fn alone(replica: &Replica, if_taken: IfTaken) -> Result<Option<Lock>, StoreError> {
    let path = replica.place()?.checkpoint;
    let lock = match if_taken {
        IfTaken::Wait => replica.fs.lock(&path).map(Some),
        IfTaken::Try => replica.fs.try_lock(&path),
    };
    lock.map_err(|source| refused(&path, &source))
}

/// What `issues.json` lacks.
pub(super) fn unsaved_in(view: &View) -> Unsaved {
    let snapshot_bytes = view.snapshot.map_or(0, |snapshot| snapshot.content.length_bytes);
    let took_ms = view.journal.as_ref().map_or(0, |journal| journal.header.took_ms);
    let took = (took_ms > 0).then(|| Duration::from_millis(took_ms));
    Unsaved { journal_bytes: view.end, snapshot_bytes, took }
}

/// Why `issues.json` is not to be written now; `None` when it is.
fn need_not_save(replica: &Replica, view: &View) -> Option<Saved> {
    let (rest, unsaved) = (view.rest(replica.fs.now()), unsaved_in(view));
    if view.unsaved == 0 {
        Some(Saved::UpToDate)
    } else if !rest.is_zero() && !unsaved.is_urgent() {
        Some(Saved::Later(rest, unsaved))
    } else {
        None
    }
}
