//! What pages show beside the issues: what needs a person, and which claims have lost their clients.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::attention::{Attention, MAX_ELSEWHERE, MAX_OF_KIND, Sources};
use super::gone_clients::{Gone, GoneClients};
use crate::WebState;
use ait_domain::{AgentName, Classifications, IssueId, Lease, Timestamp};
use ait_tracker::read_model::{Findings, ReadView};
use ait_tracker::{StoreError, StuckClaim};

/// What a page shows beside the issues.
pub(super) struct PageContext {
    pub now: Timestamp,
    pub gone: GoneClients,
    /// The issues whose claims were stuck lately.
    pub stuck: BTreeSet<IssueId>,
    pub attention: Attention,
    /// The kinds of work that the project uses.
    pub kinds: Arc<Classifications>,
    /// Whether an empty project can show an example.
    pub has_example: bool,
}

/// What pages show that the read model does not know.
pub(crate) struct Signs {
    now: Timestamp,
    leases: Vec<(IssueId, Lease)>,
    clients: Gone,
    stuck: Arc<[StuckClaim]>,
    waiting: Vec<AgentName>,
    damage: Option<StoreError>,
    kinds: Arc<Classifications>,
    has_example: bool,
}

impl Signs {
    pub async fn read(state: &WebState, damage: Option<StoreError>) -> Self {
        Self {
            now: state.tracker.now(),
            clients: state.clients.gone(&state.tracker).await,
            leases: state.tracker.leased().await.unwrap_or_default(),
            stuck: state.tracker.recently_stuck().await.unwrap_or_default(),
            waiting: state.tracker.waiting_for_work(),
            damage,
            kinds: Arc::clone(state.tracker.classifications()),
            has_example: state.project.has_example,
        }
    }

    /// Returns the number of the inbox.
    pub fn attention(&self, view: &ReadView<'_>) -> usize {
        self.context(view, None).attention.count()
    }

    /// Returns the context with these findings, or recent ones.
    pub(super) fn context(
        &self,
        view: &ReadView<'_>,
        findings: Option<Arc<Findings>>,
    ) -> PageContext {
        let now = self.now;
        let gone = GoneClients::of(&self.leases, &self.clients);
        let take = if findings.is_some() { MAX_OF_KIND } else { MAX_ELSEWHERE };
        let attention = Attention::of(&Sources {
            view,
            gone: &gone,
            stuck: &self.stuck,
            waiting: &self.waiting,
            damage: self.damage.as_ref(),
            findings: &findings.unwrap_or_else(|| view.recent_findings(now)),
            take,
            now,
        });
        let stuck = self.stuck.iter().map(|claim| claim.issue.id).collect();
        let kinds = Arc::clone(&self.kinds);
        PageContext { now, gone, stuck, attention, kinds, has_example: self.has_example }
    }
}
