//! The thread through which every change of this process goes to the database.
//!
//! Processes take turns by the lock of a file: SQLite itself lets a process that waits sleep, and others overtake it.
//! Commands that arrive during a commit form the next one.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::checkpoints;
use super::database::{Database, Opened};
use super::edits;
use super::error::Failure;
use super::index;
use super::place::replaced;
use super::started::{Patience, Started, locked, publish};
use super::transaction::{decide_all, transact};
use super::write::newest;
use crate::files::support::lock;
use crate::writer_queue::{MAX_QUEUED, MAX_REQUESTS_PER_COMMIT, WriterReply, queue_is_full};
use crate::{Committed, EventPosition, StoreError};
use ait_domain::{Command, Timestamp};

/// How long the thread is idle before it brings the index of searches up to date.
const IDLE: Duration = Duration::from_millis(50);
/// How long a busy thread leaves the index and old events as they are.
const BUSY: Duration = Duration::from_millis(500);

/// Commands that wait for the writer.
struct Request {
    commands: Vec<Command>,
    now: Timestamp,
    /// Set by the writer when it begins, or by the caller when it gives up: by whichever is first.
    is_taken: Arc<AtomicBool>,
    reply: oneshot::Sender<WriterReply>,
}

/// What the thread has to do.
enum Job {
    Commit(Request),
    /// Something else that writes. It has the turn, or learns why there is none.
    Run(Work),
    End,
}

/// What a job does with the database, or with the reason why it cannot be opened. Returns what answers its caller, to
/// be called once the work is durable, or with the reason why that is not certain.
type Work = Box<dyn FnOnce(Result<(&Database, &Opened), StoreError>) -> Answer + Send>;
type Answer = Box<dyn FnOnce(Result<(), StoreError>)>;

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
    /// Cancelled when undecided commands are to be withdrawn.
    closing: CancellationToken,
    /// Since when the thread waits for the turn of this process.
    waits_since: Mutex<Option<Instant>>,
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
        let changed = Box::new(changed);
        let has_ended = watch::Sender::new(true);
        Self(Arc::new(Inner {
            database,
            newest,
            changed,
            state: Mutex::new(State::Idle),
            has_ended,
            closing: CancellationToken::new(),
            waits_since: Mutex::default(),
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
        if self.0.closing.is_cancelled() {
            return Err(StoreError::Closed);
        }
        let (reply, mut outcome) = oneshot::channel();
        let is_taken = Arc::new(AtomicBool::new(false));
        let request = Request { commands, now, is_taken: Arc::clone(&is_taken), reply };
        self.send(Job::Commit(request))?;
        let patience = Patience::new(&self.0.database.options, &self.0.waits_since);
        let given_up = loop {
            tokio::select! {
                biased;
                answer = &mut outcome => return answer.unwrap_or_else(|_| Err(lost())),
                () = tokio::time::sleep(patience.look_after()) => {}
                () = self.0.closing.cancelled() => break StoreError::Closed,
            }
            if let Some(given_up) = patience.given_up() {
                break given_up;
            }
        };
        if !is_taken.swap(true, Ordering::AcqRel) {
            return Err(given_up);
        }
        let answer = outcome.await;
        answer.unwrap_or_else(|_| Err(lost()))
    }

    /// Runs something else that writes on the thread, and waits for it unless other processes keep the store locked.
    ///
    /// # Errors
    ///
    /// The store is closed or locked, and nothing was done; or the error of the work.
    pub fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Database, &Opened) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let done = self.start(work)?;
        let patience = Patience::new(&self.0.database.options, &self.0.waits_since);
        loop {
            if let Ok(done) = done.recv_timeout(patience.look_after()) {
                return done;
            }
            match patience.given_up() {
                Some(given_up) if done.withdraw() => return Err(given_up),
                Some(_) => return done.reply.recv().unwrap_or_else(|_| Err(lost())),
                None => {}
            }
        }
    }

    /// Runs something else that writes on the thread, and waits for it at most for a time. If it has begun by then, it
    /// goes on.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run), and [`StoreError::Busy`] if the time is over.
    pub fn run_within<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl FnOnce(&Database, &Opened) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let done = self.start(work)?;
        done.recv_timeout(limit).unwrap_or_else(|_| {
            done.withdraw();
            Err(locked())
        })
    }

    /// Begins other work on the thread.
    fn start<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Database, &Opened) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<Started<T>, StoreError> {
        let (sender, reply) = sync_channel(1);
        let is_taken = Arc::new(AtomicBool::new(false));
        let taken = Arc::clone(&is_taken);
        self.send(Job::Run(Box::new(move |opened| {
            let is_withdrawn = taken.swap(true, Ordering::AcqRel);
            let done = match opened {
                Ok((database, opened)) if !is_withdrawn => work(database, opened),
                Ok(_) => Err(locked()),
                Err(error) => Err(error),
            };
            Box::new(move |synced| {
                let _ = sender.try_send(done.and_then(|done| synced.map(|()| done)));
            })
        })))?;
        Ok(Started { reply, is_taken })
    }

    /// Returns true if the thread has begun, and may have the database open.
    pub fn is_running(&self) -> bool {
        let state = lock(&self.0.state);
        matches!(*state, State::Running(_))
    }

    fn send(&self, job: Job) -> Result<(), StoreError> {
        self.sender()?.try_send(job).map_err(|error| match error {
            TrySendError::Full(_) => queue_is_full(),
            TrySendError::Disconnected(_) => StoreError::Closed,
        })
    }

    fn sender(&self) -> Result<SyncSender<Job>, StoreError> {
        let mut state = lock(&self.0.state);
        match &*state {
            State::Running(sender) => Ok(sender.clone()),
            State::Closed => Err(StoreError::Closed),
            State::Idle => {
                let (sender, jobs) = sync_channel(MAX_QUEUED);
                let writer = Writer {
                    database: Arc::clone(&self.0.database),
                    handle: self.downgrade(),
                    opened: None,
                    has_failed: false,
                    checkpointer: None,
                };
                let has_ended = self.0.has_ended.clone();
                has_ended.send_replace(false);
                let spawned = thread::Builder::new().name("ait-writer".to_owned()).spawn({
                    move || {
                        writer.run(&jobs);
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

    /// Withdraws the commands that are not decided yet, and refuses new ones.
    pub fn withdraw(&self) {
        self.0.closing.cancel();
    }

    /// Ends the thread after its work. Returns false if that takes long, or if it waits for another process.
    pub async fn close(&self, limit: Duration) -> bool {
        /// How long the thread may wait for another process.
        const MAX_WAIT: Duration = Duration::from_millis(300);
        const LOOK_EVERY: Duration = Duration::from_millis(20);
        self.0.end();
        let mut has_ended = self.0.has_ended.subscribe();
        let begun = Instant::now();
        while begun.elapsed() < limit {
            let done = has_ended.wait_for(|has_ended| *has_ended);
            if tokio::time::timeout(LOOK_EVERY, done).await.is_ok() {
                return true;
            }
            let since = *lock(&self.0.waits_since);
            if since.is_some_and(|since| since.elapsed() > MAX_WAIT) {
                return false;
            }
        }
        false
    }
}

impl Inner {
    /// Refuses new commands, and ends the thread after those that were accepted.
    fn end(&self) {
        let mut state = lock(&self.state);
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

fn lost() -> StoreError {
    StoreError::Uncertain("the writer failed".to_owned())
}

/// What the thread works with.
struct Writer {
    database: Arc<Database>,
    handle: WeakWriter,
    opened: Option<Opened>,
    /// Whether the last attempt to write failed.
    has_failed: bool,
    checkpointer: Option<SyncSender<()>>,
}

impl Writer {
    /// Does jobs until one of them ends the thread.
    fn run(mut self, jobs: &Receiver<Job>) {
        let mut is_indexed = false;
        // At most half of the idle time and a tenth of the busy time goes to tidying: a busy queue makes no pause.
        let mut pause = IDLE;
        let mut tidied = Instant::now();
        let mut busy_pause = BUSY;
        let mut held = None;
        loop {
            let wait = if is_indexed { Duration::MAX } else { pause };
            let next = held.take().map_or_else(|| jobs.recv_timeout(wait), Ok);
            let is_idle = match next {
                Ok(Job::Commit(first)) => {
                    held = self.serve(first, jobs);
                    false
                }
                Ok(Job::Run(work)) => {
                    self.work(work);
                    false
                }
                Ok(Job::End) | Err(RecvTimeoutError::Disconnected) => return self.end(is_indexed),
                Err(RecvTimeoutError::Timeout) => true,
            };
            if !is_idle && is_indexed {
                // This job is the first that leaves something to do.
                is_indexed = false;
                tidied = Instant::now();
            }
            if is_idle || tidied.elapsed() > busy_pause {
                let begun = Instant::now();
                is_indexed = self.tidy().unwrap_or(true);
                tidied = Instant::now();
                busy_pause = BUSY.max(10 * (tidied - begun));
                pause = tidied - begun;
            }
            if !is_idle {
                pause = IDLE;
            }
        }
    }

    /// Does a little of what else is left. Commands end soon after their change, and would leave all of it to servers.
    fn end(mut self, mut is_indexed: bool) {
        /// How long that may take.
        const LONGEST: Duration = Duration::from_millis(20);
        let begun = Instant::now();
        while !is_indexed && begun.elapsed() < LONGEST {
            is_indexed = self.tidy().unwrap_or(true);
        }
        if let Some(opened) = &self.opened
            && self.database.is_in_place(opened)
        {
            checkpoints::empty(&self.database, opened);
        }
    }

    /// Does other work, and answers its caller.
    fn work(&mut self, work: Work) {
        let database = Arc::clone(&self.database);
        let mut work = Some(work);
        let mut answer = None;
        let working = |opened: &Opened| {
            answer = work.take().map(|work| work(Ok((&database, opened))));
            Ok(())
        };
        let done = self.in_turn(working, |()| false);
        match (answer, work) {
            (Some(answer), _) => answer(done),
            (None, Some(work)) => work(Err(done.err().unwrap_or(StoreError::Closed)))(Ok(())),
            (None, None) => {}
        }
    }

    /// Commits the changes that wait, and answers their requests. Returns the job after them if it is another one.
    fn serve(&mut self, first: Request, jobs: &Receiver<Job>) -> Option<Job> {
        let mut batch = vec![first];
        let mut other = None;
        while batch.len() < MAX_REQUESTS_PER_COMMIT
            && other.is_none()
            && let Ok(job) = jobs.try_recv()
        {
            match job {
                Job::Commit(request) => batch.push(request),
                job => other = Some(job),
            }
        }
        let mut failure = None;
        let replies = match self.commit(&mut batch) {
            Ok((replies, position)) => {
                if let Some((position, handle)) = position.zip(self.handle.0.upgrade()) {
                    publish(&handle.newest, position);
                    (handle.changed)();
                }
                replies
            }
            Err(error) => {
                failure = Some(error.clone());
                vec![Err(error); batch.len()]
            }
        };
        for (request, reply) in batch.into_iter().zip(replies) {
            // The caller may be gone.
            let _ = request.reply.send(reply);
        }
        // Last, because writing to the log output may be slow and callers wait for their answers.
        if let Some(error) = failure.filter(|_| self.database.options.logs_failures) {
            tracing::error!("{error}");
        }
        self.checkpoint();
        other
    }

    /// Closes a database whose files are not in their places any more, and keeps what it had.
    fn leave(&mut self) {
        if let Some(opened) = self.opened.take() {
            self.database.rescue(&opened.connection);
            self.database.save_without_log(&opened);
        }
    }

    /// Waits for the turn, writes, and makes that durable. If that fails, the next attempt opens the database again.
    /// Until then it stays open, because its files may be about to be removed, one by one.
    fn in_turn<T>(
        &mut self,
        write: impl FnOnce(&Opened) -> Result<T, StoreError>,
        shows: impl FnOnce(&T) -> bool,
    ) -> Result<T, StoreError> {
        let done = self.try_in_turn(write, shows);
        self.has_failed = done.is_err();
        done.map_err(|error| self.database.located(error))
    }

    /// Waits for the turn, writes, and makes that durable, if anything was written or `shows` that what others wrote is
    /// answered.
    ///
    /// SQLite itself syncs its log before it moves anything from there into the database, and no sooner. So the next
    /// process can write while this one waits for the disk, and one sync serves all who wait.
    fn try_in_turn<T>(
        &mut self,
        write: impl FnOnce(&Opened) -> Result<T, StoreError>,
        shows: impl FnOnce(&T) -> bool,
    ) -> Result<T, StoreError> {
        /// The pauses between attempts while the files are being replaced.
        const PAUSES_MS: [u64; 6] = [5, 5, 10, 20, 40, 80];
        let database = Arc::clone(&self.database);
        for pause_ms in PAUSES_MS {
            let opened = match self.opened.take() {
                Some(opened) => opened,
                None => match database.noting_damage(|| database.open()) {
                    Ok(opened) => opened,
                    // The last process that used the database may be removing the log.
                    Err(Failure::Store(StoreError::Busy(_))) => {
                        thread::sleep(Duration::from_millis(pause_ms));
                        continue;
                    }
                    Err(failure) => return Err(failure.of_change()),
                },
            };
            let opened = self.opened.insert(opened);
            if self.has_failed && database.is_in_place(opened) {
                *opened = database.open().map_err(Failure::of_change)?;
            }
            let turn = {
                let handle = self.handle.0.upgrade();
                let wait = |since| {
                    if let Some(handle) = &handle {
                        *lock(&handle.waits_since) = since;
                    }
                };
                wait(Some(Instant::now()));
                let turn = database.take_turn(opened);
                wait(None);
                turn?
            };
            if !database.is_in_place(opened) {
                self.leave();
                drop(turn);
                // Others may be about to be removed, and opening them makes new ones.
                thread::sleep(Duration::from_millis(pause_ms));
                continue;
            }
            let noticed =
                database.noting_damage(|| database.notice_overwriting(&opened.connection));
            noticed.map_err(Failure::of_change)?;
            database.save_again(opened)?;
            let before = opened.connection.total_changes();
            let done = write(opened)?;
            drop(turn);
            let has_news = opened.connection.total_changes() != before || shows(&done);
            if has_news && database.options.syncs_changes {
                let begun = Instant::now();
                let synced = opened.log.sync_data();
                synced.map_err(|error| {
                    database.has_failed_to_sync.store(true, Ordering::Relaxed);
                    StoreError::Uncertain(error.to_string())
                })?;
                database.syncs.observe(begun.elapsed().as_secs_f64());
            }
            return Ok(done);
        }
        Err(replaced().of_change())
    }

    /// Decides and commits a batch in one transaction. A request that is refused changes nothing; the others do.
    fn commit(
        &mut self,
        batch: &mut Vec<Request>,
    ) -> Result<(Vec<WriterReply>, Option<EventPosition>), StoreError> {
        let database = Arc::clone(&self.database);
        let deciding = |opened: &Opened| {
            // A caller that gave up while other processes had the turn must not get a change.
            batch.retain(|request| {
                !request.reply.is_closed() && !request.is_taken.swap(true, Ordering::AcqRel)
            });
            edits::adopt(&database, opened)?;
            if let Some(damage) = database.damage() {
                return Err(damage);
            }
            transact(&opened.connection, |connection| {
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
        self.in_turn(deciding, shows)
    }

    /// Lets the other thread look how much of a long log of SQLite is left to be moved.
    fn checkpoint(&mut self) {
        let Some(opened) = &self.opened else { return };
        if !checkpoints::is_long(opened) || !checkpoints::is_due(&opened.connection) {
            return;
        }
        let wake = self.checkpointer.get_or_insert_with(|| checkpoints::start(&self.database));
        // If it is full, the thread looks anyway.
        let _ = wake.try_send(());
    }

    /// Brings the index of searches nearer to what there is. Returns true if nothing is left.
    fn tidy(&mut self) -> Option<bool> {
        let indexed = index::tidy(&self.database, self.opened.as_ref()?);
        self.checkpoint();
        indexed
    }
}
