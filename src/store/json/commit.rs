//! One commit: lock, catch up, decide, append, unlock, sync, publish, and only then answer.
//!
//! Every command of the batch is decided on the state that the one before left. The lock is given up
//! before the sync, so that other processes commit while this one waits for the disk: a sync covers
//! all earlier bytes of the file, so whoever is answered knows that everything its change stands on is
//! durable too.

use std::fmt::Display;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::fs::{Directory, directory_of, sync_name};
use super::journal;
use super::others::{leave_to_others, may_know_more};
use super::replica::{Expectation, Replica};
use super::schedule::Unsaved;
use super::session::{Interrupted, Session, refused};
use super::suspect::{self, failed_sync};
use super::upkeep::unsaved_in;
use super::view::{Journal, Place, Standing, View};
use super::writer::{Outcome, Request};
use crate::domain::{Event, EventKind};
use crate::store::StoreError;

/// How often a session is begun anew because somebody who takes no lock changed the files, or because
/// the state had to be loaded outside of the lock; from the third time on it is loaded under it.
pub(super) const MAX_SESSIONS: u32 = 20;
const LOADS_OUTSIDE: u32 = 2;
/// The pause before each further session, longer each time.
pub(super) const PAUSE: Duration = Duration::from_millis(2);

/// Commits the changes of this process, one batch after the other.
pub(super) struct Committer {
    replica: Arc<Replica>,
    /// Why nothing can be committed any more.
    broken: Option<StoreError>,
    /// What `issues.json` lacked after the last commit that changed something.
    unsaved: Option<Unsaved>,
}

/// Whether to wait for a lock that another process has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum IfTaken {
    Wait,
    Try,
}

/// The right to change files that are in order, and what they hold.
pub(super) type Settled<'a> = (Session<'a>, Arc<View>, Arc<Journal>);

/// A batch that was appended and is not durable yet.
struct Appended<'a> {
    place: Place,
    before: Arc<View>,
    after: View,
    journal: Arc<Journal>,
    /// The directory to sync with the journal, whose name this process has not made durable yet.
    names: Option<Directory>,
    /// Dropped when all is published, or nothing ever will be.
    expectation: Option<Expectation<'a>>,
}

impl Appended<'_> {
    /// Tells whether a state contains the changes.
    fn is_kept_in(&self, view: &View) -> bool {
        let kept = |event: &Arc<Event>| {
            let issue = event.issue.into();
            let (Ok(found), Ok(expected)) =
                (view.issues.find(&issue), self.after.issues.find(&issue))
            else {
                return false;
            };
            let is_import = matches!(event.kind, EventKind::Imported { .. });
            found.history.len() >= expected.history.len()
                && (is_import || event.trace_in(&found, 0).is_some())
        };
        let before = self.before.recent.since(None).cursor;
        self.after.recent.since(Some(before)).events.iter().all(kept)
    }
}

impl Committer {
    pub fn new(replica: Arc<Replica>) -> Self {
        Self { replica, broken: None, unsaved: None }
    }

    pub(super) fn replica(&self) -> &Arc<Replica> {
        &self.replica
    }

    /// Why nothing can be committed any more.
    pub fn broken(&self) -> Option<&StoreError> {
        self.broken.as_ref()
    }

    /// What `issues.json` lacks since the last commit, if that changed something; said once.
    pub fn take_unsaved(&mut self) -> Option<Unsaved> {
        self.unsaved.take()
    }

    /// Decides the commands that `gather` gives once the lock is held, and makes durable what they
    /// change. Gives the outcome of each; an error is that of all.
    pub fn commit(
        &mut self,
        gather: impl FnOnce() -> Vec<Request>,
    ) -> (Vec<Request>, Result<Vec<Outcome>, StoreError>) {
        let replica = Arc::clone(&self.replica);
        // Where all of a journal is durable, its name becomes so with what is appended.
        let is_ready = |view: &View, it: &Journal| it.is_adopted() || it.durable() >= view.end;
        let begun = self.session_where(is_ready, &replica, IfTaken::Wait);
        let batch = gather();
        let result = begun.and_then(|settled| {
            let (appended, outcomes) = self.decide_and_append(settled, &batch)?;
            if let Some(appended) = appended {
                self.make_durable(appended)?;
            }
            Ok(outcomes)
        });
        if result.is_err() && self.unsaved.is_none() {
            // Nobody is to wait for the next change until the journal is in order again.
            let suspect = replica.latest().filter(|view| replica.suspects.why(view).is_some());
            self.unsaved = suspect.map(|view| unsaved_in(&view));
        }
        (batch, result)
    }

    /// Begins a session and gets the files in order.
    pub fn session<'a>(
        &mut self,
        replica: &'a Replica,
        if_taken: IfTaken,
    ) -> Result<Settled<'a>, StoreError> {
        self.session_where(|_, journal| journal.is_adopted(), replica, if_taken)
    }

    /// The same, with a journal that is adopted unless it is ready as it is.
    fn session_where<'a>(
        &mut self,
        is_ready: impl Fn(&View, &Journal) -> bool,
        replica: &'a Replica,
        if_taken: IfTaken,
    ) -> Result<Settled<'a>, StoreError> {
        let mut others = "others keep changing the files";
        let mut pause = Duration::ZERO;
        for attempt in 0..MAX_SESSIONS {
            if let Some(broken) = &self.broken {
                return Err(broken.clone());
            }
            if !pause.is_zero() {
                replica.fs.pause(pause);
            }
            pause += PAUSE;
            // Loading takes long, so it is done before the lock is taken.
            let place = replica.place()?;
            let view = match attempt {
                0 => replica.fresh_to_read(&place)?,
                _ => replica.fresh_to_write(&place)?,
            };
            if may_know_more(&view) {
                leave_to_others(replica)?;
            }
            let session = match if_taken {
                IfTaken::Wait => Some(Session::begin(replica, place)?),
                IfTaken::Try => Session::try_begin(replica, place)?,
            };
            let Some(mut session) = session else {
                others = "another process keeps the lock";
                continue;
            };
            if !replica.is_clean.swap(true, Ordering::AcqRel) {
                session.clean();
            }
            let is_last_resort = attempt >= LOADS_OUTSIDE;
            match session.settle(is_last_resort) {
                Ok((view, journal)) if is_ready(&view, &journal) => {
                    return Ok((session, view, journal));
                }
                Ok((view, journal)) => match self.adopt(session, &view, &journal, is_last_resort) {
                    Ok(Some(session)) => return Ok((session, view, journal)),
                    // Nobody is in the way.
                    Ok(None) => pause = Duration::ZERO,
                    Err(error) => return Err(error),
                },
                Err(Interrupted::Overtaken) => {}
                Err(Interrupted::Failed(error)) => return Err(error),
                Err(Interrupted::Hopeless(error)) => return Err(self.give_up(error)),
            }
        }
        Err(StoreError::Busy(format!("{others} of {}", replica.path().display())))
    }

    /// Gets the files in order, and changes nothing else.
    pub fn settle(&mut self, replica: &Replica) -> Result<(), StoreError> {
        self.session(replica, IfTaken::Try).map(drop)
    }

    /// Makes durable what other processes left, before this one appends to their journal for the first
    /// time: its name, which its maker may have died before it could sync, and its content, so that
    /// what is appended can tell that it was durable. (Where the name is all there is to do, whoever commits
    /// does that later.) Gives the session back if it is to be kept meanwhile; otherwise the next one finds
    /// out what has become of it.
    fn adopt<'a>(
        &self,
        session: Session<'a>,
        view: &View,
        journal: &Journal,
        keep: bool,
    ) -> Result<Option<Session<'a>>, StoreError> {
        let names = self.names(&session.place)?;
        suspect::write_again(&session, view, journal)?;
        let session = keep.then_some(session);
        if self.replica.sync(journal, Some(&names)).is_err() {
            return Ok(None);
        }
        journal.is_durable_to(view.end);
        journal.adopt();
        Ok(session)
    }

    /// The directory to sync with a journal whose name this process has not made durable yet. Opened
    /// before anything is synced or written, so that a process without a file descriptor to spare
    /// changes nothing and may try again.
    fn names(&self, place: &Place) -> Result<Directory, StoreError> {
        let directory = directory_of(&place.journal);
        let names = self.replica.fs.open_directory(directory);
        names.map_err(|source| refused(directory, &source))
    }

    fn make_durable(&mut self, appended: Appended<'_>) -> Result<(), StoreError> {
        let Appended { before, after, journal, .. } = &appended;
        self.unsaved = Some(unsaved_in(after));
        if let Err(source) = self.replica.sync(journal, appended.names.as_ref()) {
            return self.save_elsewhere(&appended, &source);
        }
        journal.adopt();
        journal.is_durable_to(after.end);
        self.replica.publish_after(before, after.clone());
        self.still_counts(appended)
    }

    /// Makes durable what was appended to a journal of which a sync has failed, in another file.
    fn save_elsewhere(
        &mut self,
        appended: &Appended<'_>,
        source: &io::Error,
    ) -> Result<(), StoreError> {
        let failed = failed_sync(&appended.place.journal, source);
        let replica = Arc::clone(&self.replica);
        match self.session(&replica, IfTaken::Wait) {
            // Whoever may append to a journal has made sure that all of it is durable.
            Ok((_, view, _)) if appended.is_kept_in(&view) => Ok(()),
            Ok(_) => Err(StoreError::NotSaved(failed)),
            Err(error) => {
                let why = suspect::reason(error);
                Err(StoreError::Uncertain(format!("{failed}, and no other file took it ({why})")))
            }
        }
    }

    /// Commits nothing any more.
    pub fn give_up(&mut self, broken: StoreError) -> StoreError {
        self.broken = Some(broken.clone());
        broken
    }

    /// Makes sure that what was appended is part of what others read: the journal is at its path, or
    /// what took its place contains the changes.
    fn still_counts(&mut self, mut appended: Appended<'_>) -> Result<(), StoreError> {
        appended.expectation = None;
        let replica = Arc::clone(&self.replica);
        let (fs, path) = (&*replica.fs, &appended.place.journal);
        if fs.is_at(&appended.journal.open.file, path).is_ok_and(|is_at| is_at) {
            return Ok(());
        }
        let uncertain = |why: String| {
            StoreError::Uncertain(format!("{} was replaced meanwhile{why}", path.display()))
        };
        let because = |error: &dyn Display| uncertain(format!(": {error}"));
        let mut view = replica.fresh().map_err(|error| because(&error))?;
        if view.standing == Standing::Settled {
            // Whoever replaced it may have had a reason not to rely on it, and died before the name was durable.
            sync_name(fs, path).map_err(|source| because(&source))?;
        } else {
            // What only this process knows, nobody else reads until it is written anew.
            let settled = self.session(&replica, IfTaken::Wait);
            view = settled.map_err(|error| because(&error))?.1;
        }
        if appended.is_kept_in(&view) {
            Ok(())
        } else {
            Err(uncertain(" by one without this change".to_owned()))
        }
    }

    /// Decides each command on the state that the one before left, and appends the events with one
    /// call.
    fn decide_and_append<'a>(
        &mut self,
        (session, view, journal): Settled<'a>,
        batch: &[Request],
    ) -> Result<(Option<Appended<'a>>, Vec<Outcome>), StoreError> {
        let mut after = View::clone(&view);
        let mut events = Vec::new();
        let mut decide = |request: &Request| -> Outcome {
            let Some(event) = after.issues.decide(&request.command, request.now)? else {
                return Ok(None);
            };
            let issue = after.issues.apply(&event)?;
            let event = Arc::new(event);
            after.note(after.seq + 1, &event);
            events.push(event);
            Ok(Some(issue))
        };
        let outcomes = batch.iter().map(&mut decide).collect();
        if events.is_empty() {
            return Ok((None, outcomes));
        }
        let names = (!journal.is_adopted()).then(|| self.names(&session.place)).transpose()?;
        let (replica, file) = (session.replica, &journal.open.file);
        let (epoch, durable) = (journal.epoch(), journal.durable());
        let frames = journal::batch(epoch, view.end, view.seq + 1, durable, &events);
        after.end += frames.len() as u64;
        let expectation = Some(replica.expect(&journal, view.end, after.end));
        if let Err(source) = replica.fs.write_at(file, view.end, &frames) {
            let path = &session.place.journal;
            let Err(second) = replica.fs.truncate(file, view.end) else {
                return Err(refused(path, &source));
            };
            let found = replica.fs.stamp_open(file);
            if found.is_ok_and(|found| found.length_bytes() <= view.end) {
                return Err(refused(path, &source));
            }
            // Whoever has the lock next cuts what was written in part; a whole batch counts for everybody.
            return Err(StoreError::Uncertain(format!(
                "{}: {source}, and {second} when that was to be undone",
                path.display()
            )));
        }
        let place = session.place.clone();
        let appended = Appended { place, before: view, after, journal, names, expectation };
        Ok((Some(appended), outcomes))
    }
}
