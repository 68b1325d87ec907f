//! What every page calls things, in English.

use crate::domain::{Classification, Status};
use crate::span;
use crate::web::words::terms::Terms;

pub(super) const TERMS: Terms = Terms {
    status: |status| match status {
        Status::Created => "created",
        Status::InProgress => "in progress",
        Status::Completed => "completed",
        Status::InReview => "in review",
        Status::Closed => "closed",
        Status::Rejected => "rejected",
    },
    classification: |classification| match classification {
        Classification::Bug => "bug",
        Classification::Improvement => "improvement",
        Classification::Feature => "feature",
    },
    span: span::words,
    ago: |span_ms| format!("{} ago", span::words(span_ms)),
    returned: |count| match count {
        1 => "returned once".to_owned(),
        _ => format!("returned {count} times"),
    },
    issues: "Issues",
    site: "Issue tracker",
};
