//! Claims: the next issue for work or review, or a named one, at once or after a wait. A claim whose answer its agent
//! never got lapses.
//!
//! The store decides which issue is next (`decide.rs` of `ait-domain`). `leases.rs` ends claims whose clients are gone.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use super::{Changed, IssueAtVersion, Tracker};
use ait_domain::{
    AgentName, ClaimPolicy, ClaimProof, ClaimRequirement, ClaimSettings, ClaimTerms,
    Classification, ClientId, Command, Issue, IssueRef, OverlapPolicy, Query, RequiredClaim,
    ReviewPolicy, Status, merge, readiness,
};
use ait_store::{ClaimObstacles, Committed, IndexedIssues, StoreError, Subset};

/// How long a claim that does not wait lets those that wait go first.
const YIELD_TO_WAITERS: Duration = Duration::from_millis(250);

/// How many issues that cannot be claimed are named.
const SHOWN: usize = 3;

/// What a caller claims next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClaimKind {
    /// An issue to work on, of one classification or of any.
    Work(Option<Classification>),
    /// A completed issue to review.
    Review,
}

impl Tracker {
    pub(super) fn claim_requirement(&self, proof: ClaimProof) -> ClaimRequirement {
        let claim = RequiredClaim::of(proof, self.claims.policy);
        let review = if proof.is_person { ReviewPolicy::Anyone } else { self.claims.review };
        let checks = self.claims.required_checks().filter(|_| !proof.is_person);
        ClaimRequirement { claim, review, checks }
    }

    /// Returns what a caller needs to end a claim of an issue. Where claims are owned, the number of a claim of another
    /// agent is not enough while the client of that claim lives: who reads it could end the claim by accident.
    pub(super) async fn requirement_on(
        &self,
        issue: &IssueRef,
        agent: &AgentName,
        proof: ClaimProof,
    ) -> Result<ClaimRequirement, StoreError> {
        let requirement = self.claim_requirement(proof);
        let RequiredClaim::Number(number) = requirement.claim else { return Ok(requirement) };
        if self.claims.policy != ClaimPolicy::Owned {
            return Ok(requirement);
        }
        let issue = self.get_issue(issue.clone()).await?;
        let is_of_other = issue.holder().is_some_and(|holder| holder.agent != agent.as_str());
        if is_of_other
            && !self.gone_claims(std::slice::from_ref(&issue)).await?.contains_key(&issue.id)
        {
            return Ok(ClaimRequirement { claim: RequiredClaim::OwnNumber(number), ..requirement });
        }
        Ok(requirement)
    }

    /// Claims one created issue.
    ///
    /// # Errors
    ///
    /// Those of [`Store::commit`](ait_store::Store::commit). An issue that is not `created` is refused.
    pub async fn claim_issue(
        &self,
        issue: IssueRef,
        agent: AgentName,
    ) -> Result<Changed, StoreError> {
        if self.is_cli() {
            self.do_what_is_due().await?;
        }
        self.refuse_held(&agent).await?;
        self.begin_name(&agent).await?;
        self.change([self.claim_command(issue, agent).await]).await
    }

    /// Returns the command that claims one issue.
    pub(super) async fn claim_command(&self, issue: IssueRef, agent: AgentName) -> Command {
        let client = self.client_for(&agent).await;
        self.claim_with(client, issue, agent)
    }

    /// Returns the command that claims one issue with a client; a person has none.
    pub(super) fn claim_with(
        &self,
        client: Option<ClientId>,
        issue: IssueRef,
        agent: AgentName,
    ) -> Command {
        let terms = self.terms(client);
        Command::GetNextIssue { issue: Some(issue), classification: None, agent, terms }
    }

    /// Claims one created issue for a person, if it still has this version.
    ///
    /// # Errors
    ///
    /// Those of [`claim_issue`](Self::claim_issue).
    pub async fn claim_for_person(
        &self,
        known: IssueAtVersion,
        agent: AgentName,
    ) -> Result<Changed, StoreError> {
        self.change(known.into_commands(|issue| self.claim_with(None, issue, agent))).await
    }

    /// Claims the next issue; `None` if there is none. Callers that wait go first.
    pub async fn claim_next(
        &self,
        kind: ClaimKind,
        agent: AgentName,
    ) -> Result<Option<Changed>, StoreError> {
        let is_alone = self.wait_list.is_empty();
        let mut waiter = (!is_alone).then(|| self.join(kind, agent.clone(), true)).flatten();
        let _turn = match &mut waiter {
            Some(waiter) => timeout(YIELD_TO_WAITERS, waiter.turn()).await.ok(),
            None => None,
        };
        self.claim_now(kind, &agent).await
    }

    /// Claims the next issue, and waits until there is one; `None` if `end` comes first.
    ///
    /// Callers of this process that could claim the same issue get it in the order in which they came. If
    /// [`MAX_WAITING`](super::MAX_WAITING) callers wait already, this one does not.
    pub async fn wait_for_next(
        &self,
        kind: ClaimKind,
        agent: AgentName,
        end: impl Future<Output = ()>,
    ) -> Result<Option<Changed>, StoreError> {
        if let Some(claimed) = self.claim_next(kind, agent.clone()).await? {
            return Ok(Some(claimed));
        }
        let Some(mut waiter) = self.join(kind, agent.clone(), false) else { return Ok(None) };
        let mut end = pin!(end);
        let mut renewing = pin!(self.renew_waiting(&agent));
        loop {
            let turn = tokio::select! {
                biased;
                turn = waiter.turn() => turn,
                () = &mut end => return Ok(None),
                () = &mut renewing => continue,
            };
            if let Some(claimed) = self.claim_now(kind, &agent).await? {
                return Ok(Some(claimed));
            }
            drop(turn);
        }
    }

    /// Claims the next issue. A server that is not registered yet, and a session, look first whether an issue is
    /// ready, so that a claim that finds nothing writes nothing.
    async fn claim_now(
        &self,
        kind: ClaimKind,
        agent: &AgentName,
    ) -> Result<Option<Changed>, StoreError> {
        self.refuse_held(agent).await?;
        self.begin_name(agent).await?;
        if self.is_cli() {
            // No server may be running that does it.
            self.do_what_is_due().await?;
        } else if !self.has_process_client() && self.next_claimable(kind, agent).await?.is_none() {
            self.record_call(agent).await?;
            // Damage may hide what is ready.
            return self.damage().await.map_or(Ok(None), Err);
        }
        let mut terms = self.terms(self.client_for(agent).await);
        let agent = agent.clone();
        let claim = match kind {
            ClaimKind::Work(classification) => {
                let avoids = self.claims.overlap == OverlapPolicy::Avoid;
                terms.leaves_touching = avoids;
                let claim = Command::GetNextIssue { issue: None, classification, agent, terms };
                match self.claim(claim.clone()).await? {
                    None if avoids => return self.claim_apart(kind, claim).await,
                    claimed => return Ok(claimed),
                }
            }
            ClaimKind::Review => Command::GetNextReviewItem { agent, terms },
        };
        self.claim(claim).await
    }

    /// Makes a claim. Nothing may be awaited after this: nothing holds the claim until the caller does.
    pub(super) async fn claim(&self, claim: Command) -> Result<Option<Changed>, StoreError> {
        let Committed { mut outcomes, events } = self.commit(vec![claim]).await?;
        Ok(outcomes.pop().flatten().map(|issue| Changed { issue, events }))
    }

    /// Says which claims of an agent came too late, as long as the earlier claim in another clone lasts.
    pub async fn lost_claims(&self, agent: &AgentName) -> Result<Vec<String>, StoreError> {
        if !self.joins_clones {
            return Ok(Vec::new());
        }
        let statuses =
            Status::OF_WORK.iter().copied().filter(|status| status.is_claimed()).collect();
        let query = Query { statuses, take: usize::MAX, ..Query::default() };
        let text = |issue: Arc<Issue>| {
            let holder =
                issue.holder().filter(|_| merge::has_late_claim(&issue, agent.as_str()))?;
            Some(format!(
                "your claim of issue {} has ended: {} claimed it before you, at {} in another clone",
                issue.id, holder.agent, holder.since
            ))
        };
        Ok(self.list_issues(query).await?.issues.into_iter().filter_map(text).collect())
    }

    /// Returns the issue that an agent would claim next.
    pub async fn next_claimable(
        &self,
        kind: ClaimKind,
        agent: &AgentName,
    ) -> Result<Option<Arc<Issue>>, StoreError> {
        let issues = self.store.subset(Subset::Claimable(vec![agent.clone()])).await?.issues;
        Ok(self.next_in(&issues, kind, agent))
    }

    /// Returns the issue among these that an agent would claim next.
    pub fn next_in(
        &self,
        issues: &IndexedIssues,
        kind: ClaimKind,
        agent: &AgentName,
    ) -> Option<Arc<Issue>> {
        self.next_position(issues, kind, agent).map(|position| issues.at(position))
    }

    pub(super) fn next_position(
        &self,
        issues: &IndexedIssues,
        kind: ClaimKind,
        agent: &AgentName,
    ) -> Option<usize> {
        match kind {
            ClaimKind::Work(classification) => issues.next_ready(agent, classification, self.now()),
            ClaimKind::Review => issues.next_review(agent, self.claims.review, self.now()),
        }
    }

    /// Returns the terms of a claim of a client.
    fn terms(&self, client: Option<ClientId>) -> ClaimTerms {
        let ClaimSettings { max_claims, review, .. } = *self.claims;
        ClaimTerms { client, max_claims, review, leaves_touching: false }
    }

    /// Returns how many issues wait for work or review, and why an agent that found none to claim cannot claim the
    /// first of them.
    pub async fn claim_obstacles(
        &self,
        kind: ClaimKind,
        agent: &AgentName,
    ) -> Result<ClaimObstacles, StoreError> {
        let (status, classification) = match kind {
            ClaimKind::Work(classification) => (Status::Created, classification),
            ClaimKind::Review => (Status::Completed, None),
        };
        let statuses = Some(status).into();
        let query = Query { statuses, classification, take: SHOWN, ..Query::default() };
        let waiting = self.store.list(query).await?;
        let around = self.issues_around(waiting.issues.iter().map(|issue| issue.id)).await?;
        let policy = self.claims.review;
        let now = self.now();
        let reason = |issue: &Arc<Issue>| {
            let obstacle = match kind {
                ClaimKind::Work(_) => readiness::obstacle(&around, issue, agent, now),
                ClaimKind::Review => readiness::review_obstacle(issue, agent, policy, now),
            };
            Some((issue.id, obstacle?))
        };
        let first = waiting.issues.iter().filter_map(reason).collect();
        Ok(ClaimObstacles { count: waiting.total, first })
    }

    /// Returns the issues that an agent holds.
    pub async fn held_by(&self, agent: &AgentName) -> Result<Vec<Arc<Issue>>, StoreError> {
        let issues = self.store.subset(Subset::HeldBy(agent.clone())).await?.issues;
        Ok(issues.held_by(agent).into_iter().filter_map(|id| issues.get(id)).collect())
    }

    /// Lets a claim lapse without its agent. Does nothing if the issue has moved on since.
    pub async fn lapse_claim(&self, claimed: &Issue, reason: &str) -> Result<(), StoreError> {
        match self.end_claim(claimed, None, reason).await {
            Err(StoreError::Refused(_)) => Ok(()),
            lapsed => lapsed,
        }
    }
}
