//! One commit: lock, catch up, decide, append, unlock, sync, publish, and only then answer.
//!
//! Every command of the batch is decided on the state that the one before left. The lock is given up
//! before the sync, so that other processes commit while this one waits for the disk: a sync covers
//! all earlier bytes of the file, so whoever is answered knows that everything its change stands on is
//! durable too.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::checkpoint;
use super::journal;
use super::replica::Replica;
use super::schedule::Unsaved;
use super::session::{Interrupted, Session, refused};
use super::view::{Journal, Place, View};
use super::writer::{Outcome, Request};
use crate::domain::Event;
use crate::store::StoreError;

/// How often a session is begun anew because somebody who takes no lock changed the files, or because
/// the state had to be loaded outside of the lock.
const MAX_SESSIONS: usize = 20;
/// How often, and after which time, the end of a process tries again to get the lock.
const LAST_TRIES: usize = 10;
const LAST_TRY_AFTER: Duration = Duration::from_millis(20);

/// Commits the changes of this process, one batch after the other.
pub(super) struct Committer {
    replica: Arc<Replica>,
    /// Whether this process has looked for what dead ones left.
    is_clean: bool,
    /// Why nothing can be committed any more.
    broken: Option<String>,
}

/// A batch that was appended and is not durable yet.
struct Appended {
    place: Place,
    before: Arc<View>,
    after: View,
    journal: Arc<Journal>,
    events: Vec<Arc<Event>>,
}

impl Committer {
    pub fn new(replica: Arc<Replica>) -> Self {
        Self { replica, is_clean: false, broken: None }
    }

    /// Why nothing can be committed any more.
    pub fn broken(&self) -> Option<&str> {
        self.broken.as_deref()
    }

    /// What `issues.json` lacks of the state that this process knows; `None` when nothing.
    pub fn unsaved(&self) -> Option<Unsaved> {
        let view = self.replica.latest().filter(|view| view.unsaved > 0)?;
        let snapshot_bytes = view.snapshot.map_or(0, |snapshot| snapshot.content.length_bytes);
        Some(Unsaved { journal_bytes: view.end, snapshot_bytes })
    }

    /// Brings `issues.json` up to date; false when it was.
    pub fn checkpoint(&mut self) -> Result<bool, StoreError> {
        let replica = Arc::clone(&self.replica);
        let (session, view, _) = session(&replica, &mut self.is_clean)?;
        save(&session, &view)
    }

    /// The same, unless others keep the lock.
    pub fn last_checkpoint(&mut self) -> Result<bool, StoreError> {
        for _ in 0..LAST_TRIES {
            self.replica.fresh()?;
            if let Some(mut session) = Session::try_begin(&self.replica)? {
                match session.settle() {
                    Ok((view, _)) => return save(&session, &view),
                    Err(Interrupted::Overtaken) => {}
                    Err(Interrupted::Failed(error)) => return Err(error),
                }
            }
            thread::sleep(LAST_TRY_AFTER);
        }
        Err(StoreError::Busy("another process keeps the lock".to_owned()))
    }

    /// Decides the commands that `gather` gives once the lock is held, and makes durable what they
    /// change. Gives the outcome of each.
    pub fn commit(
        &mut self,
        gather: impl FnOnce() -> Vec<Request>,
    ) -> (Vec<Request>, Result<Vec<Outcome>, StoreError>) {
        if let Some(broken) = &self.broken {
            return (gather(), Err(StoreError::NotSaved(broken.clone())));
        }
        let replica = Arc::clone(&self.replica);
        let begun = session(&replica, &mut self.is_clean);
        let batch = gather();
        let result = begun.and_then(|(session, view, journal)| {
            let (appended, outcomes) = decide_and_append(session, view, journal, &batch)?;
            if let Some(appended) = appended {
                self.make_durable(appended)?;
            }
            Ok(outcomes)
        });
        (batch, result)
    }

    fn make_durable(&mut self, appended: Appended) -> Result<(), StoreError> {
        let Appended { place, before, after, journal, events } = appended;
        let end = after.end;
        if let Err(source) = self.replica.fs.sync_data(&journal.open.file) {
            // The kernel may have dropped what it could not write, and a second sync would not tell.
            let path = place.journal.display();
            let broken =
                format!("the disk failed to save {path} ({source}): restart when it is mended");
            self.broken = Some(broken.clone());
            return Err(StoreError::Uncertain(broken));
        }
        journal.is_durable_to(end);
        self.replica.publish_after(before.seq, &journal, after);
        self.still_counts(&place, &journal, &events)
    }

    /// Makes sure that what was appended is part of what others read: the journal is at its path, or
    /// what took its place contains the changes.
    fn still_counts(
        &self,
        place: &Place,
        journal: &Journal,
        events: &[Arc<Event>],
    ) -> Result<(), StoreError> {
        let fs = &self.replica.fs;
        if fs.is_at(&journal.open.file, &place.journal).is_ok_and(|is_at| is_at) {
            return Ok(());
        }
        let uncertain = |why: String| {
            let path = place.journal.display();
            StoreError::Uncertain(format!("{path} was replaced meanwhile{why}"))
        };
        let view = self.replica.fresh().map_err(|error| uncertain(format!(": {error}")))?;
        if events.iter().all(|event| view.contains(event)) {
            Ok(())
        } else {
            Err(uncertain(" by one without this change".to_owned()))
        }
    }
}

/// Begins a session and gets the files in order.
fn session<'a>(
    replica: &'a Replica,
    is_clean: &mut bool,
) -> Result<(Session<'a>, Arc<View>, Arc<Journal>), StoreError> {
    for attempt in 0..MAX_SESSIONS {
        // Loading takes long, so it is done before the lock is taken.
        if attempt == 0 {
            replica.fresh()?
        } else {
            replica.fresh_to_write()?
        };
        let mut session = Session::begin(replica)?;
        if !std::mem::replace(is_clean, true) {
            session.clean();
        }
        match session.settle() {
            Ok((view, journal)) => return Ok((session, view, journal)),
            Err(Interrupted::Overtaken) => {}
            Err(Interrupted::Failed(error)) => return Err(error),
        }
    }
    let path = replica.path().display();
    Err(StoreError::Busy(format!("others keep changing {path} without taking its lock")))
}

fn save(session: &Session<'_>, view: &View) -> Result<bool, StoreError> {
    if view.unsaved == 0 {
        return Ok(false);
    }
    match checkpoint::checkpoint(session, view) {
        Ok(saved) => {
            session.replica.publish(saved);
            Ok(true)
        }
        Err(Interrupted::Overtaken) => {
            Err(StoreError::Busy("somebody changed it meanwhile".to_owned()))
        }
        Err(Interrupted::Failed(error)) => Err(error),
    }
}

/// Decides each command on the state that the one before left, and appends the events with one call.
fn decide_and_append(
    session: Session<'_>,
    view: Arc<View>,
    journal: Arc<Journal>,
    batch: &[Request],
) -> Result<(Option<Appended>, Vec<Outcome>), StoreError> {
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
    let frames =
        journal::batch(journal.epoch(), view.end, view.seq + 1, journal.durable(), &events);
    after.end += frames.len() as u64;
    replica.expect(&journal, after.end);
    if let Err(source) = replica.fs.write_at(file, view.end, &frames) {
        let path = &session.place.journal;
        let error = refused(path, &source);
        if let Err(second) = replica.fs.truncate(file, view.end) {
            let text = format!("{error}, and {second} when that was to be undone");
            return Err(StoreError::Uncertain(text));
        }
        replica.expect_nothing();
        return Err(error);
    }
    let place = session.place.clone();
    Ok((Some(Appended { place, before: view, after, journal, events }), outcomes))
}
