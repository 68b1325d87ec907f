//! One commit: lock, catch up, decide, append, unlock, sync, publish, and only then answer.
//!
//! Every command of the batch is decided on the state that the one before left. The lock is given up
//! before the sync, so that other processes commit while this one waits for the disk: a sync covers
//! all earlier bytes of the file, so whoever is answered knows that everything its change stands on is
//! durable too.

use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

use super::checkpoint;
use super::fs::directory_of;
use super::journal;
use super::replica::{Expectation, Replica};
use super::schedule::Unsaved;
use super::session::{Interrupted, Session, refused};
use super::view::{Journal, Place, View};
use super::writer::{Outcome, Request};
use crate::domain::Event;
use crate::store::StoreError;

/// How often a session is begun anew because somebody who takes no lock changed the files, or because
/// the state had to be loaded outside of the lock; from the third time on it is loaded under it.
const MAX_SESSIONS: u32 = 20;
const LOADS_OUTSIDE: u32 = 2;
/// The pause before each further session, longer each time.
const PAUSE: Duration = Duration::from_millis(2);

/// Commits the changes of this process, one batch after the other.
pub(super) struct Committer {
    replica: Arc<Replica>,
    /// Whether this process has looked for what dead ones left.
    is_clean: bool,
    /// Why nothing can be committed any more.
    broken: Option<StoreError>,
}

/// Whether to wait for a lock that another process has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lock {
    Wait,
    Try,
}

/// The right to change files that are in order, and what they hold.
type Settled<'a> = (Session<'a>, Arc<View>, Arc<Journal>);

/// A batch that was appended and is not durable yet.
struct Appended<'a> {
    place: Place,
    before: Arc<View>,
    after: View,
    journal: Arc<Journal>,
    /// Dropped when all is published, or nothing ever will be.
    _expectation: Expectation<'a>,
}

/// What became of the wish to bring `issues.json` up to date.
pub(super) enum Saved {
    /// It was written, which took so long.
    Now(Duration),
    /// It was up to date.
    Before,
    /// It was written so recently that this has to wait.
    Later(Duration),
}

impl Committer {
    pub fn new(replica: Arc<Replica>) -> Self {
        Self { replica, is_clean: false, broken: None }
    }

    /// Why nothing can be committed any more.
    pub fn broken(&self) -> Option<&StoreError> {
        self.broken.as_ref()
    }

    /// What `issues.json` lacks of the state that this process knows; `None` when nothing.
    pub fn unsaved(&self) -> Option<Unsaved> {
        self.replica.latest().filter(|view| view.unsaved > 0).map(|view| unsaved_in(&view))
    }

    /// Brings `issues.json` up to date, unless somebody has just done that; calls `locked` when it has
    /// the lock.
    pub fn checkpoint(&mut self, locked: impl FnOnce()) -> Result<Saved, StoreError> {
        let replica = Arc::clone(&self.replica);
        if let Some(rest) = rest_of(&replica, &*replica.fresh()?) {
            return Ok(Saved::Later(rest));
        }
        let (session, view, _) = self.session(&replica, Lock::Wait)?;
        locked();
        // While the lock was waited for, another process may have done it.
        match rest_of(&replica, &view) {
            Some(rest) if view.unsaved > 0 => Ok(Saved::Later(rest)),
            _ => self.save(&session, &view),
        }
    }

    /// Brings `issues.json` up to date, unless others keep the lock.
    pub fn last_checkpoint(&mut self) -> Result<Saved, StoreError> {
        let replica = Arc::clone(&self.replica);
        let (session, view, _) = self.session(&replica, Lock::Try)?;
        self.save(&session, &view)
    }

    fn save(&mut self, session: &Session<'_>, view: &View) -> Result<Saved, StoreError> {
        if view.unsaved == 0 {
            return Ok(Saved::Before);
        }
        match checkpoint::checkpoint(session, view) {
            Ok(saved) => {
                let saved = session.replica.publish(saved);
                let took_ms = saved.journal.as_ref().map_or(0, |it| it.header.took_ms);
                Ok(Saved::Now(Duration::from_millis(took_ms)))
            }
            Err(Interrupted::Overtaken) => {
                Err(StoreError::Busy("somebody changed it meanwhile".to_owned()))
            }
            Err(Interrupted::Failed(error)) => Err(error),
            Err(Interrupted::Hopeless(error)) => Err(self.give_up(error)),
        }
    }

    /// Decides the commands that `gather` gives once the lock is held, and makes durable what they
    /// change. Gives the outcome of each; an error is that of all.
    pub fn commit(
        &mut self,
        gather: impl FnOnce() -> Vec<Request>,
    ) -> (Vec<Request>, Result<Vec<Outcome>, StoreError>) {
        let replica = Arc::clone(&self.replica);
        let begun = self.session(&replica, Lock::Wait);
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
    fn session<'a>(&mut self, replica: &'a Replica, lock: Lock) -> Result<Settled<'a>, StoreError> {
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
            let session = match lock {
                Lock::Wait => Some(Session::begin(replica, place)?),
                Lock::Try => Session::try_begin(replica, place)?,
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
        let fs = &self.replica.fs;
        let synced = fs.sync_data(&journal.open.file);
        let synced = synced.and_then(|()| fs.sync_directory(directory_of(&view.place.journal)));
        if let Err(source) = synced {
            return Err(self.give_up(StoreError::NotSaved(failed_sync(&view.place, &source))));
        }
        journal.is_durable_to(view.end);
        journal.adopt();
        Ok(())
    }

    fn make_durable(&mut self, appended: Appended<'_>) -> Result<(), StoreError> {
        let Appended { place, before, after, journal, .. } = &appended;
        let fs = &self.replica.fs;
        let mut synced = fs.sync_data(&journal.open.file);
        if !journal.is_adopted() {
            // It was begun between the look and the lock.
            synced = synced.and_then(|()| fs.sync_directory(directory_of(&place.journal)));
        }
        if let Err(source) = synced {
            let text = failed_sync(place, &source);
            self.give_up(StoreError::NotSaved(text.clone()));
            return Err(StoreError::Uncertain(text));
        }
        journal.is_durable_to(after.end);
        journal.adopt();
        self.replica.publish_after(before, after.clone());
        self.still_counts(appended)
    }

    /// Commits nothing any more.
    fn give_up(&mut self, broken: StoreError) -> StoreError {
        self.broken = Some(broken.clone());
        broken
    }

    /// Makes sure that what was appended is part of what others read: the journal is at its path, or
    /// what took its place contains the changes.
    fn still_counts(&self, appended: Appended<'_>) -> Result<(), StoreError> {
        let Appended { place, before, after, journal, _expectation } = appended;
        drop(_expectation);
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
        let appended = after.recent.since(Some(before.recent.since(None).cursor)).events;
        if appended.iter().all(|event| length(&view, event) >= length(&after, event)) {
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
        let _expectation = replica.expect(&journal, after.end);
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
        Ok((Some(Appended { place, before: view, after, journal, _expectation }), outcomes))
    }
}

fn unsaved_in(view: &View) -> Unsaved {
    let snapshot_bytes = view.snapshot.map_or(0, |snapshot| snapshot.content.length_bytes);
    Unsaved { journal_bytes: view.end, snapshot_bytes }
}

/// How long `issues.json` is to be left alone; `None` when it need not be.
fn rest_of(replica: &Replica, view: &View) -> Option<Duration> {
    let rest = view.rest(replica.fs.now());
    (!rest.is_zero() && !unsaved_in(view).is_urgent()).then_some(rest)
}

/// What is said when a sync has failed. The kernel may have dropped what it could not write, and a
/// second sync would not tell: nothing is tried on this file again.
fn failed_sync(place: &Place, source: &io::Error) -> String {
    let path = place.journal.display();
    format!("the disk failed to save {path} ({source}): restart when it is mended")
}
