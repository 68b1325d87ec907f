//! A store in memory for tests, which can stop answering reads when it has made a change, and which tells of claims.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use futures::future::pending;
use tokio::sync::watch;
use tokio::task::yield_now;

use super::clients::{Clients, MemoryClients};
use super::files::support::lock;
use super::{
    Committed, EventPosition, Events, NumberedEvent, Outcome, Probe, SnapshotVisitor, State, Store,
    StoreError, StoreHealth, StoreId, Subset,
};
use ait_domain::{
    Command, Counts, DomainError, Issue, IssueId, IssueRef, Lease, Page, Query, Timestamp,
};

/// What reads do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reads {
    /// They work.
    #[default]
    Work,
    /// They work until the next commit, and fail then.
    FailAfterCommit,
    /// They work until the next commit, and do not end then.
    StallAfterCommit,
    /// They fail.
    Fail,
    /// They do not end.
    Stall,
}

/// A store in memory that runs `then` after each claim, before the caller gets it. `then` is told whether the claim
/// found an issue.
pub struct TestStore {
    id: StoreId,
    held: Mutex<Held>,
    newest: watch::Sender<EventPosition>,
    clients: Arc<MemoryClients>,
    then: Box<dyn Fn(bool) + Send + Sync>,
    reads: Mutex<Reads>,
    pauses: AtomicBool,
}

#[derive(Clone, Default)]
struct Held {
    state: State,
    events: VecDeque<NumberedEvent>,
}

impl Default for TestStore {
    fn default() -> Self {
        Self::new(|_| ())
    }
}

impl TestStore {
    /// Creates an empty store.
    pub fn new(then: impl Fn(bool) + Send + Sync + 'static) -> Self {
        Self {
            id: StoreId::random(),
            held: Mutex::default(),
            newest: watch::Sender::default(),
            clients: Arc::default(),
            then: Box::new(then),
            reads: Mutex::default(),
            pauses: AtomicBool::default(),
        }
    }

    /// Lets callers pause before and after each commit from now on, so that they may be dropped there.
    pub fn pause_at_commits(&self) {
        self.pauses.store(true, Ordering::Relaxed);
    }

    /// Sets what reads do from now on.
    pub fn set_reads(&self, reads: Reads) {
        *lock(&self.reads) = reads;
    }

    async fn read<T>(&self, read: impl FnOnce(&Held) -> T + Send) -> Result<T, StoreError> {
        self.try_read(|held| Ok(read(held))).await
    }

    async fn try_read<T>(
        &self,
        read: impl FnOnce(&Held) -> Result<T, StoreError> + Send,
    ) -> Result<T, StoreError> {
        let reads = *lock(&self.reads);
        match reads {
            Reads::Fail => Err(StoreError::Busy("on purpose".to_owned())),
            Reads::Stall => pending().await,
            Reads::Work | Reads::FailAfterCommit | Reads::StallAfterCommit => {
                read(&lock(&self.held))
            }
        }
    }

    fn commit_now(&self, commands: &[Command], now: Timestamp) -> Result<Committed, DomainError> {
        let held = &mut *lock(&self.held);
        let newest = held.state.position.number;
        let before = (commands.len() > 1).then(|| held.clone());
        let outcomes: Result<Vec<_>, _> =
            commands.iter().map(|command| held.commit(command, now)).collect();
        if let (Err(_), Some(before)) = (&outcomes, before) {
            *held = before;
        }
        self.newest.send_replace(held.state.position);
        let own = newest + 1..=held.state.position.number;
        let events = own.map(|number| EventPosition { number, hash: 0 }).collect();
        Ok(Committed { outcomes: outcomes?, events })
    }

    /// Notes that a change is made.
    fn committed(&self, committed: &mut Committed) {
        let mut reads = lock(&self.reads);
        *reads = match *reads {
            Reads::FailAfterCommit => Reads::Fail,
            Reads::StallAfterCommit => Reads::Stall,
            reads => reads,
        };
        if *reads != Reads::Work {
            // Like a store that numbers its events after the commit.
            committed.events.iter_mut().for_each(|event| event.number = 0);
        }
    }
}

impl Held {
    fn commit(&mut self, command: &Command, now: Timestamp) -> Result<Outcome, DomainError> {
        let Some(event) = self.state.decide(command, now)? else {
            return Ok(self.state.unchanged_outcome(command));
        };
        let position = EventPosition { number: self.state.position.number + 1, hash: 0 };
        let issue = self.state.apply(&event, position)?;
        self.events.push_back(NumberedEvent { position, event: Arc::new(event) });
        Ok(issue)
    }
}

#[async_trait]
impl Store for TestStore {
    async fn id(&self) -> StoreId {
        self.id
    }

    async fn commit(
        &self,
        commands: Vec<Command>,
        now: Timestamp,
    ) -> Result<Committed, StoreError> {
        // Does nothing until the future is polled, like every other store.
        let pauses = self.pauses.load(Ordering::Relaxed);
        if pauses {
            yield_now().await;
        }
        let is_claim = commands.iter().any(|command| {
            matches!(command, Command::GetNextIssue { .. } | Command::GetNextReviewItem { .. })
        });
        let mut committed = self.commit_now(&commands, now)?;
        self.committed(&mut committed);
        if is_claim {
            // Not awaited: if the caller goes during the commit, the store itself gives the claim back.
            (self.then)(committed.outcomes.iter().any(Option::is_some));
        }
        if pauses {
            yield_now().await;
        }
        Ok(committed)
    }

    async fn get(&self, reference: IssueRef) -> Result<Arc<Issue>, StoreError> {
        self.try_read(|held| Ok(held.state.issues.find(&reference)?)).await
    }

    async fn list(&self, query: Query) -> Result<Page, StoreError> {
        self.read(|held| held.state.issues.list(&query)).await
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        self.read(|held| held.state.issues.counts()).await
    }

    async fn snapshot(&self, visitor: Arc<Mutex<dyn SnapshotVisitor>>) -> Result<(), StoreError> {
        self.read(|Held { state, .. }| {
            let mut visitor = lock(&visitor);
            visitor.begin(state.position, state.unknown_keys.clone());
            for issue in state.issues.issues() {
                let lease = state.issues.lease(issue.id).cloned();
                visitor.visit(issue, lease);
            }
        })
        .await
    }

    async fn subset(&self, _: Subset) -> Result<State, StoreError> {
        self.read(|held| held.state.clone()).await
    }

    async fn leases(&self) -> Result<Vec<(IssueId, Lease)>, StoreError> {
        self.read(|held| {
            held.state.issues.leases().map(|(id, lease)| (id, lease.clone())).collect()
        })
        .await
    }

    async fn events(&self, after: u64, limit: usize) -> Result<Events, StoreError> {
        self.read(|held| {
            let skipped = usize::try_from(after).unwrap_or(usize::MAX);
            let events = held.events.iter().skip(skipped).take(limit).cloned().collect();
            Events { events, newest: held.state.position, oldest: 1 }
        })
        .await
    }

    fn watch(&self) -> watch::Receiver<EventPosition> {
        self.newest.subscribe()
    }

    fn clients(&self) -> Arc<dyn Clients> {
        Arc::<MemoryClients>::clone(&self.clients)
    }

    async fn health(&self, _probe: Probe) -> StoreHealth {
        StoreHealth { name: "memory".to_owned(), ..StoreHealth::default() }
    }

    async fn close(&self) -> bool {
        true
    }
}
