//! The indexed state of a store in memory.
//!
//! [`IssueStore`] knows issues by position (the order in which they were filed), by id and by status
//! and classification. It waits for nothing and touches no disk.

use std::cmp::Reverse;
use std::sync::Arc;

use imbl::{OrdMap, OrdSet, Vector};

use crate::domain::{
    Classification, Command, Counts, DomainError, Event, Issue, IssueId, IssueRef, Order, Page,
    Query, Selection, Status, Statuses, Timestamp, rules,
};

/// The issues of a store, indexed.
///
/// Made of persistent trees: a clone costs the same at any size, shares everything with the original
/// and changes independently of it. So a reader takes a clone and looks at it for as long as it likes,
/// and a change that fails is undone by dropping the clone that it was tried on.
#[derive(Clone, Debug, Default)]
pub struct IssueStore {
    issues: Vector<Arc<Issue>>,
    positions: OrdMap<IssueId, usize>,
    queues: [[Queue; Classification::ALL.len()]; Status::ALL.len()],
}

/// The issues in one status and of one classification, in the two orders of [`Order`].
#[derive(Clone, Debug, Default)]
struct Queue {
    filed: OrdSet<usize>,
    latest: OrdSet<Reverse<(Timestamp, usize)>>,
}

impl IssueStore {
    /// The issues in the order in which they were filed.
    pub fn issues(&self) -> impl Iterator<Item = &Arc<Issue>> {
        self.issues.iter()
    }

    /// How many issues there are.
    pub fn len(&self) -> usize {
        self.issues.len()
    }

    /// Tells whether there is no issue.
    pub fn is_empty(&self) -> bool {
        self.issues.is_empty()
    }

    /// Adds an issue behind all others.
    ///
    /// # Errors
    ///
    /// [`DomainError::IdTaken`] when there is one with this id; nothing changes then.
    pub fn push(&mut self, issue: Issue) -> Result<Arc<Issue>, DomainError> {
        let position = self.issues.len();
        if self.positions.contains_key(&issue.id) {
            return Err(DomainError::IdTaken { id: issue.id });
        }
        self.positions.insert(issue.id, position);
        self.enqueue(&issue, position);
        let issue = Arc::new(issue);
        self.issues.push_back(Arc::clone(&issue));
        Ok(issue)
    }

    /// Finds the issue that a caller names.
    ///
    /// # Errors
    ///
    /// [`DomainError::UnknownIssue`] and [`DomainError::AmbiguousReference`].
    pub fn find(&self, reference: &IssueRef) -> Result<&Arc<Issue>, DomainError> {
        let mut matching = self.positions.range(reference.range());
        let Some((&first, &position)) = matching.next() else {
            return Err(DomainError::UnknownIssue { reference: reference.to_string() });
        };
        let others: Vec<IssueId> = matching.map(|(&id, _)| id).collect();
        if others.is_empty() {
            return Ok(&self.issues[position]);
        }
        let count = 1 + others.len();
        let candidates =
            std::iter::once(first).chain(others).take(DomainError::MAX_CANDIDATES).collect();
        Err(DomainError::AmbiguousReference { reference: reference.to_string(), candidates, count })
    }

    /// Decides a command on this state, for a claim on the oldest issue that waits for it.
    ///
    /// Gives `None` for a claim that finds nothing. The state does not change until the event is
    /// [applied](Self::apply).
    ///
    /// # Errors
    ///
    /// The refusals of [`rules::decide`] and of [`find`](Self::find).
    pub fn decide(&self, command: &Command, now: Timestamp) -> Result<Option<Event>, DomainError> {
        let issue = match command.selection() {
            Selection::New(id) => match self.positions.get(&id) {
                Some(&position) => &self.issues[position],
                None => return Ok(rules::file(command, now)),
            },
            Selection::Named(reference) => self.find(reference)?,
            Selection::Oldest(status, classification) => {
                match self.oldest(status, classification) {
                    Some(position) => &self.issues[position],
                    None => return Ok(None),
                }
            }
        };
        rules::decide(command, issue, now).map(Some)
    }

    /// Applies an event that was decided on this state and gives the issue as it is afterwards.
    ///
    /// # Errors
    ///
    /// [`DomainError::IdTaken`] and [`DomainError::UnknownIssue`] for an event that this state does
    /// not follow; nothing changes then.
    pub fn apply(&mut self, event: &Event) -> Result<Arc<Issue>, DomainError> {
        if let Some(issue) = event.filed() {
            return self.push(issue);
        }
        let Some(&position) = self.positions.get(&event.issue) else {
            return Err(DomainError::UnknownIssue { reference: event.issue.to_string() });
        };
        let mut issue = Issue::clone(&self.issues[position]);
        self.dequeue(&issue, position);
        event.apply(&mut issue);
        self.enqueue(&issue, position);
        let issue = Arc::new(issue);
        self.issues.set(position, Arc::clone(&issue));
        Ok(issue)
    }

    /// Finds the issues that match a query.
    ///
    /// Costs the same at any size, unless the query looks at the content of issues, turns the order
    /// round or orders by title: then it looks at all that have the right status and classification.
    pub fn list(&self, query: &Query) -> Page {
        let total = self.count(query.statuses, query.classification);
        let queues = self.queues_of(query.statuses, query.classification);
        let in_order: Box<dyn Iterator<Item = usize>> = match query.order {
            Order::Filed | Order::Title => {
                Box::new(merged(queues.map(|queue| queue.filed.iter().copied())))
            }
            Order::LatestActivity => {
                let latest = merged(queues.map(|queue| queue.latest.iter().copied()));
                Box::new(latest.map(|Reverse((_, position))| position))
            }
        };
        let issues = in_order.map(|position| &self.issues[position]);
        if query.content.is_empty() && query.order != Order::Title && !query.reversed {
            let issues = issues.skip(query.skip).take(query.take).cloned().collect();
            return Page { total, issues };
        }
        let mut matching: Vec<_> = issues.filter(|issue| query.content.fits(issue)).collect();
        if query.order == Order::Title {
            matching.sort_by_cached_key(|issue| issue.title.to_lowercase());
        }
        if query.reversed {
            matching.reverse();
        }
        let total = matching.len();
        Page {
            total,
            issues: matching.into_iter().skip(query.skip).take(query.take).cloned().collect(),
        }
    }

    /// Counts the issues in each status.
    pub fn counts(&self) -> Counts {
        Counts::of(|status| self.count([status].into_iter().collect(), None))
    }

    fn count(&self, statuses: Statuses, classification: Option<Classification>) -> usize {
        self.queues_of(statuses, classification).map(|queue| queue.filed.len()).sum()
    }

    /// The first filed of the matching issues.
    fn oldest(&self, status: Status, classification: Option<Classification>) -> Option<usize> {
        let queues = self.queues_of([status].into_iter().collect(), classification);
        queues.filter_map(|queue| queue.filed.get_min().copied()).min()
    }

    fn queues_of(
        &self,
        statuses: Statuses,
        classification: Option<Classification>,
    ) -> impl Iterator<Item = &Queue> {
        statuses.iter().flat_map(move |status| {
            let kinds = Classification::ALL.iter();
            kinds
                .filter(move |one| classification.is_none_or(|kind| kind == **one))
                .map(move |&kind| &self.queues[status as usize][kind as usize])
        })
    }

    fn queue(&mut self, issue: &Issue) -> &mut Queue {
        &mut self.queues[issue.status as usize][issue.classification as usize]
    }

    fn enqueue(&mut self, issue: &Issue, position: usize) {
        let queue = self.queue(issue);
        queue.filed.insert(position);
        queue.latest.insert(Reverse((issue.modified_at, position)));
    }

    fn dequeue(&mut self, issue: &Issue, position: usize) {
        let queue = self.queue(issue);
        queue.filed.remove(&position);
        queue.latest.remove(&Reverse((issue.modified_at, position)));
    }
}

/// Issues that are read one after the other, and indexed together at the end.
///
/// What is in order when it gets into a tree goes in at the same place again and again, which takes a
/// fraction of the time of places all over the tree.
#[derive(Debug, Default)]
pub(super) struct Gathering(Vector<Arc<Issue>>);

impl Gathering {
    /// Adds an issue behind all others.
    pub fn push(&mut self, issue: Issue) {
        self.0.push_back(Arc::new(issue));
    }

    /// All of them, indexed; `None` when two have the same id.
    pub fn indexed(self) -> Option<IssueStore> {
        let mut ids = Vec::with_capacity(self.0.len());
        let mut queues: [[(Vec<_>, Vec<_>); Classification::ALL.len()]; Status::ALL.len()] =
            Default::default();
        for (position, issue) in self.0.iter().enumerate() {
            ids.push((issue.id, position));
            let (filed, latest) = &mut queues[issue.status as usize][issue.classification as usize];
            filed.push(position);
            latest.push(Reverse((issue.modified_at, position)));
        }
        ids.sort_unstable();
        if ids.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return None;
        }
        let queues = queues.map(|of_status| {
            of_status.map(|(filed, mut latest)| {
                latest.sort_unstable();
                Queue { filed: filed.into_iter().collect(), latest: latest.into_iter().collect() }
            })
        });
        Some(IssueStore { issues: self.0, positions: ids.into_iter().collect(), queues })
    }
}

/// The items of several ascending sequences as one ascending sequence.
fn merged<T: Ord + Copy>(
    sequences: impl Iterator<Item = impl Iterator<Item = T>>,
) -> impl Iterator<Item = T> {
    let mut sequences: Vec<_> = sequences.map(Iterator::peekable).collect();
    std::iter::from_fn(move || {
        let heads = sequences.iter_mut().filter_map(|rest| rest.peek().copied().zip(Some(rest)));
        heads.min_by_key(|(head, _)| *head).and_then(|(_, rest)| rest.next())
    })
}
