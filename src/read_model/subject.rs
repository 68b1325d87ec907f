//! A summarized issue as conditions see it.

use std::cell::OnceCell;
use std::ops::RangeInclusive;

use super::read_view::ReadView;
use super::summary::IssueSummary;
use super::text_search::TextSearch;
use crate::domain::condition::LoweredTexts;
use crate::domain::{
    Attributes, Classification, IssueGraph, IssueId, LinkKind, Status, Subject, Timestamp,
};

/// An issue of which only the summary is read, unless a text has to be looked for.
pub(super) struct SummarizedIssue<'a> {
    view: &'a ReadView<'a>,
    position: usize,
    search: &'a TextSearch,
    /// The texts of the issue, once they were needed.
    texts: OnceCell<LoweredTexts>,
}

impl<'a> SummarizedIssue<'a> {
    /// Returns the issue at a position.
    pub fn new(view: &'a ReadView<'a>, position: usize, search: &'a TextSearch) -> Self {
        Self { view, position, search, texts: OnceCell::new() }
    }

    fn summary(&self) -> &'a IssueSummary {
        &self.view.summaries()[self.position]
    }
}

impl Subject for SummarizedIssue<'_> {
    fn id(&self) -> IssueId {
        self.summary().id
    }

    fn status(&self) -> Status {
        self.summary().status
    }

    fn classification(&self) -> Classification {
        self.summary().classification
    }

    fn created_at(&self) -> Timestamp {
        self.summary().created_at
    }

    fn modified_at(&self) -> Timestamp {
        self.summary().modified_at
    }

    fn active_at(&self) -> Timestamp {
        self.summary().active_at
    }

    fn attributes(&self) -> &Attributes {
        &self.summary().attributes
    }

    fn holder(&self) -> Option<&str> {
        self.summary().holder().map(|claim| self.view.names().text(claim.agent))
    }

    fn filer(&self) -> Option<&str> {
        self.summary().actions.first().map(|action| self.view.names().text(action.agent))
    }

    fn has_actor(&self, agent: &str) -> bool {
        self.view.names().find(agent).is_some_and(|name| self.summary().was_touched_by(name))
    }

    fn returns(&self) -> usize {
        self.summary().returns()
    }

    fn claims(&self) -> usize {
        self.summary().actions.iter().filter(|action| action.kind.is_claim()).count()
    }

    fn has_open_blocker(&self) -> bool {
        let mut blockers = self.summary().attributes.linked(LinkKind::BlockedBy);
        blockers.any(|id| self.view.is_open(id))
    }

    fn has_part(&self) -> bool {
        !self.view.issues.linked_from(LinkKind::Parent, self.id()).is_empty()
    }

    fn has_open_part(&self) -> bool {
        self.view.issues.open_parts(self.id()).next().is_some()
    }

    fn waits_with_whole(&self, now: Timestamp) -> bool {
        self.view.issues.waits_with_whole(self.attributes(), now)
    }

    fn has_external_id(&self, id: &str) -> bool {
        self.view.issue(self.position).has_external_id(id)
    }

    fn blocks(&self, ids: &RangeInclusive<IssueId>) -> bool {
        let blocked = self.view.issues.linked_from(LinkKind::BlockedBy, self.id());
        blocked.iter().any(|id| ids.contains(id))
    }

    fn contains(&self, text: &str) -> bool {
        self.search.finds(text, self.position, self.view, &self.texts)
    }
}
