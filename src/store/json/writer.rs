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

use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::snapshot::{ReplaceError, Snapshot, Snapshots};
use super::ticket::{WriterTicket, ticket};
use crate::domain::{Command, Issue, Timestamp};
use crate::store::StoreError;

/// The most commands that one commit decides.
const MAX_BATCH: usize = 256;
/// The most commands that wait for their commit.
const MAX_WAITING: usize = 4096;

type Outcome = Result<Option<Arc<Issue>>, StoreError>;

/// A command on its way to the writer thread.
struct Request {
    command: Command,
    now: Timestamp,
    ticket: WriterTicket,
    reply: oneshot::Sender<Outcome>,
}

/// The way to the writer thread, which starts with the first command.
pub(super) struct Writer {
    snapshots: Arc<Snapshots>,
    busy_after: Duration,
    lane: Mutex<Lane>,
    closing: CancellationToken,
    finished: CancellationToken,
}

enum Lane {
    Idle,
    Running(SyncSender<Request>),
    Closed,
}

impl Writer {
    pub fn new(snapshots: Arc<Snapshots>, busy_after: Duration) -> Self {
        let (closing, finished) = (CancellationToken::new(), CancellationToken::new());
        Self { snapshots, busy_after, lane: Mutex::new(Lane::Idle), closing, finished }
    }

    pub async fn apply(&self, command: Command, now: Timestamp) -> Outcome {
        let (caller_ticket, writer_ticket) = ticket();
        let (reply, mut outcome) = oneshot::channel();
        self.send(Request { command, now, ticket: writer_ticket, reply })?;
        let given_up = tokio::select! {
            outcome = &mut outcome => return settled(outcome),
            () = tokio::time::sleep(self.busy_after) => self.busy(),
            () = self.closing.cancelled() => StoreError::Closed,
        };
        if caller_ticket.withdraw() {
            return Err(given_up);
        }
        // Decided and on its way to the disk: only the outcome is a true answer.
        settled(outcome.await)
    }

    pub async fn close(&self) {
        self.closing.cancel();
        {
            let mut lane = self.lane.lock().unwrap_or_else(PoisonError::into_inner);
            // The thread ends when there is nobody left to send it anything.
            if let Lane::Idle = std::mem::replace(&mut *lane, Lane::Closed) {
                self.finished.cancel();
            }
        }
        self.finished.cancelled().await;
    }

    fn busy(&self) -> StoreError {
        let path = self.snapshots.path().display();
        let seconds = self.busy_after.as_secs_f32();
        StoreError::Busy(format!("another process has held the lock beside {path} for {seconds} s"))
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
        let finished = self.finished.clone().drop_guard();
        thread::Builder::new().name("ait-writer".to_owned()).spawn(move || {
            run(&snapshots, &incoming);
            drop(finished);
        })?;
        Ok(requests)
    }
}

/// What the writer thread answered; it answers everything that it decides, unless it panics.
fn settled(reply: Result<Outcome, oneshot::error::RecvError>) -> Outcome {
    reply.unwrap_or_else(|_| Err(StoreError::Uncertain("the writer failed".to_owned())))
}

fn run(snapshots: &Snapshots, incoming: &Receiver<Request>) {
    let mut first_commit = true;
    while let Ok(first) = incoming.recv() {
        // A panic loses the replies of its batch, whose callers learn that their outcome is not
        // certain; the thread goes on for the others.
        let committed = panic::catch_unwind(AssertUnwindSafe(|| {
            commit(snapshots, first, incoming, first_commit);
        }));
        match committed {
            Ok(()) => first_commit = false,
            Err(_) => tracing::error!("the writer of the store panicked; going on"),
        }
    }
}

fn commit(snapshots: &Snapshots, first: Request, incoming: &Receiver<Request>, first_commit: bool) {
    let locked = snapshots.lock();
    // Gathered under the lock, so that all that arrived while it was waited for share this commit.
    let waiting = std::iter::once(first).chain(incoming.try_iter().take(MAX_BATCH - 1));
    let batch: Vec<Request> = waiting.filter(|request| request.ticket.take()).collect();
    if batch.is_empty() {
        return;
    }
    let outcomes = locked.and_then(|lock| {
        if first_commit {
            snapshots.remove_stale_temps();
        }
        let current = snapshots.current()?;
        let outcomes = decide_and_save(snapshots, &current, &batch)?;
        drop(lock);
        Ok(outcomes)
    });
    match outcomes {
        Ok(outcomes) => {
            for (request, outcome) in batch.into_iter().zip(outcomes) {
                // A caller that is gone does not need its answer.
                let _ = request.reply.send(outcome);
            }
        }
        Err(error) => {
            tracing::error!("{error}");
            for request in batch {
                let _ = request.reply.send(Err(error.clone()));
            }
        }
    }
}

/// Decides the batch and saves what it changes. An error is that of every command in it: even a
/// refusal was decided on a state that has not come about.
fn decide_and_save(
    snapshots: &Snapshots,
    current: &Snapshot,
    batch: &[Request],
) -> Result<Vec<Outcome>, StoreError> {
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
        snapshots.replace(current, next).map_err(not_replaced)?;
    }
    Ok(outcomes)
}

fn not_replaced(error: ReplaceError) -> StoreError {
    if error.in_place {
        StoreError::Uncertain(error.to_string())
    } else {
        StoreError::NotSaved(error.to_string())
    }
}
