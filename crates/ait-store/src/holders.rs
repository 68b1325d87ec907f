//! Who holds which issues, and the leases of their claims, as indexes.

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};

use ait_domain::{AgentName, Event, EventKind, Issue, IssueId, Lease};

/// The indexes of claimed issues. A clone costs the same at any size.
#[derive(Clone, Debug, Default)]
pub(super) struct Holders {
    /// The claimed issues, by the agent that holds them.
    by_agent: OrdSet<(Arc<str>, IssueId)>,
    /// The leases of claimed issues. Claims that do not lapse have none.
    leases: OrdMap<IssueId, Lease>,
}

impl Holders {
    /// Adds an issue, if it is claimed.
    pub fn add(&mut self, issue: &Issue) {
        if let Some(holder) = issue.holder() {
            self.by_agent.insert((holder.agent.into(), issue.id));
        }
    }

    /// Removes an issue, if it is claimed. Its lease stays until an event ends it.
    pub fn remove(&mut self, issue: &Issue) {
        if let Some(holder) = issue.holder() {
            self.by_agent.remove(&(holder.agent.into(), issue.id));
        }
    }

    /// Returns the issues that an agent holds, ascending.
    pub fn held_by(&self, agent: &AgentName) -> impl Iterator<Item = IssueId> {
        let agent: Arc<str> = agent.as_str().into();
        let held = self.by_agent.range((Arc::clone(&agent), IssueId::NIL)..);
        held.take_while(move |(holder, _)| *holder == agent).map(|(_, id)| *id)
    }

    /// Returns the lease of an issue.
    pub fn lease(&self, id: IssueId) -> Option<&Lease> {
        self.leases.get(&id)
    }

    /// Returns all leases, by issue.
    pub fn leases(&self) -> impl Iterator<Item = (IssueId, &Lease)> {
        self.leases.iter().map(|(id, lease)| (*id, lease))
    }

    /// Sets or removes the lease of an issue.
    pub fn set_lease(&mut self, id: IssueId, lease: Option<Lease>) {
        match lease {
            Some(lease) => drop(self.leases.insert(id, lease)),
            None => drop(self.leases.remove(&id)),
        }
    }

    /// Follows an event that led to this version of its issue.
    pub fn apply(&mut self, event: &Event, issue: &Issue) {
        let lease = event.lease_after(issue, self.leases.get(&issue.id));
        self.set_lease(issue.id, lease);
    }

    /// Undoes an event.
    pub fn revert(&mut self, event: &Event) {
        match (&event.kind, self.leases.get(&event.issue)) {
            (EventKind::Claimed | EventKind::ReviewStarted, _) => self.set_lease(event.issue, None),
            (EventKind::TakenUp { from, to }, Some(lease)) => {
                // A claim that had lost its lease got it back.
                let is_restored = from == to;
                let before = Lease { claim: lease.claim, client: from.clone() };
                self.set_lease(event.issue, (!is_restored).then_some(before));
            }
            _ => {
                if event.lease.is_some() {
                    self.set_lease(event.issue, event.lease.clone());
                }
            }
        }
    }
}
