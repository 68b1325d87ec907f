//! Reads of everything in a store as of one event, issue by issue.

use std::mem;
use std::sync::{Arc, Mutex};

use super::files::support::lock;
use super::memory::IndexedIssuesBuilder;
use super::{EventPosition, State, Store, StoreError};
use ait_domain::{Issue, IssueId, Lease, UnknownKeys};

/// What receives the content of a store.
pub trait SnapshotVisitor: Send {
    /// Begins with the position of the newest event and the unknown top-level keys. A read that fails may start over:
    /// then this is called again, and earlier issues do not count.
    fn begin(&mut self, position: EventPosition, unknown_keys: UnknownKeys);

    /// Receives the next issue in the order of filing, and the lease of its claim.
    fn visit(&mut self, issue: Arc<Issue>, lease: Option<Lease>);
}

/// Reads everything in a store as of one event, and returns the visitor.
pub async fn read_into<V: SnapshotVisitor + Default + 'static>(
    store: &(impl Store + ?Sized),
) -> Result<V, StoreError> {
    read_with(store, V::default()).await
}

/// Shows everything in a store as of one event to a visitor, and returns it.
pub async fn read_with<V: SnapshotVisitor + Default + 'static>(
    store: &(impl Store + ?Sized),
    visitor: V,
) -> Result<V, StoreError> {
    let visitor = Arc::new(Mutex::new(visitor));
    store.snapshot(Arc::<Mutex<V>>::clone(&visitor)).await?;
    Ok(mem::take(&mut *lock(&visitor)))
}

/// Collects issues into a state.
#[derive(Default)]
pub(super) struct StateBuilder {
    issues: IndexedIssuesBuilder,
    leases: Vec<(IssueId, Lease)>,
    unknown_keys: UnknownKeys,
    position: EventPosition,
}

impl SnapshotVisitor for StateBuilder {
    fn begin(&mut self, position: EventPosition, unknown_keys: UnknownKeys) {
        *self = Self { position, unknown_keys, ..Self::default() };
    }

    fn visit(&mut self, issue: Arc<Issue>, lease: Option<Lease>) {
        self.leases.extend(lease.map(|lease| (issue.id, lease)));
        self.issues.push(issue);
    }
}

impl StateBuilder {
    /// Returns the state that has these issues alone, in the order of their visits.
    pub fn build(self) -> State {
        // Each id is unique in a database.
        let mut issues = self.issues.build().unwrap_or_default();
        issues.set_leases(self.leases);
        State { issues, unknown_keys: self.unknown_keys, position: self.position }
    }
}

impl State {
    /// Reads the whole state of a store into memory. Where a part suffices, use [`Store::subset`].
    pub async fn read(store: &(impl Store + ?Sized)) -> Result<Self, StoreError> {
        Ok(read_into::<StateBuilder>(store).await?.build())
    }
}
