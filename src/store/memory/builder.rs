//! Builds an [`IssueStore`] from many issues at once.

use std::cmp::Reverse;
use std::sync::Arc;

use imbl::Vector;

use super::{IssueStore, Queue};
use crate::domain::{Classification, Issue, IssueId, Status, Timestamp};
use crate::store::claim_order::ClaimOrder;
use crate::store::holders::Holders;
use crate::store::stored_issue::{RawIssue, StoredIssue, Version};

/// A builder for an [`IssueStore`]: collects issues and indexes them together at the end.
///
/// Sorted keys enter a tree next to each other. That takes a fraction of the time of keys in random order.
#[derive(Debug, Default)]
pub(in crate::store) struct IssueStoreBuilder {
    issues: Vector<StoredIssue>,
    ids: Vec<(IssueId, usize)>,
    /// The positions of issues with attributes, in any order.
    special: Vec<usize>,
    /// The positions of claimed issues, in any order.
    claimed: Vec<usize>,
    queues: [[Gathered; Classification::ALL.len()]; Status::ALL.len()],
}

/// The sequences that become a [`Queue`].
#[derive(Debug, Default)]
struct Gathered {
    filed: Vec<usize>,
    latest: Vec<Reverse<(Timestamp, usize)>>,
}

impl IssueStoreBuilder {
    /// Appends an issue.
    pub fn push(&mut self, issue: Issue) {
        self.note(&issue);
        self.issues.push_back(StoredIssue::Parsed(Arc::new(issue)));
    }

    /// Appends an issue that stays text. Only the indexed fields of `issue` are used: id, status, classification and
    /// the time of its last change.
    pub fn push_written(&mut self, issue: &Issue, written: RawIssue) {
        self.note(issue);
        self.issues.push_back(StoredIssue::Raw(written));
    }

    fn note(&mut self, issue: &Issue) {
        let position = self.issues.len();
        self.ids.push((issue.id, position));
        if !issue.attributes.is_empty() {
            self.special.push(position);
        }
        if issue.status.is_claimed() {
            self.claimed.push(position);
        }
        let queue = &mut self.queues[issue.status as usize][issue.classification as usize];
        queue.filed.push(position);
        queue.latest.push(Reverse((issue.modified_at, position)));
    }

    /// Appends the issues of another builder.
    pub fn append(&mut self, others: Self) {
        let before = self.issues.len();
        self.issues.append(others.issues);
        self.ids.extend(others.ids.into_iter().map(|(id, position)| (id, before + position)));
        self.special.extend(others.special.into_iter().map(|position| before + position));
        self.claimed.extend(others.claimed.into_iter().map(|position| before + position));
        let queues = self.queues.iter_mut().flatten();
        for (queue, other) in queues.zip(others.queues.into_iter().flatten()) {
            queue.filed.extend(other.filed.into_iter().map(|position| before + position));
            let latest = other.latest.into_iter();
            queue
                .latest
                .extend(latest.map(|Reverse((time, position))| Reverse((time, before + position))));
        }
    }

    /// Builds the indexes. Returns `None` if two issues have the same id.
    pub fn build(mut self) -> Option<IssueStore> {
        self.ids.sort_unstable();
        if self.ids.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return None;
        }
        let created = Classification::ALL.iter().zip(&self.queues[Status::Created as usize]);
        let created = created.map(|(kind, gathered)| (*kind, &*gathered.filed));
        let completed = self.queues[Status::Completed as usize].iter();
        let completed = completed.flat_map(|gathered| gathered.filed.iter().copied());
        let claims = ClaimOrder::of_plain(created, completed);
        let queues = self.queues.map(|of_status| {
            of_status.map(|Gathered { filed, mut latest }| {
                latest.sort_unstable();
                Queue { filed: filed.into_iter().collect(), latest: latest.into_iter().collect() }
            })
        });
        let positions = self.ids.into_iter().collect();
        let versions: Vector<_> = Version::many(self.issues.len()).map(Version).collect();
        let revision = versions.last().copied().unwrap_or_default();
        let issues = self.issues;
        let mut store = IssueStore {
            issues,
            versions,
            revision,
            positions,
            queues,
            claims,
            holders: Holders::default(),
        };
        store.place_special(&self.special);
        for position in self.claimed {
            store.holders.add(&store.at(position));
        }
        Some(store)
    }
}
