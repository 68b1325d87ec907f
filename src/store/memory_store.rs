//! A store in memory only.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::{BoxFuture, FutureExt, ready};
use tokio::sync::watch;

use super::clients::{Clients, MemoryClients};
use super::transfer::{Transfer, TransferTarget};
use super::{
    Committed, EventPosition, Events, NumberedEvent, Outcome, Probe, SnapshotVisitor, State, Store,
    StoreError, StoreFuture, StoreHealth, StoreId, Subset,
};
use crate::domain::{
    Command, Counts, DomainError, Issue, IssueId, IssueRef, Lease, Page, Query, Timestamp,
};

/// A store that keeps its issues in memory only, for tests. It is the model that other stores must match.
#[derive(Debug)]
pub struct MemoryStore {
    id: StoreId,
    held: Mutex<MemoryState>,
    newest: watch::Sender<EventPosition>,
    clients: Arc<MemoryClients>,
}

#[derive(Clone, Debug, Default)]
struct MemoryState {
    state: State,
    events: VecDeque<NumberedEvent>,
}

/// The most events that are kept.
const MAX_EVENTS: usize = 100_000;

impl Default for MemoryStore {
    fn default() -> Self {
        Self {
            id: StoreId::random(),
            held: Mutex::default(),
            newest: watch::Sender::default(),
            clients: Arc::default(),
        }
    }
}

impl MemoryStore {
    fn held(&self) -> MutexGuard<'_, MemoryState> {
        // If a panic leaves `State` half changed, only the test that uses this store is affected.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn commit_now(&self, commands: &[Command], now: Timestamp) -> Result<Committed, DomainError> {
        let held = &mut *self.held();
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
}

impl MemoryState {
    fn commit(&mut self, command: &Command, now: Timestamp) -> Result<Outcome, DomainError> {
        let Some(event) = self.state.decide(command, now)? else {
            return Ok(self.state.unchanged_outcome(command));
        };
        let position = EventPosition { number: self.state.position.number + 1, hash: 0 };
        let issue = self.state.apply(&event, position)?;
        self.events.push_back(NumberedEvent { position, event: Arc::new(event) });
        if self.events.len() > MAX_EVENTS {
            self.events.pop_front();
        }
        Ok(issue)
    }
}

impl TransferTarget for MemoryStore {
    fn say_moved<'a>(&'a self, _to: &'a str) -> StoreFuture<'a, ()> {
        ready(Ok(())).boxed()
    }

    fn take_over<'a>(&'a self, transfer: &'a Transfer<'_>) -> StoreFuture<'a, ()> {
        async move {
            let mut events = VecDeque::new();
            let mut after = transfer.base();
            while let Some(page) = transfer.next_page(&mut after).await? {
                events.extend(page);
            }
            transfer.check_unchanged().await?;
            let held = &mut *self.held();
            if held.state.position.number > 0 || !held.state.issues.is_empty() {
                return Err(StoreError::NotSaved("the store is not empty".to_owned()));
            }
            *held = MemoryState { state: transfer.state().clone(), events };
            self.newest.send_replace(held.state.position);
            Ok(())
        }
        .boxed()
    }
}

impl Store for MemoryStore {
    fn id(&self) -> BoxFuture<'_, StoreId> {
        ready(self.id).boxed()
    }

    fn commit(&self, commands: Vec<Command>, now: Timestamp) -> StoreFuture<'_, Committed> {
        // Does nothing until the future is polled, like every other store.
        async move { self.commit_now(&commands, now).map_err(StoreError::Refused) }.boxed()
    }

    fn get(&self, reference: IssueRef) -> StoreFuture<'_, Arc<Issue>> {
        ready(self.held().state.issues.find(&reference).map_err(StoreError::from)).boxed()
    }

    fn list(&self, query: Query) -> StoreFuture<'_, Page> {
        ready(Ok(self.held().state.issues.list(&query))).boxed()
    }

    fn counts(&self) -> StoreFuture<'_, Counts> {
        ready(Ok(self.held().state.issues.counts())).boxed()
    }

    fn snapshot(&self, visitor: Arc<Mutex<dyn SnapshotVisitor>>) -> StoreFuture<'_, ()> {
        let state = self.held().state.clone();
        let mut visitor = visitor.lock().unwrap_or_else(PoisonError::into_inner);
        visitor.begin(state.position, state.unknown_keys);
        for issue in state.issues.issues() {
            let lease = state.issues.lease(issue.id).cloned();
            visitor.visit(issue, lease);
        }
        ready(Ok(())).boxed()
    }

    fn subset(&self, _: Subset) -> StoreFuture<'_, State> {
        ready(Ok(self.held().state.clone())).boxed()
    }

    fn leases(&self) -> StoreFuture<'_, Vec<(IssueId, Lease)>> {
        let held = self.held();
        let leases = held.state.issues.leases().map(|(id, lease)| (id, lease.clone())).collect();
        ready(Ok(leases)).boxed()
    }

    fn events(&self, after: u64, limit: usize) -> StoreFuture<'_, Events> {
        let held = self.held();
        let newest = held.state.position;
        let oldest = held.events.front().map_or(newest.number + 1, |event| event.position.number);
        let skipped =
            usize::try_from(after.saturating_add(1).saturating_sub(oldest)).unwrap_or(usize::MAX);
        let events = held.events.iter().skip(skipped).take(limit).cloned().collect();
        ready(Ok(Events { events, newest, oldest })).boxed()
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
