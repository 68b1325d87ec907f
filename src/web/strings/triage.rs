//! On the page of what is wrong in the queue.

use crate::read_model::FindingKind;

pub const TITLE: &str = "Triage";
pub const EMPTY: &str = "Nothing is wrong in the queue.";
pub const SHOW_ALL: &str = "Show all kinds";
pub const NEXT: &str = "Next: ";

pub fn kind(kind: FindingKind) -> &'static str {
    match kind {
        FindingKind::Stale => "Stale",
        FindingKind::OldClaim => "Old claims",
        FindingKind::ReturnedOften => "Returned often",
        FindingKind::WaitsLongForReview => "Wait long for a review",
        FindingKind::PlaceholderTitle => "Titles that say nothing",
        FindingKind::Duplicate => "Duplicates",
        FindingKind::ThinDescription => "Thin descriptions",
        FindingKind::Orphan => "Links to nothing",
        FindingKind::ParentState => "Parents that do not fit their parts",
        FindingKind::BlockedByRejected => "Blocked by what was rejected",
        FindingKind::SelfReviewed => "Reviewed by their authors",
        FindingKind::Overloaded => "Agents that hold many issues",
        FindingKind::FilingFasterThanClosing => "More is filed than ends",
    }
}

pub fn more(count: usize) -> String {
    format!("{count} more: `ait triage -n {count}` lists them")
}
