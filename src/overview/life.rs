//! The way of one issue through its statuses, without its texts.

use crate::domain::event::{FILE_ACTION, LAPSE_ACTION};
use crate::domain::story::status_after;
use crate::domain::{Classification, Issue, Status, Timestamp};

/// One change of status.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// When.
    pub at: Timestamp,
    /// The status from then on.
    pub status: Status,
    /// Whether a claim lapsed: the issue is where it was before the claim, and no work was done.
    pub is_lapse: bool,
}

impl Step {
    fn new(at: Timestamp, status: Status) -> Self {
        Self { at, status, is_lapse: false }
    }
}

/// The way of one issue.
#[derive(Clone, Copy, Debug)]
pub struct Life<'a> {
    /// What kind of work it is.
    pub classification: Classification,
    /// When it was filed.
    pub created_at: Timestamp,
    /// Where it stands now.
    pub status: Status,
    /// Every change of status; the first is the filing. In the order of the history.
    pub steps: &'a [Step],
}

/// The changes of status that the history of an issue tells, in the order of the history.
///
/// The first is always the filing, which is taken to have been at `created_at` where the history does
/// not tell of it, and the last always leads to the status that the issue has: a history that ends
/// elsewhere, because it was imported or edited by hand, gets a last step at `modified_at`.
///
/// A time may be before that of the step before it: the clocks of several machines stamp them.
pub fn steps_of(issue: &Issue) -> Vec<Step> {
    let mut steps = Vec::with_capacity(issue.history.len() + 1);
    let mut before = None;
    for entry in &issue.history {
        let Some(status) = status_after(&entry.action, before) else { continue };
        // A return leads to the same status as the filing does, but is none.
        if steps.is_empty() && entry.action != FILE_ACTION {
            steps.push(Step::new(issue.created_at, Status::Created));
        }
        let is_lapse = entry.action == LAPSE_ACTION;
        steps.push(Step { is_lapse, ..Step::new(entry.timestamp, status) });
        before = Some(status);
    }
    if steps.is_empty() {
        steps.push(Step::new(issue.created_at, Status::Created));
    }
    if steps.last().is_none_or(|step| step.status != issue.status) {
        steps.push(Step::new(issue.modified_at, issue.status));
    }
    steps
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
    fn the_steps_begin_with_the_filing_and_end_in_the_status_of_the_issue() {
        let (file, claim, back) =
            ("Issue filed", "Issue claimed for work", "Issue returned to created status");
        let (review, lapse, edit) =
            ("Issue claimed for review", "Claim lapsed", "Issue edited by hand");
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
            let steps = steps_of(&issue(status, history));
            let steps: Vec<_> = steps
                .iter()
                .map(|step| (step.at.unix_millis() / 1000 % 60, step.status.as_str()))
                .collect();
            let expected: Vec<_> =
                expected.iter().map(|&(at, status)| (i64::from(at), status)).collect();
            assert_eq!(steps, expected.as_slice(), "{status} {history:?}");
        }
    }
}
