//! The status timeline of one issue, without its texts.

use smallvec::SmallVec;

use crate::domain::{ActionKind, Classification, Issue, Status, Timestamp};

/// A change of status.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct StatusChange {
    /// The time.
    pub at: Timestamp,
    /// The status after the change.
    pub status: Status,
    /// Whether a claim lapsed or ended with a question. The issue is back where it was before the claim, and no work
    /// was done.
    pub is_lapse: bool,
}

impl StatusChange {
    fn new(at: Timestamp, status: Status) -> Self {
        Self { at, status, is_lapse: false }
    }
}

/// The status timeline of one issue.
#[derive(Clone, Copy, Debug)]
pub struct StatusTimeline<'a> {
    /// The kind of work.
    pub classification: Classification,
    /// The time at which the issue was filed.
    pub created_at: Timestamp,
    /// The current status.
    pub status: Status,
    /// All changes of status, in the order of the history. The first is the filing.
    pub changes: &'a [StatusChange],
}

/// The changes of status of an issue. Those of most issues lie within, so that statistics find them next to each other:
/// behind pointers, statistics of 100,000 issues take three times as long.
pub(super) type StatusChanges = SmallVec<[StatusChange; 5]>;

/// Returns the changes of status in the history of an issue, in the order of the history.
///
/// The first is always the filing; if the history lacks it, it is assumed to be at `created_at`. The last always
/// leads to the issue's status: if the history ends in another status, because the issue was imported or edited by
/// hand, a last step at `modified_at` is added.
///
/// A time may be earlier than that of the previous step, because the clocks of several machines stamp them.
pub(super) fn status_changes(issue: &Issue) -> StatusChanges {
    let mut changes = StatusChanges::new();
    let mut before = None;
    for entry in &issue.history {
        let kind = ActionKind::of(&entry.action);
        let Some(status) = kind.status_after(before) else { continue };
        // A return leads to the same status as filing, but is not the filing.
        if changes.is_empty() && kind != ActionKind::Filed {
            changes.push(StatusChange::new(issue.created_at, Status::Created));
        }
        let is_lapse = matches!(kind, ActionKind::Lapsed | ActionKind::Asked);
        changes.push(StatusChange { is_lapse, ..StatusChange::new(entry.timestamp, status) });
        before = Some(status);
    }
    if changes.is_empty() {
        changes.push(StatusChange::new(issue.created_at, Status::Created));
    }
    if changes.last().is_none_or(|step| step.status != issue.status) {
        changes.push(StatusChange::new(issue.modified_at, issue.status));
    }
    changes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn issue(status: &str, history: &[(u32, &str)]) -> Issue {
        let time = |second: u32| format!("2026-01-31T09:30:{second:02}.000Z");
        let history: Vec<_> = history
            .iter()
            .map(|(at, action)| serde_json::json!({"timestamp": time(*at), "agent": "a", "action": action}))
            .collect();
        serde_json::from_value(serde_json::json!({
            "id": "3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73", "title": "T", "description": "",
            "classification": "bug", "createdAt": time(1), "modifiedAt": time(59),
            "status": status, "history": history, "comments": [],
        }))
        .unwrap()
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
            let changes = status_changes(&issue(status, history));
            let changes: Vec<_> = changes
                .iter()
                .map(|step| (step.at.unix_millis() / 1000 % 60, step.status.as_str()))
                .collect();
            let expected: Vec<_> =
                expected.iter().map(|&(at, status)| (i64::from(at), status)).collect();
            assert_eq!(changes, expected.as_slice(), "{status} {history:?}");
        }
    }
}
