//! Finds the issue that a path names, and suggests others if there is none.

use std::sync::Arc;

use indexmap::IndexSet;

use super::WebState;
use super::pages::error::WebError;
use ait_domain::{DomainError, Issue, IssueRef};
use ait_tracker::StoreError;
use ait_tracker::read_model::{FoundIssue, ReadView};

/// The most suggestions.
const MAX_SUGGESTIONS: usize = 5;
/// The fewest digits for suggestions. Fewer are similar to too many ids.
const MIN_SIMILAR_DIGITS: usize = 4;

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
    match refusal {
        DomainError::UnknownIssue { .. } => {
            WebError::unknown_issue(asked, suggestions(asked, view))
        }
        DomainError::AmbiguousReference { candidates, count, .. } => {
            let candidates = candidates.into_iter().filter_map(|id| view.summary(id));
            WebError::ambiguous(asked, count, candidates.map(FoundIssue::from).collect())
        }
        _ => WebError::not_an_id(asked, suggestions(asked, view)),
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

/// Returns the issues whose ids start as a path does, or would but for one slip.
fn suggestions(asked: &str, view: &ReadView) -> Vec<FoundIssue> {
    let mut found = IndexSet::new();
    for range in meant(asked).iter().filter_map(|text| IssueRef::begun(text)) {
        found.extend(view.positions(&range).take(MAX_SUGGESTIONS));
    }
    let found = found.into_iter().take(MAX_SUGGESTIONS);
    found.map(|position| FoundIssue::from(&*view.summaries()[position])).collect()
}

/// Returns the starts of ids that a path may mean, the likeliest first: the path as it is, with two digits exchanged,
/// with one digit replaced or added, and with one left out.
///
/// They are looked up, instead of comparing the path with each id, whose number has no limit. Only the first 8 digits
/// count, because people and agents refer to issues by them.
fn meant(asked: &str) -> Vec<String> {
    let is_digit = |character: &char| !character.is_whitespace() && *character != '-';
    let digits: Vec<char> = asked.chars().filter(is_digit).take(IssueRef::MIN_DIGITS).collect();
    if digits.len() < MIN_SIMILAR_DIGITS {
        return Vec::new();
    }
    let mut meant = vec![digits.clone()];
    for at in 1..digits.len() {
        let mut exchanged = digits.clone();
        exchanged.swap(at - 1, at);
        meant.push(exchanged);
    }
    for at in 0..digits.len() {
        for digit in "0123456789abcdef".chars() {
            let mut replaced = digits.clone();
            replaced[at] = digit;
            let mut added = digits.clone();
            added.insert(at, digit);
            added.truncate(IssueRef::MIN_DIGITS);
            meant.extend([replaced, added]);
        }
    }
    for at in 0..digits.len() {
        let mut without = digits.clone();
        without.remove(at);
        meant.push(without);
    }
    meant.into_iter().map(String::from_iter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_slip_in_an_id_is_meant() {
        let ids = [
            "3f2a9c1e", // as it is
            "3f2ac91e", // two digits exchanged
            "3f2ba9c1", // a missing digit
            "3f2a9c1d", // a wrong digit
            "3f2a91e",  // one digit too much
        ];
        let meant = meant("3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73");
        let rank = |id: &&str| meant.iter().position(|text| text == id);
        let ranks: Vec<_> =
            ids.iter().map(|id| rank(id).unwrap_or_else(|| panic!("{id}"))).collect();
        assert!(ranks.is_sorted() && ranks[0] == 0, "{ranks:?}");
        assert_eq!(rank(&"3f2a9cff"), None, "two slips");
    }

    #[test]
    fn the_number_of_lookups_has_a_limit() {
        for asked in
            ["3f2a9c1e", "3f2a9c1e-7d54-4b0a-9e6f-2c8b1d5a4e73", &"äö\u{202e}".repeat(1_000)]
        {
            assert!(meant(asked).len() < 300, "{asked}");
        }
        for short in ["", "abc", "-- -- --"] {
            assert!(meant(short).is_empty(), "{short}");
        }
    }
}
