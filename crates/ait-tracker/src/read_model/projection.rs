//! The read model of all issues, and how it follows the store.

use std::collections::HashSet;
use std::sync::Arc;

use indexmap::IndexSet;

use super::agent_index::AgentIndex;
use super::agent_interner::Names;
use super::attribute_index::AttributeIndex;
use super::chunked::Chunked;
use super::findings_cache::FindingsCache;
use super::rows::Row;
use super::summary::IssueSummary;
use crate::{EventPosition, Events, IdIndex, Links, SnapshotVisitor};
use ait_domain::{Attributes, EventKind, Issue, IssueId, Lease, Status, UnknownKeys};

/// The summaries of all issues by position, which is the order of filing.
///
/// Its parts are shared by clones. So a clone costs nearly the same at any size, and readers keep the one
/// that they look at while the next one is made.
#[derive(Clone, Debug, Default)]
pub struct Projection {
    /// The newest event that it knows of.
    pub(super) position: EventPosition,
    pub(super) ids: IdIndex,
    pub(super) links: Links,
    pub(super) summaries: Chunked<Arc<IssueSummary>>,
    pub(super) rows: Chunked<Row>,
    pub(super) counts: [usize; Status::ALL.len()],
    pub(super) names: Arc<Names>,
    pub(super) agents: AgentIndex,
    pub(super) attributes: AttributeIndex,
    pub(super) findings: FindingsCache,
    /// The keys beside the issues.
    pub(super) unknown_keys: UnknownKeys,
    /// Attributes that several issues may share.
    shared: Arc<HashSet<Attributes>>,
}

/// What a read model lacks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum News {
    Nothing,
    /// These issues are new or changed, in the order of their first changes, up to an event; and the keys beside the
    /// issues, if they changed.
    Changed(Vec<IssueId>, EventPosition, Option<UnknownKeys>),
    /// It has to be built anew: positions refer to other issues, or the events that it knows are gone.
    Everything,
}

/// Builds a read model from all issues.
impl SnapshotVisitor for Projection {
    fn begin(&mut self, position: EventPosition, unknown_keys: UnknownKeys) {
        *self = Self { position, unknown_keys, ..Self::default() };
    }

    fn visit(&mut self, issue: Arc<Issue>, _: Option<Lease>) {
        self.put(&issue);
    }
}

impl Projection {
    /// Returns the read model of these issues.
    pub fn of(issues: impl Iterator<Item = Arc<Issue>>) -> Self {
        let mut projection = Self::default();
        projection.update(issues);
        projection
    }

    /// Says what it lacks, by the newest event that it knows of and those after it.
    pub(super) fn news(&self, found: &Events) -> News {
        // Without an event, nothing shows that issues came from another store.
        if self.position == EventPosition::default() {
            return News::Everything;
        }
        if found.newest == self.position {
            return News::Nothing;
        }
        let Some((known, later)) = found.events.split_first() else { return News::Everything };
        let Some(last) = later.last().filter(|_| known.position == self.position) else {
            return News::Everything;
        };
        let mut changed = IndexSet::new();
        let mut keys = None;
        for event in later {
            match &event.event.kind {
                EventKind::Removed { .. } | EventKind::Imported { next: Some(_), .. } => {
                    return News::Everything;
                }
                EventKind::UnknownKeysEdited { keys: edited } => keys = Some(edited.after.clone()),
                _ => drop(changed.insert(event.event.issue)),
            }
        }
        News::Changed(changed.into_iter().collect(), last.position, keys)
    }

    /// Adds issues, or replaces what it knows of them.
    pub(super) fn update(&mut self, issues: impl Iterator<Item = Arc<Issue>>) {
        let mut knows_last = true;
        issues.for_each(|issue| knows_last &= self.put(&issue));
        if !knows_last {
            self.agents.find_last(&self.summaries);
        }
    }

    /// Adds an issue, or replaces what it knows of it. Entries are no work, and stay out. Returns false if the last
    /// action of an agent may be gone.
    fn put(&mut self, issue: &Issue) -> bool {
        if issue.status == Status::Kept {
            return true;
        }
        let mut summary = IssueSummary::of(issue, Arc::make_mut(&mut self.names));
        self.share(&mut summary.attributes);
        let summary = Arc::new(summary);
        let former = self.ids.get(summary.id).map(|at| (at, Arc::clone(&self.summaries[at])));
        let position = former.as_ref().map_or(self.summaries.len(), |(at, _)| *at);
        let former = former.as_ref().map(|(_, former)| &**former);
        let knows_last = self.agents.replace(position, former, &summary);
        if let Some(former) = former {
            self.attributes.remove(position, former);
            self.links.remove(former.id, &former.attributes);
            self.counts[former.status as usize] -= 1;
        } else {
            self.ids.insert(summary.id, position);
        }
        self.attributes.add(position, &summary);
        self.links.add(summary.id, &summary.attributes);
        self.counts[summary.status as usize] += 1;
        self.rows.put(position, Row::of(&summary));
        self.summaries.put(position, summary);
        knows_last
    }

    /// Exchanges attributes for equal ones, which take no memory of their own.
    fn share(&mut self, attributes: &mut Attributes) {
        if !attributes.links.is_empty() || attributes.parked.is_some() {
            return;
        }
        if let Some(known) = self.shared.get(attributes) {
            *attributes = known.clone();
        } else {
            let shared = Arc::make_mut(&mut self.shared);
            // Those that no issue has any more are not kept for ever.
            if shared.len() > self.summaries.len() {
                shared.clear();
            }
            shared.insert(attributes.clone());
        }
    }
}
