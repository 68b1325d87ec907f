//! Marks for claims whose clients are gone.

use std::collections::HashMap;
use std::time::Duration;

use maud::{Markup, html};

use super::icons;
use crate::domain::IssueId;
use crate::tracker::Tracker;
use crate::web::strings::claims as text;

/// The claims whose clients are gone.
#[derive(Default)]
pub(super) struct GoneClients(HashMap<IssueId, Option<Duration>>);

impl GoneClients {
    /// Asks which clients live. If that fails, the page shows no marks.
    pub async fn read(tracker: &Tracker) -> Self {
        let leases = tracker.leases().await.unwrap_or_default();
        let gone = leases.into_iter().filter(|state| state.gone_for.is_some());
        Self(gone.map(|state| (state.issue, state.lapses_in)).collect())
    }

    /// Renders the mark of an issue: nothing if the client of its claim lives.
    pub fn mark(&self, id: IssueId) -> Markup {
        let lapses_in_ms = self.0.get(&id).map(|lapses_in| {
            lapses_in.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
        });
        html! {
            @if let Some(lapses_in_ms) = lapses_in_ms {
                " " strong.stale { (icons::other("clock")) (text::client_gone(lapses_in_ms)) }
            }
        }
    }
}
