//! Going back to a backup: putting other issues in the place of all that the files hold.
//!
//! Where the files are in order, it is a [`checkpoint`] of another state, which tells
//! other processes that issues changed without events, as an edit by hand does. Before it, what the
//! journal has is brought into `issues.json`, so that no change stands in the journal that is given up:
//! nobody who finds it can apply one to the restored issues.
//!
//! Where they are damaged, an intent cannot be told from the damage, and no order of replacing two files
//! would be right by itself: either of them could be taken for the other's. So:
//!
//! 1. copies of both are kept beside them, synced;
//! 2. the restored issues are written to a temporary file, synced;
//! 3. a journal that says so (`restoring`) takes the place of the damaged one: from now on nothing but
//!    those issues is accepted as `issues.json`;
//! 4. the temporary file is renamed to `issues.json`;
//! 5. a journal begins as usual.
//!
//! After each rename the directory is synced. A process that dies between the third step and the fourth
//! leaves a store that cannot be read, says so, and can be restored again.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use super::checkpoint::{self, Rendered};
use super::commit::{Committer, IfTaken, MAX_SESSIONS, PAUSE};
use super::format::Document;
use super::frame::Hex128;
use super::fs::{FileSystem, OpenFile, sync_name};
use super::journal::Header;
use super::load::LoadError;
use super::replica::Replica;
use super::session::{Interrupted, Session, keep_copy, not_writable, refused, timestamp};
use super::ticket::WriterTicket;
use super::view::{Journal, Place, Snapshot, Standing, View};
use crate::store::StoreError;
use crate::store::backup::{Consent, Difference, Replacement, Verdict, file};
use crate::store::changes::Recent;

/// One wish to go back to a backup.
pub(super) struct Restore {
    replica: Arc<Replica>,
    document: Document,
    consent: Consent,
    /// Until the first lock is got, whoever asks may still withdraw it.
    ticket: Option<WriterTicket>,
    kept: Vec<PathBuf>,
}

impl Restore {
    pub fn new(
        replica: &Arc<Replica>,
        document: Document,
        consent: Consent,
        ticket: WriterTicket,
    ) -> Self {
        let (replica, ticket) = (Arc::clone(replica), Some(ticket));
        Self { replica, document, consent, ticket, kept: Vec::new() }
    }

    pub fn run(&mut self) -> Result<Replacement, StoreError> {
        let replica = Arc::clone(&self.replica);
        if self.consent == Consent::Look {
            return self.look();
        }
        let mut committer = Committer::new(Arc::clone(&replica));
        for attempt in 0..MAX_SESSIONS {
            if attempt > 0 {
                replica.fs.pause(PAUSE * attempt);
            }
            let place = replica.place()?;
            let restored = match damage(&replica, &place)? {
                Some(why) => match Replacement::found_damaged(self.consent, why) {
                    Some(refusal) => return Ok(refusal),
                    None => self.over_damage(Session::begin(&replica, place)?),
                },
                None => match committer.session(&replica, IfTaken::Wait) {
                    // Found out since the look: that is no reason to end here.
                    Err(StoreError::Damaged(_) | StoreError::Unreadable(_)) => continue,
                    settled => {
                        let (session, view, _) = settled?;
                        self.over_sound(&session, &view)
                    }
                },
            };
            match restored {
                Ok(replacement) => return Ok(replacement),
                Err(Interrupted::Overtaken) => {}
                Err(Interrupted::Failed(error) | Interrupted::Hopeless(error)) => {
                    return Err(error);
                }
            }
        }
        let path = replica.path().display();
        Err(StoreError::Busy(format!("others keep changing {path} and the files beside it")))
    }

    /// What would happen.
    fn look(&self) -> Result<Replacement, StoreError> {
        let place = self.replica.place()?;
        let found = match damage(&self.replica, &place)? {
            Some(why) => Replacement::found_damaged(self.consent, why),
            None => {
                let view = self.replica.fresh_to_read(&place)?;
                let difference = Difference::between(&view.document(), &self.document);
                Replacement::found(self.consent, difference)
            }
        };
        found.ok_or_else(|| StoreError::Busy("the look has no end".to_owned()))
    }

    /// Begins what cannot be withdrawn any more.
    fn begin(&mut self) -> Result<(), StoreError> {
        match self.ticket.take() {
            Some(ticket) if !ticket.take() => {
                Err(StoreError::Busy("nobody waits for it any more".to_owned()))
            }
            _ => Ok(()),
        }
    }

    /// Replaces files that are in order.
    fn over_sound(
        &mut self,
        session: &Session<'_>,
        view: &View,
    ) -> Result<Replacement, Interrupted> {
        self.begin()?;
        let difference = Difference::between(&view.document(), &self.document);
        if let Some(found) = Replacement::found(self.consent, difference.clone()) {
            return Ok(Replacement { kept: self.kept.clone(), ..found });
        }
        let (fs, place) = (session.fs(), &session.place);
        if !view.issues.is_empty() || view.snapshot.is_some() {
            let now = timestamp(fs.now());
            let kept = place.before_restore(&now.to_string());
            file::keep(fs, &view.document(), &kept, &place.snapshot, now)
                .map_err(|source| refused(&kept, &source))?;
            self.kept.push(kept);
        }
        let mut next = View::clone(view);
        if view.unsaved > 0 {
            next = checkpoint::checkpoint(session, view)?;
            session.replica.publish(next.clone());
        }
        let before = next.snapshot.map(|snapshot| snapshot.stamp);
        next.issues = self.document.issues.clone();
        next.extra = Arc::new(self.document.extra.clone());
        next.recent.interrupt();
        next.standing = Standing::Unsettled { edited: true, journal: None };
        let restored = checkpoint::checkpoint(session, &next);
        let restored = restored.map_err(|interrupted| {
            // Behind the rename, an error is not one that changed nothing.
            let is_before = fs.stamp(&place.snapshot).is_ok_and(|stamp| stamp == before);
            if is_before { interrupted } else { uncertain(interrupted) }
        })?;
        session.replica.publish(restored);
        Ok(self.done(Some(difference), None))
    }

    /// Replaces files that are damaged.
    fn over_damage(&mut self, session: Session<'_>) -> Result<Replacement, Interrupted> {
        self.begin()?;
        let (fs, place, begun) = (session.fs(), &session.place, Instant::now());
        // Somebody may have mended it while the lock was waited for.
        let Some(why) = damage(session.replica, place)? else {
            return Err(Interrupted::Overtaken);
        };
        let old = claimed(fs, place)?;
        let time = timestamp(fs.now()).to_string();
        for path in [&place.snapshot, &place.journal] {
            let kept = Place::damaged(path, &time);
            if keep_copy(fs, path, &kept, place)?.is_some() {
                self.kept.push(kept);
            }
        }
        let Rendered { temp, stamp, content } =
            checkpoint::render(fs, &place.snapshot, &self.document, u64::MAX)?;
        let mut header = Header::new(Hex128(fs.random()), 0, Some((content, stamp)));
        (header.edited, header.restoring) = (true, Some(time.replace(':', "")));
        let mut view = View {
            place: Arc::new(place.clone()),
            issues: self.document.issues.clone(),
            extra: Arc::new(self.document.extra.clone()),
            seq: 0,
            snapshot: None,
            journal: None,
            end: 0,
            unsaved: 0,
            announced_bytes: None,
            standing: Standing::Unsettled { edited: true, journal: None },
            edit: None,
            recent: self.replica.latest().map_or_else(Recent::default, |it| it.recent.clone()),
        };
        view.recent.interrupt();
        let journal = begin_restoring(&session, header, old.is_some())?;
        let after = || -> Result<View, Interrupted> {
            let stamp = checkpoint::replace_base(fs, temp, &place.snapshot)?;
            let snapshot = Some(Snapshot { stamp, content });
            let view = View { journal: Some(Arc::new(journal)), snapshot, ..view };
            checkpoint::begin_journal(&session, &view, fs.since(begun))
        };
        let restored = after().map_err(uncertain)?;
        session.replica.publish(restored);
        Ok(self.done(None, Some(why)))
    }

    fn done(&self, difference: Option<Difference>, damage: Option<String>) -> Replacement {
        Replacement { verdict: Verdict::Done, difference, damage, kept: self.kept.clone() }
    }
}

/// What is wrong with the files, if they can be replaced all the same; an error when they cannot.
fn damage(replica: &Replica, place: &Place) -> Result<Option<String>, LoadError> {
    match replica.fresh_to_write(place) {
        Ok(view) => match &view.standing {
            Standing::Damaged { why, .. } => Ok(Some(why.clone())),
            Standing::Settled | Standing::Unsettled { .. } => Ok(None),
        },
        Err(
            error @ (LoadError::Format { .. } | LoadError::Gone(_) | LoadError::Interrupted { .. }),
        ) => Ok(Some(error.to_string())),
        Err(error) => Err(error),
    }
}

/// The damaged journal, if there is one, kept from whoever has it open and holds another lock file.
fn claimed(fs: &dyn FileSystem, place: &Place) -> Result<Option<OpenFile>, Interrupted> {
    let failed = |source| Interrupted::from(refused(&place.journal, &source));
    let Some(open) = fs.open(&place.journal).map_err(failed)? else { return Ok(None) };
    if !open.is_writable {
        return Err(not_writable(place).into());
    }
    let is_ours = fs.claim(&open.file).map_err(failed)?
        && fs.is_at(&open.file, &place.journal).map_err(failed)?;
    if is_ours { Ok(Some(open)) } else { Err(Interrupted::Overtaken) }
}

/// Begins the journal from which on nothing but the restored issues is accepted.
fn begin_restoring(
    session: &Session<'_>,
    header: Header,
    replaces: bool,
) -> Result<Journal, Interrupted> {
    let (fs, path) = (session.fs(), &session.place.journal);
    let failed = |source| Interrupted::from(refused(path, &source));
    let bytes = header.to_bytes();
    let mut temp = fs.create_temp(path, &session.place.snapshot).map_err(failed)?;
    fs.write(&mut temp, &bytes).map_err(failed)?;
    fs.sync(&temp).map_err(failed)?;
    // The last look before the point of no return, since not everybody takes the lock.
    if !fs.is_at(&session.lock.file, &session.place.lock).map_err(failed)? {
        return Err(Interrupted::Overtaken);
    }
    let file = if replaces { fs.replace(temp, path) } else { fs.place(temp, path) };
    let file = file.map_err(failed)?;
    sync_name(fs, path).map_err(|source| uncertain(failed(source)))?;
    Ok(Journal::found(OpenFile { file, is_writable: true }, header, bytes.len() as u64))
}

/// The same, for whoever may find the restored issues all the same.
fn uncertain(interrupted: Interrupted) -> Interrupted {
    let why = match interrupted {
        Interrupted::Overtaken => "somebody changed the files meanwhile".to_owned(),
        Interrupted::Failed(error) | Interrupted::Hopeless(error) => error.to_string(),
    };
    let text = format!("the restore did not come to its end ({why}), and can be run again");
    Interrupted::Failed(StoreError::Uncertain(text))
}
