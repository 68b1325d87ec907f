//! What pages show beside the issues: what needs a person, and which claims have lost their clients.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use maud::{Markup, html};

use super::attention::{Attention, MAX_ELSEWHERE, MAX_OF_KIND, Sources};
use super::components;
use super::gone_clients::{Gone, GoneClients};
use crate::WebState;
use crate::format;
use ait_domain::{AgentName, Classification, Classifications, IssueId, Lease, Status, Timestamp};
use ait_tracker::read_model::{Findings, IssueSummary, ReadView};
use ait_tracker::{StoreError, StuckClaim};

/// After how much time without an action an agent that holds an issue counts as silent, unless claims of that kind take
/// longer at the median.
const SILENT_AFTER_MS: u64 = 10 * 60_000;
/// Of which time the claims have the median, and how long that counts: finding it reads all that changed.
const MEDIAN_OF_MS: u64 = format::WEEK_MS;
const MEDIANS_LAST_MS: u64 = 60_000;

/// How long claims take at the median, by the kind of the issue and whether they are for review, as of a time.
pub(crate) type Medians = Arc<Mutex<Option<(Timestamp, HashMap<(Classification, bool), u64>)>>>;

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
    medians: Medians,
}

impl PageContext {
    /// Returns how long claims of the kind of an issue take at the median.
    pub fn median_of(&self, summary: &IssueSummary, view: &ReadView<'_>) -> Option<u64> {
        let now = self.now;
        let is_recent = |at: Timestamp| now >= at && now.millis_since(at) < MEDIANS_LAST_MS;
        let mut last = self.medians.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, medians) = match last.take() {
            Some(medians) if is_recent(medians.0) => last.insert(medians),
            _ => {
                let since = now.unix_millis().saturating_sub(MEDIAN_OF_MS.cast_signed());
                let work = view.work_since(Timestamp::from_unix_millis(since));
                last.insert((now, work.medians(view)))
            }
        };
        medians.get(&(summary.classification, summary.status == Status::InReview)).copied()
    }

    /// Returns for how many milliseconds the holder of an issue has done nothing; `None` if claims of its kind take as
    /// long, or if the client of the claim is gone.
    pub fn silent_ms(&self, summary: &IssueSummary, view: &ReadView<'_>) -> Option<u64> {
        let last = view.agent(summary.holder()?.agent)?.last.0.at();
        let silent_ms = self.now.millis_since(last);
        let is_silent = silent_ms > SILENT_AFTER_MS
            && !self.gone.is_gone(summary.id)
            && self.median_of(summary, view).is_none_or(|median_ms| silent_ms > median_ms);
        is_silent.then_some(silent_ms)
    }

    /// Renders for how long an agent has held an issue, and how long it is silent if it is.
    pub fn held_since(
        &self,
        since: Timestamp,
        summary: &IssueSummary,
        view: &ReadView<'_>,
    ) -> Markup {
        html! {
            (components::held_since(since, self.now))
            (components::silence(self.silent_ms(summary, view)))
        }
    }
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
    medians: Medians,
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
            medians: Arc::clone(&state.medians),
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
        let stuck = self.stuck.iter().filter(|claim| view.has_claim(claim));
        let stuck = stuck.map(|claim| claim.issue.id).collect();
        let kinds = Arc::clone(&self.kinds);
        let has_example = self.has_example;
        let medians = Arc::clone(&self.medians);
        PageContext { now, gone, stuck, attention, kinds, has_example, medians }
    }
}
