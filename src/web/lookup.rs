//! Finding the issue that an address names, and those beside it.

use std::sync::Arc;

use super::nearest::nearest;
use super::pages::error::{ErrorPage, Offered};
use super::pages::issue::Neighbour;
use super::words::Words;
use crate::domain::{DomainError, Issue, IssueRef};
use crate::overview::{Digest, Survey};

/// An issue, and what is around it.
pub(super) struct Found {
    pub issue: Arc<Issue>,
    /// The one filed right before it.
    pub previous: Option<Neighbour>,
    /// The one filed right after it.
    pub next: Option<Neighbour>,
}

/// Finds the issue that an address names by its id or by the beginning of it.
///
/// # Errors
///
/// What to answer instead: which issues may have been meant.
pub(super) fn find(asked: &str, survey: &Survey, words: &Words) -> Result<Found, ErrorPage> {
    let digests = survey.digests();
    let near = || nearest(asked, digests).into_iter().map(Offered::from).collect();
    let reference = asked.parse::<IssueRef>();
    let position = match reference.and_then(|reference| survey.position(&reference)) {
        Ok(position) => position,
        Err(DomainError::UnknownIssue { .. }) => {
            return Err(ErrorPage::unknown_issue(asked, near(), words));
        }
        Err(DomainError::AmbiguousReference { candidates, count, .. }) => {
            let known = candidates.into_iter().filter_map(|id| survey.digest(id));
            let candidates = known.map(Offered::from).collect();
            return Err(ErrorPage::ambiguous(asked, count, candidates, words));
        }
        Err(_) => return Err(ErrorPage::not_an_id(asked, near(), words)),
    };
    let beside = |position: Option<usize>| digests.get(position?).map(neighbour);
    Ok(Found {
        issue: survey.issue(position),
        previous: beside(position.checked_sub(1)),
        next: beside(position.checked_add(1)),
    })
}

fn neighbour(digest: &Digest) -> Neighbour {
    Neighbour { id: digest.id, title: digest.title.clone() }
}
