//! One commit: lock, catch up, decide, append, unlock, sync, publish, and only then answer.
//!
//! Every command of the batch is decided on the state that the one before left. The lock is given up
//! before the sync, so that other processes commit while this one waits for the disk: a sync covers
//! all earlier bytes of the file, so whoever is answered knows that everything its change stands on is
//! durable too.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::checkpoint::failed_sync;
use super::fs::{Directory, directory_of};
use super::journal;
use super::replica::{Expectation, Replica};
use super::schedule::Unsaved;
use super::session::{Interrupted, Session, refused};
use super::upkeep::unsaved_in;
use super::view::{Journal, Place, Standing, View};
use super::writer::{Outcome, Request};
use crate::domain::Event;
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
    /// Whether this process has looked for what dead ones left.
    is_clean: bool,
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
    /// To be synced too, for a journal that was begun between the look and the lock.
    names: Option<Directory>,
    /// Dropped when all is published, or nothing ever will be.
    expectation: Expectation<'a>,
}

impl Committer {
    pub fn new(replica: Arc<Replica>) -> Self {
        Self { replica, is_clean: false, broken: None, unsaved: None }
    }

    /// Another one of this process, which has looked for what dead ones left.
    pub fn another(&self) -> Self {
        Self { is_clean: true, ..Self::new(Arc::clone(&self.replica)) }
    }

    /// Tells whether `issues.json` takes so long to write that others are to commit meanwhile.
    pub fn is_large(&self) -> bool {
        self.replica.latest().is_some_and(|view| self.replica.is_large(&view))
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
        let begun = self.session(&replica, IfTaken::Wait);
        let batch = gather();
        let result = begun.and_then(|settled| {
            let (appended, outcomes) = self.decide_and_append(settled, &batch)?;
            if let Some(appended) = appended {
                self.make_durable(appended)?;
            }
            Ok(outcomes)
        });
        (batch, result)
    }

    /// Begins a session and gets the files in order.
    pub fn session<'a>(
        &mut self,
        replica: &'a Replica,
        if_taken: IfTaken,
    ) -> Result<Settled<'a>, StoreError> {
        let mut others = "others keep changing the files";
        for attempt in 0..MAX_SESSIONS {
            if let Some(broken) = &self.broken {
                return Err(broken.clone());
            }
            thread::sleep(PAUSE * attempt);
            // Loading takes long, so it is done before the lock is taken.
            let place = replica.place()?;
            let view = match attempt {
                0 => replica.fresh_to_read(&place)?,
                _ => replica.fresh_to_write(&place)?,
            };
            self.adopt(&view)?;
            let session = match if_taken {
                IfTaken::Wait => Some(Session::begin(replica, place)?),
                IfTaken::Try => Session::try_begin(replica, place)?,
            };
            let Some(mut session) = session else {
                others = "another process keeps the lock";
                continue;
            };
            if !std::mem::replace(&mut self.is_clean, true) {
                session.clean();
            }
            match session.settle(attempt >= LOADS_OUTSIDE) {
                Ok((view, journal)) => return Ok((session, view, journal)),
                Err(Interrupted::Overtaken) => {}
                Err(Interrupted::Failed(error)) => return Err(error),
                Err(Interrupted::Hopeless(error)) => return Err(self.give_up(error)),
            }
        }
        Err(StoreError::Busy(format!("{others} of {}", replica.path().display())))
    }

    /// Makes durable what other processes left, before this one appends to their journal for the first
    /// time: its name, which its maker may have died before it could sync, and its content, so that
    /// what is appended can tell that it was durable.
    fn adopt(&mut self, view: &View) -> Result<(), StoreError> {
        let Some(journal) = view.journal.as_ref().filter(|journal| !journal.is_adopted()) else {
            return Ok(());
        };
        if !journal.open.is_writable {
            return Ok(());
        }
        let names = self.names_for(journal, &view.place)?;
        if let Err(source) = self.replica.sync(journal, names.as_ref()) {
            // As for every sync of the journal, see `checkpoint::sync_journal`.
            return Err(self.give_up(StoreError::NotSaved(failed_sync(&view.place, &source))));
        }
        journal.is_durable_to(view.end);
        journal.adopt();
        Ok(())
    }

    /// The directory to sync with a journal whose name this process has not made durable yet. Opened
    /// before anything is synced or appended, so that a process without a file descriptor to spare
    /// changes nothing and may try again.
    fn names_for(&self, journal: &Journal, place: &Place) -> Result<Option<Directory>, StoreError> {
        if journal.is_adopted() {
            return Ok(None);
        }
        let directory = directory_of(&place.journal);
        let names = self.replica.fs.open_directory(directory);
        names.map(Some).map_err(|source| refused(directory, &source))
    }

    fn make_durable(&mut self, appended: Appended<'_>) -> Result<(), StoreError> {
        let Appended { place, before, after, journal, names, .. } = &appended;
        if let Err(source) = self.replica.sync(journal, names.as_ref()) {
            let text = failed_sync(place, &source);
            self.give_up(StoreError::NotSaved(text.clone()));
            return Err(StoreError::Uncertain(text));
        }
        journal.is_durable_to(after.end);
        journal.adopt();
        self.unsaved = Some(unsaved_in(after));
        self.replica.publish_after(before, after.clone());
        self.still_counts(appended)
    }

    /// Commits nothing any more.
    pub fn give_up(&mut self, broken: StoreError) -> StoreError {
        self.broken = Some(broken.clone());
        broken
    }

    /// Makes sure that what was appended is part of what others read: the journal is at its path, or
    /// what took its place contains the changes.
    fn still_counts(&self, appended: Appended<'_>) -> Result<(), StoreError> {
        let Appended { place, before, after, journal, expectation, .. } = appended;
        drop(expectation);
        let fs = &self.replica.fs;
        if fs.is_at(&journal.open.file, &place.journal).is_ok_and(|is_at| is_at) {
            return Ok(());
        }
        let uncertain = |why: String| {
            let path = place.journal.display();
            StoreError::Uncertain(format!("{path} was replaced meanwhile{why}"))
        };
        let view = self.replica.fresh().map_err(|error| uncertain(format!(": {error}")))?;
        let length = |view: &View, event: &Event| {
            view.issues.find(&event.issue.into()).map(|issue| issue.history.len()).ok()
        };
        let is_kept = |event: &Arc<Event>| length(&view, event) >= length(&after, event);
        let appended = after.recent.since(Some(before.recent.since(None).cursor)).events;
        // What only this process knows, until it has written it anew, nobody else reads.
        if view.standing == Standing::Settled && appended.iter().all(is_kept) {
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
        let (replica, file) = (session.replica, &journal.open.file);
        let (epoch, durable) = (journal.epoch(), journal.durable());
        let frames = journal::batch(epoch, view.end, view.seq + 1, durable, &events);
        after.end += frames.len() as u64;
        let names = self.names_for(&journal, &session.place)?;
        let expectation = replica.expect(&journal, view.end, after.end);
        if let Err(source) = replica.fs.write_at(file, view.end, &frames) {
            let path = &session.place.journal;
            let Err(second) = replica.fs.truncate(file, view.end) else {
                return Err(refused(path, &source));
            };
            let text =
                format!("{}: {source}, and {second} when that was to be undone", path.display());
            self.give_up(StoreError::NotSaved(format!("{text}: restart when it is mended")));
            return Err(StoreError::Uncertain(text));
        }
        let place = session.place.clone();
        let appended = Appended { place, before: view, after, journal, names, expectation };
        Ok((Some(appended), outcomes))
    }
}
