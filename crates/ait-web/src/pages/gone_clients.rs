//! Which clients of claims live, and marks for claims whose clients are gone.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use maud::{Markup, html};

use super::icons;
use crate::strings::claims as text;
use ait_domain::{ClientId, IssueId, Lease};
use ait_tracker::Tracker;

/// An outdated result is shown for up to so many times the duration of the check of all clients: each client is a
/// file.
const PAUSE_FACTOR: u32 = 20;

/// The clients that are gone, each with when its claims lapse if they do.
pub(super) type Gone = Arc<HashMap<ClientId, Option<Duration>>>;

/// The clients that were gone at the last check.
#[derive(Default)]
pub(crate) struct GoneClientsCache(Mutex<Option<LastCheck>>);

struct LastCheck {
    gone: Gone,
    at: Instant,
    took: Duration,
}

impl GoneClientsCache {
    /// Returns which clients of claims are gone. If that cannot be found out, none is.
    pub async fn gone(&self, tracker: &Tracker) -> Gone {
        if let Some(last) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner)
            && last.at.elapsed() < PAUSE_FACTOR * last.took
        {
            return Arc::clone(&last.gone);
        }
        let begun = Instant::now();
        let leases = tracker.leases().await.unwrap_or_default().into_iter();
        let gone = leases.filter(|state| state.gone_for.is_some());
        let gone: Gone = Arc::new(gone.map(|one| (one.lease.client, one.lapses_in)).collect());
        let last = LastCheck { gone: Arc::clone(&gone), at: Instant::now(), took: begun.elapsed() };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(last);
        gone
    }
}

/// The claims whose clients are known, and whether they are gone.
#[derive(Default)]
pub(super) struct GoneClients {
    leased: HashSet<IssueId>,
    gone: HashMap<IssueId, Option<Duration>>,
}

impl GoneClients {
    /// Finds the claims whose clients are gone.
    pub fn of(leases: &[(IssueId, Lease)], clients: &Gone) -> Self {
        let gone =
            leases.iter().filter_map(|(id, lease)| Some((*id, *clients.get(&lease.client)?)));
        Self { gone: gone.collect(), leased: leases.iter().map(|(id, _)| *id).collect() }
    }

    /// Returns whether the client of a claim lives; `None` if it is unknown.
    pub fn is_alive(&self, id: IssueId) -> Option<bool> {
        self.leased.contains(&id).then(|| !self.is_gone(id))
    }

    /// Returns true if the client of a claim is known to be gone.
    pub fn is_gone(&self, id: IssueId) -> bool {
        self.gone.contains_key(&id)
    }

    /// Returns the claims whose clients are gone, and when they lapse if they do.
    pub fn gone(&self) -> impl Iterator<Item = (IssueId, Option<Duration>)> {
        self.gone.iter().map(|(id, lapses_in)| (*id, *lapses_in))
    }

    /// Renders the mark of an issue: nothing if the client of its claim lives.
    pub fn mark(&self, id: IssueId) -> Markup {
        let lapses_in_ms = self.gone.get(&id).map(|lapses_in| {
            lapses_in.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
        });
        html! {
            @if let Some(lapses_in_ms) = lapses_in_ms {
                " " strong.stale { (icons::other("clock")) (text::client_gone(lapses_in_ms)) }
            }
        }
    }
}
