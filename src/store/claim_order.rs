//! The order in which issues are claimed, as indexes.
//!
//! [`IndexedIssues`](super::IndexedIssues) keeps them up to date. They hold what can be claimed now, so that a claim is
//! a look-up, however many issues wait for others.

use std::ops::RangeInclusive;
use std::sync::Arc;

use imbl::OrdSet;

use crate::domain::{
    AgentName, Classification, Issue, IssueId, LinkKind, Priority, Status, Timestamp,
};

/// The indexes for claims. A clone costs the same at any size.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct ClaimOrder {
    /// The created issues that can be claimed, by assignee, classification, priority and position.
    ready: OrdSet<ReadyKey>,
    /// The completed issues that can be claimed, by priority and position.
    reviews: OrdSet<(Priority, usize)>,
    /// The positions of open issues that are parked until a time. The other indexes lack them.
    parked: OrdSet<(Timestamp, usize)>,
    /// The positions of issues with an open question to people.
    questions: OrdSet<usize>,
    /// The links by their targets: target, kind, source.
    links: OrdSet<(IssueId, LinkKind, IssueId)>,
}

type ReadyKey = (Option<Arc<str>>, Classification, Priority, usize);

/// The rank of an issue among those that an agent can claim: what is assigned to it comes first, then the priority and
/// the position.
pub(super) type Rank = (bool, Priority, usize);

impl ClaimOrder {
    /// Returns the indexes of issues without attributes, from the positions of those that are created and completed.
    /// They are quickest made if the created ones come by classification and position.
    pub fn of_plain(
        created: impl Iterator<Item = (Classification, usize)>,
        completed: impl Iterator<Item = usize>,
    ) -> Self {
        let priority = Priority::default();
        let ready = created.map(|(kind, position)| (None, kind, priority, position));
        let mut reviews: Vec<_> = completed.map(|position| (priority, position)).collect();
        reviews.sort_unstable();
        Self { ready: ready.collect(), reviews: reviews.into_iter().collect(), ..Self::default() }
    }

    /// Sets the links to those of many issues.
    pub fn set_links<'a>(&mut self, issues: impl Iterator<Item = &'a Issue>) {
        let links = issues.flat_map(|issue| {
            issue.attributes.links.iter().map(|link| (link.to, link.kind, issue.id))
        });
        // Sorted keys enter a tree next to each other.
        let mut links: Vec<_> = links.collect();
        links.sort_unstable();
        self.links = links.into_iter().collect();
    }

    /// Adds the links of an issue.
    pub fn add_links(&mut self, issue: &Issue) {
        for link in &issue.attributes.links {
            self.links.insert((link.to, link.kind, issue.id));
        }
    }

    /// Removes the links of an issue.
    pub fn remove_links(&mut self, issue: &Issue) {
        for link in &issue.attributes.links {
            self.links.remove(&(link.to, link.kind, issue.id));
        }
    }

    /// Returns the issues that have a link of a kind to an issue, ascending.
    pub fn linked_from(&self, kind: LinkKind, to: IssueId) -> impl Iterator<Item = IssueId> {
        // Most stores have no links.
        let first = (to, kind, IssueId::NIL);
        let links = (!self.links.is_empty()).then(|| self.links.range(first..));
        let links = links.into_iter().flatten();
        links.take_while(move |link| (link.0, link.1) == (to, kind)).map(|link| link.2)
    }

    /// Returns the issues that have a link of a kind to an issue with an id within a range.
    pub fn linked_to(
        &self,
        kind: LinkKind,
        ids: &RangeInclusive<IssueId>,
    ) -> impl Iterator<Item = IssueId> {
        let (first, last) = (*ids.start(), *ids.end());
        let links = self.links.range((first, LinkKind::ALL[0], IssueId::NIL)..);
        let links = links.take_while(move |link| link.0 <= last);
        links.filter(move |link| link.1 == kind).map(|link| link.2)
    }

    /// Inserts the issue at a position, if it waits. `is_free` says that it waits for no other issue.
    pub fn insert(&mut self, issue: &Issue, position: usize, is_free: bool) {
        self.parked.extend(until(issue).map(|until| (until, position)));
        if !matches!(issue.status, Status::Created | Status::Completed) {
            return;
        }
        if issue.open_question().is_some() {
            self.questions.insert(position);
        }
        if issue.attributes.parked.is_some() {
            return;
        }
        if issue.status == Status::Completed {
            self.reviews.insert((issue.attributes.effective_priority(), position));
        } else if is_free {
            self.ready.insert(key(issue, position));
        }
    }

    /// Removes the issue at a position.
    pub fn remove(&mut self, issue: &Issue, position: usize) {
        if let Some(until) = until(issue) {
            self.parked.remove(&(until, position));
        }
        match issue.status {
            Status::Created => drop(self.ready.remove(&key(issue, position))),
            Status::Completed => {
                self.reviews.remove(&(issue.attributes.effective_priority(), position));
            }
            _ => return,
        }
        self.questions.remove(&position);
    }

    /// Returns the first issue that an agent can claim for work, among those that are not parked.
    pub fn first_ready(&self, agent: &AgentName, kinds: &[Classification]) -> Option<Rank> {
        let mine: Option<Arc<str>> = Some(agent.as_str().into());
        [mine, None].into_iter().find_map(|assignee| {
            let firsts = kinds.iter().filter_map(|kind| {
                let first = (assignee.clone(), *kind, Priority::FIRST, 0);
                let (owner, found, priority, position) = self.ready.range(first..).next()?;
                let is_of_kind = *owner == assignee && found == kind;
                is_of_kind.then_some((assignee.is_none(), *priority, *position))
            });
            firsts.min()
        })
    }

    /// Returns the positions of the issues that can be claimed for work, without those that are parked.
    pub fn ready(&self) -> impl Iterator<Item = usize> {
        self.ready.iter().map(|(.., position)| *position)
    }

    /// Returns the issues that can be claimed for review, in order, without those that are parked.
    pub fn reviews(&self) -> impl Iterator<Item = (Priority, usize)> {
        self.reviews.iter().copied()
    }

    /// Returns the positions of the issues with an open question, ascending.
    pub fn questions(&self) -> impl Iterator<Item = usize> {
        self.questions.iter().copied()
    }

    /// Returns the positions of the issues that are no longer parked at a time.
    pub fn due(&self, now: Timestamp) -> impl Iterator<Item = usize> {
        self.parked.iter().take_while(move |(until, _)| *until <= now).map(|(_, at)| *at)
    }
}

/// Returns until when an open issue is parked, if that has an end.
fn until(issue: &Issue) -> Option<Timestamp> {
    let parked = issue.attributes.parked.as_ref().filter(|_| issue.status.is_open())?;
    parked.until
}

fn key(issue: &Issue, position: usize) -> ReadyKey {
    let assignee = issue.attributes.assignee.as_deref().map(Arc::from);
    (assignee, issue.classification, issue.attributes.effective_priority(), position)
}
