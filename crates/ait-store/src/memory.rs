//! The indexed state of a store in memory.
//!
//! [`IndexedIssues`] indexes issues by position (the order in which they were filed), by id, and by the targets of
//! links. It never blocks and does no I/O.

mod ids;
mod links;
mod list;
mod readiness;

use std::sync::Arc;

use imbl::{OrdMap, Vector};

pub use self::ids::IdIndex;
pub(crate) use self::ids::only;
pub use self::links::Links;
pub use self::readiness::ClaimObstacles;
use ait_domain::{
    AgentName, Classification, Command, Counts, DomainError, Event, EventKind, Issue, IssueGraph,
    IssueId, IssueQueue, IssueRef, Lease, LinkKind, ReviewPolicy, Status, Timestamp,
};

/// The indexed issues of a store.
///
/// The indexes are persistent trees. A clone costs the same at any size, shares all data with the original and
/// changes independently of it. So a reader keeps a clone for as long as it likes, and dropping the clone undoes a
/// failed change.
#[derive(Clone, Debug, Default)]
pub struct IndexedIssues {
    issues: Vector<Arc<Issue>>,
    positions: IdIndex,
    links: Links,
    /// The leases of claimed issues. Claims that do not lapse have none.
    leases: OrdMap<IssueId, Lease>,
}

impl IndexedIssues {
    /// Returns the issues in the order in which they were filed.
    pub fn issues(&self) -> impl Iterator<Item = Arc<Issue>> {
        self.issues.iter().cloned()
    }

    /// Returns the issue at a position, counted from 0 in the order of filing.
    ///
    /// # Panics
    ///
    /// Panics if there is no such position.
    pub fn at(&self, position: usize) -> Arc<Issue> {
        Arc::clone(&self.issues[position])
    }

    /// Returns the id of the issue at a position.
    pub fn id_at(&self, position: usize) -> Option<IssueId> {
        self.issues.get(position).map(|issue| issue.id)
    }

    /// Returns true if another state has an identical issue with this id.
    pub(super) fn is_same_in(&self, other: &Self, id: IssueId) -> bool {
        let both = self.get(id).zip(other.get(id));
        both.is_some_and(|(one, other)| Arc::ptr_eq(&one, &other) || one == other)
    }

    /// Returns the number of issues.
    pub fn len(&self) -> usize {
        self.issues.len()
    }

    /// Returns true if there is no issue.
    pub fn is_empty(&self) -> bool {
        self.issues.is_empty()
    }

    /// Appends an issue.
    ///
    /// # Errors
    ///
    /// [`DomainError::IdTaken`] if an issue has this id. Nothing changes then.
    pub fn push(&mut self, issue: Arc<Issue>) -> Result<(), DomainError> {
        if self.positions.get(issue.id).is_some() {
            return Err(DomainError::IdTaken { id: issue.id });
        }
        self.index(&issue, self.issues.len());
        self.issues.push_back(issue);
        Ok(())
    }

    /// Returns the issue that a reference names.
    ///
    /// # Errors
    ///
    /// [`DomainError::UnknownIssue`] and [`DomainError::AmbiguousReference`].
    pub fn find(&self, reference: &IssueRef) -> Result<Arc<Issue>, DomainError> {
        self.position(reference).map(|position| self.at(position))
    }

    /// Returns the start of an id that no other issue has: at least 8 hex digits.
    pub fn short_id(&self, id: IssueId) -> String {
        self.positions.short_id(id)
    }

    /// Returns the position of the issue that a reference names.
    pub fn position(&self, reference: &IssueRef) -> Result<usize, DomainError> {
        self.positions.find(reference)
    }

    /// Returns the position of an issue, if it exists.
    pub fn position_of(&self, id: IssueId) -> Option<usize> {
        self.positions.get(id)
    }

    /// Inserts an issue before another one. Appends it if there is no other one, or if that one is unknown.
    ///
    /// The cost grows with the number of issues behind the insertion point.
    pub fn insert(&mut self, issue: Arc<Issue>, next: Option<IssueId>) -> Result<(), DomainError> {
        let Some(position) = next.and_then(|id| self.positions.get(id)) else {
            return self.push(issue);
        };
        if self.positions.get(issue.id).is_some() {
            return Err(DomainError::IdTaken { id: issue.id });
        }
        let behind = self.take_behind(position);
        self.push(issue)?;
        self.put_back(behind);
        Ok(())
    }

    /// Removes an issue. The cost grows with the number of issues behind it.
    ///
    /// # Errors
    ///
    /// [`DomainError::UnknownIssue`]; nothing changes then.
    pub fn remove(&mut self, id: IssueId) -> Result<(), DomainError> {
        let Some(position) = self.positions.get(id) else {
            return Err(DomainError::UnknownIssue { reference: id.to_string() });
        };
        let behind = self.take_behind(position);
        self.put_back(behind.into_iter().skip(1));
        self.leases.remove(&id);
        Ok(())
    }

    /// Removes and returns all issues from a position on.
    fn take_behind(&mut self, position: usize) -> Vec<Arc<Issue>> {
        let behind: Vec<Arc<Issue>> = self.issues.split_off(position).into_iter().collect();
        for issue in &behind {
            self.positions.remove(issue.id);
            self.links.remove(issue.id, &issue.attributes);
        }
        behind
    }

    fn put_back(&mut self, behind: impl IntoIterator<Item = Arc<Issue>>) {
        for issue in behind {
            self.index(&issue, self.issues.len());
            self.issues.push_back(issue);
        }
    }

    /// Returns the issue with an id.
    pub fn get(&self, id: IssueId) -> Option<Arc<Issue>> {
        self.positions.get(id).map(|position| self.at(position))
    }

    /// Applies an event that was decided on this state and returns the issue after it. The event changes an existing
    /// issue, or appends a new one.
    ///
    /// # Errors
    ///
    /// [`DomainError::IdTaken`] and [`DomainError::UnknownIssue`] for an event that does not follow this state.
    /// Nothing changes then.
    pub fn apply(&mut self, event: &Event) -> Result<Arc<Issue>, DomainError> {
        let issue = match (event.filed(), &event.kind) {
            (Some(issue), _) => {
                let issue = Arc::new(issue);
                self.push(Arc::clone(&issue))?;
                issue
            }
            // The issue stays.
            (None, EventKind::TakenUp { .. }) => self.find(&event.issue.into())?,
            (None, _) => self.change(event.issue, |issue| event.apply(issue))?,
        };
        let lease = event.lease_after(&issue, self.leases.get(&issue.id));
        self.set_lease(issue.id, lease);
        Ok(issue)
    }

    /// Undoes an event that changed an existing issue.
    pub(super) fn revert(&mut self, event: &Event) -> Result<(), DomainError> {
        if !matches!(event.kind, EventKind::TakenUp { .. }) {
            self.change(event.issue, |issue| event.revert(issue))?;
        }
        match (&event.kind, self.leases.get(&event.issue)) {
            (EventKind::Claimed | EventKind::ReviewStarted, _) => self.set_lease(event.issue, None),
            (EventKind::TakenUp { from, to }, Some(lease)) => {
                // A claim that had lost its lease got it back.
                let is_restored = from == to;
                let before = Lease { claim: lease.claim, client: from.clone() };
                self.set_lease(event.issue, (!is_restored).then_some(before));
            }
            _ if event.lease.is_some() => self.set_lease(event.issue, event.lease.clone()),
            _ => {}
        }
        Ok(())
    }

    fn change(
        &mut self,
        id: IssueId,
        change: impl FnOnce(&mut Issue),
    ) -> Result<Arc<Issue>, DomainError> {
        let Some(position) = self.positions.get(id) else {
            return Err(DomainError::UnknownIssue { reference: id.to_string() });
        };
        let mut issue = Arc::unwrap_or_clone(self.at(position));
        self.links.remove(id, &issue.attributes);
        change(&mut issue);
        let issue = Arc::new(issue);
        self.issues.set(position, Arc::clone(&issue));
        self.index(&issue, position);
        Ok(issue)
    }

    /// Counts the issues in each status.
    pub fn counts(&self) -> Counts {
        Counts::of(|status| self.in_status(status).count())
    }

    /// Returns the positions of the issues in a status, in the order of filing.
    pub fn in_status(&self, status: Status) -> impl Iterator<Item = usize> {
        let issues = self.issues.iter().enumerate();
        issues.filter(move |(_, issue)| issue.status == status).map(|(position, _)| position)
    }

    fn index(&mut self, issue: &Issue, position: usize) {
        self.positions.insert(issue.id, position);
        self.links.add(issue.id, &issue.attributes);
    }

    /// Returns the issues that an agent holds, ascending. Looks at every issue.
    pub fn held_by(&self, agent: &AgentName) -> Vec<IssueId> {
        let held = self.issues.iter().filter(|issue| issue.is_held_by(agent));
        let mut ids: Vec<_> = held.map(|issue| issue.id).collect();
        ids.sort_unstable();
        ids
    }

    /// Returns the lease of an issue; `None` for a claim that does not lapse.
    pub fn lease(&self, id: IssueId) -> Option<&Lease> {
        self.leases.get(&id)
    }

    /// Returns the leases of all claims that have one.
    pub fn leases(&self) -> impl Iterator<Item = (IssueId, &Lease)> {
        self.leases.iter().map(|(id, lease)| (*id, lease))
    }

    /// Returns the commands that give claims the leases back that they have in another state of the same issues.
    pub(super) fn lost_leases(&self, known: &Self) -> impl Iterator<Item = Command> {
        known.leases().filter_map(|(id, Lease { claim, client })| {
            let ours = self.get(id)?;
            let theirs = known.get(id)?;
            let is_lost = self.lease(id).is_none()
                && ours.claim_number() == *claim
                && ours.holder() == theirs.holder();
            let agent = AgentName::try_from(ours.holder()?.agent).ok()?;
            let from = client.clone();
            let to = client.clone();
            is_lost.then_some(Command::TakeUpClaim { issue: id, agent, from, to })
        })
    }

    /// Sets or removes the lease of an issue.
    pub(super) fn set_lease(&mut self, id: IssueId, lease: Option<Lease>) {
        match lease {
            Some(lease) => drop(self.leases.insert(id, lease)),
            None => drop(self.leases.remove(&id)),
        }
    }
}

impl IssueGraph for IndexedIssues {
    fn issue(&self, id: IssueId) -> Option<Arc<Issue>> {
        self.get(id)
    }

    fn linked_from(&self, kind: LinkKind, to: IssueId) -> Vec<IssueId> {
        self.links.linked_from(kind, to).collect()
    }

    fn resolve(&self, reference: &IssueRef) -> Result<IssueId, DomainError> {
        self.find(reference).map(|issue| issue.id)
    }
}

impl IssueQueue for IndexedIssues {
    fn next_ready(
        &self,
        agent: &AgentName,
        classification: Option<Classification>,
        now: Timestamp,
    ) -> Option<Arc<Issue>> {
        self.next_ready(agent, classification, now).map(|position| self.at(position))
    }

    fn next_review(
        &self,
        agent: &AgentName,
        policy: ReviewPolicy,
        now: Timestamp,
    ) -> Option<Arc<Issue>> {
        self.next_review(agent, policy, now).map(|position| self.at(position))
    }

    fn holds(&self, agent: &AgentName, count: usize) -> bool {
        self.held_by(agent).len() >= count
    }

    fn lease(&self, id: IssueId) -> Option<Lease> {
        self.lease(id).cloned()
    }
}
