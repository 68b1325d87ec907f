//! A store in memory for tests, which can stop answering reads when it has made a change, and which tells of claims.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use futures::future::{BoxFuture, FutureExt, pending, ready};
use tokio::sync::watch;
use tokio::task::yield_now;

use super::clients::{Clients, MemoryClients};
use super::files::support::lock;
use super::{
    Committed, EventPosition, Events, NumberedEvent, Outcome, Probe, SnapshotVisitor, State, Store,
    StoreError, StoreFuture, StoreHealth, StoreId, Subset,
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

    fn read<T: Send + 'static>(&self, read: impl FnOnce(&Held) -> T) -> StoreFuture<'_, T> {
        self.try_read(|held| Ok(read(held)))
    }

    fn try_read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Held) -> Result<T, StoreError>,
    ) -> StoreFuture<'_, T> {
        match *lock(&self.reads) {
            Reads::Fail => ready(Err(StoreError::Busy("on purpose".to_owned()))).boxed(),
            Reads::Stall => pending().boxed(),
            Reads::Work | Reads::FailAfterCommit | Reads::StallAfterCommit => {
                ready(read(&lock(&self.held))).boxed()
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

impl Store for TestStore {
    fn id(&self) -> BoxFuture<'_, StoreId> {
        ready(self.id).boxed()
    }

    fn commit(&self, commands: Vec<Command>, now: Timestamp) -> StoreFuture<'_, Committed> {
        // Does nothing until the future is polled, like every other store.
        async move {
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
        .boxed()
    }

    fn get(&self, reference: IssueRef) -> StoreFuture<'_, Arc<Issue>> {
        self.try_read(|held| Ok(held.state.issues.find(&reference)?))
    }

    fn list(&self, query: Query) -> StoreFuture<'_, Page> {
        self.read(|held| held.state.issues.list(&query))
    }

    fn counts(&self) -> StoreFuture<'_, Counts> {
        self.read(|held| held.state.issues.counts())
    }

    fn snapshot(&self, visitor: Arc<Mutex<dyn SnapshotVisitor>>) -> StoreFuture<'_, ()> {
        self.read(|Held { state, .. }| {
            let mut visitor = lock(&visitor);
            visitor.begin(state.position, state.unknown_keys.clone());
            for issue in state.issues.issues() {
                let lease = state.issues.lease(issue.id).cloned();
                visitor.visit(issue, lease);
            }
        })
    }

    fn subset(&self, _: Subset) -> StoreFuture<'_, State> {
        self.read(|held| held.state.clone())
    }

    fn leases(&self) -> StoreFuture<'_, Vec<(IssueId, Lease)>> {
        self.read(|held| {
            held.state.issues.leases().map(|(id, lease)| (id, lease.clone())).collect()
        })
    }

    fn events(&self, after: u64, limit: usize) -> StoreFuture<'_, Events> {
        self.read(|held| {
            let skipped = usize::try_from(after).unwrap_or(usize::MAX);
            let events = held.events.iter().skip(skipped).take(limit).cloned().collect();
            Events { events, newest: held.state.position, oldest: 1 }
        })
    }

    fn watch(&self) -> watch::Receiver<EventPosition> {
        self.newest.subscribe()
    }

    fn clients(&self) -> Arc<dyn Clients> {
        Arc::<MemoryClients>::clone(&self.clients)
    }

    fn health(&self, _probe: Probe) -> BoxFuture<'_, StoreHealth> {
        ready(StoreHealth { name: "memory".to_owned(), ..StoreHealth::default() }).boxed()
    }

    fn close(&self) -> BoxFuture<'_, bool> {
        ready(true).boxed()
    }
}
