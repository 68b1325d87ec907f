//! The read model of all issues, and how it follows the store.

use std::sync::Arc;

use super::agent_index::AgentIndex;
use super::agent_interner::Names;
use super::attribute_index::AttributeIndex;
use super::chunked::Chunked;
use super::findings_cache::FindingsCache;
use super::rows::Row;
use super::status_timeline::{StatusChanges, status_changes};
use super::summary::IssueSummary;
use crate::domain::{Counts, Status};
use crate::tracker::{IndexedIssues, Revision};

/// The summaries of all issues by position, which is the order of filing.
///
/// Its parts are shared by clones. So a clone costs nearly the same at any size, and readers keep the one
/// that they look at while the next one is made.
#[derive(Clone, Debug, Default)]
pub struct Projection {
    revision: Revision,
    revisions: Chunked<Revision>,
    pub(super) summaries: Chunked<Arc<IssueSummary>>,
    pub(super) rows: Chunked<Row>,
    pub(super) counts: Counts,
    pub(super) status_changes: Chunked<StatusChanges>,
    pub(super) names: Arc<Names>,
    pub(super) agents: AgentIndex,
    pub(super) attributes: AttributeIndex,
    pub(super) findings: FindingsCache,
}

impl Projection {
    /// Returns true if this is the read model of a state of the store.
    pub(super) fn is_of(&self, issues: &IndexedIssues) -> bool {
        issues.revision() == self.revision
    }

    /// Updates the read model to a state of the store.
    ///
    /// Reads only the issues that are new or changed since the last state, and takes some nanoseconds for each of
    /// the others. An unchanged state costs nothing.
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
        let changed = changed(self.revisions.iter().copied(), issues.revisions());
        if changed.len() == issues.len() && !self.summaries.is_empty() {
            // Every issue changed, so this is in effect another store: the old names may no longer occur.
            *self = Self::default();
            return self.read(issues);
        }
        let mut knows_last = true;
        for &(position, revision) in &changed {
            let issue = issues.at(position);
            let summary = Arc::new(IssueSummary::of(&issue, Arc::make_mut(&mut self.names)));
            let former = self.summaries.get(position).cloned();
            knows_last &= self.agents.replace(position, former.as_deref(), &summary);
            if let Some(former) = &former {
                self.attributes.remove(position, former);
            }
            self.attributes.add(position, &summary);
            if former.is_some() {
                self.revisions.set(position, revision);
                self.rows.set(position, Row::of(&summary));
                self.status_changes.set(position, status_changes(&issue));
                self.summaries.set(position, summary);
            } else {
                self.revisions.push(revision);
                self.rows.push(Row::of(&summary));
                self.status_changes.push(status_changes(&issue));
                self.summaries.push(summary);
            }
        }
        if !knows_last {
            self.agents.find_last(&self.summaries);
        }
        let mut counts = [0; Status::ALL.len()];
        self.rows.iter().for_each(|row| counts[row.status as usize] += 1);
        self.counts = Counts::of(|status| counts[status as usize]);
        self.revision = issues.revision();
    }
}

/// Returns the positions with another revision than before, ascending, each with the new revision.
fn changed(
    mut before: impl Iterator<Item = Revision>,
    now: impl Iterator<Item = Revision>,
) -> Vec<(usize, Revision)> {
    now.enumerate().filter(|(_, revision)| before.next() != Some(*revision)).collect()
}
