//! Findings: what is wrong in the queue, found by rules over the summaries of all issues.
//!
//! One rule finds each kind. Rules only read. What to do about a finding depends on who asks, so it is not said here.

mod agents;
mod linked;
mod texts;
mod waiting;
mod why;

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::sync::{Arc, MutexGuard};
use std::time::Instant;

use self::why::Why;
use super::finding::{Finding, FindingKind, Findings, FoundIssue, MAX_KEPT};
use super::findings_cache::Cached;
use super::read_view::ReadView;
use super::summary::IssueSummary;
use super::text_facts::TextFacts;
use crate::domain::{IssueId, IssueRef, Timestamp};

/// What rules look at, collected once for all of them.
struct Scene<'a> {
    view: &'a ReadView<'a>,
    now: Timestamp,
    /// The open issues, in the order of filing.
    open: Vec<OpenIssue<'a>>,
    /// The parents of all issues that are parts, each with the position of the part; sorted.
    parts: Vec<(IssueId, usize)>,
}

/// An open issue: its position, its summary and its facts.
type OpenIssue<'a> = (usize, &'a IssueSummary, &'a TextFacts);

impl<'a> Scene<'a> {
    fn of(view: &'a ReadView<'a>, now: Timestamp) -> Self {
        let open = view
            .open()
            .filter_map(|(at, summary)| Some((at, summary, summary.facts.as_deref()?)))
            .collect();
        let parts = view.index.attributes.parts();
        let parent = |at: usize| view.summaries()[at].attributes.parent();
        let mut parts: Vec<_> = parts.filter_map(|at| Some((parent(at)?, at))).collect();
        parts.sort_unstable();
        Self { view, now, open, parts }
    }

    fn open(&self) -> impl Iterator<Item = OpenIssue<'a>> {
        self.open.iter().copied()
    }

    /// Returns the position of an issue to which an open one is linked, if it exists.
    fn linked(&self, id: IssueId) -> Option<usize> {
        self.view.position(&IssueRef::from(id)).ok()
    }

    fn has_parts(&self, id: IssueId) -> bool {
        self.parts.binary_search_by_key(&id, |(parent, _)| *parent).is_ok()
    }

    /// Returns how long ago something was, in milliseconds.
    fn age(&self, time: Timestamp) -> u64 {
        self.now.millis_since(time)
    }
}

/// What a rule found.
struct Hit {
    /// How bad it is, among the hits of a rule.
    weight: u64,
    /// The position of the issue to act on; `None` if it is about the whole queue.
    issue: Option<usize>,
    /// The positions of the other issues.
    others: Vec<usize>,
    why: Why,
}

impl Hit {
    fn new(position: usize, weight: u64, why: Why) -> Self {
        Self { weight, issue: Some(position), others: Vec::new(), why }
    }

    fn issues(&self) -> impl Iterator<Item = usize> {
        self.issue.into_iter().chain(self.others.iter().copied())
    }
}

/// What a rule finds, one after another: in a large queue most of it is only counted.
type Hits<'a> = Box<dyn Iterator<Item = Hit> + 'a>;

type Rule = for<'a> fn(&'a Scene<'a>) -> Hits<'a>;

/// Returns the rule that finds a kind.
fn rule(kind: FindingKind) -> Rule {
    match kind {
        FindingKind::Stale => waiting::stale,
        FindingKind::OldClaim => waiting::old_claims,
        FindingKind::ReturnedOften => waiting::returned_often,
        FindingKind::WaitsLongForReview => waiting::for_review,
        FindingKind::PlaceholderTitle => texts::placeholder_titles,
        FindingKind::Duplicate => texts::duplicates,
        FindingKind::ThinDescription => texts::thin_descriptions,
        FindingKind::Orphan => linked::orphans,
        FindingKind::ParentState => linked::parents,
        FindingKind::BlockedByRejected => linked::blocked_by_rejected,
        FindingKind::SelfReviewed => agents::self_reviewed,
        FindingKind::Overloaded => agents::overloaded,
        FindingKind::FilingFasterThanClosing => waiting::filing_faster_than_closing,
    }
}

/// Returns the worst hits, and how many there are.
fn worst(all: Hits<'_>) -> (Vec<Hit>, usize) {
    const ROOM: usize = 4 * MAX_KEPT;
    // The worst first, then the first filed.
    let rank = |hit: &Hit| (Reverse(hit.weight), hit.issue);
    let keep = |hits: &mut Vec<Hit>| {
        hits.sort_unstable_by_key(rank);
        hits.truncate(MAX_KEPT);
    };
    let (mut hits, mut count) = (Vec::new(), 0);
    for hit in all {
        count += 1;
        hits.push(hit);
        if hits.len() == ROOM {
            keep(&mut hits);
        }
    }
    keep(&mut hits);
    (hits, count)
}

impl Findings {
    /// Applies all rules.
    pub fn of(view: &ReadView<'_>, now: Timestamp) -> Self {
        let scene = Scene::of(view, now);
        let mut findings = Self::default();
        for &kind in FindingKind::ALL {
            let (hits, count) = worst(rule(kind)(&scene));
            findings.counts[kind as usize] = count;
            findings.found.extend(hits.iter().map(|hit| Finding {
                kind,
                issues: hit.issues().map(|at| FoundIssue::from(&*view.summaries()[at])).collect(),
                agent: hit.why.agent().map(|name| view.names().text(name).to_owned()),
                why: hit.why.text(view),
            }));
        }
        findings
    }
}

impl ReadView<'_> {
    /// Returns what is wrong in the queue. The findings of an unchanged store are kept for a minute.
    pub fn findings(&self, now: Timestamp) -> Arc<Findings> {
        let cache = &self.index.findings;
        let current = cache.current(self.issues.revision(), now);
        current.unwrap_or_else(|| self.search(cache.begin(), now))
    }

    fn search(&self, _search: MutexGuard<'_, ()>, now: Timestamp) -> Arc<Findings> {
        let (cache, revision) = (&self.index.findings, self.issues.revision());
        // Another reader may have searched meanwhile.
        if let Some(findings) = cache.current(revision, now) {
            return findings;
        }
        let begun = Instant::now();
        let findings = Arc::new(Findings::of(self, now));
        let took = begun.elapsed();
        cache.set(Cached { findings: Arc::clone(&findings), revision, at: now, took });
        findings
    }

    /// Returns what is wrong in the queue, for every page. In a large store that changes all the time it may be some
    /// time old: looking for it takes at most a twentieth of the time, and one reader at a time does.
    pub fn recent_findings(&self, now: Timestamp) -> Arc<Findings> {
        let cache = &self.index.findings;
        if let Some(findings) = cache.recent(now) {
            return findings;
        }
        match cache.try_begin() {
            Some(search) => self.search(search, now),
            None => cache.last(now).unwrap_or_else(|| self.findings(now)),
        }
    }
}
