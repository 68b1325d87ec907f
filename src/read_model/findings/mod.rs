//! Findings: what is wrong in the queue, found by rules over the summaries of all issues.
//!
//! One rule finds each kind. Rules only read. What to do about a finding depends on who asks, so it is not said here.

mod agents;
mod cache;
mod duplicates;
mod facts;
mod filing;
mod linked;
mod sketch;
mod texts;
pub mod thresholds;
mod waiting;
mod why;

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

pub(super) use self::cache::FindingsCache;
pub(crate) use self::facts::Facts;
use self::why::Why;
use super::read_view::ReadView;
use super::summary::IssueSummary;
use crate::domain::issue::string_enum;
use crate::domain::{IssueId, Status, Timestamp};

/// How many findings of each kind are kept, the worst ones. All are counted.
pub const MAX_KEPT: usize = 200;

string_enum! {
    /// The kind of a finding.
    FindingKind {
        /// An open issue without a substantive change for long.
        Stale = "stale",
        /// A claim that lasts long.
        OldClaim = "old_claim",
        /// An open issue that agents gave back again and again.
        ReturnedOften = "returned_often",
        /// A completed issue that nobody reviews.
        WaitsLongForReview = "waits_long_for_review",
        /// A title that says nothing.
        PlaceholderTitle = "placeholder_title",
        /// An issue that says what another one says.
        Duplicate = "duplicate",
        /// A description that says too little to begin.
        ThinDescription = "thin_description",
        /// An issue with a link to an issue that does not exist.
        Orphan = "orphan",
        /// A parent whose status does not fit to its parts.
        ParentState = "parent_state",
        /// An issue that waited for what was rejected.
        BlockedByRejected = "blocked_by_rejected",
        /// An issue whose author reviewed it.
        SelfReviewed = "self_reviewed",
        /// An agent that holds many issues.
        Overloaded = "overloaded",
        /// More is filed than ends.
        FilingFasterThanClosing = "filing_faster_than_closing",
    }
}

/// Something that is wrong.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    /// The kind.
    pub kind: FindingKind,
    /// The issues: first the one to act on. Empty if the finding is about the whole queue.
    pub issues: Vec<FoundIssue>,
    /// The agent that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Why it is a finding.
    pub why: String,
}

/// An issue of a finding.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FoundIssue {
    /// The id.
    pub id: IssueId,
    /// The title.
    pub title: Box<str>,
    /// The status.
    pub status: Status,
}

impl From<&IssueSummary> for FoundIssue {
    fn from(summary: &IssueSummary) -> Self {
        Self { id: summary.id, title: summary.title.clone(), status: summary.status }
    }
}

/// All findings in one state of the store.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Findings {
    counts: [usize; FindingKind::ALL.len()],
    found: Vec<Finding>,
}

impl Findings {
    /// Returns the number of findings of a kind.
    pub fn count(&self, kind: FindingKind) -> usize {
        self.counts[kind as usize]
    }

    /// Returns the number of findings.
    pub fn total(&self) -> usize {
        self.counts.iter().sum()
    }

    /// Returns the findings, of those that are kept, that concern one of these issues.
    #[must_use]
    pub fn about(&self, ids: &BTreeSet<IssueId>) -> Self {
        let is_about =
            |finding: &&Finding| finding.issues.iter().any(|issue| ids.contains(&issue.id));
        let found: Vec<_> = self.found.iter().filter(is_about).cloned().collect();
        let mut counts = [0; FindingKind::ALL.len()];
        for finding in &found {
            counts[finding.kind as usize] += 1;
        }
        Self { counts, found }
    }

    /// Returns the findings by kind, the worst first; at most [`MAX_KEPT`] of each kind.
    pub fn iter(&self) -> impl Iterator<Item = &Finding> {
        self.found.iter()
    }
}

/// What a rule looks at.
#[derive(Clone, Copy)]
struct Scene<'a> {
    view: &'a ReadView<'a>,
    now: Timestamp,
}

impl<'a> Scene<'a> {
    /// Returns the open issues with their positions and their facts.
    fn open(self) -> impl Iterator<Item = (usize, &'a IssueSummary, &'a Facts)> {
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
