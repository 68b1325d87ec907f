//! A view of the read model at one state of the store.

use std::collections::HashSet;
use std::sync::Arc;

use super::agent_interner::Names;
use super::attribute_index::AttributeIndex;
use super::chunked::Chunked;
use super::projection::Projection;
use super::status_timeline::StatusTimeline;
use super::summary::IssueSummary;
use crate::domain::{Counts, DomainError, Issue, IssueId, IssueRef, LinkKind, Status, Timestamp};
use crate::tracker::IndexedIssues;

/// The summaries of all issues, together with the state of the store that they describe.
pub struct ReadView<'a> {
    pub(super) index: &'a Projection,
    pub(super) issues: IndexedIssues,
}

impl<'a> ReadView<'a> {
    /// Updates the read model to a state of the store, and returns a view of it.
    pub fn of(index: &'a mut Projection, issues: IndexedIssues) -> Self {
        index.follow(&issues);
        Self { index, issues }
    }

    /// Returns a view of a state of the store, with the read model of that state.
    pub(super) fn new(index: &'a Projection, issues: IndexedIssues) -> Self {
        debug_assert!(index.is_of(&issues));
        Self { index, issues }
    }

    /// Returns the summaries of the issues in the order of filing.
    pub fn summaries(&self) -> &Chunked<Arc<IssueSummary>> {
        &self.index.summaries
    }

    /// Returns the state of the store.
    pub fn issues(&self) -> &IndexedIssues {
        &self.issues
    }

    /// Returns the names of the agents in all histories.
    pub fn names(&self) -> &Names {
        &self.index.names
    }

    /// Returns how many issues have each value of an attribute.
    pub fn attribute_counts(&self) -> &AttributeIndex {
        &self.index.attributes
    }

    /// Returns the open issues that block an issue, if it is open itself.
    pub fn open_blockers(&self, summary: &IssueSummary) -> impl Iterator<Item = IssueId> {
        let blockers = summary.attributes.linked(LinkKind::BlockedBy);
        blockers.filter(|id| summary.status.is_open() && self.is_open(*id))
    }

    /// Returns true if there is an open issue with this id.
    pub(super) fn is_open(&self, id: IssueId) -> bool {
        self.summary(id).is_some_and(|summary| summary.status.is_open())
    }

    /// Returns the issues that some agent could claim for work at a time: they are created and not parked, and no
    /// blocker and no part of them is open.
    pub(super) fn ready(&self, now: Timestamp) -> HashSet<usize> {
        let created = self.in_status(Status::Created);
        created.filter(|at| self.issues.is_ready(&self.issue(*at), now)).collect()
    }

    /// Returns the positions of the issues in a status, in the order of filing.
    pub(super) fn in_status(&self, status: Status) -> impl Iterator<Item = usize> {
        let rows = self.index.rows.iter().enumerate();
        rows.filter(move |(_, row)| row.status == status).map(|(position, _)| position)
    }

    /// Returns the positions of the issues that changed at a time or later, in the order of filing.
    pub(super) fn changed_since(&self, since: Timestamp) -> impl Iterator<Item = usize> {
        let rows = self.index.rows.iter().enumerate();
        rows.filter(move |(_, row)| row.modified_at >= since).map(|(position, _)| position)
    }

    /// Returns the open issues in the order of filing, each with its position.
    pub(super) fn open(&self) -> impl Iterator<Item = (usize, &IssueSummary)> {
        let rows = self.index.rows.iter().enumerate();
        let open = rows.filter(|(_, row)| row.status.is_open());
        open.map(|(at, _)| (at, &*self.summaries()[at]))
    }

    /// Returns the issues with an open question to people, in the order of filing.
    pub fn questions(&self) -> impl Iterator<Item = Arc<Issue>> {
        let parked = self.index.attributes.parked().map(|at| self.issue(at));
        parked.filter(|issue| issue.waits_for_answer())
    }

    /// Returns the open issues that are parked, in the order of filing, also those whose parking is over.
    pub fn parked(&self) -> impl Iterator<Item = &IssueSummary> {
        let summaries = self.index.attributes.parked().map(|at| &*self.index.summaries[at]);
        summaries.filter(|summary| summary.status.is_open())
    }

    /// Returns the number of issues in each status.
    pub fn counts(&self) -> Counts {
        self.index.counts
    }

    /// Returns the status timelines of the issues, for statistics.
    pub fn timelines(&self) -> impl Iterator<Item = StatusTimeline<'_>> + Clone {
        self.index.rows.iter().zip(self.index.status_changes.iter()).map(|(row, changes)| {
            StatusTimeline {
                classification: row.classification,
                created_at: row.created_at,
                status: row.status,
                changes,
            }
        })
    }

    /// Returns the full issue at a position.
    ///
    /// # Panics
    ///
    /// Panics if the position is out of range.
    pub fn issue(&self, position: usize) -> Arc<Issue> {
        self.issues.at(position)
    }

    /// Resolves a reference to a position.
    ///
    /// # Errors
    ///
    /// [`DomainError::UnknownIssue`] and [`DomainError::AmbiguousReference`].
    pub fn position(&self, reference: &IssueRef) -> Result<usize, DomainError> {
        self.issues.position(reference)
    }

    /// Returns the start of an id that no other issue has, for commands: at least 8 hex digits.
    pub fn short_id(&self, id: IssueId) -> String {
        self.issues.short_id(id)
    }

    /// Returns the summary of an issue.
    pub fn summary(&self, id: IssueId) -> Option<&IssueSummary> {
        let position = self.position(&IssueRef::from(id)).ok()?;
        self.index.summaries.get(position).map(|summary| &**summary)
    }
}
