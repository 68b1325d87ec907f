//! The thread through which every change of this process goes to the database.
//!
//! Processes take turns by the lock of a file: SQLite itself lets a process that waits sleep, and others overtake it.
//! Commands that arrive during a commit form the next one.

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::{oneshot, watch};

use super::database::Database;
use super::error::Failure;
use super::index;
use super::queue::{Queue, resolve};
use super::write::{apply, newest};
use crate::domain::{Command, CommandTarget, IssueGraph, Timestamp, UnknownKeys, decide};
use crate::store::writer_reply::{
    LapseQueue, MAX_QUEUED, MAX_REQUESTS_PER_COMMIT, UnreceivedReply, WriterReply, queue_is_full,
};
use crate::store::{Committed, EventPosition, Outcome, StoreError};

/// How long a request may wait before it is decided.
const BUSY_AFTER: Duration = Duration::from_secs(10);
/// How long the thread is idle before it brings the index of searches up to date.
const IDLE: Duration = Duration::from_millis(50);
/// How many pages of the log of SQLite are kept before they are moved into the database.
const CHECKPOINT_PAGES: i64 = 1000;

/// Commands that wait for the writer.
struct Request {
    commands: Vec<Command>,
    now: Timestamp,
    /// Set by the writer when it begins, or by the caller when it gives up: by whichever is first.
    is_taken: Arc<AtomicBool>,
    reply: oneshot::Sender<UnreceivedReply<Lapses>>,
}

impl Request {
    /// Returns true if it lapses a claim for a caller that is gone.
    fn is_lapse(&self) -> bool {
        matches!(self.commands[..], [Command::LapseClaim { .. }])
    }
}

/// The queue of the writer for the claims of a request that lapse.
struct Lapses {
    writer: SyncSender<Request>,
    now: Timestamp,
}

impl LapseQueue for Lapses {
    fn lapse(&self, commands: Vec<Command>) {
        for command in commands {
            let (reply, _) = oneshot::channel();
            let is_taken = Arc::new(AtomicBool::new(false));
            let request = Request { commands: vec![command], now: self.now, is_taken, reply };
            if self.writer.try_send(request).is_err() {
                tracing::warn!("failed to return a claim whose caller is gone");
            }
        }
    }
}

/// A handle to the thread, which starts with the first change.
pub(super) struct WriterHandle {
    database: Arc<Database>,
    newest: watch::Sender<EventPosition>,
    state: Mutex<State>,
    has_ended: watch::Sender<bool>,
}

enum State {
    Idle,
    Running(SyncSender<Request>),
    Closed,
}

impl WriterHandle {
    /// Creates a handle to a thread that does not run yet.
    pub fn new(database: Arc<Database>, newest: watch::Sender<EventPosition>) -> Self {
        let has_ended = watch::Sender::new(true);
        Self { database, newest, state: Mutex::new(State::Idle), has_ended }
    }

    /// Sends commands to the thread and returns their outcomes. If the future is dropped before they are decided, they
    /// are withdrawn.
    pub async fn commit(&self, commands: Vec<Command>, now: Timestamp) -> WriterReply {
        if commands.is_empty() {
            return Ok(Committed::default());
        }
        let (reply, mut outcome) = oneshot::channel();
        let is_taken = Arc::new(AtomicBool::new(false));
        let request = Request { commands, now, is_taken: Arc::clone(&is_taken), reply };
        self.sender()?.try_send(request).map_err(|error| match error {
            TrySendError::Full(_) => queue_is_full(),
            TrySendError::Disconnected(_) => StoreError::Closed,
        })?;
        let lost = |_| StoreError::Uncertain("the writer failed".to_owned());
        let answer = match tokio::time::timeout(BUSY_AFTER, &mut outcome).await {
            Ok(answer) => answer,
            Err(_) if !is_taken.swap(true, Ordering::AcqRel) => {
                return Err(StoreError::Busy("other processes keep the store locked".to_owned()));
            }
            Err(_) => outcome.await,
        };
        answer.map_err(lost)?.receive()
    }

    fn sender(&self) -> Result<SyncSender<Request>, StoreError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &*state {
            State::Running(sender) => Ok(sender.clone()),
            State::Closed => Err(StoreError::Closed),
            State::Idle => {
                let (sender, requests) = sync_channel(MAX_QUEUED);
                let writer = Writer {
                    database: Arc::clone(&self.database),
                    newest: self.newest.clone(),
                    opened: None,
                    checkpointer: None,
                };
                let has_ended = self.has_ended.clone();
                has_ended.send_replace(false);
                let spawned = thread::Builder::new().name("ait-writer".to_owned()).spawn({
                    let lapses = sender.clone();
                    move || {
                        writer.run(&requests, &lapses);
                        has_ended.send_replace(true);
                    }
                });
                spawned.map_err(|error| {
                    StoreError::Busy(format!("failed to start a thread: {error}"))
                })?;
                *state = State::Running(sender.clone());
                Ok(sender)
            }
        }
    }

    /// Refuses new commands, and ends the thread after those that were accepted.
    fn end(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::Running(sender) = std::mem::replace(&mut *state, State::Closed) {
            let (reply, _) = oneshot::channel();
            // A request without commands ends the thread.
            let (commands, now) = (Vec::new(), Timestamp::from_unix_millis(0));
            let is_taken = Arc::new(AtomicBool::new(false));
            let _ = sender.try_send(Request { commands, now, is_taken, reply });
        }
    }

    /// Refuses new commands and waits for those that were accepted. Returns false if they take long.
    pub async fn close(&self, limit: Duration) -> bool {
        self.end();
        let mut has_ended = self.has_ended.subscribe();
        let done = has_ended.wait_for(|has_ended| *has_ended);
        tokio::time::timeout(limit, done).await.is_ok()
    }
}

impl Drop for WriterHandle {
    fn drop(&mut self) {
        self.end();
    }
}

/// What the thread works with.
struct Writer {
    database: Arc<Database>,
    newest: watch::Sender<EventPosition>,
    opened: Option<(Connection, File)>,
    checkpointer: Option<SyncSender<()>>,
}

impl Writer {
    /// Commits requests until one of them ends the thread.
    fn run(mut self, requests: &Receiver<Request>, lapses: &SyncSender<Request>) {
        let mut is_indexed = false;
        loop {
            let first = match requests.recv_timeout(if is_indexed { Duration::MAX } else { IDLE }) {
                Ok(request) => request,
                Err(RecvTimeoutError::Timeout) => {
                    is_indexed = self.tidy().unwrap_or(true);
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => return,
            };
            is_indexed = false;
            let mut batch = vec![first];
            let more = requests.try_iter().take(MAX_REQUESTS_PER_COMMIT - 1);
            batch.extend(more);
            let ends = batch.iter().position(|request| request.commands.is_empty());
            batch.truncate(ends.unwrap_or(batch.len()));
            if !batch.is_empty() {
                self.serve(batch, lapses);
            }
            if ends.is_some() {
                return;
            }
        }
    }

    /// Commits a batch and answers its requests.
    fn serve(&mut self, mut batch: Vec<Request>, lapses: &SyncSender<Request>) {
        batch.retain(|request| {
            let is_wanted = request.is_lapse() || !request.reply.is_closed();
            is_wanted && !request.is_taken.swap(true, Ordering::AcqRel)
        });
        let replies = match self.commit(&batch) {
            Ok((replies, position)) => {
                if let Some(position) = position {
                    publish(&self.newest, position);
                }
                replies
            }
            Err(error) => {
                self.opened = None;
                vec![Err(error); batch.len()]
            }
        };
        for (request, reply) in batch.into_iter().zip(replies) {
            let Request { commands, now, reply: caller, .. } = request;
            let lapses = Lapses { writer: lapses.clone(), now };
            // If the caller is gone, `send` gives the reply back, and dropping it queues the lapse of its claims.
            drop(caller.send(UnreceivedReply::new(reply, commands, lapses)));
        }
        self.checkpoint();
    }

    fn opened(&mut self) -> Result<&(Connection, File), Failure> {
        let opened = match self.opened.take() {
            Some(opened) => opened,
            None => {
                let connection = self.database.open()?;
                (connection, self.database.turn()?)
            }
        };
        Ok(self.opened.insert(opened))
    }

    /// Decides and commits a batch in one transaction. A request that is refused changes nothing; the others do.
    fn commit(
        &mut self,
        batch: &[Request],
    ) -> Result<(Vec<WriterReply>, Option<EventPosition>), StoreError> {
        let (connection, turn) = self.opened().map_err(Failure::of_change)?;
        turn.lock().map_err(|error| Failure::from(error).of_change())?;
        let done = transact(connection, |connection| {
            let replies: Result<Vec<WriterReply>, Failure> =
                batch.iter().map(|request| decide_request(connection, request)).collect();
            let replies = replies?;
            let has_events = replies.iter().flatten().any(|committed| !committed.events.is_empty());
            let newest = if has_events { Some(newest(connection)?) } else { None };
            Ok((replies, newest))
        });
        // It is released when the file is closed, too.
        let _ = turn.unlock();
        done
    }

    /// Lets the other thread look whether the log of SQLite has grown long.
    fn checkpoint(&mut self) {
        let wake = self.checkpointer.get_or_insert_with(|| {
            let (wake, woken) = sync_channel(1);
            let database = Arc::clone(&self.database);
            let thread = thread::Builder::new().name("ait-checkpoints".to_owned());
            let spawned = thread.spawn(move || {
                let Ok(connection) = database.open() else { return };
                while let Ok(()) = woken.recv() {
                    checkpoint(&connection);
                }
            });
            if let Err(error) = spawned {
                tracing::warn!("the log of the database grows: failed to start a thread: {error}");
            }
            wake
        });
        // If it is full, the thread looks anyway.
        let _ = wake.try_send(());
    }

    /// Brings the index of searches nearer to what there is. Returns true if nothing is left.
    fn tidy(&mut self) -> Option<bool> {
        let (connection, turn) = self.opened.as_ref()?;
        // Other processes go first.
        turn.try_lock().ok()?;
        let indexed = transact(connection, |connection| index::extend(connection, index::FEW));
        let _ = turn.unlock();
        self.checkpoint();
        indexed.ok()
    }
}

/// Moves what the log of SQLite has into the database, if there is much of it. Reads and writers go on.
fn checkpoint(connection: &Connection) {
    let pages = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?));
    let found = connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], pages);
    if found.is_ok_and(|(all, moved)| all - moved > CHECKPOINT_PAGES) {
        let _ = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
    }
}

/// Says that there are events up to this one.
pub(super) fn publish(newest: &watch::Sender<EventPosition>, position: EventPosition) {
    newest.send_if_modified(|known| {
        let is_newer = *known != position && position.number >= known.number;
        if is_newer {
            *known = position;
        }
        is_newer
    });
}

/// Runs a transaction that writes.
fn transact<T>(
    connection: &Connection,
    run: impl FnOnce(&Connection) -> Result<T, Failure>,
) -> Result<T, StoreError> {
    let begun = connection.execute_batch("BEGIN IMMEDIATE");
    begun.map_err(|error| Failure::from(error).of_change())?;
    let undo = |error| {
        let _ = connection.execute_batch("ROLLBACK");
        error
    };
    let done = run(connection).map_err(|failure| undo(failure.of_change()))?;
    let committed = connection.execute_batch("COMMIT");
    committed.map_err(|error| undo(Failure::from(error).of_commit()))?;
    Ok(done)
}

/// Decides the commands of one caller, each on the state that the one before left: all of them, or none.
fn decide_request(connection: &Connection, request: &Request) -> Result<WriterReply, Failure> {
    connection.execute_batch("SAVEPOINT request")?;
    let mut committed = Committed::default();
    for command in &request.commands {
        match decide_command(connection, command, request.now) {
            Ok((outcome, position)) => {
                committed.outcomes.push(outcome);
                committed.events.extend(position);
            }
            Err(Failure::Refused(refusal)) => {
                connection.execute_batch("ROLLBACK TO request; RELEASE request")?;
                return Ok(Err(StoreError::Refused(refusal)));
            }
            Err(failure) => return Err(failure),
        }
    }
    connection.execute_batch("RELEASE request")?;
    Ok(Ok(committed))
}

fn decide_command(
    connection: &Connection,
    command: &Command,
    now: Timestamp,
) -> Result<(Outcome, Option<EventPosition>), Failure> {
    let queue = Queue::new(connection);
    let keys = match command.target() {
        CommandTarget::Document => unknown_keys(connection)?,
        _ => UnknownKeys::default(),
    };
    let decided = decide(command, now, &queue, &keys);
    queue.check()?;
    if let Some(event) = decided? {
        let (position, issue) = apply(connection, &queue, &event)?;
        return Ok((issue, Some(position)));
    }
    let CommandTarget::Named(reference) = command.target() else { return Ok((None, None)) };
    let issue = resolve(connection, reference)?.ok().and_then(|id| queue.issue(id));
    queue.check()?;
    Ok((issue, None))
}

/// Returns the unknown top-level keys.
pub(super) fn unknown_keys(connection: &Connection) -> Result<UnknownKeys, Failure> {
    let text: String = connection.query_row("SELECT keys FROM meta", [], |row| row.get(0))?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::Damaged(format!("the other top-level keys cannot be read: {error}"))
    })
}
