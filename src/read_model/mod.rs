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
mod find;
mod projection;
mod read_view;
mod relations;
mod signatures;
mod sort_index;
pub mod stats;
mod status_timeline;
mod summary;
#[cfg(test)]
mod tests;

use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, oneshot};
use tokio::task::spawn_blocking;

pub use agent_interner::{Name, Names};
pub use agents::Agent;
pub use attribute_counts::AttributeCounts;
pub use blocking_graph::{BlockingGraph, GraphNode};
pub use board::Column;
pub use find::{Filter, Listing, MAX_FOUND, Sorting};
pub use projection::Projection;
pub use read_view::ReadView;
pub use relations::Relation;
pub use sort_index::{Direction, SortKey};
pub use status_timeline::{StatusChange, StatusTimeline};
pub use summary::{ClaimInfo, HistoryAction, IssueSummary};

use crate::tracker::{StoreError, Tracker};

/// The maximum pause after a read.
const MAX_REST: Duration = Duration::from_millis(50);

/// Serializes the reads of all issues.
#[derive(Clone)]
pub struct ReadModel {
    tracker: Tracker,
    index: Arc<Mutex<Projection>>,
}

impl ReadModel {
    /// Creates an empty read model; the first read loads all issues.
    pub fn new(tracker: Tracker) -> Self {
        Self { tracker, index: Arc::default() }
    }

    /// Runs a closure on a view of the current issues.
    ///
    /// Reads run one at a time on a blocking thread. Each is followed by a pause of the same length, up to 50 ms, so
    /// all readers of pages together use at most half of one core, and the agents keep the others.
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
        look: impl FnOnce(&mut ReadView) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let (tracker, index) = (self.tracker.clone(), Arc::clone(&self.index));
        let (sender, seen) = oneshot::channel();
        // Runs in a task of its own, because the pause is due even if the caller is gone.
        tokio::spawn(async move {
            let mut turn = index.lock_owned().await;
            if sender.is_closed() {
                return;
            }
            let issues = match tracker.state().await {
                Ok(state) => state.issues,
                Err(error) => return drop(sender.send(Ok(Err(error)))),
            };
            let looked = spawn_blocking(move || {
                let begun = Instant::now();
                // A panic may leave the index half updated, so it is dropped then.
                let mut index = mem::take(&mut *turn);
                let seen = look(&mut ReadView::of(&mut index, issues));
                *turn = index;
                (seen, begun.elapsed(), turn)
            });
            let (answer, rest) = match looked.await {
                Ok((seen, took, turn)) => (Ok(Ok(seen)), Some((took, turn))),
                Err(error) => (Err(error), None),
            };
            // The send fails if the caller is gone, which does not matter.
            drop(sender.send(answer));
            if let Some((took, turn)) = rest {
                tokio::time::sleep(took.min(MAX_REST)).await;
                drop(turn);
            }
        });
        match seen.await.expect("every look is answered") {
            Ok(seen) => seen,
            Err(error) => std::panic::resume_unwind(error.into_panic()),
        }
    }
}
