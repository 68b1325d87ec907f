//! A view of the read model at one state of the store.

use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::agent_interner::Names;
use super::attribute_index::{AttributeIndex, Progress};
use super::chunked::Chunked;
use super::projection::Projection;
use super::stats::{Range, Stats};
use super::status_timeline::StatusTimeline;
use super::summary::IssueSummary;
use ait_domain::facts::TotalUsage;
use ait_domain::readiness::{self, WaitGraph};
use ait_domain::{
    Counts, DomainError, IssueId, IssueRef, LinkKind, Parked, Question, Status, Timestamp,
};

/// The summaries of all issues.
#[derive(Clone, Copy)]
pub struct ReadView<'a> {
    pub(super) index: &'a Projection,
}

impl<'a> ReadView<'a> {
    /// Returns a view of a read model.
    pub fn of(index: &'a Projection) -> Self {
        Self { index }
    }

    /// Returns the summaries of the issues in the order of filing.
    pub fn summaries(&self) -> &Chunked<Arc<IssueSummary>> {
        &self.index.summaries
    }

    /// Returns the names of the agents in all histories.
    pub fn names(&self) -> &Names {
        &self.index.names
    }

    /// Returns the JSON text of a key beside the issues.
    pub fn unknown_key(&self, key: &str) -> Option<&str> {
        self.index.unknown_keys.get(key)
    }

    /// Returns how many issues have each value of an attribute.
    pub fn attribute_counts(&self) -> &AttributeIndex {
        &self.index.attributes
    }

    /// Returns the open issues that block an issue, if it is open itself.
    pub fn open_blockers(&self, summary: &IssueSummary) -> impl Iterator<Item = IssueId> {
        readiness::open_blockers(self, summary).filter(|_| summary.status.is_open())
    }

    /// Returns how far the parts of an issue are; `None` if it has none.
    pub fn progress(&self, whole: IssueId) -> Option<Progress> {
        let parts = self.index.links.linked_from(LinkKind::Parent, whole);
        let mut progress = Progress::default();
        for part in parts.filter_map(|id| self.summary(id)) {
            progress.total += 1;
            progress.ended += usize::from(part.status.has_ended());
            progress.estimate += part.attributes.estimate.unwrap_or_default();
        }
        (progress.total > 0).then_some(progress)
    }

    /// Returns what the parts of an issue used, and their parts; `None` if nothing is known.
    pub fn usage_of_parts(&self, whole: IssueId) -> Option<TotalUsage> {
        let parts = readiness::parts_below(self, whole).into_iter();
        TotalUsage::sum(parts.filter_map(|id| self.summary(id)?.usage()))
    }

    /// Returns true if an issue has a link.
    pub fn has_links(&self) -> bool {
        !self.index.links.is_empty()
    }

    /// Returns the issues that some agent could claim for work at a time: they are created and not parked, and no
    /// blocker and no part of them is open.
    pub(super) fn ready(&self, now: Timestamp) -> HashSet<usize> {
        let created = self.in_status(Status::Created);
        created.filter(|at| readiness::is_ready(self, &self.summaries()[*at], now)).collect()
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
    pub fn questions(&self) -> impl Iterator<Item = (&IssueSummary, &Parked, &Question)> {
        self.parked().filter(|summary| !summary.status.is_claimed()).filter_map(|summary| {
            let parked = summary.attributes.parked.as_deref()?;
            Some((summary, parked, parked.question.as_ref()?))
        })
    }

    /// Returns the open issues that are parked, in the order of filing, also those whose parking is over.
    pub fn parked(&self) -> impl Iterator<Item = &IssueSummary> {
        let summaries = self.index.attributes.parked().map(|at| &*self.index.summaries[at]);
        summaries.filter(|summary| summary.status.is_open())
    }

    /// Returns the number of issues in each status.
    pub fn counts(&self) -> Counts {
        Counts::of(|status| self.index.counts[status as usize])
    }

    /// Returns the statistics of a time range.
    pub fn stats(&self, range: Range, now: Timestamp) -> Stats {
        let oldest = self.index.rows.iter().map(|row| row.created_at).min();
        let timelines = self.summaries().iter().map(|summary| StatusTimeline::of(summary));
        Stats::of(timelines, oldest, range, now).with_usage(self.summaries().iter(), self.names())
    }

    /// Returns the statistics of some issues since the first of them was filed, without what they used.
    pub fn stats_of(&self, ids: &[IssueId], now: Timestamp) -> Stats {
        let summaries: Vec<_> = ids.iter().filter_map(|id| self.summary(*id)).collect();
        let oldest = summaries.iter().map(|summary| summary.created_at).min();
        Stats::of(summaries.into_iter().map(StatusTimeline::of), oldest, Range::All, now)
    }

    /// Resolves a reference to a position.
    ///
    /// # Errors
    ///
    /// [`DomainError::UnknownIssue`] and [`DomainError::AmbiguousReference`].
    pub fn position(&self, reference: &IssueRef) -> Result<usize, DomainError> {
        self.index.ids.find(reference)
    }

    /// Returns the positions of the issues with ids within a range.
    pub fn positions(&self, ids: &RangeInclusive<IssueId>) -> impl Iterator<Item = usize> {
        self.index.ids.within(ids)
    }

    /// Returns the start of an id that no other issue has, for commands: at least 8 hex digits.
    pub fn short_id(&self, id: IssueId) -> String {
        self.index.ids.short_id(id)
    }

    /// Returns the summary of an issue.
    pub fn summary(&self, id: IssueId) -> Option<&IssueSummary> {
        self.index.ids.get(id).map(|at| &*self.index.summaries[at])
    }
}

impl WaitGraph for ReadView<'_> {
    type Node = IssueSummary;

    fn node(&self, id: IssueId) -> Option<Arc<IssueSummary>> {
        self.index.ids.get(id).map(|at| Arc::clone(&self.index.summaries[at]))
    }

    fn nodes_linked_from(&self, kind: LinkKind, to: IssueId) -> Vec<IssueId> {
        self.index.links.linked_from(kind, to).collect()
    }
}
