//! The view of one state of the store.

use std::sync::Arc;

use super::digest::Digest;
use super::index::Index;
use super::life::Life;
use super::names::Names;
use crate::domain::{Counts, DomainError, Issue, IssueId, IssueRef};
use crate::tracker::IssueStore;

/// What is known of all issues, together with the state of the store that it is about.
pub struct Survey<'a> {
    pub(super) index: &'a mut Index,
    pub(super) issues: IssueStore,
}

impl<'a> Survey<'a> {
    pub(super) fn new(index: &'a mut Index, issues: IssueStore) -> Self {
        Self { index, issues }
    }

    /// The issues, in the order in which they were filed.
    pub fn digests(&self) -> &[Digest] {
        &self.index.digests
    }

    /// The names of the agents in all histories.
    pub fn names(&self) -> &Names {
        &self.index.names
    }

    /// How many issues there are in each status.
    pub fn counts(&self) -> Counts {
        self.issues.counts()
    }

    /// The lives of the issues, for statistics.
    pub fn lives(&self) -> impl Iterator<Item = Life<'_>> {
        self.index.digests.iter().zip(&self.index.steps).map(|(digest, steps)| Life {
            classification: digest.classification,
            created_at: digest.created_at,
            status: digest.status,
            steps,
        })
    }

    /// The whole of the issue at a position.
    ///
    /// # Panics
    ///
    /// When there are not so many.
    pub fn issue(&self, position: usize) -> Arc<Issue> {
        self.issues.at(position)
    }

    /// The position of an issue that somebody names.
    ///
    /// # Errors
    ///
    /// [`DomainError::UnknownIssue`] and [`DomainError::AmbiguousReference`].
    pub fn position(&self, reference: &IssueRef) -> Result<usize, DomainError> {
        self.issues.position(reference)
    }

    /// What is known of one issue.
    pub fn digest(&self, id: IssueId) -> Option<&Digest> {
        let position = self.position(&IssueRef::from(id)).ok()?;
        self.index.digests.get(position)
    }
}
