//! Telling clients that a resource has changed which they watch: up to revision 2025-11-25 by
//! `resources/subscribe` within a session, from 2026-07-28 on by `subscriptions/listen`, a request that is
//! answered for as long as the client likes.
//!
//! What is told is the address alone; whoever wants to know more reads it anew.

use std::collections::{BTreeMap, HashSet};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures::future::FutureExt;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::{Peer, RequestContext, RoleServer, SubscriptionContext};
use tokio::sync::{Notify, watch};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::http::{Kept, kept};
use super::resources::{Diagnostics, Resource};
use crate::domain::IssueId;
use crate::lookout::{LOOK_EVERY, Lookout};
use crate::tracker::{Changes, Cursor, Tracker};

/// How many addresses one client can watch.
pub(super) const MAX_WATCHED: usize = 1_000;

/// Where news come from. Clones share it.
#[derive(Clone)]
pub(super) struct Newsroom {
    tracker: Tracker,
    diagnostics: Arc<Diagnostics>,
    /// Sees where the store stands; `None` while it cannot be read.
    lookout: Arc<Lookout<Option<Cursor>>>,
}

impl Newsroom {
    pub fn new(tracker: Tracker, diagnostics: Arc<Diagnostics>) -> Self {
        let looked = tracker.clone();
        let lookout = Lookout::new(move || {
            let tracker = looked.clone();
            async move { tracker.changes(None).await.ok().map(|changes| changes.cursor) }.boxed()
        });
        Self { tracker, diagnostics, lookout }
    }

    /// Begins to follow what happens from now on.
    pub async fn follow(&self) -> Follower {
        let begun = self.tracker.changes(None).await.ok();
        Follower {
            tracker: self.tracker.clone(),
            cursor: begun.map(|changes| changes.cursor),
            store: self.lookout.listen(),
            diagnostics: self.diagnostics.news(),
        }
    }
}

/// Follows what happens.
pub(super) struct Follower {
    tracker: Tracker,
    /// Up to where it is known; `None` while nothing is.
    cursor: Option<Cursor>,
    store: watch::Receiver<Option<Option<Cursor>>>,
    diagnostics: watch::Receiver<u64>,
}

/// What has happened.
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
                changed = self.store.changed() => if changed.is_err() {
                    // There is nobody left who looks, which is the end of the process.
                    std::future::pending::<()>().await;
                },
                changed = self.diagnostics.changed() => match changed {
                    Ok(()) => return News::Diagnostics,
                    Err(_) => std::future::pending().await,
                },
            }
            let Changes { events, cursor, complete } = loop {
                if let Ok(changes) = self.tracker.changes(self.cursor).await {
                    break changes;
                }
                // Whoever looks may see no further change, so this one is not to be given up.
                tokio::time::sleep(LOOK_EVERY).await;
            };
            let was_lost = self.cursor.replace(cursor).is_none();
            if was_lost || !complete {
                return News::Anything;
            }
            if !events.is_empty() {
                return News::Issues(events.iter().map(|event| event.issue).collect());
            }
        }
    }
}

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
