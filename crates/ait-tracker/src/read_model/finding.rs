//! What a search for problems finds: the values, without the rules that find them.

use std::collections::BTreeSet;

use serde::Serialize;

use super::summary::IssueSummary;
use ait_domain::schema::one_of;
use ait_domain::{Issue, IssueId, Status, string_enum, string_schema};

/// How many findings of each kind are kept, the worst ones. All are counted.
pub const MAX_KEPT: usize = 200;

string_enum! {
    /// The kind of a finding.
    pub enum FindingKind {
        /// An open issue without a substantive change for long.
        Stale = "stale",
        /// A claim that lasts long.
        OldClaim = "old_claim",
        /// An open issue that agents gave back again and again.
        ReturnedOften = "returned_often",
        /// A completed issue that waits long for its review.
        WaitsLongForReview = "waits_long_for_review",
        /// A title that says nothing.
        PlaceholderTitle = "placeholder_title",
        /// An issue that says what another one says.
        Duplicate = "duplicate",
        /// A description that says too little to begin.
        ThinDescription = "thin_description",
        /// A feature or an improvement whose description does not say when it is done.
        NoAcceptance = "no_acceptance",
        /// An issue with a link to an issue that does not exist.
        Orphan = "orphan",
        /// A parent whose status does not fit to its parts.
        ParentState = "parent_state",
        /// An issue that waited for what was rejected.
        BlockedByRejected = "blocked_by_rejected",
        /// An issue with fields that changed here and at the remote of a sync.
        SyncConflict = "sync_conflict",
        /// An issue whose author reviewed it.
        SelfReviewed = "self_reviewed",
        /// An issue that was worked on and closed without a review.
        NeverReviewed = "never_reviewed",
        /// An agent that holds many issues.
        Overloaded = "overloaded",
        /// More is filed than ends.
        FilingFasterThanClosing = "filing_faster_than_closing",
        /// Two decisions about the same file that do not know each other.
        Contradiction = "contradiction",
        /// An entry of the memory that no recent work was near to.
        UnusedEntry = "unused_entry",
        /// A claim whose agent shows no sign of life.
        Stuck = "stuck",
    }
}

string_schema! {
    FindingKind = one_of(Self::ALL, Self::as_str),
}

/// Something that is wrong.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Finding {
    pub kind: FindingKind,
    /// The issues: first the one to act on. Empty if the finding is about the whole queue.
    pub issues: Vec<FoundIssue>,
    /// The agent that it is about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// Why it is a finding.
    pub why: String,
    /// The sections that the description of the issue lacks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<String>,
}

/// An issue of a finding.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FoundIssue {
    pub id: IssueId,
    pub title: Box<str>,
    pub status: Status,
}

impl From<&Issue> for FoundIssue {
    fn from(issue: &Issue) -> Self {
        Self { id: issue.id, title: issue.title.as_str().into(), status: issue.status }
    }
}

impl From<&IssueSummary> for FoundIssue {
    fn from(summary: &IssueSummary) -> Self {
        Self { id: summary.id, title: summary.title.clone(), status: summary.status }
    }
}

/// All findings in one state of the store.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Findings {
    pub(super) counts: [usize; FindingKind::ALL.len()],
    pub(super) found: Vec<Finding>,
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
