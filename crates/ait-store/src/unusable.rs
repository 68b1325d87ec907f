//! A store that cannot be opened.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tokio::sync::watch;

use super::clients::{Clients, MemoryClients};
use super::{
    Committed, EventPosition, Events, Probe, SnapshotVisitor, State, Store, StoreError,
    StoreHealth, StoreId, Subset,
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

    fn refuse<T>(&self) -> Result<T, StoreError> {
        Err(self.error())
    }
}

#[async_trait]
impl Store for UnusableStore {
    async fn id(&self) -> StoreId {
        self.id
    }

    async fn commit(&self, _: Vec<Command>, _: Timestamp) -> Result<Committed, StoreError> {
        self.refuse()
    }

    async fn get(&self, _: IssueRef) -> Result<Arc<Issue>, StoreError> {
        self.refuse()
    }

    async fn list(&self, _: Query) -> Result<Page, StoreError> {
        self.refuse()
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        self.refuse()
    }

    async fn snapshot(&self, _: Arc<Mutex<dyn SnapshotVisitor>>) -> Result<(), StoreError> {
        self.refuse()
    }

    async fn subset(&self, _: Subset) -> Result<State, StoreError> {
        self.refuse()
    }

    async fn leases(&self) -> Result<Vec<(IssueId, Lease)>, StoreError> {
        self.refuse()
    }

    async fn events(&self, _: u64, _: usize) -> Result<Events, StoreError> {
        self.refuse()
    }

    fn watch(&self) -> watch::Receiver<EventPosition> {
        self.newest.subscribe()
    }

    fn clients(&self) -> Arc<dyn Clients> {
        Arc::<MemoryClients>::clone(&self.clients)
    }

    async fn damage(&self) -> Option<StoreError> {
        Some(self.error())
    }

    async fn health(&self, _: Probe) -> StoreHealth {
        let trouble = Some(self.error());
        StoreHealth { trouble, ..StoreHealth::default() }
    }

    async fn close(&self) -> bool {
        true
    }
}
