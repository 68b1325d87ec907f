//! The writer thread, through which every change of this process goes to the log.
//!
//! Commands that arrive during a commit form the next one.

use std::collections::VecDeque;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use tokio_util::sync::CancellationToken;

use super::cancellation::{WriterTicket, ticket};
use super::commit::{CommitResult, Committer};
use super::edits;
use super::replaced_logs::commit_after_merges;
use super::shared::Shared;
use super::support::{lock, now};
use crate::domain::{Command, Timestamp};
use crate::store::StoreError;
use crate::store::writer_reply::{
    LapseQueue, MAX_QUEUED, MAX_REQUESTS_PER_COMMIT, UnreceivedReply, WriterReply, queue_is_full,
};

/// How long shutdown waits for a lock that another process holds.
const SHUTDOWN_LOCK: Duration = Duration::from_millis(100);

/// Commands that are queued for the writer thread.
struct Request {
    commands: Vec<Command>,
    now: Timestamp,
    ticket: WriterTicket,
    reply: oneshot::Sender<UnreceivedReply<WeakWriter>>,
}

/// A job for the writer thread.
enum Job {
    /// Commits commands.
    Commit(Box<Request>),
    /// Runs any other change of the store.
    Run(Box<dyn FnOnce(&mut Committer) + Send>, Option<WriterTicket>),
}

/// A handle to the writer thread, which starts with the first job. Clones share the thread.
#[derive(Clone)]
pub(super) struct WriterHandle(Arc<WriterShared>);

/// A handle that does not keep the writer thread alive.
pub(super) struct WeakWriter(Weak<WriterShared>);

impl WeakWriter {
    /// Returns a handle if the writer still exists.
    pub fn upgrade(&self) -> Option<WriterHandle> {
        self.0.upgrade().map(WriterHandle)
    }
}

impl LapseQueue for WeakWriter {
    /// Is called if the caller goes away after the reply was sent and before it is received.
    fn lapse(&self, commands: Vec<Command>) {
        let Some(writer) = self.upgrade() else { return };
        let job = Job::Run(Box::new(move |committer| lapse(committer, &commands)), None);
        if let Err(error) = writer.send(job) {
            tracing::warn!("failed to return a claim whose caller is gone: {error}");
        }
    }
}

struct WriterShared {
    shared: Arc<Shared>,
    /// Whether the thread runs, and its queue.
    thread: Mutex<ThreadState>,
    /// Serialises work after the thread has ended.
    after_end: Mutex<()>,
    closing: CancellationToken,
    /// The current activity of the thread.
    activity: watch::Sender<Activity>,
    /// Called with a handle to this thread after each job during which the newest durable event moved, whichever
    /// process moved it.
    changed: OnDurableChange,
}

type OnDurableChange = Box<dyn Fn(WriterHandle, &Arc<Shared>) + Send + Sync>;

/// The activity of the writer thread, as far as shutdown needs to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Activity {
    /// The thread does not run, or has finished its work.
    Ended,
    /// The thread has work to finish.
    Working,
    /// The thread waits for a lock that another process may hold.
    Waiting,
}

enum ThreadState {
    Idle,
    Running(SyncSender<Job>),
    Closed,
}

impl WriterHandle {
    /// Creates a handle to a thread that calls `changed` after each job during which the newest durable event moved.
    pub fn new(
        shared: Arc<Shared>,
        changed: impl Fn(WriterHandle, &Arc<Shared>) + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(WriterShared {
            shared,
            thread: Mutex::new(ThreadState::Idle),
            after_end: Mutex::default(),
            closing: CancellationToken::new(),
            activity: watch::Sender::new(Activity::Ended),
            changed: Box::new(changed),
        }))
    }

    /// Returns a handle that does not keep the thread alive.
    pub fn downgrade(&self) -> WeakWriter {
        WeakWriter(Arc::downgrade(&self.0))
    }

    /// Sends commands to the thread. Withdraws them if they are not decided in time.
    pub async fn commit(&self, commands: Vec<Command>, now: Timestamp) -> WriterReply {
        let (caller_ticket, ticket) = ticket();
        let (reply, mut outcome) = oneshot::channel();
        self.send(Job::Commit(Box::new(Request { commands, now, ticket, reply })))?;
        let given_up = tokio::select! {
            outcome = &mut outcome => return reply_or_uncertain(outcome),
            () = tokio::time::sleep(self.0.shared.options.busy_after) => self.busy(),
            () = self.0.closing.cancelled() => StoreError::Closed,
        };
        if caller_ticket.withdraw() {
            return Err(given_up);
        }
        // The commands are decided and on their way to the disk, so only the outcome is a true answer.
        reply_or_uncertain(outcome.await)
    }

    /// Runs a job on the writer thread and blocks until it is done. Withdraws the job if none of its changes is
    /// decided in time.
    ///
    /// # Errors
    ///
    /// [`StoreError::Busy`], [`StoreError::Closed`], and [`StoreError::Uncertain`] if the job panics.
    pub fn run<T: Send + 'static>(
        &self,
        job: impl FnOnce(&mut Committer) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        self.run_within(self.0.shared.options.busy_after, job)
    }

    /// Runs a job on the writer thread like [`run`](Self::run), with another time limit.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run).
    pub fn run_within<T: Send + 'static>(
        &self,
        limit: Duration,
        job: impl FnOnce(&mut Committer) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let has_ended = matches!(*lock(&self.0.thread), ThreadState::Closed)
            && *self.0.activity.borrow() == Activity::Ended;
        if has_ended {
            // Serialised, because a file lock does not exclude other threads of the same process.
            let _last = lock(&self.0.after_end);
            return Ok(job(&mut Committer::new(Arc::clone(&self.0.shared))));
        }
        let (caller_ticket, writer_ticket) = ticket();
        let (reply, outcome) = sync_channel(1);
        let work = move |committer: &mut Committer| {
            // The caller may be gone.
            let _ = reply.send(job(committer));
        };
        self.send(Job::Run(Box::new(work), Some(writer_ticket)))?;
        let gone = || StoreError::Uncertain("the writer thread failed".to_owned());
        match outcome.recv_timeout(limit) {
            Ok(done) => Ok(done),
            Err(RecvTimeoutError::Disconnected) => Err(gone()),
            Err(RecvTimeoutError::Timeout) if caller_ticket.withdraw() => Err(self.busy()),
            Err(RecvTimeoutError::Timeout) => outcome.recv().map_err(|_| gone()),
        }
    }

    /// Lets callers withdraw undecided commands and waits for decided ones. Returns false if the thread
    /// waits for a lock that another process holds.
    pub async fn close(&self) -> bool {
        self.0.closing.cancel();
        // The thread ends when all its senders are dropped.
        *lock(&self.0.thread) = ThreadState::Closed;
        let (mut activity, mut waits) = (self.0.activity.subscribe(), self.0.activity.subscribe());
        loop {
            // `self` keeps the sender alive, so waiting for its value cannot fail.
            let _ = activity.wait_for(|activity| *activity != Activity::Working).await;
            tokio::select! {
                _ = activity.wait_for(|activity| *activity == Activity::Ended) => return true,
                // The thread got the lock.
                _ = waits.wait_for(|activity| *activity == Activity::Working) => {}
                () = tokio::time::sleep(SHUTDOWN_LOCK) => return false,
            }
        }
    }

    fn busy(&self) -> StoreError {
        let path = self.0.shared.path.display();
        let seconds = self.0.shared.options.busy_after.as_secs_f32();
        StoreError::Busy(format!(
            "the lock on the log of {path} or the disk was busy for {seconds} s"
        ))
    }

    fn send(&self, job: Job) -> Result<(), StoreError> {
        let mut thread = lock(&self.0.thread);
        if matches!(*thread, ThreadState::Idle) {
            let jobs = self.start().map_err(|error| {
                StoreError::NotSaved(format!("failed to start the writer thread: {error}"))
            })?;
            *thread = ThreadState::Running(jobs);
        }
        let ThreadState::Running(jobs) = &*thread else { return Err(StoreError::Closed) };
        jobs.try_send(job).map_err(|error| match error {
            TrySendError::Full(_) => queue_is_full(),
            TrySendError::Disconnected(_) => StoreError::Closed,
        })
    }

    fn start(&self) -> io::Result<SyncSender<Job>> {
        let (jobs, incoming) = sync_channel(MAX_QUEUED);
        let writer = Arc::clone(&self.0);
        let mut thread = WriterThread {
            committer: Committer::new(Arc::clone(&writer.shared)),
            incoming,
            held: VecDeque::new(),
            activity: writer.activity.clone(),
            writer: Arc::downgrade(&writer),
        };
        let activity = writer.activity.clone();
        activity.send_replace(Activity::Working);
        let spawned = thread::Builder::new().name("ait-writer".to_owned()).spawn(move || {
            thread.run();
            activity.send_replace(Activity::Ended);
        });
        spawned.map(|_| jobs).inspect_err(|_| {
            self.0.activity.send_replace(Activity::Ended);
        })
    }
}

/// Returns the reply of the writer thread. It replies to every command that it decides, unless it panics.
fn reply_or_uncertain(
    reply: Result<UnreceivedReply<WeakWriter>, oneshot::error::RecvError>,
) -> WriterReply {
    let lost = |_| Err(StoreError::Uncertain("the writer thread failed".to_owned()));
    reply.map_or_else(lost, UnreceivedReply::receive)
}

struct WriterThread {
    committer: Committer,
    incoming: Receiver<Job>,
    /// Jobs that arrived while a commit was gathered, and are no commits.
    held: VecDeque<Job>,
    activity: watch::Sender<Activity>,
    writer: Weak<WriterShared>,
}

impl WriterThread {
    /// Works until all senders are dropped.
    fn run(&mut self) {
        while let Some(job) = self.held.pop_front().or_else(|| self.incoming.recv().ok()) {
            // Shutdown must not wait for a lock that another process holds.
            self.activity.send_replace(Activity::Waiting);
            let before = self.committer.shared.latest().map(|view| view.durable);
            // A panic loses the replies of its batch. Their callers learn that the outcome is uncertain; the thread
            // continues for the others.
            let went_well = panic::catch_unwind(AssertUnwindSafe(|| match job {
                Job::Commit(first) => self.commit(*first),
                Job::Run(job, ticket) => {
                    self.committer.ticket = ticket;
                    job(&mut self.committer);
                }
            }));
            self.committer.ticket = None;
            if went_well.is_err() {
                tracing::error!("the writer thread panicked and continues with the next job");
            }
            let after = self.committer.shared.latest().map(|view| view.durable);
            if before != after
                && let Some(writer) = self.writer.upgrade()
            {
                let handle = WriterHandle(Arc::clone(&writer));
                (writer.changed)(handle, &writer.shared);
            }
        }
    }

    /// Merges an external edit, commits the request with all that are queued behind it, and answers them.
    fn commit(&mut self, first: Request) {
        if let Err(error) = edits::adopt_external_edit(&mut self.committer) {
            // The commit below fails for the same reason and reports it.
            tracing::debug!("an external edit is not merged for now: {error}");
        }
        let Self { committer, incoming, held, activity, .. } = self;
        let mut batch = Vec::new();
        let mut first = Some(first);
        let result = commit_after_merges(committer, |draft| {
            activity.send_replace(Activity::Working);
            // Gathered under the lock, so that all requests that arrived while waiting for it share this commit.
            let mut outcomes = Vec::new();
            let mut waiting = first.take().into_iter().chain(std::iter::from_fn(|| {
                if !held.is_empty() {
                    return None;
                }
                match incoming.try_recv().ok()? {
                    Job::Commit(request) => Some(*request),
                    other => {
                        held.push_back(other);
                        None
                    }
                }
            }));
            while batch.len() < MAX_REQUESTS_PER_COMMIT
                && let Some(request) = waiting.next()
            {
                if request.ticket.take() {
                    outcomes.push(draft.decide_all(&request.commands, request.now));
                    batch.push(request);
                }
            }
            outcomes
        });
        // If nothing was decided, the first caller still gets the error.
        batch.extend(first.filter(|request| request.ticket.take()));
        let failure = result.as_ref().err().filter(|_| !batch.is_empty()).cloned();
        let replies: Vec<WriterReply> = match result {
            Ok((mut decided, result)) => {
                if matches!(result, CommitResult::LogReplaced(_)) {
                    // The events have other numbers in the new log.
                    decided.iter_mut().flatten().for_each(|committed| committed.events.clear());
                }
                decided.into_iter().map(|outcome| outcome.map_err(StoreError::Refused)).collect()
            }
            Err(error) => vec![Err(error); batch.len()],
        };
        self.answer(batch, replies);
        // Last, because writing to the log output may be slow and callers wait for their answers.
        if let Some(error) = failure.filter(|_| self.committer.shared.options.logs_failures) {
            tracing::error!("{error}");
        }
    }

    /// Answers requests. Claims of callers that are gone lapse.
    fn answer(&mut self, requests: Vec<Request>, replies: Vec<WriterReply>) {
        let mut abandoned = Vec::new();
        for (request, reply) in requests.into_iter().zip(replies) {
            let writer = WeakWriter(self.writer.clone());
            let reply = UnreceivedReply::new(reply, request.commands, writer);
            if let Err(mut reply) = request.reply.send(reply) {
                abandoned.extend(reply.take_lapses());
            }
        }
        if !abandoned.is_empty() {
            lapse(&mut self.committer, &abandoned);
        }
    }
}

/// Lapses claims whose callers are gone.
fn lapse(committer: &mut Committer, commands: &[Command]) {
    let lapsed = commit_after_merges(committer, |draft| {
        for command in commands {
            // If the issue has changed since, the claim stays as that change left it.
            let _ = draft.decide(command, now());
        }
    });
    if let Err(error) = lapsed {
        tracing::warn!("failed to return a claim whose caller is gone: {error}");
    }
}
