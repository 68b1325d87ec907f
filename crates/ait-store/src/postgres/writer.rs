//! The writer task, through which every change of this process goes to the database.
//!
//! Commands that arrive during a transaction form the next one.

use std::iter::repeat_with;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use deadpool_postgres::ClientWrapper;
use futures::future::FutureExt;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_postgres::types::Type;

use super::database::{Database, retried};
use super::decide::{Draft, is_open_claim};
use super::error::Failure;
use super::load::{Loaded, Loader, begin_alone};
use super::needs::Needs;
use super::numbering;
use super::sql::BEGIN;
use super::write::Changes;
use crate::files::support::lock;
use crate::writer_queue::{MAX_QUEUED, MAX_REQUESTS_PER_COMMIT, WriterReply, queue_is_full};
use crate::{Committed, StoreError};
use ait_domain::{Command, DomainError, Timestamp};

/// How long a transaction may take.
const TRANSACTION_WITHIN: Duration = Duration::from_secs(25);
/// How long a change is tried again that failed for a passing reason.
const TRY_AGAIN_WITHIN: Duration = Duration::from_secs(8);
/// How long the outcome of a commit is looked for whose connection broke.
const RESOLVE_WITHIN: Duration = Duration::from_secs(15);
/// How long a request may wait before it is decided.
const BUSY_AFTER: Duration = Duration::from_secs(30);
/// How often other tasks have a turn before a transaction begins.
const YIELDS: usize = 4;

type Outcomes = Vec<Result<Committed, DomainError>>;

/// Commands that wait for the writer.
struct Request {
    commands: Vec<Command>,
    now: Timestamp,
    since: Instant,
    reply: oneshot::Sender<WriterReply>,
}

impl Request {
    /// Returns true if it claims any issue that is ready, and does nothing else.
    fn is_claim(&self) -> bool {
        self.commands.iter().all(is_open_claim)
    }

    /// Returns true if it has to be decided command by command, because a claim may take what another command changes.
    fn is_mixed(&self) -> bool {
        !self.is_claim() && self.commands.iter().any(is_open_claim)
    }
}

/// A handle to the writer task, which starts with the first change.
pub(super) struct WriterHandle {
    database: Arc<Database>,
    queue: Mutex<Queue>,
    /// Whether the task has ended.
    ended: watch::Sender<bool>,
}

enum Queue {
    Idle,
    Running(mpsc::Sender<Request>),
    Closed,
}

impl WriterHandle {
    /// Creates a handle to a task that does not run yet.
    pub fn new(database: Arc<Database>) -> Self {
        Self { database, queue: Mutex::new(Queue::Idle), ended: watch::Sender::new(true) }
    }

    /// Sends commands to the task and returns their outcomes. If the future is dropped before they are decided, they
    /// are withdrawn.
    pub async fn commit(&self, commands: Vec<Command>, now: Timestamp) -> WriterReply {
        if commands.is_empty() {
            return Ok(Committed::default());
        }
        let (reply, outcome) = oneshot::channel();
        let request = Request { commands, now, since: Instant::now(), reply };
        self.queue()?.try_send(request).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => queue_is_full(),
            mpsc::error::TrySendError::Closed(_) => StoreError::Closed,
        })?;
        let lost = || StoreError::Uncertain("the writer task failed".to_owned());
        outcome.await.unwrap_or_else(|_| Err(lost()))
    }

    fn queue(&self) -> Result<mpsc::Sender<Request>, StoreError> {
        let mut queue = lock(&self.queue);
        match &*queue {
            Queue::Running(sender) => Ok(sender.clone()),
            Queue::Closed => Err(StoreError::Closed),
            Queue::Idle => {
                let (sender, requests) = mpsc::channel(MAX_QUEUED);
                let database = Arc::clone(&self.database);
                let ended = self.ended.clone();
                ended.send_replace(false);
                numbering::spawn(&database);
                tokio::spawn(async move {
                    run(&database, requests).await;
                    ended.send_replace(true);
                });
                *queue = Queue::Running(sender.clone());
                Ok(sender)
            }
        }
    }

    /// Refuses new commands and waits for those that were accepted. Returns false if they take long.
    pub async fn close(&self, limit: Duration) -> bool {
        *lock(&self.queue) = Queue::Closed;
        let mut ended = self.ended.subscribe();
        let done = ended.wait_for(|ended| *ended);
        tokio::time::timeout(limit, done).await.is_ok()
    }
}

/// Commits requests until all senders are gone.
async fn run(database: &Arc<Database>, mut requests: mpsc::Receiver<Request>) {
    let mut held: Option<Request> = None;
    loop {
        let first = match held.take() {
            Some(request) => request,
            None => match requests.recv().await {
                Some(request) => request,
                None => return,
            },
        };
        // Callers that were just answered may ask again at once, and then share this transaction.
        for _ in 0..YIELDS {
            tokio::task::yield_now().await;
        }
        let mut batch = vec![first];
        while batch.len() < MAX_REQUESTS_PER_COMMIT
            && !batch[0].is_mixed()
            && let Ok(request) = requests.try_recv()
        {
            if request.is_mixed() {
                held = Some(request);
                break;
            }
            batch.push(request);
        }
        // Claims first: a claim loads candidates only, so it cannot be decided on issues that other commands free.
        batch.sort_by_key(|request| !request.is_claim());
        serve(database, batch).await;
    }
}

/// Commits a batch and answers its requests. If one request makes the batch fail, the others are committed without
/// it.
async fn serve(database: &Database, batch: Vec<Request>) {
    let batch = refuse_late(batch);
    if batch.is_empty() {
        return;
    }
    match retried(TRY_AGAIN_WITHIN, || transact(database, &batch)).await {
        Ok(outcomes) => {
            let replies = outcomes.into_iter().map(|outcome| outcome.map_err(StoreError::Refused));
            answer(batch, replies);
        }
        // Not if all of them would fail before they are looked at.
        Err(failure)
            if batch.len() > 1
                && failure.may_be_of_one()
                && database.connection().await.is_ok() =>
        {
            tracing::debug!("changes are tried one by one: {failure:?}");
            for request in batch {
                Box::pin(serve(database, vec![request])).await;
            }
        }
        Err(failure) => {
            let error = failure.of_change();
            tracing::debug!("{error}");
            answer(batch, repeat_with(|| Err(error.clone())));
        }
    }
}

/// Leaves out the requests whose callers are gone, and refuses those that have waited too long.
fn refuse_late(batch: Vec<Request>) -> Vec<Request> {
    let (late, batch): (Vec<_>, Vec<_>) = batch
        .into_iter()
        .filter(|request| !request.reply.is_closed())
        .partition(|request| request.since.elapsed() > BUSY_AFTER);
    let why = "other changes took too long";
    answer(late, repeat_with(|| Err(StoreError::Busy(why.to_owned()))));
    batch
}

fn answer(batch: Vec<Request>, replies: impl IntoIterator<Item = WriterReply>) {
    for (request, reply) in batch.into_iter().zip(replies) {
        // The caller may be gone.
        let _ = request.reply.send(reply);
    }
}

/// Decides a batch and commits it.
async fn transact(database: &Database, batch: &[Request]) -> Result<Outcomes, Failure> {
    let deciding = async {
        let session = database.session().await?;
        let (outcomes, changes) = match batch {
            [request] if request.is_mixed() => decide_in_steps(database, &session, request).await?,
            _ => decide(database, &session, batch).await?,
        };
        let marked = changes.and_then(|all| all.mark().map(|mark| (all, mark)));
        if marked.is_none() {
            session.batch_execute("ROLLBACK").await?;
        }
        Ok((session, outcomes, marked))
    };
    database.ready().await?;
    let (session, outcomes, marked) = database.within(TRANSACTION_WITHIN, deciding).await?;
    let Some((changes, (seq, nonce))) = marked else {
        session.finish();
        return Ok(outcomes);
    };
    let committing = changes.write(&session, &database.sql, true).map(Ok);
    match database.within(TRANSACTION_WITHIN, committing).await {
        Ok(Ok(())) => session.finish(),
        // The time limit is over, or the connection broke.
        Err(Failure::Busy(why)) | Ok(Err(Failure::Away(why))) => {
            drop(session);
            if !resolve(database, seq, nonce, &why).await? {
                return Err(Failure::Away(why));
            }
        }
        Err(failure) | Ok(Err(failure)) => return Err(failure),
    }
    database.committed.send_replace(seq);
    Ok(outcomes)
}

type Decided = (Outcomes, Option<Changes>);

/// Decides a batch in a transaction, and returns what remains to be written and committed.
async fn decide(
    database: &Database,
    client: &ClientWrapper,
    batch: &[Request],
) -> Result<Decided, Failure> {
    let mut needs = Needs::default();
    let mut events = 0;
    for request in batch {
        request.commands.iter().for_each(|command| needs.add(command, request.now));
        events += request.commands.len();
    }
    let loaded = Loader { client, database, needs: &needs, events }.begin().await?;
    let run = |draft: &mut Draft| {
        batch.iter().map(|request| draft.decide_all(&request.commands, request.now)).collect()
    };
    decide_loaded(database, client, needs, events, loaded, run).await
}

/// Decides the commands of one request one after the other in a transaction, so that a claim finds what the commands
/// before it made ready. The events of the last command remain to be written, or nothing if one is refused.
async fn decide_in_steps(
    database: &Database,
    client: &ClientWrapper,
    request: &Request,
) -> Result<Decided, Failure> {
    let sql = &database.sql;
    let schema = database.schema();
    let mut all = Needs::default();
    request.commands.iter().for_each(|command| all.add(command, request.now));
    begin_alone(client, sql, &all.advisory_keys(schema)).await?;
    let mut committed = Committed::default();
    let mut unwritten = None::<Changes>;
    let mut written = Changes::default();
    for command in &request.commands {
        if let Some(changes) = unwritten.take() {
            changes.write(client, sql, false).await?;
            written = Changes::written(changes.mark());
        }
        let mut needs = Needs::default();
        needs.add(command, request.now);
        let loaded = Loader { client, database, needs: &needs, events: 1 }.read().await?;
        let run =
            |draft: &mut Draft| vec![draft.decide_all(std::slice::from_ref(command), request.now)];
        let (outcome, changes) = decide_loaded(database, client, needs, 1, loaded, run).await?;
        for outcome in outcome {
            match outcome {
                Ok(Committed { outcomes, events }) => {
                    committed.outcomes.extend(outcomes);
                    committed.events.extend(events);
                }
                Err(refusal) => return Ok((vec![Err(refusal)], None)),
            }
        }
        unwritten = changes;
    }
    Ok((vec![Ok(committed)], Some(unwritten.unwrap_or(written))))
}

/// Decides on what was loaded. Reads more if an issue changes that is not locked.
async fn decide_loaded(
    database: &Database,
    client: &ClientWrapper,
    mut needs: Needs,
    events: usize,
    mut loaded: Loaded,
    run: impl Fn(&mut Draft) -> Outcomes,
) -> Result<Decided, Failure> {
    loop {
        let mut draft = Draft::new(loaded);
        let outcomes = run(&mut draft);
        let unlocked = draft.unlocked();
        if unlocked.is_empty() {
            let has_events = !draft.events.is_empty();
            let changes = if has_events {
                Some(Changes::of(&draft, client, &database.sql).await?)
            } else {
                None
            };
            return Ok((outcomes, changes));
        }
        needs.name_ids(unlocked);
        loaded = Loader { client, database, needs: &needs, events }.read().await?;
    }
}

/// Finds out whether a transaction was committed whose connection broke meanwhile. If it was not, it never will be: its
/// first sequence number is taken, so that it cannot write its events any more.
async fn resolve(database: &Database, seq: i64, nonce: i64, why: &str) -> Result<bool, Failure> {
    let resolving = async {
        loop {
            match try_resolve(database, seq, nonce).await {
                Ok(is_committed) => return Ok(is_committed),
                Err(failure) => tracing::debug!("the outcome of a change is unknown: {failure:?}"),
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let resolved = database.within(RESOLVE_WITHIN, resolving).await;
    resolved.map_err(|_| Failure::Lost(format!("{why}, while the change was committed")))
}

async fn try_resolve(database: &Database, seq: i64, nonce: i64) -> Result<bool, Failure> {
    let session = database.session().await?;
    let sql = &database.sql;
    let key = [(&seq as _, Type::INT8)];
    // Its time limits end a wait for the other transaction also on the server.
    session.batch_execute(BEGIN).await?;
    session.execute_typed(&sql.burn, &key).await?;
    let found: i64 = session.query_typed_one(&sql.nonce, &key).await?.try_get(0)?;
    session.batch_execute("COMMIT").await?;
    session.finish();
    Ok(found == nonce)
}
