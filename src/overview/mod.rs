//! What the pages show of all issues at once: lists, boards, agents, statistics.
//!
//! A store answers for single issues and for the orders in which they are claimed. Whoever looks at all
//! of them would read all of them each time; so what is needed of each is kept here, in the memory of the
//! process that shows pages, from the first page on, and follows the store with each look. Knows the
//! tracker and the domain; nothing of HTTP or HTML. It only reads.

mod agents;
mod board;
mod digest;
mod find;
mod index;
mod life;
mod names;
mod orders;
mod signatures;
pub mod stats;
mod survey;
#[cfg(test)]
mod tests;

use std::mem;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, oneshot};
use tokio::task::spawn_blocking;

pub use agents::Agent;
pub use board::Column;
pub use digest::{Act, Deed, Digest, Held};
pub use find::{Filter, Listing, MAX_FOUND, Sorting};
pub use index::Index;
pub use life::{Life, Step};
pub use names::{Name, Names};
pub use orders::{Direction, SortKey};
pub use survey::Survey;

use crate::tracker::{StoreError, Tracker};

/// The longest rest after a look.
const MAX_REST: Duration = Duration::from_millis(50);

/// Looks at all issues, one after the other.
#[derive(Clone)]
pub struct Overview {
    tracker: Tracker,
    index: Arc<Mutex<Index>>,
}

impl Overview {
    /// Begins with nothing; the first look reads all issues.
    pub fn new(tracker: Tracker) -> Self {
        Self { tracker, index: Arc::default() }
    }

    /// Looks at the issues as they are now.
    ///
    /// Looks take turns, on a thread of their own, and each is followed by a rest of the same length, up to
    /// 50 ms: so all who read pages take half of one processor together at the most, and the agents have
    /// the others.
    ///
    /// # Errors
    ///
    /// Those of [`Tracker::snapshot`].
    ///
    /// # Panics
    ///
    /// When `look` does.
    pub async fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&mut Survey) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        let (tracker, index) = (self.tracker.clone(), Arc::clone(&self.index));
        let (sender, seen) = oneshot::channel();
        // A task of its own: the rest is due also when whoever has asked is gone.
        tokio::spawn(async move {
            let mut turn = index.lock_owned().await;
            if sender.is_closed() {
                return;
            }
            let issues = match tracker.snapshot().await {
                Ok(state) => state.issues,
                Err(error) => return drop(sender.send(Ok(Err(error)))),
            };
            let looked = spawn_blocking(move || {
                let begun = Instant::now();
                // What a panic leaves half done is dropped.
                let mut index = mem::take(&mut *turn);
                let seen = look(&mut index.follow(issues));
                *turn = index;
                (seen, begun.elapsed(), turn)
            });
            let (answer, rest) = match looked.await {
                Ok((seen, took, turn)) => (Ok(Ok(seen)), Some((took, turn))),
                Err(error) => (Err(error), None),
            };
            // Whoever is gone needs no answer.
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
