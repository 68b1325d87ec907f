//! The indexed state of a store in memory, and a store that is nothing else.
//!
//! [`IssueStore`] knows issues by position (the order in which they were filed), by id and by status
//! and classification. It waits for nothing and touches no disk.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::{BoxFuture, FutureExt, ready};

use super::{Store, StoreError, StoreFuture};
use crate::domain::{
    Classification, Command, Counts, DomainError, Event, Issue, IssueId, IssueRef, Order, Page,
    Query, Selection, Status, Timestamp, rules,
};

/// The issues of a store, indexed.
///
/// A clone shares the issues with the original and costs a pointer for each.
#[derive(Clone, Debug, Default)]
pub struct IssueStore {
    issues: Vec<Arc<Issue>>,
    positions: BTreeMap<IssueId, usize>,
    queues: BTreeMap<(Status, Classification), BTreeSet<usize>>,
}

impl IssueStore {
    /// The issues in the order in which they were filed.
    pub fn issues(&self) -> &[Arc<Issue>] {
        &self.issues
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
        self.issues.push(Arc::clone(&issue));
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
                match self.matching(Some(status), classification).next() {
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
        self.issues[position] = Arc::clone(&issue);
        Ok(issue)
    }

    /// Finds the issues that match a query.
    pub fn list(&self, query: &Query) -> Page {
        let total = self.count(query.status, query.classification);
        let matching = self.matching(query.status, query.classification);
        let positions: Vec<usize> = match query.order {
            Order::Filed => matching.skip(query.skip).take(query.take).collect(),
            Order::LatestActivity => {
                let mut all: Vec<usize> = matching.collect();
                all.sort_unstable_by_key(|&p| std::cmp::Reverse((self.issues[p].modified_at, p)));
                all.into_iter().skip(query.skip).take(query.take).collect()
            }
        };
        let issues = positions.into_iter().map(|p| Arc::clone(&self.issues[p])).collect();
        Page { total, issues }
    }

    /// Counts the issues in each status.
    pub fn counts(&self) -> Counts {
        Counts::of(|status| self.count(Some(status), None))
    }

    fn count(&self, status: Option<Status>, classification: Option<Classification>) -> usize {
        self.queues_of(status, classification).map(BTreeSet::len).sum()
    }

    fn queues_of(
        &self,
        status: Option<Status>,
        classification: Option<Classification>,
    ) -> impl Iterator<Item = &BTreeSet<usize>> {
        self.queues
            .iter()
            .filter(move |((s, _), _)| status.is_none_or(|status| status == *s))
            .filter(move |((_, c), _)| classification.is_none_or(|wanted| wanted == *c))
            .map(|(_, queue)| queue)
    }

    /// The positions of the matching issues in order, found by merging their queues.
    fn matching(
        &self,
        status: Option<Status>,
        classification: Option<Classification>,
    ) -> impl Iterator<Item = usize> {
        let mut queues: Vec<_> = self
            .queues_of(status, classification)
            .map(|queue| queue.iter().copied().peekable())
            .collect();
        std::iter::from_fn(move || {
            queues
                .iter_mut()
                .filter_map(|queue| queue.peek().copied().map(|position| (position, queue)))
                .min_by_key(|(position, _)| *position)
                .and_then(|(_, queue)| queue.next())
        })
    }

    fn enqueue(&mut self, issue: &Issue, position: usize) {
        let queue = self.queues.entry((issue.status, issue.classification)).or_default();
        queue.insert(position);
    }

    fn dequeue(&mut self, issue: &Issue, position: usize) {
        if let Some(queue) = self.queues.get_mut(&(issue.status, issue.classification)) {
            queue.remove(&position);
        }
    }
}

/// A store that keeps its issues in memory only: for tests, and the model that others must match.
#[derive(Debug, Default)]
pub struct MemoryStore {
    state: Mutex<IssueStore>,
}

impl MemoryStore {
    fn state(&self) -> MutexGuard<'_, IssueStore> {
        // A panic between two statements of `IssueStore` cannot leave it half changed in a way that
        // outlives the test that uses this store.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn apply_now(
        &self,
        command: &Command,
        now: Timestamp,
    ) -> Result<Option<Arc<Issue>>, StoreError> {
        let mut state = self.state();
        match state.decide(command, now)? {
            Some(event) => Ok(Some(state.apply(&event)?)),
            None => Ok(None),
        }
    }
}

impl Store for MemoryStore {
    fn apply(&self, command: Command, now: Timestamp) -> StoreFuture<'_, Option<Arc<Issue>>> {
        ready(self.apply_now(&command, now)).boxed()
    }

    fn get(&self, reference: IssueRef) -> StoreFuture<'_, Arc<Issue>> {
        ready(self.state().find(&reference).cloned().map_err(StoreError::from)).boxed()
    }

    fn list(&self, query: Query) -> StoreFuture<'_, Page> {
        ready(Ok(self.state().list(&query))).boxed()
    }

    fn counts(&self) -> StoreFuture<'_, Counts> {
        ready(Ok(self.state().counts())).boxed()
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        ready(()).boxed()
    }
}
