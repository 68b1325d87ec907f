//! The read model of all issues, and how it follows the store.

use std::sync::Arc;

use super::agent_interner::Names;
use super::attribute_counts::AttributeCounts;
use super::findings_cache::FindingsCache;
use super::signatures::Signatures;
use super::sort_index::SortIndex;
use super::summary::IssueSummary;
use crate::tracker::{IndexedIssues, Version};

/// The summaries of all issues by position, which is the order of filing.
/// A clone shares the summaries.
#[derive(Clone, Debug, Default)]
pub struct Projection {
    revision: Version,
    versions: Vec<Version>,
    pub(super) summaries: Vec<Arc<IssueSummary>>,
    pub(super) names: Names,
    pub(super) attributes: AttributeCounts,
    pub(super) orders: SortIndex,
    pub(super) signatures: Signatures,
    pub(super) findings: FindingsCache,
}

impl Projection {
    /// Returns true if this is the read model of a state of the store.
    pub(super) fn is_of(&self, issues: &IndexedIssues) -> bool {
        issues.revision() == self.revision
    }

    /// Returns true if it has no issues.
    pub(super) fn is_empty(&self) -> bool {
        self.summaries.is_empty()
    }

    /// Updates the read model to a state of the store.
    ///
    /// Reads only the issues that are new or changed since the last state, and takes some nanoseconds for each of
    /// the others. An unchanged state costs nothing. Nothing but the summaries is kept.
    pub(super) fn follow(&mut self, issues: &IndexedIssues) {
        if !self.is_of(issues) {
            self.read(issues);
        }
    }

    fn read(&mut self, issues: &IndexedIssues) {
        if issues.len() < self.summaries.len() {
            // After a restore or an external edit, positions refer to other issues.
            *self = Self::default();
        }
        let mut changed = Vec::new();
        for (position, version) in issues.versions().enumerate() {
            match self.versions.get_mut(position) {
                Some(known) if *known == version => {}
                Some(known) => {
                    *known = version;
                    changed.push(position);
                }
                None => {
                    self.versions.push(version);
                    changed.push(position);
                }
            }
        }
        if changed.len() == issues.len() && !self.summaries.is_empty() {
            // Every issue changed, so this is in effect another store: the old names may no longer occur.
            *self = Self::default();
            return self.read(issues);
        }
        for &position in &changed {
            let issue = issues.at(position);
            let summary = Arc::new(IssueSummary::of(&issue, &mut self.names));
            self.signatures.note(position, &issue);
            if position < self.summaries.len() {
                self.attributes.remove(position, &self.summaries[position].attributes);
            }
            self.attributes.add(position, &summary.attributes);
            if position < self.summaries.len() {
                self.summaries[position] = summary;
            } else {
                self.summaries.push(summary);
            }
        }
        self.orders.follow(&changed, &self.summaries, &self.names);
        self.revision = issues.revision();
    }
}
