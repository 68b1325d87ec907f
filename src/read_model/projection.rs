//! The read model of all issues, and how it follows the store.

use super::agent_interner::Names;
use super::attribute_counts::AttributeCounts;
use super::signatures::Signatures;
use super::sort_index::SortIndex;
use super::status_timeline::{StatusChange, steps_of};
use super::summary::IssueSummary;
use crate::tracker::{IndexedIssues, Version};

/// The summaries of all issues by position, which is the order of filing.
#[derive(Debug, Default)]
pub struct Projection {
    revision: Version,
    versions: Vec<Version>,
    pub(super) summaries: Vec<IssueSummary>,
    pub(super) steps: Vec<Box<[StatusChange]>>,
    pub(super) names: Names,
    pub(super) attributes: AttributeCounts,
    pub(super) orders: SortIndex,
    pub(super) signatures: Signatures,
}

impl Projection {
    /// Updates the read model to a state of the store.
    ///
    /// Reads only the issues that are new or changed since the last state, and takes some nanoseconds for each of
    /// the others. An unchanged state costs nothing. Nothing but the summaries is kept.
    pub(super) fn follow(&mut self, issues: &IndexedIssues) {
        if issues.revision() != self.revision {
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
            let summary = IssueSummary::of(&issue, &mut self.names);
            let steps = steps_of(&issue).into_boxed_slice();
            self.signatures.note(position, &issue);
            self.attributes.add(&summary.attributes);
            if position < self.summaries.len() {
                self.attributes.remove(&self.summaries[position].attributes);
                self.summaries[position] = summary;
                self.steps[position] = steps;
            } else {
                self.summaries.push(summary);
                self.steps.push(steps);
            }
        }
        self.orders.follow(&changed, &self.summaries, &self.names);
        self.revision = issues.revision();
    }
}
