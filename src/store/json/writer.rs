//! The thread through which every change of this process goes to the files.
//!
//! Commands that arrive while a commit is under way form the next one ([`commit`](super::commit)). When
//! nothing arrives for a while, or the journal has grown, it makes a [`checkpoint`](super::checkpoint).

use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::JsonStoreOptions;
use super::commit::Committer;
use super::replica::Replica;
use super::schedule::Schedule;
use super::ticket::{WriterTicket, ticket};
use super::upkeep::Saved;
use crate::domain::{Command, Issue, Timestamp};
use crate::store::StoreError;

/// The most commands that one commit decides.
const MAX_BATCH: usize = 256;
/// How long the end of a process waits for a lock that others keep.
const LAST_LOCK: Duration = Duration::from_millis(100);
/// How often is looked whether a checkpoint on a thread of its own has come to its end.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// The most commands that wait for their commit.
const MAX_WAITING: usize = 4096;

/// What a command came to.
pub(super) type Outcome = Result<Option<Arc<Issue>>, StoreError>;

/// A command on its way to the writer thread.
pub(super) struct Request {
    pub command: Command,
    pub now: Timestamp,
    ticket: WriterTicket,
    reply: oneshot::Sender<Outcome>,
}

/// The way to the writer thread, which starts with the first command.
pub(super) struct Writer {
    replica: Arc<Replica>,
    options: JsonStoreOptions,
    lane: Mutex<Lane>,
    closing: CancellationToken,
    /// What the thread does.
    state: watch::Sender<State>,
    /// Whether `issues.json` lacks something that this process has changed.
    behind: watch::Sender<bool>,
    /// Why the thread cannot commit any more.
    broken: watch::Sender<Option<StoreError>>,
}

/// What the thread does, as far as the end of the process has to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// There is none, or it has nothing to do any more.
    Ended,
    /// It has something to finish.
    Working,
    /// It waits for a lock that others may keep.
    Waiting,
}

enum Lane {
    Idle,
    Running(SyncSender<Box<Request>>),
    Closed,
}

impl Writer {
    pub fn new(replica: Arc<Replica>, options: JsonStoreOptions) -> Self {
        Self {
            replica,
            options,
            lane: Mutex::new(Lane::Idle),
            closing: CancellationToken::new(),
            state: watch::Sender::new(State::Ended),
            behind: watch::Sender::new(false),
            broken: watch::Sender::new(None),
        }
    }

    /// Sends a command to the thread, and withdraws it when it is not decided in time.
    pub async fn apply(&self, command: Command, now: Timestamp) -> Outcome {
        let (caller_ticket, writer_ticket) = ticket();
        let (reply, mut outcome) = oneshot::channel();
        self.send(Request { command, now, ticket: writer_ticket, reply })?;
        let given_up = tokio::select! {
            outcome = &mut outcome => return settled(outcome),
            () = tokio::time::sleep(self.options.busy_after) => self.busy(),
            () = self.closing.cancelled() => StoreError::Closed,
        };
        if caller_ticket.withdraw() {
            return Err(given_up);
        }
        // Decided and on its way to the disk: only the outcome is a true answer.
        settled(outcome.await)
    }

    /// Why nothing can be committed any more.
    pub fn broken(&self) -> Option<StoreError> {
        self.broken.borrow().clone()
    }

    /// Lets callers withdraw what is not decided yet, and waits for what is and for a last checkpoint;
    /// false when `issues.json` lacks something all the same.
    pub async fn close(&self) -> bool {
        self.closing.cancel();
        // The thread ends when there is nobody left to send it anything.
        *self.lane.lock().unwrap_or_else(PoisonError::into_inner) = Lane::Closed;
        let (mut state, mut waits) = (self.state.subscribe(), self.state.subscribe());
        loop {
            // The sender is there as long as `self`, so that waiting for its value cannot fail.
            let _ = state.wait_for(|state| *state != State::Working).await;
            tokio::select! {
                _ = state.wait_for(|state| *state == State::Ended) => break,
                // It has got the lock.
                _ = waits.wait_for(|state| *state == State::Working) => {}
                () = tokio::time::sleep(LAST_LOCK) => break,
            }
        }
        !*self.behind.borrow()
    }

    pub fn busy(&self) -> StoreError {
        let path = self.replica.path().display();
        let seconds = self.options.busy_after.as_secs_f32();
        StoreError::Busy(format!(
            "neither the lock beside {path} nor the disk was free for {seconds} s"
        ))
    }

    fn send(&self, request: Request) -> Result<(), StoreError> {
        let mut lane = self.lane.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*lane, Lane::Idle) {
            let requests = self.start().map_err(|error| {
                StoreError::NotSaved(format!("no thread to write with: {error}"))
            })?;
            *lane = Lane::Running(requests);
        }
        let Lane::Running(requests) = &*lane else { return Err(StoreError::Closed) };
        requests.try_send(Box::new(request)).map_err(|error| match error {
            TrySendError::Full(_) => StoreError::Busy(format!("{MAX_WAITING} changes are waiting")),
            TrySendError::Disconnected(_) => StoreError::Closed,
        })
    }

    fn start(&self) -> io::Result<SyncSender<Box<Request>>> {
        // Boxed, because the channel has room for all of them from the beginning.
        let (requests, incoming) = sync_channel(MAX_WAITING);
        let mut thread = Thread {
            committer: Committer::new(Arc::clone(&self.replica)),
            saving: None,
            schedule: Schedule::new(self.options.checkpoint_after),
            last_checkpoint: self.options.last_checkpoint,
            incoming,
            state: self.state.clone(),
            behind: self.behind.clone(),
            broken: self.broken.clone(),
        };
        let state = self.state.clone();
        state.send_replace(State::Working);
        let spawned = thread::Builder::new().name("ait-writer".to_owned()).spawn(move || {
            thread.run();
            state.send_replace(State::Ended);
        });
        spawned.map(|_| requests).inspect_err(|_| {
            self.state.send_replace(State::Ended);
        })
    }
}

/// What the writer thread answered; it answers everything that it decides, unless it panics.
fn settled(reply: Result<Outcome, oneshot::error::RecvError>) -> Outcome {
    reply.unwrap_or_else(|_| Err(StoreError::Uncertain("the writer failed".to_owned())))
}

/// A checkpoint on a thread of its own, while this one goes on to commit.
struct Saving {
    thread: JoinHandle<(Result<Saved, StoreError>, Option<StoreError>)>,
    /// Whether it waits for a lock that others may keep.
    waits: Arc<AtomicBool>,
    begun: Instant,
}

impl Saving {
    fn start(committer: &Committer) -> io::Result<Self> {
        let (mut committer, begun) =
            (Committer::new(Arc::clone(committer.replica())), Instant::now());
        let waits = Arc::new(AtomicBool::new(false));
        let waiting = Arc::clone(&waits);
        let thread = thread::Builder::new().name("ait-checkpoint".to_owned()).spawn(move || {
            let saved = committer.checkpoint(|waits| waiting.store(waits, Ordering::Relaxed));
            (saved, committer.broken().cloned())
        })?;
        Ok(Self { thread, waits, begun })
    }
}

struct Thread {
    committer: Committer,
    saving: Option<Saving>,
    schedule: Schedule,
    last_checkpoint: Duration,
    incoming: Receiver<Box<Request>>,
    state: watch::Sender<State>,
    behind: watch::Sender<bool>,
    broken: watch::Sender<Option<StoreError>>,
}

impl Thread {
    /// Commits and makes checkpoints until there is nobody left to send anything.
    fn run(&mut self) {
        loop {
            let until = |due: Instant| due.saturating_duration_since(Instant::now());
            let wait = match &self.saving {
                Some(_) => Some(LOOK_EVERY),
                None => self.schedule.due().map(until),
            };
            let next = match wait {
                None => self.incoming.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(wait) => self.incoming.recv_timeout(wait),
            };
            let is_last = matches!(next, Err(RecvTimeoutError::Disconnected));
            // A panic loses the replies of its batch, whose callers learn that their outcome is not
            // certain; the thread goes on for the others.
            let went_well = panic::catch_unwind(AssertUnwindSafe(|| match next {
                Ok(first) => self.commit(*first),
                Err(RecvTimeoutError::Timeout) if self.saving.is_some() => {
                    self.look_after_saving();
                }
                Err(RecvTimeoutError::Timeout) => self.checkpoint(),
                Err(RecvTimeoutError::Disconnected) => {
                    self.end_saving();
                    self.last_checkpoint();
                }
            }));
            if went_well.is_err() {
                tracing::error!("the writer of the store panicked; going on");
            }
            if is_last {
                return;
            }
        }
    }

    fn commit(&mut self, first: Request) {
        // Nobody who closes the store has to wait for a lock that others keep.
        self.state.send_replace(State::Waiting);
        // Gathered under the lock, so that all that arrived while it was waited for share this commit.
        let gather = || {
            self.state.send_replace(State::Working);
            let waiting = std::iter::once(first).chain(self.incoming.try_iter().map(|it| *it));
            let waiting = waiting.take(MAX_BATCH);
            waiting.filter(|request| request.ticket.take()).collect::<Vec<_>>()
        };
        let (batch, result) = self.committer.commit(gather);
        let failure = result.as_ref().err().filter(|_| !batch.is_empty()).cloned();
        let mut outcomes = match result {
            Ok(outcomes) => outcomes,
            Err(error) => vec![Err(error); batch.len()],
        };
        for (request, outcome) in batch.into_iter().zip(outcomes.drain(..)) {
            // A caller that is gone does not need its answer.
            let _ = request.reply.send(outcome);
        }
        // Last, because whoever reads the log may be slower than those who wait for an answer.
        if let Some(error) = failure {
            tracing::error!("{error}");
            self.tell_whether_broken();
        }
        if self.committer.broken().is_none()
            && let Some(unsaved) = self.committer.take_unsaved()
        {
            self.schedule.changed(unsaved, Instant::now());
            self.behind.send_replace(true);
        }
        // Those who change something without a pause let no time for it.
        self.look_after_saving();
        let is_due = || self.schedule.due().is_some_and(|due| due <= Instant::now());
        if self.saving.is_none() && self.committer.broken().is_none() && is_due() {
            self.checkpoint();
        }
    }

    /// Brings `issues.json` up to date; a large one on a thread of its own.
    fn checkpoint(&mut self) {
        let begun = Instant::now();
        self.schedule.begun(begun);
        if self.committer.is_large() {
            match Saving::start(&self.committer) {
                Ok(saving) => self.saving = Some(saving),
                Err(error) => {
                    let error = StoreError::NotSaved(format!("no thread to write with: {error}"));
                    self.saved(Err(error), begun);
                }
            }
            return;
        }
        let waits = |waits| {
            self.state.send_replace(if waits { State::Waiting } else { State::Working });
        };
        let saved = self.committer.checkpoint(waits);
        self.saved(saved, begun);
    }

    /// Takes note of what has become of a checkpoint.
    fn saved(&mut self, saved: Result<Saved, StoreError>, begun: Instant) {
        let now = Instant::now();
        match saved {
            Ok(Saved::Now(took, rest)) => {
                self.schedule.saved(took, now);
                if let Some(rest) = rest {
                    self.schedule.changed(rest, now);
                }
            }
            Ok(Saved::UpToDate) => self.schedule.nothing_to_save(),
            Ok(Saved::Later(rest, unsaved)) => self.schedule.postponed(rest, unsaved, now),
            Err(error) => {
                // The journal has everything; only `issues.json` is older than it should be.
                tracing::warn!("issues.json is not brought up to date for now: {error}");
                self.schedule.failed(begun.elapsed(), now);
            }
        }
        self.behind.send_replace(self.schedule.is_behind());
        self.tell_whether_broken();
    }

    /// Takes note of a checkpoint on a thread of its own, when it has come to its end.
    fn look_after_saving(&mut self) {
        if self.saving.as_ref().is_some_and(|saving| saving.thread.is_finished()) {
            self.end_saving();
        }
    }

    /// Waits for the end of a checkpoint on a thread of its own, if there is one.
    fn end_saving(&mut self) {
        let Some(Saving { thread, waits, begun }) = self.saving.take() else { return };
        while !thread.is_finished() {
            let waits = waits.load(Ordering::Relaxed);
            self.state.send_replace(if waits { State::Waiting } else { State::Working });
            thread::sleep(LOOK_EVERY);
        }
        self.state.send_replace(State::Working);
        let (saved, broken) = thread.join().unwrap_or_else(|_| {
            (Err(StoreError::NotSaved("the checkpoint panicked".to_owned())), None)
        });
        if let Some(broken) = broken {
            self.committer.give_up(broken);
        }
        self.saved(saved, begun);
    }

    fn tell_whether_broken(&self) {
        self.broken.send_replace(self.committer.broken().cloned());
    }

    /// Leaves `issues.json` up to date, unless that takes long or somebody else is writing.
    fn last_checkpoint(&mut self) {
        if self.schedule.is_behind() && self.schedule.is_worth(self.last_checkpoint) {
            match self.committer.last_checkpoint() {
                Ok(_) => drop(self.behind.send_replace(false)),
                Err(error) => tracing::warn!(
                    "issues.json is not up to date: {error}; the journal has the rest"
                ),
            }
        }
    }
}
