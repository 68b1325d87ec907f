//! Which issues can be claimed, and why the others cannot.

use std::fmt;
use std::sync::Arc;

use super::IndexedIssues;
use ait_domain::{
    AgentName, Attributes, Classification, Issue, IssueId, ReviewPolicy, Status, Timestamp,
    readiness,
};

impl IndexedIssues {
    /// Returns true if an issue with these attributes waits because a whole of it is parked at a time, or blocked.
    pub fn waits_with_whole(&self, attributes: &Attributes, now: Timestamp) -> bool {
        let is_parked = |whole: &Issue| whole.attributes.is_parked_at(now);
        readiness::whole_that_holds_back(self, attributes, is_parked).is_some()
    }

    /// Returns true if an issue waits for work, and for its open parts before.
    pub fn waits_for_parts(&self, issue: &Issue) -> bool {
        issue.status == Status::Created && self.open_parts(issue.id).next().is_some()
    }

    /// Returns true if an open issue waits for an open blocker.
    pub fn is_blocked(&self, issue: &Issue) -> bool {
        issue.status.is_open() && self.open_blockers(issue).next().is_some()
    }

    /// Returns the open issues that an issue is blocked by.
    pub fn open_blockers(&self, issue: &Issue) -> impl Iterator<Item = IssueId> {
        readiness::open_blockers(self, issue)
    }

    /// Returns the open parts of an issue.
    pub fn open_parts(&self, id: IssueId) -> impl Iterator<Item = IssueId> {
        readiness::open_parts(self, id)
    }

    /// Returns the positions of the issues that some agent could claim for work at a time, in no order.
    pub fn ready(&self, now: Timestamp) -> impl Iterator<Item = usize> {
        self.in_status(Status::Created).filter(move |at| self.is_ready(&self.issues[*at], now))
    }

    /// Returns true if some agent could claim an issue for work at a time.
    pub fn is_ready(&self, issue: &Issue, now: Timestamp) -> bool {
        readiness::is_ready(self, issue, now)
    }

    /// Returns the position of the issue that an agent claims next for work: what is assigned to it, then by priority,
    /// then the first filed. Issues of others, parked ones, and those that wait for others are left out.
    pub fn next_ready(
        &self,
        agent: &AgentName,
        classification: Option<Classification>,
        now: Timestamp,
    ) -> Option<usize> {
        let ranked = self.ready(now).filter_map(|at| {
            let issue = &self.issues[at];
            let assignee = issue.attributes.assignee.as_deref();
            let fits = classification.is_none_or(|kind| kind == issue.classification)
                && assignee.is_none_or(|name| name == agent.as_str());
            fits.then(|| (assignee.is_none(), issue.attributes.effective_priority(), at))
        });
        ranked.min().map(|(_, _, at)| at)
    }

    /// Returns the position of the issue that an agent reviews next: by priority, then the first filed. Parked issues
    /// are left out, and those that the policy does not allow.
    pub fn next_review(
        &self,
        agent: &AgentName,
        policy: ReviewPolicy,
        now: Timestamp,
    ) -> Option<usize> {
        let waiting = self.in_status(Status::Completed).filter(|at| {
            let issue = &self.issues[*at];
            !issue.attributes.is_parked_at(now) && policy.allows(agent, issue)
        });
        waiting.min_by_key(|at| (self.issues[*at].attributes.effective_priority(), *at))
    }

    /// Returns the issues with an open question to people, in the order in which they were filed.
    pub fn questions(&self) -> impl Iterator<Item = Arc<Issue>> {
        self.issues.iter().filter(|issue| issue.waits_for_answer()).cloned()
    }
}

/// The waiting issues that an agent cannot claim.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClaimObstacles {
    /// How many there are.
    pub count: usize,
    /// The first of them, each with the reason.
    pub first: Vec<(IssueId, String)>,
}

impl fmt::Display for ClaimObstacles {
    /// Names the first with their reasons, on one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reasons = self.first.iter().map(|(id, reason)| format!("{}: {reason}", id.short()));
        let more = if self.count > self.first.len() { ", …" } else { "" };
        write!(f, "{}{more}", reasons.collect::<Vec<_>>().join(", "))
    }
}
