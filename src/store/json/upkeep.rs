//! Bringing `issues.json` up to date: whether it is needed, and in which of the two ways.

use std::sync::Arc;
use std::time::Duration;

use super::commit::{Committer, IfTaken};
use super::fs::Lock;
use super::replica::Replica;
use super::schedule::Unsaved;
use super::session::{Interrupted, refused};
use super::view::{Standing, View};
use super::{aside, checkpoint};
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
    /// Tells whether `issues.json` takes so long to write that others are to commit meanwhile.
    pub fn is_large(&self) -> bool {
        self.replica().latest().is_some_and(|view| is_large(self.replica(), &view))
    }

    /// Brings `issues.json` up to date, unless somebody has just done that; tells `waits` when it begins to
    /// wait for a lock, and when it has it.
    pub fn checkpoint(&mut self, waits: impl Fn(bool)) -> Result<Saved, StoreError> {
        let replica = Arc::clone(self.replica());
        let need_not = |view: &View| need_not_save(&replica, view);
        self.checkpoint_unless(IfTaken::Try, IfTaken::Wait, need_not, waits)
    }

    /// Brings `issues.json` up to date, unless others keep the lock.
    pub fn last_checkpoint(&mut self) -> Result<Saved, StoreError> {
        self.checkpoint_unless(IfTaken::Try, IfTaken::Try, up_to_date, |_| ())
    }

    /// Brings `issues.json` up to date in any case.
    pub fn checkpoint_now(&mut self) -> Result<(), StoreError> {
        // What a checkpoint has just put there, it may put back yet, should it meet an edit.
        let is_final = |view: &View| view.standing == Standing::Settled || view.edit.is_some();
        let need_not = |view: &View| up_to_date(view).filter(|_| is_final(view));
        self.checkpoint_unless(IfTaken::Wait, IfTaken::Wait, need_not, |_| ()).map(drop)
    }

    /// Brings `issues.json` up to date unless `need_not` says why not; a large one while others commit. What
    /// to do where the lock of a checkpoint is taken, and where that of a commit is, are two things.
    fn checkpoint_unless(
        &mut self,
        if_written: IfTaken,
        if_taken: IfTaken,
        need_not: impl Fn(&View) -> Option<Saved>,
        waits: impl Fn(bool),
    ) -> Result<Saved, StoreError> {
        let replica = Arc::clone(self.replica());
        let mut known = replica.fresh()?;
        if replica.suspects.why(&known).is_some() {
            // Whatever becomes of `issues.json`: others rely on the journal.
            known = self.session(&replica, if_taken)?.1;
        }
        if let Some(saved) = need_not(&known) {
            return Ok(saved);
        }
        // Before the lock of a commit: whoever has both has waited for neither in vain.
        let alone = match is_large(&replica, &known) {
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
        let Some(alone) = alone else {
            let saved = checkpoint::checkpoint(&session, &view);
            let saved = saved.map(|saved| replica.publish(saved));
            drop(session);
            return self.saved(saved, if_taken);
        };
        drop(session);
        let written = aside::checkpoint(&replica, alone, view, settled);
        self.saved(written, if_taken)
    }

    /// What became of a checkpoint.
    fn saved(
        &mut self,
        saved: Result<Arc<View>, Interrupted>,
        if_taken: IfTaken,
    ) -> Result<Saved, StoreError> {
        let replica = Arc::clone(self.replica());
        if saved.is_err() && replica.latest().is_some_and(|it| replica.suspects.why(&it).is_some())
        {
            // Others rely on the journal. What keeps it as it is, the next one to change something is told.
            let _ = self.session(&replica, if_taken);
        }
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
    let place = replica.place()?;
    replica.ground.survey(&*replica.fs, &place)?;
    let path = place.checkpoint;
    let lock = match if_taken {
        IfTaken::Wait => replica.fs.lock(&path).map(Some),
        IfTaken::Try => replica.fs.try_lock(&path),
    };
    lock.map_err(|source| refused(&path, &source))
}

/// Tells whether `issues.json` with what it lacks is large.
fn is_large(replica: &Replica, view: &View) -> bool {
    let Unsaved { journal_bytes, snapshot_bytes, .. } = unsaved_in(view);
    journal_bytes + snapshot_bytes >= replica.aside_from_bytes
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
    let is_resting = !rest.is_zero() && !unsaved.is_urgent();
    up_to_date(view).or_else(|| is_resting.then_some(Saved::Later(rest, unsaved)))
}

/// Tells so where nothing is to be written.
fn up_to_date(view: &View) -> Option<Saved> {
    (view.unsaved == 0).then_some(Saved::UpToDate)
}
