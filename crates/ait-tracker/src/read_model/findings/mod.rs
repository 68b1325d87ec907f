//! Findings: what is wrong in the queue, found by rules over the summaries of all issues.
//!
//! One rule finds each kind. Rules only read. What to do about a finding depends on who asks, so it is not said here.

mod agents;
mod duplicates;
mod linked;
mod memory;
mod sections;
pub(super) mod sync;
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
use ait_domain::{IssueId, LinkKind, Status, Timestamp};

/// What rules look at, collected once for all of them. Most of the cost is reading summaries, so rules pass over few of
/// them, or over them together.
struct FindingInput<'a> {
    view: &'a ReadView<'a>,
    now: Timestamp,
    /// The open issues, in the order of filing.
    open: Vec<OpenIssue<'a>>,
    /// How many issues were rejected.
    rejected: usize,
    /// The parents of all issues that are parts, each with the position of the part; sorted.
    parts: Vec<(IssueId, usize)>,
}

/// An open issue: its position, its summary and its facts.
type OpenIssue<'a> = (usize, &'a IssueSummary, &'a TextFacts);

impl<'a> FindingInput<'a> {
    fn of(view: &'a ReadView<'a>, now: Timestamp) -> Self {
        let open = view
            .open()
            .filter_map(|(at, summary)| Some((at, summary, summary.facts.as_deref()?)))
            .collect();
        let parts = view.index.links.of_kind(LinkKind::Parent);
        let parts = parts.filter_map(|(whole, part)| Some((whole, view.index.ids.get(part)?)));
        let mut parts: Vec<_> = parts.collect();
        parts.sort_unstable();
        let rejected = view.counts().in_status(Status::Rejected);
        Self { view, now, open, rejected, parts }
    }

    /// Returns the claimed issues with their positions.
    fn claimed(&self) -> impl Iterator<Item = (usize, &'a IssueSummary)> {
        let rows = self.view.index.rows.iter().enumerate();
        let claimed = rows.filter(|(_, row)| row.status.is_claimed());
        claimed.map(|(at, _)| (at, &*self.view.summaries()[at]))
    }

    /// Returns the position of the issue with an id, if it exists.
    fn position(&self, id: IssueId) -> Option<usize> {
        self.view.index.ids.get(id)
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

    fn rank(&self) -> Rank {
        (Reverse(self.weight), self.issue)
    }

    fn issues(&self) -> impl Iterator<Item = usize> {
        self.issue.into_iter().chain(self.others.iter().copied())
    }
}

/// What a rule finds, one after another: in a large queue most of it is only counted.
type Hits<'a> = Box<dyn Iterator<Item = Hit> + 'a>;

/// What finds a kind.
enum Rule {
    /// Looks at one open issue.
    Issue(fn(&FindingInput<'_>, OpenIssue<'_>) -> Option<Hit>),
    /// Looks at several issues together.
    Queue(for<'a> fn(&'a FindingInput<'a>) -> Hits<'a>),
}

/// Returns the rule that finds a kind.
fn rule(kind: FindingKind) -> Option<Rule> {
    Some(match kind {
        FindingKind::Stale => Rule::Issue(waiting::stale),
        FindingKind::OldClaim => Rule::Queue(waiting::old_claims),
        FindingKind::ReturnedOften => Rule::Issue(waiting::returned_often),
        FindingKind::WaitsLongForReview => Rule::Issue(waiting::for_review),
        FindingKind::PlaceholderTitle => Rule::Issue(texts::placeholder_title),
        FindingKind::Duplicate => Rule::Queue(duplicates::duplicates),
        FindingKind::ThinDescription => Rule::Issue(texts::thin_description),
        FindingKind::NoAcceptance => Rule::Issue(texts::no_acceptance),
        FindingKind::Orphan => Rule::Issue(linked::orphan),
        FindingKind::ParentState => Rule::Queue(linked::parents),
        FindingKind::BlockedByRejected => Rule::Issue(linked::blocked_by_rejected),
        FindingKind::SyncConflict => Rule::Queue(sync::conflicts),
        FindingKind::SelfReviewed => Rule::Queue(agents::self_reviewed),
        FindingKind::NeverReviewed => Rule::Queue(agents::never_reviewed),
        FindingKind::Overloaded => Rule::Queue(agents::overloaded),
        FindingKind::FilingFasterThanClosing => Rule::Queue(waiting::filing_faster_than_closing),
        // Of entries, of which the read model has none, and of worktrees.
        FindingKind::Contradiction | FindingKind::UnusedEntry | FindingKind::Stuck => return None,
    })
}

/// The worst hits of a rule, and how many there are.
#[derive(Default)]
struct Worst {
    hits: Vec<Hit>,
    count: usize,
    /// The rank of the last one of those that were kept when there was no more room.
    last: Option<Rank>,
}

/// The worst first, then the first filed.
type Rank = (Reverse<u64>, Option<usize>);

impl Worst {
    const ROOM: usize = 4 * MAX_KEPT;

    fn add(&mut self, hit: Hit) {
        self.count += 1;
        if self.last.is_some_and(|last| last <= hit.rank()) {
            return;
        }
        self.hits.push(hit);
        if self.hits.len() == Self::ROOM {
            self.keep();
            self.last = self.hits.last().map(Hit::rank);
        }
    }

    fn keep(&mut self) {
        self.hits.sort_unstable_by_key(Hit::rank);
        self.hits.truncate(MAX_KEPT);
    }
}

impl Findings {
    /// Applies all rules.
    pub fn of(view: &ReadView<'_>, now: Timestamp) -> Self {
        let input = FindingInput::of(view, now);
        let mut worst: Vec<Worst> = FindingKind::ALL.iter().map(|_| Worst::default()).collect();
        let mut of_issues = Vec::new();
        for &kind in FindingKind::ALL {
            match rule(kind) {
                None => {}
                Some(Rule::Issue(rule)) => of_issues.push((kind as usize, rule)),
                Some(Rule::Queue(rule)) => {
                    rule(&input).for_each(|hit| worst[kind as usize].add(hit));
                }
            }
        }
        for &issue in &input.open {
            for (kind, rule) in &of_issues {
                if let Some(hit) = rule(&input, issue) {
                    worst[*kind].add(hit);
                }
            }
        }
        let mut findings = Self::default();
        for (&kind, mut worst) in FindingKind::ALL.iter().zip(worst) {
            worst.keep();
            findings.counts[kind as usize] = worst.count;
            findings.found.extend(worst.hits.iter().map(|hit| Finding {
                kind,
                issues: hit.issues().map(|at| FoundIssue::from(&*view.summaries()[at])).collect(),
                agent: hit.why.agent().map(|name| view.names().text(name).to_owned()),
                why: hit.why.text(view),
                sections: Vec::new(),
            }));
        }
        findings
    }
}

impl ReadView<'_> {
    /// Returns what is wrong in the queue. The findings of an unchanged store are kept for a minute.
    pub fn findings(&self, now: Timestamp) -> Arc<Findings> {
        let cache = &self.index.findings;
        let current = cache.current(self.index.position, now);
        current.unwrap_or_else(|| self.search(cache.begin(), now))
    }

    fn search(&self, _search: MutexGuard<'_, ()>, now: Timestamp) -> Arc<Findings> {
        let cache = &self.index.findings;
        let position = self.index.position;
        // Another reader may have searched meanwhile.
        if let Some(findings) = cache.current(position, now) {
            return findings;
        }
        let begun = Instant::now();
        let findings = Arc::new(Findings::of(self, now));
        let took = begun.elapsed();
        cache.set(Cached { findings: Arc::clone(&findings), position, at: now, took });
        findings
    }

    /// Returns what is wrong in the queue, for every page. In a large store that changes all the time it may be out of
    /// date: one reader at a time searches, for at most a twentieth of the time.
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
