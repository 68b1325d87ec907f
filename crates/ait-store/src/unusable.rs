//! A store that cannot be opened.

use std::sync::{Arc, Mutex};

use futures::future::{BoxFuture, FutureExt, ready};
use tokio::sync::watch;

use super::clients::{Clients, MemoryClients};
use super::{
    Committed, EventPosition, Events, Probe, SnapshotVisitor, State, Store, StoreError,
    StoreFuture, StoreHealth, StoreId, Subset,
};
use ait_domain::{Command, Counts, Issue, IssueId, IssueRef, Lease, Page, Query, Timestamp};

/// A store that answers every call with the reason why it cannot be opened, so that agents and pages show it.
#[derive(Debug)]
pub struct UnusableStore {
    id: StoreId,
    reason: String,
    newest: watch::Sender<EventPosition>,
    clients: Arc<MemoryClients>,
}

impl UnusableStore {
    /// Returns a store that gives this reason.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            id: StoreId::random(),
            reason: reason.into(),
            newest: watch::Sender::default(),
            clients: Arc::default(),
        }
    }

    fn error(&self) -> StoreError {
        StoreError::Unreadable(self.reason.clone())
    }

    fn refuse<T: Send + 'static>(&self) -> StoreFuture<'_, T> {
        ready(Err(self.error())).boxed()
    }
}

impl Store for UnusableStore {
    fn id(&self) -> BoxFuture<'_, StoreId> {
        ready(self.id).boxed()
    }

    fn commit(&self, _: Vec<Command>, _: Timestamp) -> StoreFuture<'_, Committed> {
        self.refuse()
    }

    fn get(&self, _: IssueRef) -> StoreFuture<'_, Arc<Issue>> {
        self.refuse()
    }

    fn list(&self, _: Query) -> StoreFuture<'_, Page> {
        self.refuse()
    }

    fn counts(&self) -> StoreFuture<'_, Counts> {
        self.refuse()
    }

    fn snapshot(&self, _: Arc<Mutex<dyn SnapshotVisitor>>) -> StoreFuture<'_, ()> {
        self.refuse()
    }

    fn subset(&self, _: Subset) -> StoreFuture<'_, State> {
        self.refuse()
    }

    fn leases(&self) -> StoreFuture<'_, Vec<(IssueId, Lease)>> {
        self.refuse()
    }

    fn events(&self, _: u64, _: usize) -> StoreFuture<'_, Events> {
        self.refuse()
    }

    fn watch(&self) -> watch::Receiver<EventPosition> {
        self.newest.subscribe()
    }

    fn clients(&self) -> Arc<dyn Clients> {
        Arc::<MemoryClients>::clone(&self.clients)
    }

    fn damage(&self) -> BoxFuture<'_, Option<StoreError>> {
        ready(Some(self.error())).boxed()
    }

    fn health(&self, _: Probe) -> BoxFuture<'_, StoreHealth> {
        let trouble = Some(self.error());
        ready(StoreHealth { trouble, ..StoreHealth::default() }).boxed()
    }

    fn close(&self) -> BoxFuture<'_, bool> {
        ready(true).boxed()
    }
}
