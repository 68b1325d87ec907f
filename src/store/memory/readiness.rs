//! Which issues can be claimed, and why the others cannot.

use std::collections::BTreeSet;
use std::fmt;
use std::iter;
use std::sync::Arc;

use super::IndexedIssues;
use crate::domain::text::shortened;
use crate::domain::{
    AgentName, Attributes, Classification, DomainError, Issue, IssueId, Link, LinkKind,
    ReviewPolicy, Status, StatusSet, Timestamp,
};

impl IndexedIssues {
    /// Returns true if an issue waits for no other one, whatever the time: no blocker and no part of it is open, and no
    /// whole of it is parked or blocked.
    pub(super) fn is_free(&self, issue: &Issue) -> bool {
        self.is_free_if(issue, |whole| whole.attributes.parked.is_some())
    }

    fn is_free_at(&self, issue: &Issue, now: Timestamp) -> bool {
        self.is_free_if(issue, |whole| whole.attributes.is_parked_at(now))
    }

    fn is_free_if(&self, issue: &Issue, is_parked: impl Fn(&Issue) -> bool) -> bool {
        self.open_blockers(issue).next().is_none()
            && self.open_parts(issue.id).next().is_none()
            && self.held_back_by(&issue.attributes, is_parked).is_none()
    }

    /// Returns the nearest open issue of which one with these attributes is a part, directly or not, and that is parked
    /// or blocked: its parts wait with it. A blocker that is a part of it, too, holds no part back.
    fn held_back_by(
        &self,
        attributes: &Attributes,
        is_parked: impl Fn(&Issue) -> bool,
    ) -> Option<Arc<Issue>> {
        let is_outside = |whole: &Issue, id| self.wholes(id).all(|above| above.id != whole.id);
        let holds_back = |whole: &Arc<Issue>| {
            let mut blockers = self.open_blockers(whole).filter(|id| is_outside(whole, *id));
            whole.status.is_open() && (is_parked(whole) || blockers.next().is_some())
        };
        self.wholes_above(attributes.parent()).find(holds_back)
    }

    /// Returns the issues of which an issue is a part, directly or not, the nearest first.
    fn wholes(&self, id: IssueId) -> impl Iterator<Item = Arc<Issue>> {
        self.wholes_above(self.get(id).and_then(|issue| issue.attributes.parent()))
    }

    /// Returns an issue, and those of which it is a part. Edits by hand can make a cycle, so there are not endlessly
    /// many.
    fn wholes_above(&self, parent: Option<IssueId>) -> impl Iterator<Item = Arc<Issue>> {
        let first = parent.and_then(|id| self.get(id));
        let above = |whole: &Arc<Issue>| whole.attributes.parent().and_then(|id| self.get(id));
        iter::successors(first, above).take(Link::MAX_DEPTH)
    }

    /// Returns the parts of an issue, and their parts.
    pub(super) fn parts_below(&self, id: IssueId) -> Vec<IssueId> {
        let mut found = vec![id];
        let mut next = 0;
        while next < found.len() {
            for part in self.claims.linked_from(LinkKind::Parent, found[next]) {
                if !found.contains(&part) {
                    found.push(part);
                }
            }
            next += 1;
        }
        found.split_off(1)
    }

    /// Returns true if an issue with these attributes waits because a whole of it is parked at a time, or blocked.
    pub fn waits_with_whole(&self, attributes: &Attributes, now: Timestamp) -> bool {
        self.held_back_by(attributes, |whole| whole.attributes.is_parked_at(now)).is_some()
    }

    /// Returns true if an issue waits for work, and for its open parts before.
    pub fn waits_for_parts(&self, issue: &Issue) -> bool {
        issue.status == Status::Created && self.open_parts(issue.id).next().is_some()
    }

    /// Returns the issues that may be ready since a parking has ended, with their positions.
    fn due_for_work(&self, now: Timestamp) -> impl Iterator<Item = (usize, Arc<Issue>)> {
        let due: Vec<_> = self.claims.due(now).collect();
        let below = due.iter().flat_map(|at| self.parts_below(self.at(*at).id));
        let below = below.filter_map(|id| self.position_of(id));
        let positions: BTreeSet<_> = due.iter().copied().chain(below).collect();
        positions.into_iter().map(|at| (at, self.at(at))).filter(move |(_, issue)| {
            issue.status == Status::Created
                && !issue.attributes.is_parked_at(now)
                && self.is_free_at(issue, now)
        })
    }

    /// Returns true if an open issue waits for an open blocker.
    pub fn is_blocked(&self, issue: &Issue) -> bool {
        issue.status.is_open() && self.open_blockers(issue).next().is_some()
    }

    /// Returns the open issues that an issue is blocked by.
    pub fn open_blockers(&self, issue: &Issue) -> impl Iterator<Item = IssueId> {
        issue.attributes.linked(LinkKind::BlockedBy).filter(|id| self.is_open(*id))
    }

    /// Returns the open parts of an issue.
    pub fn open_parts(&self, id: IssueId) -> impl Iterator<Item = IssueId> {
        self.claims.linked_from(LinkKind::Parent, id).filter(|id| self.is_open(*id))
    }

    /// Returns true if there is an open issue with this id. Looks at indexes alone.
    pub fn is_open(&self, id: IssueId) -> bool {
        self.positions.get(&id).is_some_and(|position| {
            let mut open = self.queues_of(StatusSet::open(), None);
            open.any(|queue| queue.filed.contains(position))
        })
    }

    /// Returns the positions of the issues that some agent could claim for work at a time, in no order.
    pub fn ready(&self, now: Timestamp) -> impl Iterator<Item = usize> {
        self.claims.ready().chain(self.due_for_work(now).map(|(position, _)| position))
    }

    /// Returns the position of the issue that an agent claims next for work: what is assigned to it, then by priority,
    /// then the first filed. Issues of others, parked ones, and those that wait for others are left out.
    pub fn next_ready(
        &self,
        agent: &AgentName,
        classification: Option<Classification>,
        now: Timestamp,
    ) -> Option<usize> {
        let kinds = classification.as_ref().map_or(Classification::ALL, std::slice::from_ref);
        let first = self.claims.first_ready(agent, kinds);
        let due = self.due_for_work(now).filter_map(|(position, issue)| {
            let assignee = issue.attributes.assignee.as_deref();
            let fits = kinds.contains(&issue.classification)
                && assignee.is_none_or(|name| name == agent.as_str());
            fits.then(|| (assignee.is_none(), issue.attributes.effective_priority(), position))
        });
        first.into_iter().chain(due).min().map(|(_, _, position)| position)
    }

    /// Returns the position of the issue that an agent reviews next: by priority, then the first filed. Parked issues
    /// are left out, and those that the policy does not allow.
    pub fn next_review(
        &self,
        agent: &AgentName,
        policy: ReviewPolicy,
        now: Timestamp,
    ) -> Option<usize> {
        let is_allowed = |issue: &Issue| policy.allows(agent, issue);
        let due = self.claims.due(now).filter_map(|position| {
            let issue = self.at(position);
            let waits = issue.status == Status::Completed && is_allowed(&issue);
            waits.then(|| (issue.attributes.effective_priority(), position))
        });
        let mut reviews = self.claims.reviews();
        let first = match policy {
            ReviewPolicy::Anyone => reviews.next(),
            // Few agents review what they made, so the first one is nearly always allowed.
            ReviewPolicy::NotAuthor | ReviewPolicy::Uninvolved => {
                reviews.find(|(_, position)| is_allowed(&self.at(*position)))
            }
        };
        first.into_iter().chain(due).min().map(|(_, position)| position)
    }

    /// Returns the issues with an open question to people, in the order in which they were filed.
    pub fn questions(&self) -> impl Iterator<Item = Arc<Issue>> {
        self.claims.questions().map(|position| self.at(position))
    }

    /// Says why an agent cannot claim a completed issue for review; `None` if it can.
    pub fn review_obstacle(
        issue: &Issue,
        agent: &AgentName,
        policy: ReviewPolicy,
        now: Timestamp,
    ) -> Option<String> {
        let made = || {
            policy.author_action(agent, issue).map(|done| {
                let agent = shortened(agent.as_str(), MAX_REASON_CHARS);
                format!("{agent} {done} it, so another agent has to review it")
            })
        };
        parked(issue, now).or_else(made)
    }

    /// Says why an agent cannot claim an issue for work that has the status for it; `None` if it can.
    pub fn obstacle(&self, issue: &Issue, agent: &AgentName, now: Timestamp) -> Option<String> {
        let short = |ids: &mut dyn Iterator<Item = IssueId>| {
            ids.map(|id| id.short()).collect::<Vec<_>>().join(", ")
        };
        if let Some(parked) = parked(issue, now) {
            return Some(parked);
        }
        let blockers = short(&mut self.open_blockers(issue).take(DomainError::MAX_CANDIDATES));
        if !blockers.is_empty() {
            return Some(format!("it waits for {blockers}"));
        }
        let parts = short(&mut self.open_parts(issue.id).take(DomainError::MAX_CANDIDATES));
        if !parts.is_empty() {
            return Some(format!("its parts are the work: {parts}"));
        }
        let is_parked = |whole: &Issue| whole.attributes.is_parked_at(now);
        if let Some(whole) = self.held_back_by(&issue.attributes, is_parked) {
            let why = match self::parked(&whole, now) {
                Some(_) => "parked",
                None => "blocked",
            };
            return Some(format!("it is a part of {}, which is {why}", whole.id.short()));
        }
        let assignee = issue.attributes.assignee.as_deref().filter(|name| *name != agent.as_str());
        assignee.map(|name| format!("it is assigned to {}", shortened(name, MAX_REASON_CHARS)))
    }
}

/// Says why an issue is parked; `None` if it is not.
fn parked(issue: &Issue, now: Timestamp) -> Option<String> {
    let parked = issue.attributes.parked.as_ref().filter(|_| issue.attributes.is_parked_at(now))?;
    let reason = shortened(&parked.reason, MAX_REASON_CHARS);
    Some(match parked.question {
        Some(_) => format!("it {reason}"),
        None => format!("it is parked: {reason}"),
    })
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

/// How much of a reason an obstacle quotes, in characters.
const MAX_REASON_CHARS: usize = 100;
