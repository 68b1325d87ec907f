//! The thread through which every change of this process goes to the database.
//!
//! Processes take turns by the lock of a file: SQLite itself lets a process that waits sleep, and others overtake it.
//! Commands that arrive during a commit form the next one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::{oneshot, watch};

use super::database::{Database, Opened};
use super::edits;
use super::error::Failure;
use super::index;
use super::transaction::{decide_all, transact};
use super::write::newest;
use crate::domain::{Command, Timestamp};
use crate::store::writer_reply::{
    LapseQueue, MAX_QUEUED, MAX_REQUESTS_PER_COMMIT, UnreceivedReply, WriterReply, queue_is_full,
};
use crate::store::{Committed, EventPosition, StoreError};

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

/// What the thread has to do.
enum Job {
    Commit(Request),
    /// Something else that writes. It has the turn, or learns why there is none.
    Run(Work),
    End,
}

/// What a job does with the database, or with the reason why it cannot be opened.
type Work = Box<dyn FnOnce(Result<(&Database, &Connection), StoreError>) + Send>;

/// The queue of the writer for the claims of a request that lapse.
struct Lapses {
    writer: SyncSender<Job>,
    now: Timestamp,
}

impl LapseQueue for Lapses {
    fn lapse(&self, commands: Vec<Command>) {
        for command in commands {
            let (reply, _) = oneshot::channel();
            let is_taken = Arc::new(AtomicBool::new(false));
            let request = Request { commands: vec![command], now: self.now, is_taken, reply };
            if self.writer.try_send(Job::Commit(request)).is_err() {
                tracing::warn!("failed to return a claim whose caller is gone");
            }
        }
    }
}

/// A handle to the thread, which starts with the first change and ends with the last handle.
#[derive(Clone)]
pub(super) struct WriterHandle(Arc<Inner>);

/// A handle that does not keep the thread alive.
#[derive(Clone)]
pub(super) struct WeakWriter(Weak<Inner>);

impl WeakWriter {
    /// Returns a handle, if there still is one.
    pub fn upgrade(&self) -> Option<WriterHandle> {
        self.0.upgrade().map(WriterHandle)
    }
}

struct Inner {
    database: Arc<Database>,
    newest: watch::Sender<EventPosition>,
    /// Called after each commit with events.
    changed: Box<dyn Fn() + Send + Sync>,
    state: Mutex<State>,
    has_ended: watch::Sender<bool>,
}

enum State {
    Idle,
    Running(SyncSender<Job>),
    Closed,
}

impl WriterHandle {
    /// Creates a handle to a thread that does not run yet. It calls `changed` after each commit with events.
    pub fn new(
        database: Arc<Database>,
        newest: watch::Sender<EventPosition>,
        changed: impl Fn() + Send + Sync + 'static,
    ) -> Self {
        let (changed, has_ended) = (Box::new(changed), watch::Sender::new(true));
        Self(Arc::new(Inner {
            database,
            newest,
            changed,
            state: Mutex::new(State::Idle),
            has_ended,
        }))
    }

    /// Returns a handle that does not keep the thread alive.
    pub fn downgrade(&self) -> WeakWriter {
        WeakWriter(Arc::downgrade(&self.0))
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
        self.send(Job::Commit(request))?;
        let lost = |_| StoreError::Uncertain("the writer failed".to_owned());
        let busy_after = self.0.database.options.busy_after;
        let answer = match tokio::time::timeout(busy_after, &mut outcome).await {
            Ok(answer) => answer,
            Err(_) if !is_taken.swap(true, Ordering::AcqRel) => {
                return Err(StoreError::Busy("other processes keep the store locked".to_owned()));
            }
            Err(_) => outcome.await,
        };
        answer.map_err(lost)?.receive()
    }

    /// Runs something else that writes on the thread, and waits for it.
    ///
    /// # Errors
    ///
    /// The store is closed.
    pub fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Database, &Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Result<T, StoreError>, StoreError> {
        self.run_within(Duration::MAX, work)
    }

    /// Runs something else that writes on the thread. Waits for it at most for a time; it goes on after that.
    ///
    /// # Errors
    ///
    /// The store is closed, or the time is over.
    pub fn run_within<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl FnOnce(&Database, &Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Result<T, StoreError>, StoreError> {
        let (reply, done) = sync_channel(1);
        self.send(Job::Run(Box::new(move |opened| {
            let done = opened.and_then(|(database, connection)| work(database, connection));
            let _ = reply.try_send(done);
        })))?;
        done.recv_timeout(limit).map_err(|_| StoreError::Busy("the writer is busy".to_owned()))
    }

    fn send(&self, job: Job) -> Result<(), StoreError> {
        self.sender()?.try_send(job).map_err(|error| match error {
            TrySendError::Full(_) => queue_is_full(),
            TrySendError::Disconnected(_) => StoreError::Closed,
        })
    }

    fn sender(&self) -> Result<SyncSender<Job>, StoreError> {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &*state {
            State::Running(sender) => Ok(sender.clone()),
            State::Closed => Err(StoreError::Closed),
            State::Idle => {
                let (sender, jobs) = sync_channel(MAX_QUEUED);
                let writer = Writer {
                    database: Arc::clone(&self.0.database),
                    handle: self.downgrade(),
                    opened: None,
                    checkpointer: None,
                };
                let has_ended = self.0.has_ended.clone();
                has_ended.send_replace(false);
                let spawned = thread::Builder::new().name("ait-writer".to_owned()).spawn({
                    let lapses = sender.clone();
                    move || {
                        writer.run(&jobs, &lapses);
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

    /// Refuses new commands and waits for those that were accepted. Returns false if they take long.
    pub async fn close(&self, limit: Duration) -> bool {
        self.0.end();
        let mut has_ended = self.0.has_ended.subscribe();
        let done = has_ended.wait_for(|has_ended| *has_ended);
        tokio::time::timeout(limit, done).await.is_ok()
    }
}

impl Inner {
    /// Refuses new commands, and ends the thread after those that were accepted.
    fn end(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if let State::Running(sender) = std::mem::replace(&mut *state, State::Closed) {
            let _ = sender.try_send(Job::End);
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.end();
    }
}

/// What the thread works with.
struct Writer {
    database: Arc<Database>,
    handle: WeakWriter,
    opened: Option<Opened>,
    checkpointer: Option<SyncSender<()>>,
}

impl Writer {
    /// Does jobs until one of them ends the thread.
    fn run(mut self, jobs: &Receiver<Job>, lapses: &SyncSender<Job>) {
        let mut is_indexed = false;
        let mut held = None;
        loop {
            let wait = if is_indexed { Duration::MAX } else { IDLE };
            let next = held.take().map_or_else(|| jobs.recv_timeout(wait), Ok);
            match next {
                Ok(Job::Commit(first)) => {
                    let mut batch = vec![first];
                    while batch.len() < MAX_REQUESTS_PER_COMMIT
                        && held.is_none()
                        && let Ok(job) = jobs.try_recv()
                    {
                        match job {
                            Job::Commit(request) => batch.push(request),
                            other => held = Some(other),
                        }
                    }
                    self.serve(batch, lapses);
                    is_indexed = false;
                }
                Ok(Job::Run(work)) => {
                    let database = Arc::clone(&self.database);
                    match self.opened() {
                        Ok(opened) => {
                            let working = |connection: &Connection| {
                                work(Ok((&database, connection)));
                                Ok(())
                            };
                            let ran = in_turn(&database, opened, working, |()| false);
                            if let Err(error) = ran {
                                tracing::warn!("{error}");
                            }
                        }
                        Err(error) => work(Err(error)),
                    }
                    is_indexed = false;
                }
                Ok(Job::End) | Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => is_indexed = self.tidy().unwrap_or(true),
            }
        }
    }

    /// Commits a batch and answers its requests.
    fn serve(&mut self, mut batch: Vec<Request>, lapses: &SyncSender<Job>) {
        batch.retain(|request| {
            let is_wanted = request.is_lapse() || !request.reply.is_closed();
            is_wanted && !request.is_taken.swap(true, Ordering::AcqRel)
        });
        let replies = match self.commit(&batch) {
            Ok((replies, position)) => {
                if let Some((position, handle)) = position.zip(self.handle.0.upgrade()) {
                    publish(&handle.newest, position);
                    (handle.changed)();
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

    /// Opens the database if it is not open, or if another file is in its place.
    fn opened(&mut self) -> Result<&Opened, StoreError> {
        let known = self.opened.take();
        let opened = match known {
            Some(opened) if self.database.is_in_place(opened.file) => opened,
            replaced => {
                if let Some(replaced) = replaced {
                    self.database.rescue(&replaced.connection);
                }
                self.database.open().map_err(Failure::of_change)?
            }
        };
        Ok(self.opened.insert(opened))
    }

    /// Decides and commits a batch in one transaction. A request that is refused changes nothing; the others do.
    fn commit(
        &mut self,
        batch: &[Request],
    ) -> Result<(Vec<WriterReply>, Option<EventPosition>), StoreError> {
        let database = Arc::clone(&self.database);
        let deciding = |connection: &Connection| {
            edits::adopt(&database, connection)?;
            transact(connection, |connection| {
                let decided = batch
                    .iter()
                    .map(|request| decide_all(connection, &request.commands, request.now));
                let replies: Result<Vec<WriterReply>, Failure> = decided.collect();
                let replies = replies?;
                let has_events =
                    replies.iter().flatten().any(|committed| !committed.events.is_empty());
                let newest = if has_events { Some(newest(connection)?) } else { None };
                Ok((replies, newest))
            })
        };
        // An issue that already is as wanted may have become so by a change that is not durable yet.
        let shows = |(replies, _): &(Vec<WriterReply>, _)| {
            let mut outcomes = replies.iter().flatten().flat_map(|committed| &committed.outcomes);
            outcomes.any(Option::is_some)
        };
        in_turn(&database, self.opened()?, deciding, shows)
    }

    /// Lets the other thread look whether the log of SQLite has grown long.
    fn checkpoint(&mut self) {
        let wake = self.checkpointer.get_or_insert_with(|| {
            let (wake, woken) = sync_channel(1);
            let database = Arc::clone(&self.database);
            let thread = thread::Builder::new().name("ait-checkpoints".to_owned());
            let spawned = thread.spawn(move || {
                let Ok(Opened { connection, .. }) = database.open() else { return };
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
        let opened = self.opened.as_ref()?;
        let turn = self.database.take_turn(opened).ok()?;
        let indexed =
            transact(&opened.connection, |connection| index::extend(connection, index::FEW));
        drop(turn);
        self.checkpoint();
        indexed.ok()
    }
}

/// Waits for the turn, writes, and makes that durable, if anything was written or `shows` that what others wrote is
/// answered.
///
/// SQLite itself syncs its log before it moves anything from there into the database, and no sooner. So the next
/// process can write while this one waits for the disk, and one sync serves all who wait.
fn in_turn<T>(
    database: &Database,
    opened: &Opened,
    write: impl FnOnce(&Connection) -> Result<T, StoreError>,
    shows: impl FnOnce(&T) -> bool,
) -> Result<T, StoreError> {
    let turn = database.take_turn(opened)?;
    let before = opened.connection.total_changes();
    let done = write(&opened.connection)?;
    drop(turn);
    if opened.connection.total_changes() != before || shows(&done) {
        opened.log.sync_data().map_err(|error| StoreError::Uncertain(error.to_string()))?;
    }
    Ok(done)
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
