//! Telling clients that a resource has changed which they watch: up to revision 2025-11-25 by
//! `resources/subscribe` within a session, from 2026-07-28 on by `subscriptions/listen`, a request that is
//! answered for as long as the client likes.
//!
//! What is told is the address alone; whoever wants to know more reads it anew.

use std::collections::{BTreeMap, HashSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RequestContext, RoleServer, SubscriptionContext};
use tokio::sync::{Notify, watch};
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::http::{Kept, kept};
use super::resources::{Diagnostics, Resource};
use crate::domain::IssueId;
use crate::tracker::{Position, StoreError, Tracker};

/// How many addresses one client can watch.
pub(super) const MAX_WATCHED: usize = 1_000;
/// How long changes are gathered before clients are told.
const GATHER: Duration = Duration::from_millis(100);
/// How soon a store that could not be read is read again.
const RETRY_EVERY: Duration = Duration::from_secs(1);
/// How many events are read at a time.
const PAGE: usize = 1_000;

/// Where news come from. Clones share it.
#[derive(Clone)]
pub(super) struct Newsroom {
    tracker: Tracker,
    diagnostics: Arc<Diagnostics>,
}

impl Newsroom {
    pub fn new(tracker: Tracker, diagnostics: Arc<Diagnostics>) -> Self {
        Self { tracker, diagnostics }
    }

    /// Begins to follow what happens from now on.
    pub async fn follow(&self) -> Follower {
        let mut newest = self.tracker.watch();
        // A read also sees what other processes did until now.
        let is_known = self.tracker.counts().await.is_ok();
        let known = Some(*newest.borrow_and_update()).filter(|_| is_known);
        let diagnostics = self.diagnostics.news();
        Follower { tracker: self.tracker.clone(), known, newest, diagnostics }
    }
}

/// Follows what happens.
pub(super) struct Follower {
    tracker: Tracker,
    /// Up to where it is known; `None` while nothing is.
    known: Option<Position>,
    newest: watch::Receiver<Position>,
    diagnostics: watch::Receiver<u64>,
}

/// What has happened.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum News {
    /// These issues have changed.
    Issues(HashSet<IssueId>),
    /// So much that it is not known which, or it could not be followed.
    Anything,
    /// An examination has found something else.
    Diagnostics,
}

impl Follower {
    /// Waits for what happens next.
    pub async fn next(&mut self) -> News {
        loop {
            tokio::select! {
                Ok(()) = self.newest.changed() => {}
                Ok(()) = self.diagnostics.changed() => return News::Diagnostics,
                // The end of the process.
                else => std::future::pending().await,
            }
            sleep(GATHER).await;
            // Seen here: what comes while events are read is read by them, or told of again.
            self.newest.borrow_and_update();
            let news = loop {
                match self.read().await {
                    Ok(news) => break news,
                    // There may be no further change to tell of this one, so it is not to be given up.
                    Err(_) => sleep(RETRY_EVERY).await,
                }
            };
            if news != News::Issues(HashSet::new()) {
                return news;
            }
        }
    }

    /// Reads what has happened since the last time.
    async fn read(&mut self) -> Result<News, StoreError> {
        let mut changed = HashSet::new();
        loop {
            let Some(known) = self.known else {
                self.known = Some(self.tracker.events(FROM_NOW_ON, 0).await?.newest);
                return Ok(News::Anything);
            };
            // Begins with the one that is known, so that a log in the place of the old one is noticed.
            let after = known.number.saturating_sub(1);
            let read = self.tracker.events(after, PAGE).await?;
            let first = read.events.first().map(|event| event.position);
            let is_kept = known.number > 0 && read.oldest <= known.number;
            if read.newest.number < known.number
                || !read.is_complete_after(known.number)
                || is_kept && first != Some(known)
            {
                self.known = None;
                continue;
            }
            let is_new = |position: Position| position.number > known.number;
            let new = read.events.iter().filter(|event| is_new(event.position));
            changed.extend(new.map(|event| event.event.issue));
            let last = read.events.last().map_or(known, |event| event.position);
            self.known = Some(last);
            if last.number >= read.newest.number || !is_new(last) {
                return Ok(News::Issues(changed));
            }
        }
    }
}

/// After which number there is no event.
const FROM_NOW_ON: u64 = u64::MAX - 1;

impl News {
    /// Tells whether a resource may be another one now.
    pub fn concern(&self, resource: &Resource) -> bool {
        match (self, resource) {
            (Self::Diagnostics, resource) => *resource == Resource::Diagnostics,
            (_, Resource::Config | Resource::Presets | Resource::Diagnostics) => false,
            (Self::Anything, _) | (_, Resource::Queue) => true,
            (Self::Issues(changed), Resource::Issue(reference)) => {
                let meant = reference.range();
                changed.iter().any(|id| meant.contains(id))
            }
        }
    }
}

/// What a client of an older revision watches. Ends with the session.
pub(super) struct Watched {
    addresses: Mutex<Addresses>,
    /// Tells that nothing is watched any more.
    emptied: Arc<Notify>,
    ended: CancellationToken,
    _ends: DropGuard,
}

#[derive(Default)]
struct Addresses {
    by_uri: BTreeMap<String, Resource>,
    /// Whether there is a task that tells of them.
    is_told: bool,
    /// What keeps the session in memory meanwhile.
    kept: Option<Kept>,
}

impl Default for Watched {
    fn default() -> Self {
        let ended = CancellationToken::new();
        let ends = ended.clone().drop_guard();
        Self { addresses: Mutex::default(), emptied: Arc::default(), ended, _ends: ends }
    }
}

impl Watched {
    /// Begins to watch an address, of which the client is told by its own words.
    ///
    /// # Errors
    ///
    /// The client watches as many as it can.
    pub async fn add(
        self: &Arc<Self>,
        uri: String,
        resource: Resource,
        context: &RequestContext<RoleServer>,
        newsroom: &Newsroom,
    ) -> Result<(), String> {
        if !resource.can_change() {
            return Ok(());
        }
        // Before it is answered, so that nothing after the answer is missed.
        let follower = newsroom.follow().await;
        let mut addresses = self.addresses();
        if addresses.by_uri.len() >= MAX_WATCHED && !addresses.by_uri.contains_key(&uri) {
            return Err(format!(
                "{MAX_WATCHED} resources are watched already: end one with resources/unsubscribe"
            ));
        }
        addresses.by_uri.insert(uri, resource);
        addresses.kept = addresses.kept.take().or_else(|| kept(context));
        if !addresses.is_told {
            addresses.is_told = true;
            let (peer, emptied) = (context.peer.clone(), Arc::clone(&self.emptied));
            tokio::spawn(tell(Arc::downgrade(self), emptied, self.ended.clone(), peer, follower));
        }
        Ok(())
    }

    /// Watches an address no more; one that was not watched is none.
    pub fn remove(&self, uri: &str) {
        let mut addresses = self.addresses();
        let was_watched = addresses.by_uri.remove(uri).is_some();
        if was_watched && addresses.by_uri.is_empty() {
            addresses.kept = None;
            self.emptied.notify_one();
        }
    }

    fn addresses(&self) -> MutexGuard<'_, Addresses> {
        self.addresses.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whether nothing is watched any more; then nobody tells of it from now on.
    fn is_over(&self) -> bool {
        let mut addresses = self.addresses();
        addresses.is_told &= !addresses.by_uri.is_empty();
        !addresses.is_told
    }

    /// The addresses that news concern.
    fn concerned(&self, news: &News) -> Vec<String> {
        let addresses = self.addresses();
        let concerned = addresses.by_uri.iter().filter(|(_, resource)| news.concern(resource));
        concerned.map(|(uri, _)| uri.clone()).collect()
    }
}

/// Tells a client of what it watches until it watches nothing, or is gone.
async fn tell(
    watched: Weak<Watched>,
    emptied: Arc<Notify>,
    ended: CancellationToken,
    peer: Peer<RoleServer>,
    mut follower: Follower,
) {
    loop {
        // Waited for to its end: what it has begun to see would be lost with it.
        let mut news = pin!(follower.next());
        let news = loop {
            tokio::select! {
                news = &mut news => break news,
                // Something else may be watched by now.
                () = emptied.notified() => {
                    if watched.upgrade().is_none_or(|watched| watched.is_over()) {
                        return;
                    }
                }
                () = ended.cancelled() => return,
            }
        };
        let concerned = watched.upgrade().map(|watched| watched.concerned(&news));
        for uri in concerned.unwrap_or_default() {
            let updated = ResourceUpdatedNotificationParam::new(uri);
            if peer.notify_resource_updated(updated).await.is_err() {
                return;
            }
        }
    }
}

/// Tells a client of what it listens for until it has heard enough, or there is no more to hear.
pub(super) async fn listen(
    context: &SubscriptionContext,
    newsroom: &Newsroom,
    ended: impl Future<Output = ()>,
) {
    let uris = context.accepted().resource_subscriptions.clone().unwrap_or_default();
    let watched = uris.into_iter().filter_map(|uri| Some((Resource::at(&uri).ok()?, uri)));
    let watched: Vec<_> = watched.filter(|(resource, _)| resource.can_change()).collect();
    let telling = async {
        if watched.is_empty() {
            return std::future::pending().await;
        }
        let mut follower = newsroom.follow().await;
        // The client was told that it is heard before this began, and what has changed in between is not
        // known.
        let mut news = News::Anything;
        loop {
            for (_, uri) in watched.iter().filter(|(resource, _)| news.concern(resource)) {
                if context.sink().notify_resource_updated(uri).await.is_err() {
                    return;
                }
            }
            news = follower.next().await;
        }
    };
    tokio::select! {
        () = telling => {}
        () = context.cancelled() => {}
        () = ended => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::surroundings::FoundWhenAsked;
    use crate::mcp::testing::file_issue;
    use crate::store::MemoryStore;

    async fn file(tracker: &Tracker, count: usize) -> HashSet<IssueId> {
        let mut ids = HashSet::new();
        for _ in 0..count {
            ids.insert(file_issue(tracker).await.id);
        }
        ids
    }

    fn follower(tracker: &Tracker, number: u64, hash: u64) -> Follower {
        Follower {
            tracker: tracker.clone(),
            known: Some(Position { number, hash }),
            newest: tracker.watch(),
            diagnostics: watch::Sender::new(0).subscribe(),
        }
    }

    #[tokio::test]
    async fn events_are_told_of_once_in_whichever_number_they_come() {
        let tracker = Tracker::new(Arc::new(MemoryStore::default()));
        let before = file(&tracker, 3).await;
        let mut follower = follower(&tracker, 2, 0);
        let told = follower.read().await.unwrap();
        assert!(matches!(told, News::Issues(ids) if ids.len() == 1 && ids.is_subset(&before)));
        for count in [0, 1, PAGE - 2, PAGE - 1, PAGE, 2 * PAGE + 1] {
            let filed = file(&tracker, count).await;
            assert!(follower.read().await.unwrap() == News::Issues(filed), "{count}");
        }
    }

    #[tokio::test]
    async fn a_log_in_the_place_of_the_one_that_is_known_may_have_changed_anything() {
        let tracker = Tracker::new(Arc::new(MemoryStore::default()));
        file(&tracker, 3).await;
        for (number, hash) in [(4, 0), (3, 1), (2, 1), (u64::MAX - 2, 0)] {
            let mut follower = follower(&tracker, number, hash);
            assert_eq!(follower.read().await.unwrap(), News::Anything, "{number} {hash}");
            assert_eq!(follower.read().await.unwrap(), News::Issues(HashSet::new()));
        }
        let mut unread = Follower { known: None, ..follower(&tracker, 0, 0) };
        assert_eq!(unread.read().await.unwrap(), News::Anything);
    }

    #[tokio::test]
    async fn whoever_follows_is_told_of_what_comes_afterwards() {
        let tracker = Tracker::new(Arc::new(MemoryStore::default()));
        file(&tracker, 3).await;
        let surroundings = FoundWhenAsked::new(|| unreachable!("nobody examines anything"));
        let diagnostics = Arc::new(Diagnostics::new(tracker.clone(), surroundings));
        let mut follower = Newsroom::new(tracker.clone(), diagnostics).follow().await;
        let filed = file(&tracker, 2).await;
        assert_eq!(follower.next().await, News::Issues(filed));
    }
}
