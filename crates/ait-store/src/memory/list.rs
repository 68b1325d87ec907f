//! Lists of the issues in memory.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::IndexedIssues;
use ait_domain::condition::{IdName, LoweredTexts};
use ait_domain::lessons;
use ait_domain::{
    Attributes, Classification, Counts, Issue, IssueGraph, IssueId, LinkKind, MatchCounts, Order,
    Page, Query, Status, Subject, Timestamp,
};

impl IndexedIssues {
    /// Returns one page of the issues that match a query. Looks at every issue.
    pub fn list(&self, query: &Query) -> Page {
        let matches = |issue: &Arc<Issue>| {
            query.classification.is_none_or(|kind| kind == issue.classification)
                && (query.condition.is_empty()
                    || query.condition.matches(&self.subject(Arc::clone(issue))))
        };
        let mut matching: Vec<Arc<Issue>> =
            self.issues.iter().filter(|issue| matches(issue)).cloned().collect();
        match query.order {
            Order::Filed => {}
            Order::Priority => matching.sort_by_key(|issue| issue.attributes.effective_priority()),
            Order::Title => matching.sort_by_cached_key(|issue| issue.title.to_lowercase()),
            _ => {
                // Of two that changed at one time, the one that was filed last comes first.
                matching.reverse();
                matching.sort_by_key(|issue| Reverse(issue.modified_at));
            }
        }
        match query.order {
            Order::Created => matching.sort_by_key(|issue| Reverse(issue.created_at)),
            Order::Classification => matching.sort_by_key(|issue| issue.classification),
            Order::Status => matching.sort_by_key(|issue| issue.status),
            Order::Holder => matching
                .sort_by_cached_key(|issue| issue.holder().map(|holder| holder.agent.to_owned())),
            Order::Relevance => matching.sort_by_cached_key(|issue| {
                Reverse(query.condition.relevance(&self.subject(Arc::clone(issue))))
            }),
            Order::Match => matching.sort_by_cached_key(|issue| {
                Reverse(query.condition.title_score(&issue.title.to_lowercase()))
            }),
            Order::Filed | Order::Priority | Order::Title | Order::LatestActivity => {}
        }
        if query.reversed {
            matching.reverse();
        }
        if query.order == Order::Holder {
            matching.sort_by_key(|issue| issue.holder().is_none());
        }
        let counts =
            Counts::of(|status| matching.iter().filter(|issue| issue.status == status).count());
        matching.retain(|issue| query.statuses.contains(issue.status));
        let total = matching.len();
        let issues = matching.into_iter().skip(query.skip).take(query.take).collect();
        let counts = Some(MatchCounts { counts, are_exact: true });
        Page { total, is_exact: true, issues, counts }
    }

    /// Returns an issue of this state as conditions see it.
    pub fn subject(&self, issue: Arc<Issue>) -> impl Subject {
        StoredSubject { issue, issues: self, texts: OnceCell::new() }
    }
}

/// An issue in the state of a store.
struct StoredSubject<'a> {
    issue: Arc<Issue>,
    issues: &'a IndexedIssues,
    texts: OnceCell<LoweredTexts>,
}

impl Subject for StoredSubject<'_> {
    fn id(&self) -> IssueId {
        self.issue.id
    }

    fn status(&self) -> Status {
        self.issue.status
    }

    fn classification(&self) -> Classification {
        self.issue.classification
    }

    fn created_at(&self) -> Timestamp {
        self.issue.created_at
    }

    fn modified_at(&self) -> Timestamp {
        self.issue.modified_at
    }

    fn active_at(&self) -> Timestamp {
        self.issue.active_at()
    }

    fn attributes(&self) -> &Attributes {
        &self.issue.attributes
    }

    fn holder(&self) -> Option<&str> {
        self.issue.holder().map(|holder| holder.agent)
    }

    fn filer(&self) -> Option<&str> {
        self.issue.history.first().map(|entry| &*entry.agent)
    }

    fn has_actor(&self, agent: &str) -> bool {
        self.issue.history.iter().any(|entry| entry.agent == agent)
    }

    fn returns(&self) -> usize {
        self.issue.returns()
    }

    fn claims(&self) -> usize {
        self.issue.attempts().claims
    }

    fn has_open_blocker(&self) -> bool {
        self.issues.open_blockers(&self.issue).next().is_some()
    }

    fn has_ended_blocker(&self) -> bool {
        let mut blockers = self.issue.attributes.linked(LinkKind::BlockedBy);
        blockers.any(|id| self.issues.get(id).is_some_and(|blocker| blocker.status.has_ended()))
    }

    fn has_part(&self) -> bool {
        !self.issues.linked_from(LinkKind::Parent, self.issue.id).is_empty()
    }

    fn has_open_part(&self) -> bool {
        self.issues.open_parts(self.issue.id).next().is_some()
    }

    fn waits_with_whole(&self, now: Timestamp) -> bool {
        self.issues.waits_with_whole(&self.issue.attributes, now)
    }

    fn told_subjects(&self) -> BTreeSet<String> {
        lessons::told_subjects(&self.issue)
    }

    fn has_external_id(&self, id: &str) -> bool {
        self.issue.has_external_id(id)
    }

    fn blocks(&self, ids: &RangeInclusive<IssueId>) -> bool {
        let blocked = self.issues.linked_from(LinkKind::BlockedBy, self.issue.id);
        blocked.iter().any(|id| ids.contains(id))
    }

    fn contains(&self, text: &str) -> bool {
        IdName::of(text).names(self.issue.id)
            || self.texts.get_or_init(|| LoweredTexts::of(&self.issue)).contain(text)
    }
}
