//! The read model for pages and reports: boards, agents, findings and statistics of all issues.
//!
//! A store returns single issues and the orders in which they are claimed. Pages over all issues would read all of
//! them each time. The read model keeps a summary of each issue in the memory of the process that serves pages, without
//! its texts. The first page builds it; each read follows the events since, and reads the issues that they name again.
//! It knows the tracker and the domain, but neither HTTP nor HTML, and it only reads.

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
use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::spawn;
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

use self::projection::News;
use crate::{EventPosition, Events, StoreError, Tracker};

/// How many events are read at once to follow them, and how many issues.
const EVENTS_AT_ONCE: usize = 1_000;
const ISSUES_AT_ONCE: usize = 500;

/// Reads all issues, for pages and searches. Clones share what was read.
#[derive(Clone)]
pub struct ReadModel {
    tracker: Tracker,
    /// The newest one. Locked to take or update it; a reader looks at it without a lock.
    newest: Arc<Mutex<Arc<Projection>>>,
    /// Bounds how many reads run at the same time to the number of cores but one, which is left for changes.
    readers: Arc<Semaphore>,
}

impl ReadModel {
    /// Creates an empty read model; the first read reads all issues.
    pub fn new(tracker: Tracker) -> Self {
        let readers = available_parallelism().map_or(1, NonZero::get).saturating_sub(1).max(1);
        Self { tracker, newest: Arc::default(), readers: Arc::new(Semaphore::new(readers)) }
    }

    /// Returns the tracker that it reads.
    pub fn tracker(&self) -> &Tracker {
        &self.tracker
    }

    /// Runs a closure on a view of the current issues, on a blocking thread. Reads leave one core for changes, if there
    /// are several.
    ///
    /// # Panics
    ///
    /// Panics if `visit` panics.
    pub async fn read<T: Send + 'static>(
        &self,
        visit: impl FnOnce(&ReadView<'_>) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let readers = Arc::clone(&self.readers).acquire_owned().await;
        let projection = self.follow().await?;
        let found = spawn_blocking(move || {
            // Held to the end, even if the caller is gone.
            let _reader = readers;
            visit(&ReadView::of(&projection))
        });
        found.await.map_err(|error| resume_unwind(error.into_panic()))
    }

    /// Returns the read model after every change that was answered before the call.
    async fn follow(&self) -> Result<Arc<Projection>, StoreError> {
        let current = Arc::clone(&*self.newest.lock().await);
        let found = self.events_after(&current).await?;
        if current.news(&found) == News::Nothing {
            return Ok(current);
        }
        let mut newest = Arc::clone(&self.newest).lock_owned().await;
        let model = self.clone();
        // Goes on if this reader is gone, for the others.
        let updated = spawn(async move {
            *newest = Arc::new(model.updated(Projection::clone(&newest), found.newest).await?);
            Ok(Arc::clone(&newest))
        });
        updated.await.unwrap_or_else(|error| resume_unwind(error.into_panic()))
    }

    /// Updates a read model to an event, or a later one.
    async fn updated(
        &self,
        mut model: Projection,
        wanted: EventPosition,
    ) -> Result<Projection, StoreError> {
        loop {
            let found = self.events_after(&model).await?;
            let (ids, position, keys) = match model.news(&found) {
                News::Nothing => return Ok(model),
                News::Everything => return self.tracker.read_into().await,
                News::Changed(ids, position, keys) => (ids, position, keys),
            };
            for ids in ids.chunks(ISSUES_AT_ONCE) {
                let ids = ids.to_vec();
                let issues = self.tracker.issues_around(ids.iter().copied()).await?;
                let put = spawn_blocking(move || {
                    // An issue that is gone by now has a later event.
                    model.update(ids.into_iter().filter_map(|id| issues.get(id)));
                    model
                });
                model = put.await.unwrap_or_else(|error| resume_unwind(error.into_panic()));
            }
            model.position = position;
            if let Some(keys) = keys {
                model.unknown_keys = keys;
            }
            if position.number >= wanted.number {
                return Ok(model);
            }
        }
    }

    /// Returns the newest event that a read model knows, and some of those after it.
    async fn events_after(&self, projection: &Projection) -> Result<Events, StoreError> {
        let known = projection.position.number;
        // One that knows no event is built from all issues.
        let limit = if known == 0 { 0 } else { EVENTS_AT_ONCE };
        self.tracker.events(known.saturating_sub(1), limit).await
    }
}
