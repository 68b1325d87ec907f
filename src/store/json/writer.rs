//! The thread through which every change of this process goes to the file.
//!
//! One commit: take the lock, look whether the file changed, decide every waiting command one after
//! the other on the state that the one before left, replace the file once for all of them, publish,
//! release the lock, answer. Commands that arrive while a commit is under way form the next one.

use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use std::{io, thread};

use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::snapshot::{Commit, ReplaceError, Snapshots};
use super::ticket::{WriterTicket, ticket};
use crate::domain::{Command, Issue, Timestamp};
use crate::store::StoreError;

/// The most commands that one commit decides.
const MAX_BATCH: usize = 256;
/// How often a command is decided because somebody who takes no lock changed the file.
const MAX_ATTEMPTS: usize = 20;
/// The most commands that wait for their commit.
const MAX_WAITING: usize = 4096;

type Outcome = Result<Option<Arc<Issue>>, StoreError>;
/// What the thread answers, which may be that the command has to be sent again.
type Reply = Result<Outcome, Unsaved>;

/// A command on its way to the writer thread.
struct Request {
    command: Command,
    now: Timestamp,
    ticket: WriterTicket,
    reply: oneshot::Sender<Reply>,
}

/// The way to the writer thread, which starts with the first command.
pub(super) struct Writer {
    snapshots: Arc<Snapshots>,
    busy_after: Duration,
    lane: Mutex<Lane>,
    closing: CancellationToken,
    /// Whether the thread is deciding and saving at this moment.
    committing: watch::Sender<bool>,
}

enum Lane {
    Idle,
    Running(SyncSender<Request>),
    Closed,
}

impl Writer {
    pub fn new(snapshots: Arc<Snapshots>, busy_after: Duration) -> Self {
        let (closing, committing) = (CancellationToken::new(), watch::Sender::new(false));
        Self { snapshots, busy_after, lane: Mutex::new(Lane::Idle), closing, committing }
    }

    pub async fn apply(&self, command: Command, now: Timestamp) -> Outcome {
        let mut attempts_left = MAX_ATTEMPTS;
        loop {
            attempts_left -= 1;
            match self.attempt(command.clone(), now).await {
                Ok(outcome) => return outcome,
                Err(Unsaved::Overtaken(_)) if attempts_left > 0 => {}
                Err(Unsaved::Overtaken(error) | Unsaved::Failed(error)) => return Err(error),
            }
        }
    }

    /// Sends a command to the thread once, and withdraws it when it is not decided in time.
    async fn attempt(&self, command: Command, now: Timestamp) -> Reply {
        let (caller_ticket, writer_ticket) = ticket();
        let (reply, mut outcome) = oneshot::channel();
        self.send(Request { command, now, ticket: writer_ticket, reply })?;
        let given_up = tokio::select! {
            outcome = &mut outcome => return settled(outcome),
            () = tokio::time::sleep(self.busy_after) => self.busy(),
            () = self.closing.cancelled() => StoreError::Closed,
        };
        if caller_ticket.withdraw() {
            return Err(given_up.into());
        }
        // Decided and on its way to the disk: only the outcome is a true answer.
        settled(outcome.await)
    }

    /// Lets callers withdraw what is not decided yet, and waits for what is.
    pub async fn close(&self) {
        self.closing.cancel();
        // The thread ends when there is nobody left to send it anything.
        *self.lane.lock().unwrap_or_else(PoisonError::into_inner) = Lane::Closed;
        // The sender is there as long as `self`, so that waiting for its value cannot fail.
        let _ = self.committing.subscribe().wait_for(|committing| !committing).await;
    }

    fn busy(&self) -> StoreError {
        let path = self.snapshots.path().display();
        let seconds = self.busy_after.as_secs_f32();
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
        requests.try_send(request).map_err(|error| match error {
            TrySendError::Full(_) => StoreError::Busy(format!("{MAX_WAITING} changes are waiting")),
            TrySendError::Disconnected(_) => StoreError::Closed,
        })
    }

    fn start(&self) -> io::Result<SyncSender<Request>> {
        let (requests, incoming) = sync_channel(MAX_WAITING);
        let snapshots = Arc::clone(&self.snapshots);
        let committing = self.committing.clone();
        thread::Builder::new().name("ait-writer".to_owned()).spawn(move || {
            run(&snapshots, &incoming, &committing);
        })?;
        Ok(requests)
    }
}

/// What the writer thread answered; it answers everything that it decides, unless it panics.
fn settled(reply: Result<Reply, oneshot::error::RecvError>) -> Reply {
    reply.unwrap_or_else(|_| Err(StoreError::Uncertain("the writer failed".to_owned()).into()))
}

/// The thread: commits until there is nobody left to send anything.
fn run(snapshots: &Snapshots, incoming: &Receiver<Request>, committing: &watch::Sender<bool>) {
    while let Ok(first) = incoming.recv() {
        // A panic loses the replies of its batch, whose callers learn that their outcome is not
        // certain; the thread goes on for the others.
        let committed = panic::catch_unwind(AssertUnwindSafe(|| {
            commit(snapshots, first, incoming, committing);
        }));
        committing.send_replace(false);
        if committed.is_err() {
            tracing::error!("the writer of the store panicked; going on");
        }
    }
}

fn commit(
    snapshots: &Snapshots,
    first: Request,
    incoming: &Receiver<Request>,
    committing: &watch::Sender<bool>,
) {
    let begun = snapshots.begin();
    // Gathered under the lock, so that all that arrived while it was waited for share this commit.
    committing.send_replace(true);
    let waiting = std::iter::once(first).chain(incoming.try_iter().take(MAX_BATCH - 1));
    let batch: Vec<Request> = waiting.filter(|request| request.ticket.take()).collect();
    if batch.is_empty() {
        return;
    }
    let saved =
        begun.map_err(Unsaved::from).and_then(|commit| decide_and_save(snapshots, &commit, &batch));
    match saved {
        Ok(outcomes) => {
            for (request, outcome) in batch.into_iter().zip(outcomes) {
                // A caller that is gone does not need its answer.
                let _ = request.reply.send(Ok(outcome));
            }
        }
        Err(unsaved) => {
            for request in batch {
                let _ = request.reply.send(Err(unsaved.clone()));
            }
            // Last, because whoever reads the log may be slower than those who wait for an answer.
            if let Unsaved::Failed(error) = unsaved {
                tracing::error!("{error}");
            }
        }
    }
}

/// Why a command was not decided, or not saved.
#[derive(Clone)]
enum Unsaved {
    /// The state that it was decided on is not the newest any more: it has to be sent again.
    Overtaken(StoreError),
    Failed(StoreError),
}

impl<E: Into<StoreError>> From<E> for Unsaved {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Decides the batch and saves what it changes. An error is that of every command in it: even a
/// refusal was decided on a state that has not come about.
fn decide_and_save(
    snapshots: &Snapshots,
    commit: &Commit,
    batch: &[Request],
) -> Result<Vec<Outcome>, Unsaved> {
    let current = snapshots.current_of(commit)?;
    let mut next = current.issues.clone();
    let mut changed = false;
    let mut decide = |request: &Request| -> Outcome {
        let Some(event) = next.decide(&request.command, request.now)? else { return Ok(None) };
        let issue = next.apply(&event)?;
        changed = true;
        Ok(Some(issue))
    };
    let outcomes = batch.iter().map(&mut decide).collect();
    if changed {
        snapshots.replace(commit, &current, next).map_err(unsaved)?;
    }
    Ok(outcomes)
}

fn unsaved(error: ReplaceError) -> Unsaved {
    let text = error.to_string();
    match error {
        ReplaceError::Overtaken(_) => Unsaved::Overtaken(StoreError::NotSaved(text)),
        ReplaceError::Io { in_place: false, .. } => Unsaved::Failed(StoreError::NotSaved(text)),
        ReplaceError::Io { in_place: true, .. } => Unsaved::Failed(StoreError::Uncertain(text)),
    }
}
