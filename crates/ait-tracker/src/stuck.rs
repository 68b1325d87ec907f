//! Claims that are stuck: their agents have shown no sign of life for much longer than such claims take.
//!
//! Signs are what the agent did in the queue, and what the tracker is told of its worktree. It knows nothing of git and
//! processes.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use tokio::sync::Mutex;

use super::Tracker;
use ait_domain::thresholds::{STUCK_AFTER_MEDIANS, STUCK_AFTER_MS, STUCK_NEEDS_CLAIMS};
use ait_domain::{ActionKind, Classification, Condition, Issue, Order, Query, Status, Timestamp};
use ait_store::StoreError;
use ait_system::span::humanize_duration;

/// How many claims are looked at, and from how many issues one learns how long claims take.
const MAX_CLAIMS: usize = 100;
const LEARNED_FROM: usize = 200;
/// How many issues are read at once for the last entries of their agents.
const READ_AT_ONCE: usize = 200;

/// How often pages look for them.
const LOOK_EVERY: Duration = Duration::from_secs(30);

/// The claims that were stuck at a time.
pub(super) type LastStuck = Arc<Mutex<Option<(Instant, Arc<[StuckClaim]>)>>>;

/// Finds the time of the last sign of life in the worktree of an issue.
pub(super) type LifeSigns =
    Arc<dyn Fn(Arc<Issue>) -> BoxFuture<'static, Option<Timestamp>> + Send + Sync>;

/// A claim without a sign of life.
#[derive(Clone, PartialEq, Debug)]
pub struct StuckClaim {
    pub issue: Arc<Issue>,
    /// How long there was none, in milliseconds.
    pub silent_ms: u64,
    /// How long half of such claims take at most.
    pub median_ms: u64,
}

impl StuckClaim {
    fn is_stuck(&self) -> bool {
        self.silent_ms > self.median_ms.saturating_mul(STUCK_AFTER_MEDIANS).max(STUCK_AFTER_MS)
    }

    /// Says why it is stuck.
    pub fn why(&self) -> String {
        let holder = self.issue.holder().map(|holder| holder.agent).unwrap_or_default();
        let [silent, median] = [self.silent_ms, self.median_ms].map(humanize_duration);
        format!(
            "{holder} has shown no sign of life for {silent}; half of such claims take {median}"
        )
    }
}

/// What claims have in common that take alike: the kind of work, and whether they are reviews.
type ClaimClass = (Classification, bool);

impl Tracker {
    /// Returns the claims that were stuck lately, for pages: they are looked for twice a minute.
    pub async fn recently_stuck(&self) -> Result<Arc<[StuckClaim]>, StoreError> {
        let mut last = self.last_stuck.lock().await;
        if let Some((at, stuck)) = &*last
            && at.elapsed() < LOOK_EVERY
        {
            return Ok(Arc::clone(stuck));
        }
        let stuck: Arc<[StuckClaim]> = self.stuck().await?.into();
        *last = Some((Instant::now(), Arc::clone(&stuck)));
        Ok(stuck)
    }

    /// Returns the claims that are stuck, the most silent first.
    pub async fn stuck(&self) -> Result<Vec<StuckClaim>, StoreError> {
        let now = self.now();
        let statuses = Status::OF_WORK.iter().copied().filter(|status| status.is_claimed());
        let query = Query { statuses: statuses.collect(), take: MAX_CLAIMS, ..Query::default() };
        let claimed = self.list_issues(query).await?.issues.into_iter();
        let silent = |issue: &Arc<Issue>| {
            let last = last_entry(issue, issue.holder()?.agent)?;
            Some(now.millis_since(last)).filter(|silent| *silent > STUCK_AFTER_MS)
        };
        let silent: Vec<_> =
            claimed.filter_map(|issue| silent(&issue).map(|ms| (issue, ms))).collect();
        if silent.is_empty() {
            return Ok(Vec::new());
        }
        let medians = self.median_claims().await?;
        let claim = |(issue, silent_ms): (Arc<Issue>, u64)| {
            let class = (issue.classification, issue.status == Status::InReview);
            let median_ms = *medians.get(&class)?;
            Some(StuckClaim { issue, silent_ms, median_ms }).filter(StuckClaim::is_stuck)
        };
        let mut stuck: Vec<_> = silent.into_iter().filter_map(claim).collect();
        let holder = |claim: &StuckClaim| Some(claim.issue.holder()?.agent.to_owned());
        let elsewhere = self.last_entries(stuck.iter().filter_map(holder).collect()).await?;
        for claim in &mut stuck {
            let mut sign = holder(claim).and_then(|agent| elsewhere.get(&agent).copied());
            if let Some(life_signs) = &self.life_signs {
                sign = sign.max(life_signs(Arc::clone(&claim.issue)).await);
            }
            if let Some(sign) = sign {
                claim.silent_ms = claim.silent_ms.min(now.millis_since(sign));
            }
        }
        stuck.retain(StuckClaim::is_stuck);
        stuck.sort_by_key(|claim| std::cmp::Reverse(claim.silent_ms));
        Ok(stuck)
    }

    /// Returns when some agents last did something anywhere in the queue.
    async fn last_entries(
        &self,
        mut agents: BTreeSet<String>,
    ) -> Result<HashMap<String, Timestamp>, StoreError> {
        let mut last = HashMap::new();
        while !agents.is_empty() {
            let of_agents = agents.iter().cloned().map(Condition::Involves).collect();
            let query = Query {
                condition: Condition::Any(of_agents),
                order: Order::LatestActivity,
                take: READ_AT_ONCE,
                ..Query::default()
            };
            let before = agents.len();
            for issue in self.list_issues(query).await?.issues {
                agents.retain(|agent| {
                    let entry = last_entry(&issue, agent);
                    last.extend(entry.map(|at| (agent.clone(), at)));
                    entry.is_none()
                });
            }
            if agents.len() == before {
                break;
            }
        }
        Ok(last)
    }

    /// Returns how long half of the claims that were handed in lately took at most, of each class with enough of them.
    async fn median_claims(&self) -> Result<HashMap<ClaimClass, u64>, StoreError> {
        let statuses = [Status::Completed, Status::InReview, Status::Closed].into_iter().collect();
        let order = Order::LatestActivity;
        let query = Query { statuses, order, take: LEARNED_FROM, ..Query::default() };
        let mut lengths: HashMap<ClaimClass, Vec<u64>> = HashMap::new();
        for issue in self.list_issues(query).await?.issues {
            let mut begun = None;
            for entry in &issue.history {
                let kind = ActionKind::of(&entry.action);
                if kind.is_claim() {
                    begun = Some((kind == ActionKind::ReviewStarted, entry.timestamp));
                } else if matches!(kind, ActionKind::Completed | ActionKind::Closed)
                    && let Some((is_review, since)) = begun.take()
                {
                    let class = (issue.classification, is_review);
                    lengths.entry(class).or_default().push(entry.timestamp.millis_since(since));
                }
            }
        }
        lengths.retain(|_, lengths| lengths.len() >= STUCK_NEEDS_CLAIMS);
        let median = |mut lengths: Vec<u64>| {
            lengths.sort_unstable();
            lengths[lengths.len() / 2]
        };
        Ok(lengths.into_iter().map(|(class, lengths)| (class, median(lengths))).collect())
    }
}

/// Returns the time of the last entry of an agent in the history of an issue.
fn last_entry(issue: &Issue, agent: &str) -> Option<Timestamp> {
    issue.history.iter().rfind(|entry| entry.agent == agent).map(|entry| entry.timestamp)
}
