//! Claims that end with their clients.
//!
//! A claim of a client has a lease. While the client lives, nothing happens. When it is gone, the agent of the claim
//! may take it up with another client, by any call; after the grace period the claim lapses and the issue is back in
//! its old place. Every live server checks as often as the [`Clients`] say; commands check before they claim.

use std::collections::{HashMap, HashSet};
use std::future::pending;
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::stream::{self, StreamExt, TryStreamExt};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;
use xxhash_rust::xxh3::xxh3_64;

use super::Tracker;
use super::clients::Claimant;
use super::suspend::SuspendDetector;
use ait_domain::{
    AgentName, ClaimPolicy, ClaimSettings, ClientId, Command, DomainError, Issue, IssueId, Lease,
};
use ait_store::clients::Clients;
use ait_store::{StoreError, Subset};
use ait_system::span::humanize_duration;

/// How often a connected client is renewed, and forgotten clients are removed.
const RENEW_EVERY: Duration = Duration::from_secs(15);
/// How many claims lapse at a time.
const LAPSES_AT_ONCE: usize = 64;
/// How many claims a run of `ait` lets lapse at most, and how many default answers it gives.
const MAX_CLI_DUES: usize = 16;

/// The result of the last check for clients that are gone, and the calls since.
#[derive(Clone, Default)]
pub(super) struct LeaseCheck(Arc<Mutex<LeaseCheckState>>);

#[derive(Default)]
struct LeaseCheckState {
    /// The agents whose claims are of clients that are gone; `None` while no check runs regularly.
    gone: Option<HashSet<String>>,
    /// The time of the last check.
    checked_at: Option<Instant>,
    /// The agents that called since shortly before the last check, each with its newest client.
    called: HashMap<AgentName, (Claimant, Instant)>,
}

impl LeaseCheck {
    fn state(&self) -> MutexGuard<'_, LeaseCheckState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A lease with its issue, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LeaseState {
    pub issue: IssueId,
    pub lease: Lease,
    /// For how long the client has been gone; `None` while it lives.
    pub gone_for: Option<Duration>,
    /// When the claim lapses; `None` while the client lives, and if claims do not lapse.
    pub lapses_in: Option<Duration>,
}

/// The issues whose clients are gone, each with the time until its claim lapses, if it does.
pub type GoneClaims = HashMap<IssueId, Option<Duration>>;

impl LeaseState {
    /// Returns true if the client has been gone for longer than the grace period.
    fn is_due(&self) -> bool {
        self.lapses_in == Some(Duration::ZERO)
    }
}

impl Tracker {
    /// Returns a tracker with other settings for claims.
    pub fn with_claim_settings(self, claims: ClaimSettings) -> Self {
        Self { claims: Arc::new(claims), ..self }
    }

    /// Records a call of an agent, and takes up its claims whose clients are gone.
    ///
    /// Where [`watch_leases`](Self::watch_leases) runs, its last check has named the agents with such claims, and the
    /// calls of other agents cost nothing. Claims that a check finds soon after a call are taken up by the check.
    pub async fn record_call(&self, agent: &AgentName) -> Result<(), StoreError> {
        if matches!(self.claimant, Claimant::Cli) {
            return Ok(());
        }
        {
            let mut check = self.lease_check.state();
            check.called.insert(agent.clone(), (self.claimant.clone(), Instant::now()));
            // Only its calls keep a client without a connection alive.
            let is_connected = matches!(self.claimant, Claimant::Process(_) | Claimant::Session(_));
            let is_gone = check.gone.as_ref().is_none_or(|gone| gone.contains(agent.as_str()));
            if is_connected && !is_gone {
                return Ok(());
            }
        }
        self.take_up(agent).await
    }

    /// Records a call of an agent that asks what it holds, and takes up its claims whose clients are gone.
    ///
    /// Unlike [`record_call`](Self::record_call), it leaves nothing to do later: the server may be killed after the
    /// answer.
    pub async fn resume(&self, agent: &AgentName) -> Result<(), StoreError> {
        self.record_call(agent).await?;
        self.take_up(agent).await
    }

    /// Renews the client of an agent that waits in a call or a command, as long as the agent holds a claim. Does not
    /// end.
    ///
    /// Only a client that is known by a name needs it: a process lives by itself, a session while its call lasts.
    pub(super) async fn renew_waiting(&self, agent: &AgentName) {
        let ttl = self.ttl();
        if ttl.is_zero() || !matches!(self.claimant, Claimant::CliWithTtl(_) | Claimant::Name) {
            return pending().await;
        }
        loop {
            sleep(RENEW_EVERY.min(ttl / 4)).await;
            if self.leases_of(agent).await.is_ok_and(|leases| !leases.is_empty()) {
                self.client_for(agent).await;
            }
        }
    }

    /// Takes up the claims of an agent whose clients are gone, for the client that uses this tracker.
    async fn take_up(&self, agent: &AgentName) -> Result<(), StoreError> {
        let held = self.leases_of(agent).await?;
        if held.is_empty() {
            return Ok(());
        }
        let Some(to) = self.client_for(agent).await else { return Ok(()) };
        // Who began anew under the name is not the agent that left the other claims.
        let begun_anew = held.iter().any(|(_, lease)| lease.client == to);
        if begun_anew && self.claims.policy == ClaimPolicy::Owned {
            return Ok(());
        }
        let others = held.into_iter().filter(|(_, lease)| lease.client != to).collect();
        for LeaseState { issue, lease, gone_for, .. } in self.states_of(others).await {
            if gone_for.is_none() {
                continue;
            }
            let agent = agent.clone();
            let from = lease.client;
            let to = to.clone();
            let command = Command::TakeUpClaim { issue, agent, from, to };
            match self.store.commit(vec![command], self.now()).await {
                // The claim has just ended, or another client took it up.
                Ok(_) | Err(StoreError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Prepares a claim under a name, where claims are owned: refuses a name under which a living client of another
    /// session holds claims, and ends those of a client that is gone. An agent that claims begins anew, so that these
    /// are not its own.
    ///
    /// # Errors
    ///
    /// [`DomainError::NameInUse`], and the errors of the store.
    pub(super) async fn begin_name(&self, agent: &AgentName) -> Result<(), StoreError> {
        let (own, session) = match &self.claimant {
            Claimant::Process(process) => (process.registered(), process::id().to_string()),
            Claimant::Session(client) => (Some(client), client.to_string()),
            // All callers with one name are one client.
            Claimant::Cli | Claimant::CliWithTtl(_) | Claimant::Name => return Ok(()),
        };
        if self.claims.policy != ClaimPolicy::Owned {
            return Ok(());
        }
        let held = self.leases_of(agent).await?.into_iter();
        let others = held.filter(|(_, lease)| Some(&lease.client) != own).collect();
        let others = self.states_of(others).await;
        if others.iter().any(|state| state.gone_for.is_none()) {
            let agent = agent.as_str().to_owned();
            let tag = xxh3_64(session.as_bytes()) as u16;
            let free = format!("{agent}-{tag:04x}");
            return Err(DomainError::NameInUse { agent, free }.into());
        }
        for LeaseState { issue, lease, .. } in others {
            let claimed = self.store.get(issue.into()).await?;
            let reason = "the agent is gone, and another one began under its name";
            match self.end_claim(&claimed, Some(lease.client), reason).await {
                // The claim has just ended, or another client took it up.
                Ok(()) | Err(StoreError::Refused(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns the leases of an agent's claims.
    async fn leases_of(&self, agent: &AgentName) -> Result<Vec<(IssueId, Lease)>, StoreError> {
        let issues = self.store.subset(Subset::HeldBy(agent.clone())).await?.issues;
        let held = issues.held_by(agent).into_iter();
        let leases = held.filter_map(|id| Some((id, issues.lease(id)?.clone())));
        Ok(leases.collect())
    }

    /// Returns the state of all claims that live with a client.
    pub async fn leases(&self) -> Result<Vec<LeaseState>, StoreError> {
        Ok(self.states_of(self.store.leases().await?).await)
    }

    /// Returns which of these issues have a claim whose client is gone, each with the time until the claim lapses, if
    /// it does.
    pub async fn gone_claims(&self, issues: &[Arc<Issue>]) -> Result<GoneClaims, StoreError> {
        if !issues.iter().any(|issue| issue.status.is_claimed()) {
            return Ok(GoneClaims::new());
        }
        let leases = self.leases().await?.into_iter();
        let gone = leases.filter(|state| state.gone_for.is_some());
        Ok(gone.map(|state| (state.issue, state.lapses_in)).collect())
    }

    async fn states_of(&self, leases: Vec<(IssueId, Lease)>) -> Vec<LeaseState> {
        if leases.is_empty() {
            return Vec::new();
        }
        let grace = self.claims.grace;
        let states = move |clients: &dyn Clients| {
            let holders: HashSet<_> =
                leases.iter().map(|(_, lease)| lease.client.clone()).collect();
            let holders: Vec<_> = holders.into_iter().collect();
            let gone = clients.all_gone_for(&holders);
            let known: HashMap<_, _> = holders.into_iter().zip(gone).collect();
            let state = |(issue, lease): (IssueId, Lease)| {
                let gone_for = known.get(&lease.client).copied().flatten();
                let lapses_in =
                    gone_for.filter(|_| !grace.is_zero()).map(|gone| grace.saturating_sub(gone));
                LeaseState { issue, lease, gone_for, lapses_in }
            };
            leases.into_iter().map(state).collect()
        };
        self.with_clients(states).await.unwrap_or_default()
    }

    /// Lets claims lapse whose clients have been gone for longer than the grace period, and gives default answers, as
    /// a server does once a second.
    pub(super) async fn do_what_is_due(&self) -> Result<(), StoreError> {
        let due = self.leases().await?.into_iter().filter(LeaseState::is_due);
        self.lapse_many(due.take(MAX_CLI_DUES)).await?;
        self.answer_by_default(MAX_CLI_DUES).await.map(drop)
    }

    /// Lets claims lapse, several at a time, so that they share syncs.
    async fn lapse_many(&self, due: impl Iterator<Item = LeaseState>) -> Result<(), StoreError> {
        let lapses = stream::iter(due).map(|state| self.lapse_if_still_due(state));
        lapses.buffer_unordered(LAPSES_AT_ONCE).try_for_each(|_| async { Ok(()) }).await
    }

    /// Lets a claim lapse. Returns false if it has ended, its client is back, or its agent took it up.
    async fn lapse_if_still_due(&self, due: LeaseState) -> Result<bool, StoreError> {
        // Many claims may have lapsed before this one since its client was examined.
        let states = self.states_of(vec![(due.issue, due.lease)]).await;
        let Some(due) = states.into_iter().find(LeaseState::is_due) else { return Ok(false) };
        let LeaseState { issue, lease, gone_for, .. } = due;
        let claimed = match self.store.get(issue.into()).await {
            Ok(claimed) if claimed.claim_number() == lease.claim => claimed,
            // Its client came back and claimed the issue again.
            Ok(_) | Err(StoreError::Refused(_)) => return Ok(false),
            Err(error) => return Err(error),
        };
        let holder = claimed.holder().map(|holder| holder.agent).unwrap_or_default();
        if self.is_kept(holder).await? {
            return Ok(false);
        }
        let reason = self.lapse_reason(&lease, gone_for.unwrap_or_default());
        match self.end_claim(&claimed, Some(lease.client), &reason).await {
            Ok(()) => {
                let id = issue.short();
                tracing::info!("the claim of {id} by {holder} lapsed: {reason}");
                Ok(true)
            }
            // The claim ended, or its agent took it up.
            Err(StoreError::Refused(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn lapse_reason(&self, lease: &Lease, gone: Duration) -> String {
        let gone = humanize_duration(u64::try_from(gone.as_millis()).unwrap_or(u64::MAX));
        let client = match lease.client.as_str().split('-').next() {
            Some("process") => "its process ended",
            Some("session") => "its session ended, or was silent for too long",
            _ => "it was silent for too long",
        };
        format!("the agent is gone: {client}, and it did not come back within {gone}")
    }

    /// Ends a claim without its agent.
    pub(super) async fn end_claim(
        &self,
        claimed: &Issue,
        client: Option<ClientId>,
        reason: &str,
    ) -> Result<(), StoreError> {
        let Some(entry) = claimed.claim_entry() else { return Ok(()) };
        let issue = claimed.id;
        let reason = reason.to_owned();
        let lapse = Command::LapseClaim { issue, entry, client, reason };
        self.store.commit(vec![lapse], self.now()).await.map(drop)
    }

    /// Looks for claims of clients that are gone, and lets them lapse. Renews clients that are
    /// connected. Gives default answers to questions.
    ///
    /// After a pause in which this process was stopped, nothing lapses until clients have had the grace period to come
    /// back.
    pub async fn watch_leases(&self, end: CancellationToken) {
        let mut suspends = SuspendDetector::begin(Instant::now());
        let mut renewed = None::<Instant>;
        let look_every = self.store.clients().look_every();
        let newest = self.store.watch();
        // The last event when no question had a default answer.
        let mut without_default = None;
        while end.run_until_cancelled(sleep(look_every)).await.is_some() {
            let position = *newest.borrow();
            if without_default != Some(position) {
                match self.answer_by_default(usize::MAX).await {
                    Ok(has_default) => without_default = (!has_default).then_some(position),
                    Err(error) => {
                        tracing::debug!("cannot look for questions whose default is due: {error}");
                    }
                }
            }
            if self.claims.grace.is_zero() {
                continue;
            }
            let now = Instant::now();
            suspends.record_tick(now, self.claims.grace);
            let rest = RENEW_EVERY.min(self.claims.ttl / 4);
            if renewed.is_none_or(|renewed| now.duration_since(renewed) >= rest) {
                renewed = Some(now);
                self.renew_connected().await;
            }
            let states = self.check_leases().await;
            // The process may have been stopped during the check.
            let may_lapse = suspends.record_tick(Instant::now(), self.claims.grace);
            let lapsed = match states {
                Ok(states) if may_lapse => {
                    self.lapse_many(states.into_iter().filter(LeaseState::is_due)).await
                }
                states => states.map(drop),
            };
            if let Err(error) = lapsed {
                tracing::debug!("cannot look for claims of agents that are gone: {error}");
            }
        }
        // No check runs any more.
        *self.lease_check.state() = LeaseCheckState::default();
    }

    /// Looks once: takes up claims of agents that have just called. Returns the state of all leases after that.
    async fn check_leases(&self) -> Result<Vec<LeaseState>, StoreError> {
        let states = self.leases().await?;
        let mut gone = HashSet::new();
        for state in states.iter().filter(|state| state.gone_for.is_some()) {
            let issue = self.store.get(state.issue.into()).await;
            gone.extend(issue.ok().and_then(|issue| Some(issue.holder()?.agent.to_owned())));
        }
        let look_every = self.store.clients().look_every();
        let back: Vec<_> = {
            let mut check = self.lease_check.state();
            let horizon = check.checked_at.and_then(|at| at.checked_sub(3 * look_every));
            check.called.retain(|_, (_, at)| horizon.is_none_or(|horizon| *at >= horizon));
            check.checked_at = Some(Instant::now());
            let called = check.called.iter().filter(|(agent, _)| gone.contains(agent.as_str()));
            let back = called.map(|(agent, (claimant, _))| (agent.clone(), claimant.clone()));
            let back = back.collect();
            check.gone = Some(gone);
            back
        };
        for (agent, claimant) in &back {
            self.for_claimant(claimant.clone()).take_up(agent).await?;
        }
        if back.is_empty() { Ok(states) } else { self.leases().await }
    }

    /// Renews the clients that are or were connected and hold a claim, and forgets those that are gone and hold none.
    async fn renew_connected(&self) {
        let Ok(leases) = self.store.leases().await else { return };
        let mut needed: Vec<_> = leases.into_iter().map(|(_, lease)| lease.client).collect();
        needed.sort_unstable();
        needed.dedup();
        let mut connected = self.connected.take_recent();
        connected.retain(|client| needed.binary_search(client).is_ok());
        // Without a ttl, silent clients have no limit. Earlier claims then last, too.
        let ttl = Some(self.claims.ttl).filter(|ttl| !ttl.is_zero()).unwrap_or(Duration::MAX);
        let renew = move |clients: &dyn Clients| {
            for client in connected {
                if let Err(error) = clients.renew(&client, ttl) {
                    tracing::debug!("cannot renew {client}: {error}");
                }
            }
            clients.forget_gone(&|client| needed.binary_search(client).is_ok());
        };
        self.with_clients(renew).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClaimKind, NewIssue};
    use ait_domain::Classification;
    use ait_store::testing::TestStore;

    /// Many claims may lapse at a time, and the last ones of them a while after their clients were examined.
    #[tokio::test]
    async fn a_claim_stays_whose_client_is_back_when_its_turn_comes() {
        let tracker = Tracker::new(Arc::new(TestStore::default()));
        let client = ClientId::new("session-1");
        let agent: AgentName = "dev".try_into().unwrap();
        let title = "t".try_into().unwrap();
        let description = "".try_into().unwrap();
        let issue = NewIssue::new(title, description, Classification::Bug);
        tracker.add_issue(issue, agent.clone()).await.unwrap();
        let session = tracker.for_claimant(Claimant::Session(client.clone()));
        session.claim_next(ClaimKind::Work(None), agent).await.unwrap().unwrap();
        let lives = tracker.leases().await.unwrap().remove(0);
        let due = LeaseState {
            gone_for: Some(Duration::from_secs(60)),
            lapses_in: Some(Duration::ZERO),
            ..lives
        };
        assert!(!tracker.lapse_if_still_due(due.clone()).await.unwrap());
        assert_eq!(tracker.leases().await.unwrap().len(), 1);
        let tracker = tracker.with_claim_settings(ClaimSettings {
            grace: Duration::from_nanos(1),
            ..ClaimSettings::default()
        });
        tracker.end_client(client).await;
        assert!(tracker.lapse_if_still_due(due).await.unwrap());
        assert_eq!(tracker.leases().await.unwrap(), []);
    }
}
