//! A store for tests that stops answering reads when it has made a change, and that tells of claims.

use std::sync::{Arc, Mutex};

use futures::future::{BoxFuture, FutureExt, pending, ready};
use tokio::sync::watch;

use super::clients::Clients;
use super::{
    Committed, EventPosition, Events, MemoryStore, Probe, SnapshotVisitor, State, Store,
    StoreError, StoreFuture, StoreHealth, StoreId, Subset,
};
use crate::domain::{Command, Counts, Issue, IssueId, IssueRef, Lease, Page, Query, Timestamp};

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
    store: MemoryStore,
    then: Box<dyn Fn(bool) + Send + Sync>,
    reads: Mutex<Reads>,
}

impl TestStore {
    /// Creates an empty store.
    pub fn new(then: impl Fn(bool) + Send + Sync + 'static) -> Self {
        Self { store: MemoryStore::default(), then: Box::new(then), reads: Mutex::default() }
    }

    /// Sets what reads do from now on.
    pub fn set_reads(&self, reads: Reads) {
        *self.reads.lock().unwrap() = reads;
    }

    fn read<'a, T: Send + 'a>(&self, read: StoreFuture<'a, T>) -> StoreFuture<'a, T> {
        match *self.reads.lock().unwrap() {
            Reads::Fail => ready(Err(StoreError::Busy("on purpose".to_owned()))).boxed(),
            Reads::Stall => pending().boxed(),
            Reads::Work | Reads::FailAfterCommit | Reads::StallAfterCommit => read,
        }
    }

    /// Notes that a change is made.
    fn committed(&self, committed: &mut Committed) {
        let mut reads = self.reads.lock().unwrap();
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

impl Store for TestStore {
    fn id(&self) -> BoxFuture<'_, StoreId> {
        self.store.id()
    }

    fn commit(&self, commands: Vec<Command>, now: Timestamp) -> StoreFuture<'_, Committed> {
        async move {
            let is_claim = commands.iter().any(|command| {
                matches!(command, Command::GetNextIssue { .. } | Command::GetNextReviewItem { .. })
            });
            let mut committed = self.store.commit(commands, now).await?;
            self.committed(&mut committed);
            if is_claim {
                // Not awaited: if the caller goes during the commit, the store itself gives the claim back.
                (self.then)(committed.outcomes.iter().any(Option::is_some));
            }
            Ok(committed)
        }
        .boxed()
    }

    fn get(&self, reference: IssueRef) -> StoreFuture<'_, Arc<Issue>> {
        self.read(self.store.get(reference))
    }

    fn list(&self, query: Query) -> StoreFuture<'_, Page> {
        self.read(self.store.list(query))
    }

    fn counts(&self) -> StoreFuture<'_, Counts> {
        self.read(self.store.counts())
    }

    fn clients(&self) -> Arc<dyn Clients> {
        self.store.clients()
    }

    fn snapshot(&self, visitor: Arc<Mutex<dyn SnapshotVisitor>>) -> StoreFuture<'_, ()> {
        self.read(self.store.snapshot(visitor))
    }

    fn subset(&self, subset: Subset) -> StoreFuture<'_, State> {
        self.read(self.store.subset(subset))
    }

    fn leases(&self) -> StoreFuture<'_, Vec<(IssueId, Lease)>> {
        self.read(self.store.leases())
    }

    fn events(&self, after: u64, limit: usize) -> StoreFuture<'_, Events> {
        self.read(self.store.events(after, limit))
    }

    fn watch(&self) -> watch::Receiver<EventPosition> {
        self.store.watch()
    }

    fn health(&self, probe: Probe) -> BoxFuture<'_, StoreHealth> {
        self.store.health(probe)
    }

    fn close(&self) -> BoxFuture<'_, bool> {
        self.store.close()
    }
}
