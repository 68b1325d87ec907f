//! The read model for pages and reports: boards, agents, findings and statistics of all issues.
//!
//! A store returns single issues and the orders in which they are claimed. Pages over all issues would read all of
//! them each time. The read model keeps what they need of each issue in the memory of the process that serves pages.
//! It is built by the first page and updated at each read. It knows the tracker and the domain, but neither HTTP nor
//! HTML, and it only reads.

mod agent_index;
mod agent_interner;
mod agents;
mod attribute_index;
mod blocking_graph;
mod board;
mod chunked;
mod claim_spans;
mod digest;
mod finding;
mod findings;
mod findings_cache;
mod projection;
mod read_view;
mod relations;
mod rows;
mod sketch;
pub mod stats;
mod status_timeline;
mod summary;
#[cfg(test)]
mod tests;
mod text_facts;

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::available_parallelism;

use tokio::sync::{Mutex, Semaphore};
use tokio::task::spawn_blocking;

pub use agent_interner::{Name, Names};
pub use agents::Agent;
pub use attribute_index::{AttributeIndex, Progress};
pub use blocking_graph::{BlockingGraph, GraphNode};
pub use board::Column;
pub use chunked::Chunked;
pub use claim_spans::{AgentWork, ClaimSpan, WorkByAgent, WorkRecord};
pub use digest::{Digest, Row as DigestRow, Rows as DigestRows};
pub use finding::{Finding, FindingKind, Findings, FoundIssue, MAX_KEPT};
pub use projection::Projection;
pub use read_view::ReadView;
pub use relations::Relation;
pub use status_timeline::{StatusChange, StatusTimeline};
pub use summary::{ClaimInfo, HistoryAction, IssueSummary};

use crate::tracker::{IndexedIssues, StoreError, Tracker};

/// Reads all issues, for pages and searches. Clones share what was read.
#[derive(Clone)]
pub struct ReadModel {
    tracker: Tracker,
    shared: Arc<Shared>,
    /// Bounds how many reads run at the same time to the number of cores but one, which is left for changes.
    readers: Arc<Semaphore>,
}

/// The read model of the newest state that was read. A reader takes it and looks at it without a lock.
#[derive(Default)]
struct Shared {
    /// Locked only to take or replace it.
    current: RwLock<Arc<Projection>>,
    /// Held during an update, so that readers wait for it instead of repeating it.
    updates: Arc<Mutex<()>>,
}

impl Shared {
    fn current(&self) -> Arc<Projection> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Makes the read model of a state the current one.
    fn update(&self, issues: &IndexedIssues) -> Arc<Projection> {
        let mut next = Projection::clone(&self.current());
        next.follow(issues);
        let next = Arc::new(next);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&next);
        next
    }
}

impl ReadModel {
    /// Creates an empty read model; the first read loads all issues.
    pub fn new(tracker: Tracker) -> Self {
        let readers = available_parallelism().map_or(1, NonZero::get).saturating_sub(1).max(1);
        Self { tracker, shared: Arc::default(), readers: Arc::new(Semaphore::new(readers)) }
    }

    /// Returns the tracker that it reads.
    pub fn tracker(&self) -> &Tracker {
        &self.tracker
    }

    /// Runs a closure on a view of the current issues, on a blocking thread. Reads leave one core for changes, if there
    /// are several.
    /// # Panics
    ///
    /// Panics if `visit` panics.
    pub async fn read<T: Send + 'static>(
        &self,
        visit: impl FnOnce(&ReadView<'_>) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let readers = Arc::clone(&self.readers).acquire_owned().await;
        let (projection, issues) = self.follow().await?;
        let found = spawn_blocking(move || {
            // Held to the end, even if the caller is gone.
            let _reader = readers;
            visit(&ReadView::new(&projection, issues))
        });
        found.await.map_err(|error| resume_unwind(error.into_panic()))
    }

    /// Returns the current issues with their read model, which is updated before.
    async fn follow(&self) -> Result<(Arc<Projection>, IndexedIssues), StoreError> {
        let issues = self.tracker.state().await?.issues;
        let current = self.shared.current();
        if current.is_of(&issues) {
            return Ok((current, issues));
        }
        let updating = Arc::clone(&self.shared.updates).lock_owned().await;
        // Read again, so that it is no older than the read model.
        let issues = self.tracker.state().await?.issues;
        let current = self.shared.current();
        if current.is_of(&issues) {
            return Ok((current, issues));
        }
        let shared = Arc::clone(&self.shared);
        let updated = spawn_blocking(move || {
            let _updating = updating;
            (shared.update(&issues), issues)
        });
        updated.await.map_err(|error| resume_unwind(error.into_panic()))
    }
}
