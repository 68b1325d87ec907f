//! Lists of the issues in memory.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::IndexedIssues;
use crate::domain::condition::{IdName, LoweredTexts};
use crate::domain::{
    AgentName, Attributes, Classification, Condition, Issue, IssueGraph, IssueId, LinkKind, Order,
    Page, Query, Status, Subject, Timestamp,
};

impl IndexedIssues {
    /// Returns one page of the issues that match a query.
    ///
    /// The cost does not depend on the number of issues, unless the query has a condition, reverses the order or
    /// orders by something else than time. Then all issues with the right status and classification are examined; only
    /// some of them, if the condition names their ids or the time of their last change.
    pub fn list(&self, query: &Query) -> Page {
        let page = |total, positions: &mut dyn Iterator<Item = usize>| {
            let positions = positions.skip(query.skip).take(query.take);
            let issues = positions.map(|position| self.at(position)).collect();
            Page { total, is_exact: true, issues }
        };
        let in_order = self.candidates(query);
        let is_indexed = matches!(query.order, Order::Filed | Order::LatestActivity);
        if query.condition.is_empty() && is_indexed && !query.reversed {
            let total = self.count(query.statuses, query.classification);
            return page(total, &mut { in_order });
        }
        let matches = |position: &usize| {
            query.condition.is_empty() || query.condition.matches(&self.subject(self.at(*position)))
        };
        let mut matching: Vec<_> = in_order.filter(matches).collect();
        match query.order {
            Order::Filed | Order::LatestActivity => {}
            Order::Priority => matching
                .sort_by_cached_key(|position| self.at(*position).attributes.effective_priority()),
            Order::Title => {
                matching.sort_by_cached_key(|position| self.at(*position).title.to_lowercase());
            }
            Order::Relevance => matching.sort_by_cached_key(|position| {
                Reverse(query.condition.relevance(&self.subject(self.at(*position))))
            }),
        }
        if query.reversed {
            matching.reverse();
        }
        page(matching.len(), &mut matching.into_iter())
    }

    /// Returns the positions of the issues in a status, those of the latest changes first.
    pub fn latest_in(&self, status: Status) -> impl Iterator<Item = usize> {
        let queues = self.queues_of([status].into_iter().collect(), None);
        let latest = merged(queues.map(|queue| queue.latest.iter().copied()));
        latest.map(|Reverse((_, position))| position)
    }

    /// Returns the positions of the issues in a status, in the order of filing for each kind.
    pub fn filed_in(&self, status: Status) -> impl Iterator<Item = usize> {
        let queues = self.queues_of([status].into_iter().collect(), None);
        queues.flat_map(|queue| queue.filed.iter().copied())
    }

    /// Returns an issue of this state as conditions see it.
    pub fn subject(&self, issue: Arc<Issue>) -> impl Subject {
        StoredSubject { issue, issues: self, texts: OnceCell::new() }
    }

    /// Returns the positions of the issues with the right status and classification that can match, in the order of the
    /// query as far as an index gives it.
    fn candidates<'a>(&'a self, query: &'a Query) -> Box<dyn Iterator<Item = usize> + 'a> {
        let is_latest = matches!(query.order, Order::LatestActivity | Order::Relevance);
        let narrow = query.condition.conjuncts().iter().find_map(|condition| match condition {
            Condition::Ids(ids) => Some(self.with_ids(ids.iter().copied(), query)),
            Condition::Id(ids) => Some(self.with_ids(self.ids(ids.clone()), query)),
            Condition::Holder(Some(name)) => {
                let agent = AgentName::try_from(&**name).ok()?;
                Some(self.with_ids(self.held_by(&agent), query))
            }
            Condition::Changed(times) => Some(self.changed_from(*times.start(), query)),
            _ => None,
        });
        if let Some(mut found) = narrow {
            match is_latest {
                true => found.sort_unstable_by_key(|latest| Reverse(*latest)),
                false => found.sort_unstable_by_key(|(_, position)| *position),
            }
            return Box::new(found.into_iter().map(|(_, position)| position));
        }
        let queues = self.queues_of(query.statuses, query.classification);
        if !is_latest {
            return Box::new(merged(queues.map(|queue| queue.filed.iter().copied())));
        }
        let latest = merged(queues.map(|queue| queue.latest.iter().copied()));
        Box::new(latest.map(|Reverse((_, position))| position))
    }

    /// Returns the issues with these ids, each with the time of its last change and its position.
    fn with_ids(
        &self,
        ids: impl Iterator<Item = IssueId>,
        query: &Query,
    ) -> Vec<(Timestamp, usize)> {
        let positions = ids.filter_map(|id| self.positions.get(&id).copied());
        let issues = positions.map(|position| (position, self.at(position)));
        let fits = |issue: &Issue| {
            query.statuses.contains(issue.status)
                && query.classification.is_none_or(|kind| kind == issue.classification)
        };
        issues
            .filter(|(_, issue)| fits(issue))
            .map(|(position, issue)| (issue.modified_at, position))
            .collect()
    }

    /// Returns the issues that changed at a time or later, each with the time of its last change and its position.
    fn changed_from(&self, time: Timestamp, query: &Query) -> Vec<(Timestamp, usize)> {
        let queues = self.queues_of(query.statuses, query.classification);
        let latest = queues.flat_map(|queue| {
            let latest = queue.latest.iter().map(|Reverse(latest)| *latest);
            latest.take_while(|(changed, _)| *changed >= time)
        });
        latest.collect()
    }
}

/// An issue in the state of a store.
struct StoredSubject<'a> {
    issue: Arc<Issue>,
    issues: &'a IndexedIssues,
    texts: OnceCell<LoweredTexts>,
}

impl Subject for StoredSubject<'_> {
    fn id(&self) -> IssueId {
        self.issue.id
    }

    fn status(&self) -> Status {
        self.issue.status
    }

    fn classification(&self) -> Classification {
        self.issue.classification
    }

    fn created_at(&self) -> Timestamp {
        self.issue.created_at
    }

    fn modified_at(&self) -> Timestamp {
        self.issue.modified_at
    }

    fn active_at(&self) -> Timestamp {
        self.issue.active_at()
    }

    fn attributes(&self) -> &Attributes {
        &self.issue.attributes
    }

    fn holder(&self) -> Option<&str> {
        self.issue.holder().map(|holder| holder.agent)
    }

    fn filer(&self) -> Option<&str> {
        self.issue.history.first().map(|entry| &*entry.agent)
    }

    fn has_actor(&self, agent: &str) -> bool {
        self.issue.history.iter().any(|entry| entry.agent == agent)
    }

    fn returns(&self) -> usize {
        self.issue.returns()
    }

    fn claims(&self) -> usize {
        self.issue.attempts().claims
    }

    fn has_open_blocker(&self) -> bool {
        self.issues.open_blockers(&self.issue).next().is_some()
    }

    fn has_open_part(&self) -> bool {
        self.issues.open_parts(self.issue.id).next().is_some()
    }

    fn waits_with_whole(&self, now: Timestamp) -> bool {
        self.issues.waits_with_whole(&self.issue.attributes, now)
    }

    fn has_external_id(&self, id: &str) -> bool {
        self.issue.has_external_id(id)
    }

    fn blocks(&self, ids: &RangeInclusive<IssueId>) -> bool {
        let blocked = self.issues.linked_from(LinkKind::BlockedBy, self.issue.id);
        blocked.iter().any(|id| ids.contains(id))
    }

    fn contains(&self, text: &str) -> bool {
        IdName::of(text).names(self.issue.id)
            || self.texts.get_or_init(|| LoweredTexts::of(&self.issue)).contain(text)
    }
}

/// Merges several ascending sequences into one.
fn merged<T: Ord + Copy>(
    sequences: impl Iterator<Item = impl Iterator<Item = T>>,
) -> impl Iterator<Item = T> {
    let mut sequences: Vec<_> = sequences.map(Iterator::peekable).collect();
    std::iter::from_fn(move || {
        let heads = sequences.iter_mut().filter_map(|rest| rest.peek().copied().zip(Some(rest)));
        heads.min_by_key(|(head, _)| *head).and_then(|(_, rest)| rest.next())
    })
}
