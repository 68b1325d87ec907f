//! Lists the issues that an ambiguous reference may mean.

use std::fmt::Write;

use super::sanitize;
use super::short_ids::ShortIds;
use ait_domain::IssueId;
use ait_tracker::{StoreError, Tracker};

/// An ambiguous reference. The message has one line for each of the first issues that it may mean.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct Ambiguous(String);

pub(super) async fn list(
    reference: &str,
    candidates: &[IssueId],
    count: usize,
    tracker: &Tracker,
) -> Result<Ambiguous, StoreError> {
    let issues = tracker.issues_around(candidates.iter().copied()).await?;
    let ids = ShortIds::of(candidates.iter().copied());
    let mut text = format!("{reference} matches {count} issues; give more digits of the id:");
    for id in candidates {
        let title = issues.get(*id).map(|issue| sanitize::line(&issue.title));
        let _ = write!(text, "\n  {}  {}", ids.short(*id), title.unwrap_or_default());
    }
    if count > candidates.len() {
        let _ = write!(text, "\n  and {} more", count - candidates.len());
    }
    Ok(Ambiguous(text))
}
