//! Findings: what is wrong in the queue, found by rules over the summaries of all issues.
//!
//! One rule finds each kind. Rules only read. What to do about a finding depends on who asks, so it is not said here.

mod agents;
mod duplicates;
mod filing;
mod linked;
mod texts;
pub mod thresholds;
mod waiting;
mod why;

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Instant;

use self::why::Why;
use super::finding::{Finding, FindingKind, Findings, FoundIssue, MAX_KEPT};
use super::findings_cache::Cached;
use super::read_view::ReadView;
use super::summary::IssueSummary;
use super::text_facts::TextFacts;
use crate::domain::Timestamp;

/// What a rule looks at.
#[derive(Clone, Copy)]
struct Scene<'a> {
    view: &'a ReadView<'a>,
    now: Timestamp,
}

impl<'a> Scene<'a> {
    /// Returns the open issues with their positions and their facts.
    fn open(self) -> impl Iterator<Item = (usize, &'a IssueSummary, &'a TextFacts)> {
        let summaries = self.view.summaries().iter().enumerate();
        summaries.filter_map(|(at, summary)| Some((at, &**summary, summary.facts.as_deref()?)))
    }

    /// Returns how long ago something was, in milliseconds.
    fn age(self, time: Timestamp) -> u64 {
        self.now.millis_since(time)
    }
}

/// What a rule found.
struct Hit {
    /// How bad it is, among the hits of a rule.
    weight: u64,
    /// The positions of the issues: first the one to act on.
    issues: Vec<usize>,
    why: Why,
}

impl Hit {
    fn new(position: usize, weight: u64, why: Why) -> Self {
        Self { weight, issues: vec![position], why }
    }
}

type Rule = fn(Scene<'_>) -> Vec<Hit>;

/// Returns the rule that finds a kind.
fn rule(kind: FindingKind) -> Rule {
    match kind {
        FindingKind::Stale => waiting::stale,
        FindingKind::OldClaim => waiting::old_claims,
        FindingKind::ReturnedOften => waiting::returned_often,
        FindingKind::WaitsLongForReview => waiting::for_review,
        FindingKind::PlaceholderTitle => texts::placeholder_titles,
        FindingKind::Duplicate => duplicates::duplicates,
        FindingKind::ThinDescription => texts::thin_descriptions,
        FindingKind::Orphan => linked::orphans,
        FindingKind::ParentState => linked::parents,
        FindingKind::BlockedByRejected => linked::blocked_by_rejected,
        FindingKind::SelfReviewed => agents::self_reviewed,
        FindingKind::Overloaded => agents::overloaded,
        FindingKind::FilingFasterThanClosing => filing::faster_than_closing,
    }
}

impl Findings {
    /// Applies all rules.
    pub fn of(view: &ReadView<'_>, now: Timestamp) -> Self {
        let scene = Scene { view, now };
        let mut findings = Self::default();
        for &kind in FindingKind::ALL {
            let mut hits = rule(kind)(scene);
            findings.counts[kind as usize] = hits.len();
            // The worst first, then the first filed.
            let rank = |hit: &Hit| (Reverse(hit.weight), hit.issues.first().copied());
            if hits.len() > MAX_KEPT {
                hits.select_nth_unstable_by_key(MAX_KEPT, rank);
                hits.truncate(MAX_KEPT);
            }
            hits.sort_unstable_by_key(rank);
            findings.found.extend(hits.iter().map(|hit| Finding {
                kind,
                issues:
                    hit.issues.iter().map(|&at| FoundIssue::from(&*view.summaries()[at])).collect(),
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
        let revision = self.issues.revision();
        if let Some(findings) = self.index.findings.current(revision, now) {
            return findings;
        }
        let begun = Instant::now();
        let findings = Arc::new(Findings::of(self, now));
        let took = begun.elapsed();
        let cached = Cached { findings: Arc::clone(&findings), revision, at: now, took };
        self.index.findings.set(cached);
        findings
    }

    /// Returns what is wrong in the queue, for every page. In a large store that changes all the time it may be some time
    /// old: looking for it takes at most a twentieth of the time.
    pub fn recent_findings(&self, now: Timestamp) -> Arc<Findings> {
        self.index.findings.recent(now).unwrap_or_else(|| self.findings(now))
    }
}
