//! Why something is a finding, in words; and the rules in words.

use super::FindingKind;
use crate::read_model::{Name, ReadView};
use ait_domain::thresholds::{
    ENOUGH_DESCRIPTION_CHARS, FILED_PER_ENDED, FILING_WINDOW_MS, MANY_CLAIMS, MANY_FILED,
    MANY_RETURNS, OLD_CLAIM_AFTER_MS, REVIEW_WAITS_AFTER_MS, SELF_REVIEW_WITHIN_MS, STALE_AFTER_MS,
    STUCK_AFTER_MEDIANS, STUCK_AFTER_MS, UNUSED_AFTER_DAYS,
};
use ait_domain::{IssueId, LinkKind};
use ait_system::span::humanize_duration;

/// Why something is a finding. Durations are in milliseconds.
pub(super) enum Why {
    Unchanged(u64),
    Held(Name, u64),
    Returned(usize),
    Unreviewed(u64),
    Placeholder,
    SameTitle,
    SimilarTexts,
    Thin(usize),
    NoAcceptance,
    Gone(LinkKind, IssueId),
    OpenParts(usize),
    EndedParts(usize),
    RejectedBlocker,
    Conflict(Box<str>),
    OwnReview(Name),
    OwnClosing(Name),
    NoReview(Name),
    Holds(Name, usize),
    Filed { filed: usize, ended: usize },
}

impl Why {
    /// Returns the agent that it is about.
    pub fn agent(&self) -> Option<Name> {
        match self {
            Self::Held(name, _)
            | Self::OwnReview(name)
            | Self::OwnClosing(name)
            | Self::NoReview(name)
            | Self::Holds(name, _) => Some(*name),
            _ => None,
        }
    }

    /// Returns the reason as a clause.
    pub fn text(&self, view: &ReadView<'_>) -> String {
        let name = |name: &Name| view.names().text(*name);
        match self {
            Self::Unchanged(ms) => {
                format!("no substantive change for {}", humanize_duration(*ms))
            }
            Self::Held(agent, ms) => {
                format!("{} has held it for {}", name(agent), humanize_duration(*ms))
            }
            Self::Returned(count) => format!("returned {count} times"),
            Self::Unreviewed(ms) => {
                format!("has waited for a review for {}", humanize_duration(*ms))
            }
            Self::Placeholder => "the title does not say what it is about".to_owned(),
            Self::SameTitle => "the titles say the same".to_owned(),
            Self::SimilarTexts => "the titles and the descriptions are similar".to_owned(),
            Self::Thin(0) => "the description is empty".to_owned(),
            Self::Thin(chars) => format!("the description has only {chars} characters"),
            Self::NoAcceptance => "the description does not say when it is done".to_owned(),
            Self::Gone(kind, id) => {
                format!("{} {}, which does not exist", relation(*kind), id.short())
            }
            Self::OpenParts(count) => format!("it has ended, and {} not", parts(*count)),
            Self::EndedParts(count) => format!("{} ended, and it has not", parts(*count)),
            Self::RejectedBlocker => "it waited for an issue that was rejected".to_owned(),
            Self::Conflict(fields) => format!("changed here and at its remote: {fields}"),
            Self::OwnReview(agent) => format!("{} reviews what it completed itself", name(agent)),
            Self::OwnClosing(agent) => format!("{} closed what it completed itself", name(agent)),
            Self::NoReview(agent) => format!("{} closed it without a review", name(agent)),
            Self::Holds(agent, count) => format!("{} holds {count} issues", name(agent)),
            Self::Filed { filed, ended } => {
                let window = humanize_duration(FILING_WINDOW_MS);
                format!("{filed} issues were filed in the last {window}, and {ended} ended")
            }
        }
    }
}

fn parts(count: usize) -> String {
    match count {
        1 => "a part has".to_owned(),
        count => format!("{count} parts have"),
    }
}

fn relation(kind: LinkKind) -> &'static str {
    match kind {
        LinkKind::Parent => "its parent is",
        LinkKind::BlockedBy => "it is blocked by",
        LinkKind::Related => "it is related to",
        LinkKind::DuplicateOf => "it is a duplicate of",
    }
}

impl FindingKind {
    /// Says what is found of this kind, with its thresholds.
    pub fn description(self) -> String {
        let span = humanize_duration;
        match self {
            Self::Stale => format!(
                "open and not parked, without a substantive change for {0}, and not held by an agent that claimed it \
                 within the last {0}; claims, returns, attributes and links are no substantive change",
                span(STALE_AFTER_MS)
            ),
            Self::OldClaim => format!("claimed for more than {}", span(OLD_CLAIM_AFTER_MS)),
            Self::ReturnedOften => {
                format!("open, and returned after a claim at least {MANY_RETURNS} times")
            }
            Self::WaitsLongForReview => {
                format!("completed and not parked for more than {}", span(REVIEW_WAITS_AFTER_MS))
            }
            Self::PlaceholderTitle => {
                "open, and the title consists of words such as “todo”, “bug” and “test” alone".to_owned()
            }
            Self::Duplicate => "two open issues whose titles have the same words, or whose titles and descriptions are \
                similar, without a link between them and not parts of two parents"
                .to_owned(),
            Self::ThinDescription => format!(
                "created, without parts, and the description has fewer than {ENOUGH_DESCRIPTION_CHARS} characters"
            ),
            Self::NoAcceptance => {
                "a feature or an improvement that is created, without parts, and whose description has no word or list of \
                 checks that says when it is done, such as “should”, “expected”, “test” or “accepted when”"
                    .to_owned()
            }
            Self::Orphan => "open, with a link to an issue that does not exist".to_owned(),
            Self::ParentState => {
                "ended with open parts, or still created although all its parts have ended".to_owned()
            }
            Self::BlockedByRejected => "created, and blocked by an issue that was rejected".to_owned(),
            Self::SyncConflict => {
                "a field changed here and at the remote of a sync, and no side was chosen".to_owned()
            }
            Self::SelfReviewed => format!(
                "reviewed now, or closed in the last {}, by the agent that completed it, and by no other",
                span(SELF_REVIEW_WITHIN_MS)
            ),
            Self::NeverReviewed => format!(
                "worked on, and closed in the last {} without a review, by another agent than the one that completed it",
                span(SELF_REVIEW_WITHIN_MS)
            ),
            Self::Overloaded => format!("an agent that holds at least {MANY_CLAIMS} issues"),
            Self::FilingFasterThanClosing => format!(
                "at least {MANY_FILED} issues were filed in {}, and at least {FILED_PER_ENDED} times as many as ended",
                span(FILING_WINDOW_MS)
            ),
            Self::Contradiction => {
                "two decisions in force about the same file, without a link between them".to_owned()
            }
            Self::UnusedEntry => format!(
                "an entry of the memory in force that did not change for {UNUSED_AFTER_DAYS} d, and is near to no issue that did"
            ),
            Self::Stuck => format!(
                "claimed, and for more than {} and {STUCK_AFTER_MEDIANS} times as long as half of such claims take, its \
                 agent did nothing in the queue, changed no file in the worktree and runs no command there",
                span(STUCK_AFTER_MS)
            ),
        }
    }
}
