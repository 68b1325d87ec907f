//! Notifications about changed resources: `resources/subscribe` within a session up to revision 2025-11-25,
//! `subscriptions/listen` from 2026-07-28 on.
//!
//! A notification carries the URI alone; the client reads the resource again.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::stream::{self, Stream, StreamExt};
use tokio::sync::watch;
use tokio::time::sleep;

use super::resources::{Diagnostics, Resource};
use ait_domain::IssueId;
use ait_tracker::{EventPosition, StoreError, Tracker};

/// How many resources one client can subscribe to.
pub(super) const MAX_SUBSCRIPTIONS: usize = 1_000;
/// How long changes are gathered before clients are notified.
const DEBOUNCE: Duration = Duration::from_millis(100);
/// How soon a failed read of the store is repeated.
const RETRY_EVERY: Duration = Duration::from_secs(1);
/// How many events are read at a time.
const PAGE: usize = 1_000;

/// The source of all changes. Clones share it.
#[derive(Clone)]
pub(super) struct ChangeFeed {
    tracker: Tracker,
    diagnostics: Arc<Diagnostics>,
}

impl ChangeFeed {
    pub fn new(tracker: Tracker, diagnostics: Arc<Diagnostics>) -> Self {
        Self { tracker, diagnostics }
    }

    /// Returns the changes from now on.
    pub async fn follow(&self) -> ChangeStream {
        let mut newest = self.tracker.watch();
        // A read also sees what other processes did until now.
        let is_known = self.tracker.counts().await.is_ok();
        let known = Some(*newest.borrow_and_update()).filter(|_| is_known);
        let diagnostics = self.diagnostics.changes();
        ChangeStream { tracker: self.tracker.clone(), known, newest, diagnostics }
    }
}

/// The changes from some moment on.
pub(super) struct ChangeStream {
    tracker: Tracker,
    /// The last event read; `None` if it is unknown which that is.
    known: Option<EventPosition>,
    newest: watch::Receiver<EventPosition>,
    diagnostics: watch::Receiver<u64>,
}

/// What changed.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Changed {
    /// These issues.
    Issues(HashSet<IssueId>),
    /// Any issue may have changed.
    Anything,
    /// The diagnostics have new findings.
    Diagnostics,
}

impl ChangeStream {
    /// Waits for the next change.
    pub async fn next(&mut self) -> Changed {
        loop {
            tokio::select! {
                Ok(()) = self.newest.changed() => {}
                Ok(()) = self.diagnostics.changed() => return Changed::Diagnostics,
                // The process is ending.
                else => std::future::pending().await,
            }
            sleep(DEBOUNCE).await;
            // Before the read: events that come during it are read, or announced again.
            self.newest.borrow_and_update();
            let change = loop {
                match self.read().await {
                    Ok(change) => break change,
                    // No later change may announce this one.
                    Err(_) => sleep(RETRY_EVERY).await,
                }
            };
            if change != Changed::Issues(HashSet::new()) {
                return change;
            }
        }
    }

    /// Reads the events since the last time.
    async fn read(&mut self) -> Result<Changed, StoreError> {
        let mut changed = HashSet::new();
        loop {
            let Some(known) = self.known else {
                self.known = Some(self.tracker.log_bounds().await?.newest);
                return Ok(Changed::Anything);
            };
            let read = self.tracker.events_since(known, PAGE).await?;
            let Some(read) = read.filter(|read| read.is_complete_after(known.number)) else {
                self.known = None;
                continue;
            };
            changed.extend(read.events.iter().map(|event| event.event.issue));
            let last = read.events.last().map_or(known, |event| event.position);
            self.known = Some(last);
            if read.events.is_empty() || last.number >= read.newest.number {
                return Ok(Changed::Issues(changed));
            }
        }
    }
}

impl Changed {
    /// Returns true if a resource may have changed.
    pub fn affects(&self, resource: &Resource) -> bool {
        match (self, resource) {
            (Self::Diagnostics, resource) => *resource == Resource::Diagnostics,
            (
                _,
                Resource::Config | Resource::Presets | Resource::Skill(_) | Resource::Diagnostics,
            ) => false,
            (Self::Anything, _)
            | (
                _,
                Resource::Queue
                | Resource::Digest
                | Resource::Memory
                | Resource::Decisions
                | Resource::SavedQuery(_),
            ) => true,
            (Self::Issues(changed), Resource::Issue(reference)) => {
                let range = reference.range();
                changed.iter().any(|id| range.contains(id))
            }
        }
    }
}

/// The resources that one client subscribed to, by the URIs it named.
#[derive(Default)]
pub(super) struct Subscriptions(Mutex<BTreeMap<String, Resource>>);

impl Subscriptions {
    /// Adds a resource. Does nothing for one that never changes.
    ///
    /// # Errors
    ///
    /// The client has [`MAX_SUBSCRIPTIONS`] already.
    pub fn add(&self, uri: String, resource: Resource) -> Result<(), String> {
        if !resource.can_change() {
            return Ok(());
        }
        let mut by_uri = self.by_uri();
        if by_uri.len() >= MAX_SUBSCRIPTIONS && !by_uri.contains_key(&uri) {
            return Err(format!(
                "there are {MAX_SUBSCRIPTIONS} subscriptions, which is the limit: end one with \
                 resources/unsubscribe"
            ));
        }
        by_uri.insert(uri, resource);
        Ok(())
    }

    /// Removes a resource, if it is there.
    pub fn remove(&self, uri: &str) {
        self.by_uri().remove(uri);
    }

    pub fn is_empty(&self) -> bool {
        self.by_uri().is_empty()
    }

    /// Returns the URI of each resource whenever it may have changed, and of all of them once at the beginning:
    /// what changed before that is unknown.
    pub fn updates(self: Arc<Self>, feed: ChangeFeed) -> impl Stream<Item = String> + Send {
        let following =
            async move { self.updates_in(feed.follow().await, Some(Changed::Anything)) };
        stream::once(following).flatten()
    }

    /// Returns the URI of each resource that `first` and then `changes` affect.
    pub fn updates_in(
        self: Arc<Self>,
        changes: ChangeStream,
        first: Option<Changed>,
    ) -> impl Stream<Item = String> + Send {
        let next =
            async |(this, mut changes, first): (Arc<Self>, ChangeStream, Option<Changed>)| {
                let change = match first {
                    Some(change) => change,
                    None => changes.next().await,
                };
                let uris = this.affected(&change);
                Some((stream::iter(uris), (this, changes, None)))
            };
        stream::unfold((self, changes, first), next).flatten()
    }

    fn affected(&self, change: &Changed) -> Vec<String> {
        let by_uri = self.by_uri();
        let affected = by_uri.iter().filter(|(_, resource)| change.affects(resource));
        affected.map(|(uri, _)| uri.clone()).collect()
    }

    fn by_uri(&self) -> MutexGuard<'_, BTreeMap<String, Resource>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::LazyContext;
    use crate::testing::file_issue;
    use ait_store::testing::TestStore;

    async fn file(tracker: &Tracker, count: usize) -> HashSet<IssueId> {
        let mut ids = HashSet::new();
        for _ in 0..count {
            ids.insert(file_issue(tracker).await.id);
        }
        ids
    }

    fn changes(tracker: &Tracker, number: u64, hash: u64) -> ChangeStream {
        ChangeStream {
            tracker: tracker.clone(),
            known: Some(EventPosition { number, hash }),
            newest: tracker.watch(),
            diagnostics: watch::Sender::new(0).subscribe(),
        }
    }

    #[tokio::test]
    async fn each_event_is_reported_once_in_batches_of_any_size() {
        let tracker = Tracker::new(Arc::new(TestStore::default()));
        let before = file(&tracker, 3).await;
        let mut changes = changes(&tracker, 2, 0);
        let change = changes.read().await.unwrap();
        assert!(matches!(change, Changed::Issues(ids) if ids.len() == 1 && ids.is_subset(&before)));
        for count in [0, 1, PAGE - 2, PAGE - 1, PAGE, 2 * PAGE + 1] {
            let filed = file(&tracker, count).await;
            assert!(changes.read().await.unwrap() == Changed::Issues(filed), "{count}");
        }
    }

    #[tokio::test]
    async fn a_replaced_log_is_reported_as_changed_completely() {
        let tracker = Tracker::new(Arc::new(TestStore::default()));
        file(&tracker, 3).await;
        for (number, hash) in [(4, 0), (3, 1), (2, 1), (u64::MAX - 2, 0)] {
            let mut changes = changes(&tracker, number, hash);
            assert_eq!(changes.read().await.unwrap(), Changed::Anything, "{number} {hash}");
            assert_eq!(changes.read().await.unwrap(), Changed::Issues(HashSet::new()));
        }
        let mut unread = ChangeStream { known: None, ..changes(&tracker, 0, 0) };
        assert_eq!(unread.read().await.unwrap(), Changed::Anything);
    }

    #[tokio::test]
    async fn a_change_stream_starts_at_the_newest_event() {
        let tracker = Tracker::new(Arc::new(TestStore::default()));
        file(&tracker, 3).await;
        let context = LazyContext::new(|| unreachable!("no test runs the doctor"));
        let diagnostics = Arc::new(Diagnostics::new(tracker.clone(), context));
        let mut changes = ChangeFeed::new(tracker.clone(), diagnostics).follow().await;
        let filed = file(&tracker, 2).await;
        assert_eq!(changes.next().await, Changed::Issues(filed));
    }
}
