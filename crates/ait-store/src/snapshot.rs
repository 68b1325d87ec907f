//! Reads of everything in a store as of one event, issue by issue.

use std::mem;
use std::sync::{Arc, Mutex};

use super::files::support::lock;
use super::{EventPosition, State, Store, StoreError};
use ait_domain::{Issue, Lease, UnknownKeys};

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

/// The state that has the visited issues alone, in the order of their visits.
impl SnapshotVisitor for State {
    fn begin(&mut self, position: EventPosition, unknown_keys: UnknownKeys) {
        *self = Self { position, unknown_keys, ..Self::default() };
    }

    fn visit(&mut self, issue: Arc<Issue>, lease: Option<Lease>) {
        let id = issue.id;
        // A database has no id twice.
        if self.issues.push(issue).is_ok() {
            self.issues.set_lease(id, lease);
        }
    }
}

impl State {
    /// Reads the whole state of a store into memory. Where a part suffices, use [`Store::subset`].
    pub async fn read(store: &(impl Store + ?Sized)) -> Result<Self, StoreError> {
        read_into(store).await
    }
}
