//! Builds an [`IndexedIssues`] from many issues at once.

use std::sync::Arc;

use imbl::Vector;

use super::IndexedIssues;
use super::links::Links;
use crate::holders::Holders;
use ait_domain::{Issue, IssueId};

/// A builder for an [`IndexedIssues`]: collects issues and indexes them together at the end.
///
/// Sorted keys enter a tree next to each other. That takes a fraction of the time of keys in random order.
#[derive(Debug, Default)]
pub(crate) struct IndexedIssuesBuilder {
    issues: Vector<Arc<Issue>>,
    ids: Vec<(IssueId, usize)>,
    /// The issues with links.
    linked: Vec<Arc<Issue>>,
    /// The positions of claimed issues, in any order.
    claimed: Vec<usize>,
}

impl IndexedIssuesBuilder {
    /// Appends an issue.
    pub fn push(&mut self, issue: Arc<Issue>) {
        let position = self.issues.len();
        self.ids.push((issue.id, position));
        if !issue.attributes.links.is_empty() {
            self.linked.push(Arc::clone(&issue));
        }
        if issue.status.is_claimed() {
            self.claimed.push(position);
        }
        self.issues.push_back(issue);
    }

    /// Builds the indexes. Returns `None` if two issues have the same id.
    pub fn build(mut self) -> Option<IndexedIssues> {
        self.ids.sort_unstable();
        if self.ids.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return None;
        }
        let links = Links::of(self.linked.iter().map(|issue| (issue.id, &issue.attributes)));
        let positions = self.ids.into_iter().collect();
        let issues = self.issues;
        let holders = Holders::default();
        let mut store = IndexedIssues { issues, positions, links, holders };
        for position in self.claimed {
            store.holders.add(&store.at(position));
        }
        Some(store)
    }
}
