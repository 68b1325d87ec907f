//! What every pass over all issues needs of each, kept next to each other in memory.

use super::summary::IssueSummary;
use ait_domain::{Classification, Priority, Status, Timestamp};

/// The part of a summary that passes over all issues read. Summaries lie everywhere in memory, and waiting for them
/// takes most of such a pass.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Row {
    pub status: Status,
    pub classification: Classification,
    pub priority: Priority,
    /// Whether both sides of a sync changed a field.
    pub is_in_conflict: bool,
    pub created_at: Timestamp,
    pub modified_at: Timestamp,
    /// Since when it is held, or else has its status.
    pub since: Timestamp,
}

impl Row {
    pub fn of(summary: &IssueSummary) -> Self {
        let IssueSummary { status, classification, created_at, modified_at, .. } = *summary;
        let held = summary.holder();
        Self {
            status,
            classification,
            priority: summary.attributes.effective_priority(),
            is_in_conflict: summary.conflicts.is_some(),
            created_at,
            modified_at,
            since: held.map_or_else(|| summary.in_status_since(), |held| held.since),
        }
    }
}
