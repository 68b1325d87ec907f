//! Keeping up with the store while nobody asks, and hearing of edits of its file.

use std::path::Path;
use std::time::{Duration, SystemTime};

use chrono::{DateTime, Utc};
use tokio::task::spawn_blocking;

use crate::domain::Timestamp;
use crate::processes::{Entry, Kind, Registration, Registry};
use crate::store::json::{Others, Request};
use crate::tracker::Tracker;

/// How often is looked what others did, and how often whether anybody asks that an edit is taken over.
const FOLLOW_EVERY: Duration = Duration::from_secs(1);
const LISTEN_EVERY: Duration = Duration::from_millis(200);

/// Looks what other processes do, as long as this one runs. What was there before somebody edits the file is
/// known then, and whoever knows less is heard.
pub(super) async fn follow(tracker: Tracker, registry: Registry) {
    loop {
        // What is wrong with the store, those are told who use it.
        let is_edited = tracker.keep_up().await.unwrap_or(false);
        let registry = registry.clone();
        if is_edited
            && spawn_blocking(move || registry.is_asked()).await.unwrap_or(false)
            && let Err(error) = tracker.take_over_edit().await
        {
            tracing::warn!("an edit by hand is not taken over for now: {error}");
        }
        tokio::time::sleep(if is_edited { LISTEN_EVERY } else { FOLLOW_EVERY }).await;
    }
}

/// The processes that this one knows of by its registry.
pub(super) struct Neighbours;

impl Others for Neighbours {
    fn ask(&self, store: &Path) -> Option<Box<dyn Request>> {
        let registry = Registry::beside(store);
        if !registry.is_served_by_others() {
            return None;
        }
        let now = Timestamp::from(DateTime::<Utc>::from(SystemTime::now()));
        let asking = registry.register(Entry::new(Kind::Asks, now)).ok()?;
        Some(Box::new(Asked { registry, _asking: asking }))
    }
}

/// A request that lasts until it is dropped.
struct Asked {
    registry: Registry,
    _asking: Registration,
}

impl Request for Asked {
    fn is_heard(&self) -> bool {
        self.registry.is_served_by_others()
    }
}
