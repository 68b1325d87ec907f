//! The read model for the pages: lists, boards, agents and statistics of all issues.
//!
//! A store returns single issues and the orders in which they are claimed. Pages over all issues would read all of
//! them each time. The read model keeps what they need of each issue in the memory of the process that serves pages.
//! It is built by the first page and updated at each read. It knows the tracker and the domain, but neither HTTP nor
//! HTML, and it only reads.

mod agent_interner;
mod agents;
mod attribute_counts;
mod blocking_graph;
mod board;
mod claim_spans;
mod digest;
mod find;
mod finding;
mod findings;
mod findings_cache;
mod mentions;
mod projection;
mod read_view;
mod relations;
mod signatures;
mod sketch;
mod sort_index;
pub mod stats;
mod status_timeline;
mod subject;
mod summary;
#[cfg(test)]
mod tests;
mod text_facts;
mod text_search;

use std::mem;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::thread::available_parallelism;

use tokio::sync::{Mutex, Semaphore};
use tokio::task::spawn_blocking;

pub use agent_interner::{Name, Names};
pub use agents::Agent;
pub use attribute_counts::AttributeCounts;
pub use blocking_graph::{BlockingGraph, GraphNode};
pub use board::Column;
pub use claim_spans::{ClaimSpan, WorkRecord, work_record};
pub use digest::{Digest, Row as DigestRow, Rows as DigestRows};
pub use find::{Listing, MAX_FOUND, Sorting};
pub use finding::{Finding, FindingKind, Findings, FoundIssue, MAX_KEPT};
pub use mentions::Mentions;
pub use projection::Projection;
pub use read_view::ReadView;
pub use relations::Relation;
pub use sort_index::{Direction, SortKey};
pub use status_timeline::{StatusChange, StatusTimeline};
pub use summary::{ClaimInfo, HistoryAction, IssueSummary};

use crate::domain::{Page, Query};
use crate::tracker::{IndexedIssues, StoreError, Tracker};

/// Reads all issues, for pages and searches. Clones share what was read.
#[derive(Clone)]
pub struct ReadModel {
    tracker: Tracker,
    /// That of the newest state that was read. Locked while it is updated; reads share it.
    current: Arc<Mutex<Arc<Projection>>>,
    /// Whether the store answers searches itself.
    searches_in_store: bool,
    /// Bounds how many reads run at the same time, so that the agents keep the other cores.
    readers: Arc<Semaphore>,
}

impl ReadModel {
    /// Creates an empty read model; the first read loads all issues.
    pub fn new(tracker: Tracker) -> Self {
        let cores = available_parallelism().map_or(1, NonZero::get);
        Self {
            tracker,
            current: Arc::default(),
            searches_in_store: false,
            readers: Arc::new(Semaphore::new(cores.div_ceil(2))),
        }
    }

    /// Sets whether the store answers searches itself, because it does not have all issues at hand.
    #[must_use]
    pub fn searching_in_store(self, searches_in_store: bool) -> Self {
        Self { searches_in_store, ..self }
    }

    /// Returns the tracker that it reads.
    pub fn tracker(&self) -> &Tracker {
        &self.tracker
    }

    /// Runs a closure on a view of the current issues, on a blocking thread. Reads together use at most half of the
    /// cores.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Tracker::state`].
    ///
    /// # Panics
    ///
    /// Panics if `look` panics.
    pub async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&ReadView<'_>) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let readers = Arc::clone(&self.readers).acquire_owned().await;
        let (projection, issues) = self.follow().await?;
        let looked = spawn_blocking(move || {
            // Held to the end, even if the caller is gone.
            let _reader = readers;
            look(&ReadView::new(&projection, issues))
        });
        looked.await.map_err(|error| resume_unwind(error.into_panic()))
    }

    /// Returns the current issues with their read model, which is updated before.
    async fn follow(&self) -> Result<(Arc<Projection>, IndexedIssues), StoreError> {
        let mut current = Arc::clone(&self.current).lock_owned().await;
        let issues = self.tracker.state().await?.issues;
        if current.is_of(&issues) {
            return Ok((Arc::clone(&current), issues));
        }
        let updated = spawn_blocking(move || {
            // A panic may leave the read model half updated, so it is dropped then.
            let mut projection = mem::take(&mut *current);
            // Copies it if a read still looks at it.
            Arc::make_mut(&mut projection).follow(&issues);
            *current = Arc::clone(&projection);
            (projection, issues)
        });
        updated.await.map_err(|error| resume_unwind(error.into_panic()))
    }

    /// Returns true if nothing was read yet, so that the first read would load all issues.
    fn is_new(&self) -> bool {
        self.current.try_lock().is_ok_and(|current| current.is_empty())
    }

    /// Returns one page of the issues that match a query, as [`Tracker::list_issues`] does. A search for texts counts
    /// at most [`MAX_FOUND`] matches, or as many as the page needs.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`Tracker::list_issues`].
    pub async fn list(&self, query: Query) -> Result<Page, StoreError> {
        let condition = &query.condition;
        let is_narrow = condition.names_ids() || (condition.is_narrow() && self.is_new());
        if is_narrow || self.searches_in_store {
            return self.tracker.list_issues(query).await;
        }
        self.read(move |view| view.list(&query)).await
    }
}
