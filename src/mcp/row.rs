//! An issue as one line of a list.

use serde::Serialize;

use crate::domain::{Classification, Issue, IssueId, Status, Timestamp};

/// What lists show of an issue.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row<'a> {
    id: IssueId,
    title: &'a str,
    classification: Classification,
    status: Status,
    created_at: Timestamp,
}

impl<'a> From<&'a Issue> for Row<'a> {
    fn from(issue: &'a Issue) -> Self {
        Self {
            id: issue.id,
            title: &issue.title,
            classification: issue.classification,
            status: issue.status,
            created_at: issue.created_at,
        }
    }
}
