//! The thread through which every change of this process goes to the log.
//!
//! Commands that arrive while a commit is under way form the next one.

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
use super::commit::Committer;
use super::edits;
use super::support::{lock, now};
use super::view::Shared;
use crate::domain::{Command, Timestamp};
use crate::store::{Outcome, StoreError};

/// The most requests that one commit decides.
const MAX_BATCH: usize = 256;
/// How long the end of a process waits for a lock that others keep.
const LAST_LOCK: Duration = Duration::from_millis(100);
/// The most requests that wait for their commit.
const MAX_WAITING: usize = 4096;
/// What a claim lapses with whose caller is gone.
const CALLER_GONE: &str = "the caller was gone before it was answered";

type Reply = Result<Vec<Outcome>, StoreError>;

/// Commands on their way to the writer thread.
struct Request {
    commands: Vec<Command>,
    now: Timestamp,
    ticket: WriterTicket,
    reply: oneshot::Sender<Answer>,
}

/// The outcomes of commands on their way to their caller. Claims of which nobody hears lapse.
struct Answer {
    /// `None` once somebody has heard.
    reply: Option<Reply>,
    commands: Vec<Command>,
    writer: Weak<Writer>,
}

impl Answer {
    fn heard(mut self) -> Reply {
        self.reply.take().expect("an answer is heard once, and dropped then")
    }

    /// What gives back the claims of which nobody has heard.
    fn take_lapses(&mut self) -> Vec<Command> {
        let outcomes = self.reply.take().and_then(Result::ok).unwrap_or_default();
        lapses(&self.commands, &outcomes)
    }
}

impl Drop for Answer {
    /// The caller went away after this was sent, and before it was received.
    fn drop(&mut self) {
        let lapses = self.take_lapses();
        if !lapses.is_empty()
            && let Some(writer) = self.writer.upgrade()
            && let Err(error) = WriterHandle(writer)
                .send(Job::Run(Box::new(move |committer| lapse(committer, &lapses)), None))
        {
            tracing::warn!("a claim whose caller is gone could not be given back: {error}");
        }
    }
}

/// What the writer thread can be given to do.
enum Job {
    /// To commit commands.
    Commit(Box<Request>),
    /// Something else that changes the store.
    Run(Box<dyn FnOnce(&mut Committer) + Send>, Option<WriterTicket>),
}

/// The way to the writer thread, which starts with the first job. Clones lead to the same one.
#[derive(Clone)]
pub(super) struct WriterHandle(Arc<Writer>);

/// A way to the writer thread that does not keep it alive.
pub(super) struct WeakWriter(Weak<Writer>);

impl WeakWriter {
    /// The way, while the store is there.
    pub fn upgrade(&self) -> Option<WriterHandle> {
        self.0.upgrade().map(WriterHandle)
    }
}

struct Writer {
    shared: Arc<Shared>,
    lane: Mutex<Lane>,
    /// Held by whoever works when the thread has ended.
    last: Mutex<()>,
    closing: CancellationToken,
    /// What the thread does.
    activity: watch::Sender<Activity>,
    /// Called after each commit that changed something, with the way back to this thread.
    changed: Changed,
}

type Changed = Box<dyn Fn(WriterHandle, &Arc<Shared>) + Send + Sync>;

/// What the thread does, as far as the end of the process has to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Activity {
    /// There is none, or it has nothing to do any more.
    Ended,
    /// It has something to finish.
    Working,
    /// It waits for a lock that others may keep.
    Waiting,
}

enum Lane {
    Idle,
    Running(SyncSender<Job>),
    Closed,
}

impl WriterHandle {
    /// A way to a thread that calls `changed` after each commit that changed something.
    pub fn new(
        shared: Arc<Shared>,
        changed: impl Fn(WriterHandle, &Arc<Shared>) + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(Writer {
            shared,
            lane: Mutex::new(Lane::Idle),
            last: Mutex::default(),
            closing: CancellationToken::new(),
            activity: watch::Sender::new(Activity::Ended),
            changed: Box::new(changed),
        }))
    }

    /// The same way, which does not keep the thread alive.
    pub fn downgrade(&self) -> WeakWriter {
        WeakWriter(Arc::downgrade(&self.0))
    }

    /// Sends commands to the thread, and withdraws them when they are not decided in time.
    pub async fn commit(&self, commands: Vec<Command>, now: Timestamp) -> Reply {
        let (caller_ticket, ticket) = ticket();
        let (reply, mut outcome) = oneshot::channel();
        self.send(Job::Commit(Box::new(Request { commands, now, ticket, reply })))?;
        let given_up = tokio::select! {
            outcome = &mut outcome => return settled(outcome),
            () = tokio::time::sleep(self.0.shared.options.busy_after) => self.busy(),
            () = self.0.closing.cancelled() => StoreError::Closed,
        };
        if caller_ticket.withdraw() {
            return Err(given_up);
        }
        // Decided and on its way to the disk: only the outcome is a true answer.
        settled(outcome.await)
    }

    /// Lets the thread do something, and waits for it on this thread. Withdraws it when no change of it was decided
    /// in time.
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

    /// The same within another time.
    ///
    /// # Errors
    ///
    /// Those of [`run`](Self::run).
    pub fn run_within<T: Send + 'static>(
        &self,
        limit: Duration,
        job: impl FnOnce(&mut Committer) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let has_ended = matches!(*lock(&self.0.lane), Lane::Closed)
            && *self.0.activity.borrow() == Activity::Ended;
        if has_ended {
            // The last work of the process, one after the other: a lock of a file excludes no thread of it.
            let _last = lock(&self.0.last);
            return Ok(job(&mut Committer::new(Arc::clone(&self.0.shared))));
        }
        let (caller_ticket, writer_ticket) = ticket();
        let (reply, outcome) = sync_channel(1);
        let work = move |committer: &mut Committer| {
            // Whoever is gone needs no answer.
            let _ = reply.send(job(committer));
        };
        self.send(Job::Run(Box::new(work), Some(writer_ticket)))?;
        let gone = || StoreError::Uncertain("the writer failed".to_owned());
        match outcome.recv_timeout(limit) {
            Ok(done) => Ok(done),
            Err(RecvTimeoutError::Disconnected) => Err(gone()),
            Err(RecvTimeoutError::Timeout) if caller_ticket.withdraw() => Err(self.busy()),
            Err(RecvTimeoutError::Timeout) => outcome.recv().map_err(|_| gone()),
        }
    }

    /// Lets callers withdraw what is not decided yet, and waits for what is; false if that waits for a lock that
    /// others keep.
    pub async fn close(&self) -> bool {
        self.0.closing.cancel();
        // The thread ends when there is nobody left to send it anything.
        *lock(&self.0.lane) = Lane::Closed;
        let (mut activity, mut waits) = (self.0.activity.subscribe(), self.0.activity.subscribe());
        loop {
            // The sender is there as long as `self`, so that waiting for its value cannot fail.
            let _ = activity.wait_for(|activity| *activity != Activity::Working).await;
            tokio::select! {
                _ = activity.wait_for(|activity| *activity == Activity::Ended) => return true,
                // It has got the lock.
                _ = waits.wait_for(|activity| *activity == Activity::Working) => {}
                () = tokio::time::sleep(LAST_LOCK) => return false,
            }
        }
    }

    fn busy(&self) -> StoreError {
        let path = self.0.shared.path.display();
        let seconds = self.0.shared.options.busy_after.as_secs_f32();
        StoreError::Busy(format!(
            "neither the lock on the log of {path} nor the disk was free for {seconds} s"
        ))
    }

    fn send(&self, job: Job) -> Result<(), StoreError> {
        let mut lane = lock(&self.0.lane);
        if matches!(*lane, Lane::Idle) {
            let jobs = self.start().map_err(|error| {
                StoreError::NotSaved(format!("no thread to write with: {error}"))
            })?;
            *lane = Lane::Running(jobs);
        }
        let Lane::Running(jobs) = &*lane else { return Err(StoreError::Closed) };
        jobs.try_send(job).map_err(|error| match error {
            TrySendError::Full(_) => StoreError::Busy(format!("{MAX_WAITING} changes are waiting")),
            TrySendError::Disconnected(_) => StoreError::Closed,
        })
    }

    fn start(&self) -> io::Result<SyncSender<Job>> {
        let (jobs, incoming) = sync_channel(MAX_WAITING);
        let writer = Arc::clone(&self.0);
        let mut thread = Thread {
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

/// What the writer thread answered; it answers everything that it decides, unless it panics.
fn settled(answer: Result<Answer, oneshot::error::RecvError>) -> Reply {
    let lost = |_| Err(StoreError::Uncertain("the writer failed".to_owned()));
    answer.map_or_else(lost, Answer::heard)
}

struct Thread {
    committer: Committer,
    incoming: Receiver<Job>,
    /// What arrived while a commit was gathered and is none.
    held: VecDeque<Job>,
    activity: watch::Sender<Activity>,
    writer: Weak<Writer>,
}

impl Thread {
    /// Works until there is nobody left to send anything.
    fn run(&mut self) {
        while let Some(job) = self.held.pop_front().or_else(|| self.incoming.recv().ok()) {
            // Nobody who closes the store has to wait for a lock that others keep.
            self.activity.send_replace(Activity::Waiting);
            let before = self.committer.shared.latest().map(|view| view.durable);
            // A panic loses the replies of its batch, whose callers learn that their outcome is not
            // certain; the thread goes on for the others.
            let went_well = panic::catch_unwind(AssertUnwindSafe(|| match job {
                Job::Commit(first) => self.commit(*first),
                Job::Run(job, ticket) => {
                    self.committer.ticket = ticket;
                    job(&mut self.committer);
                }
            }));
            self.committer.ticket = None;
            if went_well.is_err() {
                tracing::error!("the writer of the store panicked; it goes on");
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

    fn commit(&mut self, first: Request) {
        if let Err(error) = edits::adopt(&mut self.committer) {
            // The change itself meets the same trouble, and tells it.
            tracing::debug!("an edit is not taken over for now: {error}");
        }
        let Self { committer, incoming, held, activity, .. } = self;
        let mut batch = Vec::new();
        let mut first = Some(first);
        let result = edits::transact(committer, |draft| {
            activity.send_replace(Activity::Working);
            // Gathered under the lock, so that all that arrived while it was waited for share this commit.
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
            while batch.len() < MAX_BATCH
                && let Some(request) = waiting.next()
            {
                if request.ticket.take() {
                    let run = |command| draft.run(command, request.now);
                    outcomes.push(request.commands.iter().map(run).collect::<Vec<_>>());
                    batch.push(request);
                }
            }
            outcomes
        });
        // Nothing was decided; whoever waits for it is told why.
        batch.extend(first.filter(|request| request.ticket.take()));
        let failure = result.as_ref().err().filter(|_| !batch.is_empty()).cloned();
        let replies: Vec<Reply> = match result {
            Ok(outcomes) => outcomes.into_iter().map(Ok).collect(),
            Err(error) => vec![Err(error); batch.len()],
        };
        let mut abandoned = Vec::new();
        for (request, reply) in batch.into_iter().zip(replies) {
            let (commands, writer) = (request.commands, self.writer.clone());
            if let Err(mut unheard) =
                request.reply.send(Answer { reply: Some(reply), commands, writer })
            {
                abandoned.extend(unheard.take_lapses());
            }
        }
        if !abandoned.is_empty() {
            lapse(&mut self.committer, &abandoned);
        }
        // Last, because whoever reads the log may be slower than those who wait for an answer.
        if let Some(error) = failure.filter(|_| self.committer.shared.options.logs_failures) {
            tracing::error!("{error}");
        }
    }
}

/// Gives back claims whose callers are gone.
fn lapse(committer: &mut Committer, commands: &[Command]) {
    let lapsed = edits::transact(committer, |draft| {
        for command in commands {
            // Whoever has moved the issue on meanwhile has a reason.
            let _ = draft.run(command, now());
        }
    });
    if let Err(error) = lapsed {
        tracing::warn!("a claim whose caller is gone could not be given back: {error}");
    }
}

/// What ends the claims among commands whose outcomes nobody hears of.
fn lapses(commands: &[Command], outcomes: &[Outcome]) -> Vec<Command> {
    let claims = commands.iter().zip(outcomes).filter_map(|(command, outcome)| {
        let is_claim =
            matches!(command, Command::GetNextIssue { .. } | Command::GetNextReviewItem { .. });
        let issue = outcome.as_ref().ok()?.as_ref().filter(|_| is_claim)?;
        let (entry, reason) = (issue.claim_entry()?, CALLER_GONE.to_owned());
        Some(Command::LapseClaim { issue: issue.id, entry, reason })
    });
    claims.collect()
}
