//! Finds the issue that a path names, and suggests others if there is none.

use std::sync::Arc;

use strsim::levenshtein;

use super::WebState;
use super::pages::error::WebError;
use crate::domain::{DomainError, Issue, IssueRef};
use crate::read_model::{FoundIssue, IssueSummary, ReadView};
use crate::tracker::StoreError;

/// The most suggestions.
const MAX_SUGGESTIONS: usize = 5;

/// Finds an issue by its id, by the start of its id, or by its id in another tracker.
///
/// # Errors
///
/// The error to answer with; it offers the issues that may have been meant.
pub(super) async fn find(state: &WebState, asked: &str) -> Result<Arc<Issue>, WebError> {
    let found = match IssueRef::named(asked, IssueRef::MIN_DIGITS) {
        Ok(reference) => state.tracker.get_issue(reference).await,
        Err(refusal) => Err(refusal.into()),
    };
    let refusal = match found {
        Ok(issue) => return Ok(issue),
        Err(StoreError::Refused(refusal)) => refusal,
        Err(error) => return Err(error.into()),
    };
    let asked = asked.to_owned();
    Err(state.read_model.read(move |view| refused(&asked, refusal, view)).await?)
}

/// Returns the error for what a path names, with the issues that may have been meant.
fn refused(asked: &str, refusal: DomainError, view: &ReadView) -> WebError {
    let links = || {
        let all = view.summaries().iter().map(|summary| &**summary);
        suggestions(asked, all).into_iter().map(FoundIssue::from).collect()
    };
    match refusal {
        DomainError::UnknownIssue { .. } => WebError::unknown_issue(asked, links()),
        DomainError::AmbiguousReference { candidates, count, .. } => {
            let candidates = candidates.into_iter().filter_map(|id| view.summary(id));
            WebError::ambiguous(asked, count, candidates.map(FoundIssue::from).collect())
        }
        _ => WebError::not_an_id(asked, links()),
    }
}

/// An issue with its neighbours in the order of filing.
pub(super) struct Found {
    pub issue: Arc<Issue>,
    pub previous: Option<FoundIssue>,
    pub next: Option<FoundIssue>,
}

impl Found {
    /// Finds the neighbours of an issue.
    pub fn of(issue: Arc<Issue>, view: &ReadView) -> Self {
        let position = view.position(&issue.id.into()).ok();
        let link =
            |position: Option<usize>| Some(FoundIssue::from(&**view.summaries().get(position?)?));
        Self {
            previous: link(position.and_then(|position| position.checked_sub(1))),
            next: link(position.and_then(|position| position.checked_add(1))),
            issue,
        }
    }
}

/// Returns the issues with the most similar ids, the most similar first.
///
/// Compares the first 8 digits only, because people and agents refer to issues by them.
fn suggestions<'a>(
    asked: &str,
    summaries: impl Iterator<Item = &'a IssueSummary>,
) -> Vec<&'a IssueSummary> {
    let is_digit = |character: &char| !character.is_whitespace() && *character != '-';
    let asked: String = asked.chars().filter(is_digit).take(IssueRef::MIN_DIGITS).collect();
    let asked = asked.to_ascii_lowercase();
    let length = asked.len();
    // Random ids differ in nearly every digit, so half of the digits would be no similarity.
    let max_distance = length / 3;
    let mut nearest: Vec<(usize, &IssueSummary)> = Vec::new();
    if !asked.is_ascii() || max_distance == 0 {
        return Vec::new();
    }
    for summary in summaries {
        let distance = levenshtein(&asked, &summary.id.short()[..length]);
        let is_nearer = |(other, _): &(usize, &IssueSummary)| *other <= distance;
        let rank = nearest.partition_point(is_nearer);
        if distance <= max_distance && rank < MAX_SUGGESTIONS {
            nearest.insert(rank, (distance, summary));
            nearest.truncate(MAX_SUGGESTIONS);
        }
    }
    nearest.into_iter().map(|(_, summary)| summary).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Attributes, Classification, IssueId, Status, Timestamp};

    fn summary(short: &str) -> IssueSummary {
        let time = Timestamp::parse("2026-01-31T09:30:00.000Z").unwrap();
        IssueSummary {
            id: IssueId::parse(&format!("{short}-7d54-4b0a-9e6f-2c8b1d5a4e73")).unwrap(),
            title: short.into(),
            classification: Classification::Bug,
            status: Status::Created,
            created_at: time,
            modified_at: time,
            comments: 0,
            actions: Box::default(),
            last_words: None,
            attributes: Attributes::default(),
            active_at: time,
            facts: None,
        }
    }

    #[test]
    fn similar_ids_are_suggested_in_order_of_similarity() {
        let ids = [
            "3f2a9c1e", "3f2a9c11", "00000000", "3f2a9d11", "4f2a9c1e", "3f2a9c1f", "2f2a9c1e",
            "f2a9c1e0",
        ];
        let summaries = ids.map(summary);
        let suggested = |asked: &str| -> Vec<String> {
            suggestions(asked, summaries.iter()).iter().map(|summary| summary.id.short()).collect()
        };
        assert_eq!(suggested("3f2a9c1d")[..2], ["3f2a9c1e", "3f2a9c11"]);
        assert_eq!(suggested("3F2A9C1D-7d54-4b0a-9e6f-2c8b1d5a4e73").len(), MAX_SUGGESTIONS);
        assert_eq!(suggested("3f2a9c").len(), MAX_SUGGESTIONS);
        assert_eq!(suggested("00000010"), ["00000000"]);
        for odd in ["", "ab", "login-bug", "äöüäöüäöü", "-- -- --", "99999999"] {
            assert!(suggested(odd).is_empty(), "{odd}: {:?}", suggested(odd));
        }
    }
}
