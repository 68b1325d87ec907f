//! The status timeline of one issue, without its texts.

use smallvec::SmallVec;

use super::summary::IssueSummary;
use ait_domain::{ActionKind, Classification, Status, Timestamp};

/// A change of status.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StatusChange {
    /// The time, in milliseconds since 1970.
    pub at_ms: i64,
    /// The status after the change.
    pub status: Status,
    /// Whether a claim lapsed or ended with a question. The issue is back where it was before the claim, and no work
    /// was done.
    pub is_lapse: bool,
}

impl StatusChange {
    fn new(at_ms: i64, status: Status) -> Self {
        Self { at_ms, status, is_lapse: false }
    }
}

/// The status timeline of one issue.
#[derive(Clone, Debug)]
pub struct StatusTimeline {
    /// The kind of work.
    pub classification: Classification,
    /// The time at which the issue was filed.
    pub created_at: Timestamp,
    /// The current status.
    pub status: Status,
    /// All changes of status, in the order of the history. The first is the filing.
    pub changes: StatusChanges,
}

impl StatusTimeline {
    /// Returns the status timeline of an issue.
    pub(super) fn of(summary: &IssueSummary) -> Self {
        Self {
            classification: summary.classification,
            created_at: summary.created_at,
            status: summary.status,
            changes: status_changes(summary),
        }
    }
}

/// The changes of status of an issue; those of most issues need no memory of their own.
pub(super) type StatusChanges = SmallVec<[StatusChange; 8]>;

/// Returns the changes of status in the history of an issue, in the order of the history.
///
/// The first is always the filing; if the history lacks it, it is assumed to be at `created_at`. The last always
/// leads to the issue's status: if the history ends in another status, because the issue was imported or edited by
/// hand, a last step at `modified_at` is added.
///
/// A time may be earlier than that of the previous step, because the clocks of several machines stamp them.
fn status_changes(issue: &IssueSummary) -> StatusChanges {
    let mut changes = StatusChanges::new();
    for action in &issue.actions {
        let Some(status) = action.status else { continue };
        // A return leads to the same status as filing, but is not the filing.
        if changes.is_empty() && action.kind != ActionKind::Filed {
            changes.push(StatusChange::new(issue.created_at.unix_millis(), Status::Created));
        }
        let is_lapse = matches!(action.kind, ActionKind::Lapsed | ActionKind::Asked);
        changes.push(StatusChange { is_lapse, ..StatusChange::new(action.at_ms, status) });
    }
    if changes.is_empty() {
        changes.push(StatusChange::new(issue.created_at.unix_millis(), Status::Created));
    }
    if changes.last().is_none_or(|step| step.status != issue.status) {
        changes.push(StatusChange::new(issue.modified_at.unix_millis(), issue.status));
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::super::agent_interner::Names;
    use super::*;

    fn summary(status: &str, history: &[(u32, &str)]) -> IssueSummary {
        let time = |second: u32| format!("2026-01-31T09:30:{second:02}.000Z");
        let history: Vec<_> = history
            .iter()
            .map(|(at, action)| serde_json::json!({"timestamp": time(*at), "agent": "a", "action": action}))
            .collect();
        let issue = serde_json::from_value(serde_json::json!({
            "id": "3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73", "title": "T", "description": "",
            "classification": "bug", "createdAt": time(1), "modifiedAt": time(59),
            "status": status, "history": history, "comments": [],
        }));
        IssueSummary::of(&issue.unwrap(), &mut Names::default())
    }

    #[test]
    fn status_timeline_starts_at_filing_and_ends_in_current_status() {
        let file = "Issue filed";
        let claim = "Issue claimed for work";
        let back = "Issue returned to created status";
        let review = "Issue claimed for review";
        let lapse = "Claim lapsed";
        let edit = "Issue edited by hand";
        for (status, history, expected) in [
            ("created", &[(2, file)][..], &[(2, "created")][..]),
            ("created", &[], &[(1, "created")]),
            ("closed", &[], &[(1, "created"), (59, "closed")]),
            ("in_progress", &[(2, file), (3, claim)], &[(2, "created"), (3, "in_progress")]),
            ("in_progress", &[(3, claim)], &[(1, "created"), (3, "in_progress")]),
            ("created", &[(3, back)], &[(1, "created"), (3, "created")]),
            ("created", &[(2, file), (3, back)], &[(2, "created"), (3, "created")]),
            (
                "created",
                &[(2, file), (3, claim), (4, edit), (5, lapse)],
                &[(2, "created"), (3, "in_progress"), (5, "created")],
            ),
            (
                "completed",
                &[(2, file), (3, review), (5, lapse)],
                &[(2, "created"), (3, "in_review"), (5, "completed")],
            ),
            (
                "completed",
                &[(2, file), (3, review), (5, "Question asked"), (6, "Question answered")],
                &[(2, "created"), (3, "in_review"), (5, "completed")],
            ),
            ("created", &[(5, lapse)], &[(1, "created")]),
            (
                "rejected",
                &[(2, file), (3, claim), (4, "Looked at it")],
                &[(2, "created"), (3, "in_progress"), (59, "rejected")],
            ),
            (
                "created",
                &[(9, file), (3, claim), (1, back)],
                &[(9, "created"), (3, "in_progress"), (1, "created")],
            ),
        ] {
            let changes = status_changes(&summary(status, history));
            let changes: Vec<_> =
                changes.iter().map(|step| (step.at_ms / 1000 % 60, step.status.as_str())).collect();
            let expected: Vec<_> =
                expected.iter().map(|&(at, status)| (i64::from(at), status)).collect();
            assert_eq!(changes, expected.as_slice(), "{status} {history:?}");
        }
    }
}
