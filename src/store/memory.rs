//! The indexed state of a store in memory.
//!
//! [`IssueStore`] knows issues by position (the order in which they were filed), by id and by status
//! and classification. It waits for nothing and touches no disk.

use std::cmp::Reverse;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use imbl::{OrdMap, OrdSet, Vector};

use super::kept::{Kept, Written};
use crate::domain::{
    Classification, Counts, DomainError, Event, Issue, IssueId, IssueRef, Order, Page, Query,
    Status, Statuses, Timestamp,
};

/// The issues of a store, indexed.
///
/// Made of persistent trees: a clone costs the same at any size, shares everything with the original
/// and changes independently of it. So a reader takes a clone and looks at it for as long as it likes,
/// and a change that fails is undone by dropping the clone that it was tried on.
#[derive(Clone, Debug, Default)]
pub struct IssueStore {
    issues: Vector<Kept>,
    /// What tells whether the issue at a position is still the same one.
    versions: Vector<Version>,
    /// The version of the whole.
    revision: Version,
    positions: OrdMap<IssueId, usize>,
    queues: [[Queue; Classification::ALL.len()]; Status::ALL.len()],
}

/// What an issue, or a whole state, has in common with nothing else that this process has known, except
/// with its clones. Means nothing in another process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Version(u64);

impl Version {
    fn new() -> Self {
        Self(Self::many(1).start)
    }

    /// As many in a row.
    fn many(count: usize) -> Range<u64> {
        /// The next one. That of a state without issues is 0.
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let count = count as u64;
        let first = NEXT.fetch_add(count, Ordering::Relaxed);
        first..first + count
    }
}

/// The issues in one status and of one classification, in the two orders of [`Order`].
#[derive(Clone, Debug, Default)]
struct Queue {
    filed: OrdSet<usize>,
    latest: OrdSet<Reverse<(Timestamp, usize)>>,
}

impl IssueStore {
    /// The issues in the order in which they were filed.
    pub fn issues(&self) -> impl Iterator<Item = Arc<Issue>> {
        self.issues.iter().map(Kept::issue)
    }

    /// The same in the form in which they are kept.
    pub(super) fn kept(&self) -> impl Iterator<Item = &Kept> {
        self.issues.iter()
    }

    /// The issue that was filed as the `position`-th, beginning with 0.
    ///
    /// # Panics
    ///
    /// When there are not so many.
    pub fn at(&self, position: usize) -> Arc<Issue> {
        self.issues[position].issue()
    }

    /// The same as it stands in a file, if it is kept so: JSON, in which texts are escaped.
    ///
    /// # Panics
    ///
    /// When there are not so many.
    pub fn written_at(&self, position: usize) -> Option<&str> {
        match &self.issues[position] {
            Kept::Whole(_) => None,
            Kept::Written(written) => Some(written.text()),
        }
    }

    /// What tells of each issue whether it is still the same, in the order in which they were filed.
    pub fn versions(&self) -> impl Iterator<Item = Version> {
        self.versions.iter().copied()
    }

    /// What tells whether this is still the same state.
    pub fn revision(&self) -> Version {
        self.revision
    }

    /// An issue in the form in which it is kept.
    pub(super) fn kept_of(&self, id: IssueId) -> Option<&Kept> {
        self.positions.get(&id).map(|&position| &self.issues[position])
    }

    /// The id of the issue at a position.
    pub fn id_at(&self, position: usize) -> Option<IssueId> {
        self.issues.get(position).map(Kept::id)
    }

    /// Whether another state has the same issue, to the letter.
    pub(super) fn is_same_in(&self, other: &Self, id: IssueId) -> bool {
        match (self.kept_of(id), other.kept_of(id)) {
            (Some(Kept::Written(one)), Some(Kept::Written(other)))
                if one.text() == other.text() =>
            {
                true
            }
            (Some(Kept::Whole(one)), Some(Kept::Whole(other))) if Arc::ptr_eq(one, other) => true,
            (Some(one), Some(other)) => one.issue() == other.issue(),
            _ => false,
        }
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
        self.issues.push_back(Kept::Whole(Arc::clone(&issue)));
        self.revision = Version::new();
        self.versions.push_back(self.revision);
        Ok(issue)
    }

    /// Finds the issue that a caller names.
    ///
    /// # Errors
    ///
    /// [`DomainError::UnknownIssue`] and [`DomainError::AmbiguousReference`].
    pub fn find(&self, reference: &IssueRef) -> Result<Arc<Issue>, DomainError> {
        self.position(reference).map(|position| self.at(position))
    }

    /// The ids within a range, in their order.
    pub fn ids(&self, range: RangeInclusive<IssueId>) -> impl Iterator<Item = IssueId> {
        self.positions.range(range).map(|(id, _)| *id)
    }

    /// The position of the issue that a caller names.
    ///
    /// # Errors
    ///
    /// Those of [`find`](Self::find).
    pub fn position(&self, reference: &IssueRef) -> Result<usize, DomainError> {
        let mut matching = self.positions.range(reference.range());
        let Some((&first, &position)) = matching.next() else {
            return Err(DomainError::UnknownIssue { reference: reference.to_string() });
        };
        let others: Vec<IssueId> = matching.map(|(&id, _)| id).collect();
        if others.is_empty() {
            return Ok(position);
        }
        let count = 1 + others.len();
        let candidates =
            std::iter::once(first).chain(others).take(DomainError::MAX_CANDIDATES).collect();
        Err(DomainError::AmbiguousReference { reference: reference.to_string(), candidates, count })
    }

    /// Adds an issue in front of another one; behind all others without one, and where that one is not known.
    ///
    /// Costs as much as there are issues behind the place.
    ///
    /// # Errors
    ///
    /// Those of [`push`](Self::push).
    pub fn insert(
        &mut self,
        issue: Issue,
        ahead_of: Option<IssueId>,
    ) -> Result<Arc<Issue>, DomainError> {
        let Some(&place) = ahead_of.and_then(|id| self.positions.get(&id)) else {
            return self.push(issue);
        };
        if self.positions.contains_key(&issue.id) {
            return Err(DomainError::IdTaken { id: issue.id });
        }
        let behind = self.take_behind(place);
        let issue = self.push(issue)?;
        self.put_back(behind);
        Ok(issue)
    }

    /// Takes an issue out. Costs as much as there are issues behind it.
    ///
    /// # Errors
    ///
    /// [`DomainError::UnknownIssue`]; nothing changes then.
    pub fn remove(&mut self, id: IssueId) -> Result<(), DomainError> {
        let Some(&place) = self.positions.get(&id) else {
            return Err(DomainError::UnknownIssue { reference: id.to_string() });
        };
        let behind = self.take_behind(place);
        self.put_back(behind.into_iter().skip(1));
        self.revision = Version::new();
        Ok(())
    }

    /// Takes out all issues from a place on.
    fn take_behind(&mut self, place: usize) -> Vec<Kept> {
        let behind: Vec<Kept> = self.issues.split_off(place).into_iter().collect();
        drop(self.versions.split_off(place));
        for (offset, kept) in behind.iter().enumerate() {
            let issue = kept.issue();
            self.positions.remove(&issue.id);
            self.dequeue(&issue, place + offset);
        }
        behind
    }

    fn put_back(&mut self, behind: impl IntoIterator<Item = Kept>) {
        for kept in behind {
            let (issue, position) = (kept.issue(), self.issues.len());
            self.positions.insert(issue.id, position);
            self.enqueue(&issue, position);
            self.issues.push_back(kept);
            self.versions.push_back(Version::new());
        }
    }

    /// Finds an issue by its id.
    pub fn get(&self, id: IssueId) -> Option<Arc<Issue>> {
        self.positions.get(&id).map(|&position| self.at(position))
    }

    /// Applies an event that was decided on this state, of an issue that is there or comes behind all others, and
    /// returns the issue as it is afterwards.
    ///
    /// # Errors
    ///
    /// [`DomainError::IdTaken`] and [`DomainError::UnknownIssue`] for an event that this state does
    /// not follow; nothing changes then.
    pub fn apply(&mut self, event: &Event) -> Result<Arc<Issue>, DomainError> {
        match event.filed() {
            Some(issue) => self.push(issue),
            None => self.change(event.issue, |issue| event.apply(issue)),
        }
    }

    /// Undoes an event that changed an issue which was there before it.
    pub(super) fn revert(&mut self, event: &Event) -> Result<(), DomainError> {
        self.change(event.issue, |issue| event.revert(issue)).map(drop)
    }

    /// Becomes the same as a newer state, which differs in nothing but these issues; those that are new in it come
    /// behind all others, in this order.
    pub(super) fn catch_up(&mut self, newer: &Self, changed: &[IssueId]) {
        for id in changed {
            let Some(&position) = newer.positions.get(id) else { continue };
            let (kept, version) = (newer.issues[position].clone(), newer.versions[position]);
            if position < self.issues.len() {
                self.dequeue(&self.at(position), position);
                self.issues.set(position, kept);
                self.versions.set(position, version);
            } else {
                self.positions.insert(*id, position);
                self.issues.push_back(kept);
                self.versions.push_back(version);
            }
            self.enqueue(&newer.at(position), position);
        }
        self.revision = newer.revision;
    }

    fn change(
        &mut self,
        id: IssueId,
        change: impl FnOnce(&mut Issue),
    ) -> Result<Arc<Issue>, DomainError> {
        let Some(&position) = self.positions.get(&id) else {
            return Err(DomainError::UnknownIssue { reference: id.to_string() });
        };
        let mut issue = Arc::unwrap_or_clone(self.at(position));
        self.dequeue(&issue, position);
        change(&mut issue);
        self.enqueue(&issue, position);
        let issue = Arc::new(issue);
        self.issues.set(position, Kept::Whole(Arc::clone(&issue)));
        self.revision = Version::new();
        self.versions.set(position, self.revision);
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
        let page = |total, positions: &mut dyn Iterator<Item = usize>| {
            let positions = positions.skip(query.skip).take(query.take);
            Page { total, issues: positions.map(|position| self.at(position)).collect() }
        };
        let looks_inside = !query.content.is_empty();
        if !looks_inside && query.order != Order::Title && !query.reversed {
            return page(total, &mut { in_order });
        }
        let fits = |position: &usize| !looks_inside || query.content.fits(&self.at(*position));
        let mut matching: Vec<_> = in_order.filter(fits).collect();
        if query.order == Order::Title {
            matching.sort_by_cached_key(|&position| self.at(position).title.to_lowercase());
        }
        if query.reversed {
            matching.reverse();
        }
        page(matching.len(), &mut matching.into_iter())
    }

    /// Counts the issues in each status.
    pub fn counts(&self) -> Counts {
        Counts::of(|status| self.count([status].into_iter().collect(), None))
    }

    fn count(&self, statuses: Statuses, classification: Option<Classification>) -> usize {
        self.queues_of(statuses, classification).map(|queue| queue.filed.len()).sum()
    }

    /// The first filed of the matching issues.
    pub(super) fn oldest(
        &self,
        status: Status,
        classification: Option<Classification>,
    ) -> Option<usize> {
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
pub(super) struct Gathering {
    issues: Vector<Kept>,
    ids: Vec<(IssueId, usize)>,
    queues: [[Gathered; Classification::ALL.len()]; Status::ALL.len()],
}

/// What becomes a [`Queue`].
#[derive(Debug, Default)]
struct Gathered {
    filed: Vec<usize>,
    latest: Vec<Reverse<(Timestamp, usize)>>,
}

impl Gathering {
    /// Adds an issue behind all others.
    pub fn push(&mut self, issue: Issue) {
        self.note(&issue);
        self.issues.push_back(Kept::Whole(Arc::new(issue)));
    }

    /// The same for one that stays text. Nothing is asked of `issue` but what it is indexed by: id,
    /// status, classification and the time of its last change.
    pub fn push_written(&mut self, issue: &Issue, written: Written) {
        self.note(issue);
        self.issues.push_back(Kept::Written(written));
    }

    fn note(&mut self, issue: &Issue) {
        let position = self.issues.len();
        self.ids.push((issue.id, position));
        let queue = &mut self.queues[issue.status as usize][issue.classification as usize];
        queue.filed.push(position);
        queue.latest.push(Reverse((issue.modified_at, position)));
    }

    /// Adds the others behind all others.
    pub fn append(&mut self, others: Self) {
        let before = self.issues.len();
        self.issues.append(others.issues);
        self.ids.extend(others.ids.into_iter().map(|(id, position)| (id, before + position)));
        let queues = self.queues.iter_mut().flatten();
        for (queue, other) in queues.zip(others.queues.into_iter().flatten()) {
            queue.filed.extend(other.filed.into_iter().map(|position| before + position));
            let latest = other.latest.into_iter();
            queue
                .latest
                .extend(latest.map(|Reverse((time, position))| Reverse((time, before + position))));
        }
    }

    /// All of them, indexed; `None` when two have the same id.
    pub fn indexed(mut self) -> Option<IssueStore> {
        self.ids.sort_unstable();
        if self.ids.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return None;
        }
        let queues = self.queues.map(|of_status| {
            of_status.map(|Gathered { filed, mut latest }| {
                latest.sort_unstable();
                Queue { filed: filed.into_iter().collect(), latest: latest.into_iter().collect() }
            })
        });
        let positions = self.ids.into_iter().collect();
        let versions: Vector<_> = Version::many(self.issues.len()).map(Version).collect();
        let revision = versions.last().copied().unwrap_or_default();
        Some(IssueStore { issues: self.issues, versions, revision, positions, queues })
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
