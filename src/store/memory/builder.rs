//! Builds an [`IndexedIssues`] from many issues at once.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::iter;
use std::sync::Arc;

use imbl::Vector;

use super::{IndexedIssues, Queue, Revision};
use crate::domain::{Classification, Issue, IssueId, Link, LinkKind, Status, StatusSet, Timestamp};
use crate::store::claim_order::ClaimOrder;
use crate::store::holders::Holders;

/// A builder for an [`IndexedIssues`]: collects issues and indexes them together at the end.
///
/// Sorted keys enter a tree next to each other. That takes a fraction of the time of keys in random order.
#[derive(Debug, Default)]
pub(in crate::store) struct IndexedIssuesBuilder {
    issues: Vector<Arc<Issue>>,
    ids: Vec<(IssueId, usize)>,
    /// The issues with attributes, by ascending position.
    special: Vec<(usize, Arc<Issue>)>,
    /// The positions of claimed issues, in any order.
    claimed: Vec<usize>,
    queues: [[QueueBuilder; Classification::ALL.len()]; Status::ALL.len()],
}

/// The sequences that become a [`Queue`].
#[derive(Debug, Default)]
struct QueueBuilder {
    filed: Vec<usize>,
    latest: Vec<Reverse<(Timestamp, usize)>>,
}

impl QueueBuilder {
    /// Returns the positions of the issues that are not among the special ones.
    fn plain(&self, special: &[(usize, Arc<Issue>)]) -> impl Iterator<Item = usize> {
        let is_plain = |at: &usize| special.binary_search_by_key(at, |(at, _)| *at).is_err();
        self.filed.iter().copied().filter(is_plain)
    }
}

impl IndexedIssuesBuilder {
    /// Appends an issue.
    pub fn push(&mut self, issue: Issue) {
        let issue = Arc::new(issue);
        let position = self.issues.len();
        self.ids.push((issue.id, position));
        if !issue.attributes.is_empty() {
            self.special.push((position, Arc::clone(&issue)));
        }
        if issue.status.is_claimed() {
            self.claimed.push(position);
        }
        let queue = &mut self.queues[issue.status as usize][issue.classification as usize];
        queue.filed.push(position);
        queue.latest.push(Reverse((issue.modified_at, position)));
        self.issues.push_back(issue);
    }

    /// Builds the indexes. Returns `None` if two issues have the same id.
    pub fn build(mut self) -> Option<IndexedIssues> {
        self.ids.sort_unstable();
        if self.ids.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return None;
        }
        let claims = self.claims();
        let queues = self.queues.map(|of_status| {
            of_status.map(|QueueBuilder { filed, mut latest }| {
                latest.sort_unstable();
                Queue { filed: filed.into_iter().collect(), latest: latest.into_iter().collect() }
            })
        });
        let positions = self.ids.into_iter().collect();
        let revisions: Vector<_> = Revision::many(self.issues.len()).map(Revision).collect();
        let revision = revisions.last().copied().unwrap_or_default();
        let issues = self.issues;
        let holders = Holders::default();
        let mut store =
            IndexedIssues { issues, revisions, revision, positions, queues, claims, holders };
        for position in self.claimed {
            store.holders.add(&store.at(position));
        }
        Some(store)
    }

    /// Returns the order of claims. The ids are sorted.
    fn claims(&self) -> ClaimOrder {
        let waiting = self.waiting();
        let special = &self.special;
        let created = Classification::ALL.iter().zip(&self.queues[Status::Created as usize]);
        let created = created.flat_map(|(kind, all)| all.plain(special).map(move |at| (*kind, at)));
        let created = created.filter(|(_, at)| !waiting.contains(at));
        let completed = self.queues[Status::Completed as usize].iter();
        let completed = completed.flat_map(|all| all.plain(special));
        let mut claims = ClaimOrder::of_plain(created, completed);
        claims.set_links(special.iter().map(|(_, issue)| &**issue));
        for (position, issue) in special {
            claims.insert(issue, *position, !waiting.contains(position));
        }
        claims
    }

    /// Returns the positions of the issues that wait for an open one, a blocker or a part, or with a whole that is
    /// parked or blocked. The ids are sorted.
    fn waiting(&self) -> HashSet<usize> {
        let mut waiting = HashSet::new();
        if self.special.is_empty() {
            return waiting;
        }
        let mut is_open = vec![false; self.issues.len()];
        for status in StatusSet::open().iter() {
            let positions = self.queues[status as usize].iter().flat_map(|all| &all.filed);
            positions.for_each(|position| is_open[*position] = true);
        }
        let position = |id: IssueId| {
            let found = self.ids.binary_search_by_key(&id, |(id, _)| *id).ok();
            found.map(|at| self.ids[at].1)
        };
        let whole = |at: &usize| {
            let found = self.special.binary_search_by_key(at, |(at, _)| *at).ok();
            found.and_then(|found| self.special[found].1.attributes.parent()).and_then(position)
        };
        let wholes = |at: usize| iter::successors(whole(&at), whole).take(Link::MAX_DEPTH);
        let mut holding_back = HashSet::new();
        for (at, issue) in &self.special {
            let blockers = issue.attributes.linked(LinkKind::BlockedBy).filter_map(position);
            let open: Vec<_> = blockers.filter(|blocker| is_open[*blocker]).collect();
            if !open.is_empty() {
                waiting.insert(*at);
            }
            let mut outside =
                open.iter().filter(|blocker| wholes(**blocker).all(|above| above != *at));
            if is_open[*at] && (issue.attributes.parked.is_some() || outside.next().is_some()) {
                holding_back.insert(*at);
            }
            let parent = issue.attributes.parent().filter(|_| is_open[*at]);
            waiting.extend(parent.and_then(position));
        }
        let parts = self.special.iter().map(|(at, _)| *at);
        waiting.extend(parts.filter(|at| wholes(*at).any(|above| holding_back.contains(&above))));
        waiting
    }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;
    use serde_json::json;

    use super::*;

    /// Returns an issue with any status and, mostly, attributes. Its links lead to other issues of these.
    fn any_issue(number: usize, count: usize, rng: &mut Rng) -> Issue {
        let id = |number: usize| format!("{number:08x}-0000-4000-8000-000000000000");
        let time = |minute: u32| format!("2026-01-31T09:{minute:02}:00.000Z");
        let mut issue = json!({
            "id": id(number), "title": "T", "description": "",
            "classification": rng.choice(Classification::ALL), "status": rng.choice(Status::ALL),
            "createdAt": time(0), "modifiedAt": time(rng.u32(..60)), "history": [], "comments": [],
        });
        let mut other = || id((number + rng.usize(1..count)) % count);
        let (parent, blocker) = (other(), other());
        for (key, value) in [
            ("priority", json!(rng.u8(..5))),
            ("labels", json!(["ui"])),
            ("assignee", json!("dev")),
            ("links", json!([{ "kind": "parent", "to": parent }])),
            ("links", json!([{ "kind": "blocked_by", "to": blocker }])),
            ("parked", json!({ "reason": "r", "since": time(0), "by": "lead" })),
            ("parked", json!({ "reason": "r", "since": time(0), "by": "lead", "until": time(9) })),
        ] {
            if rng.u8(..4) == 0 {
                issue[key] = value;
            }
        }
        serde_json::from_value(issue).unwrap()
    }

    fn built(issues: impl Iterator<Item = Issue>) -> IndexedIssues {
        let mut builder = IndexedIssuesBuilder::default();
        issues.for_each(|issue| builder.push(issue));
        builder.build().unwrap()
    }

    #[test]
    fn the_order_of_claims_follows_from_the_issues_alone() {
        for seed in 0..300 {
            let mut rng = Rng::with_seed(seed);
            let count = rng.usize(2..12);
            let issues: Vec<_> = (0..count).map(|at| any_issue(at, count, &mut rng)).collect();
            let mut added = IndexedIssues::default();
            for issue in &issues {
                added.push(issue.clone()).unwrap();
            }
            assert_eq!(built(issues.into_iter()).claims, added.claims, "seed {seed}");
            for _ in 0..20 {
                let changed = any_issue(rng.usize(..count), count, &mut rng);
                added.change(changed.id, |issue| *issue = changed.clone()).unwrap();
                let rebuilt = built(added.issues().map(Arc::unwrap_or_clone));
                assert_eq!(rebuilt.claims, added.claims, "seed {seed}");
            }
        }
    }
}
