//! Which clients of claims live, and marks for claims whose clients are gone.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use maud::{Markup, html};

use super::icons;
use crate::domain::IssueId;
use crate::tracker::Tracker;
use crate::web::strings::claims as text;

/// The claims whose clients are known, and whether they are gone.
#[derive(Default)]
pub(super) struct GoneClients {
    gone: HashMap<IssueId, Option<Duration>>,
    alive: HashSet<IssueId>,
}

impl GoneClients {
    /// Asks which clients live. If that fails, the page shows no marks.
    pub async fn read(tracker: &Tracker) -> Self {
        let leases = tracker.leases().await.unwrap_or_default();
        let mut clients = Self::default();
        for state in leases {
            match state.gone_for {
                Some(_) => drop(clients.gone.insert(state.issue, state.lapses_in)),
                None => drop(clients.alive.insert(state.issue)),
            }
        }
        clients
    }

    /// Returns whether the client of a claim lives; `None` if it is unknown.
    pub fn is_alive(&self, id: IssueId) -> Option<bool> {
        let is_known = self.alive.contains(&id) || self.gone.contains_key(&id);
        is_known.then(|| self.alive.contains(&id))
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
