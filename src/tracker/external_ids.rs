//! Finds imported issues by the ids and numbers that they have in the trackers that they come from.

use std::sync::Arc;

use super::{IndexedIssues, Issue, IssueId, IssueRef, StoreError, Tracker};
use crate::domain::{Condition, DomainError, Page, Query};

/// Returns the position of the issue that a reference names. The id of an issue goes before the ids of other trackers.
///
/// # Errors
///
/// [`DomainError::UnknownIssue`] and [`DomainError::AmbiguousReference`].
pub fn position(issues: &IndexedIssues, reference: &IssueRef) -> Result<usize, DomainError> {
    let by_id = issues.position(reference);
    let Some(name) = reference.external().filter(|_| is_unknown(&by_id)) else { return by_id };
    let is_named = |at: &usize| issues.at(*at).external_ids().iter().any(|id| id == name);
    let found: Vec<usize> = (0..issues.len()).filter(is_named).collect();
    match found[..] {
        [] => Err(reference.unknown()),
        [only] => Ok(only),
        _ => {
            let candidates = found.iter().map(|at| issues.at(*at).id);
            let candidates: Vec<IssueId> = candidates.take(DomainError::MAX_CANDIDATES).collect();
            let (reference, count) = (name.to_owned(), found.len());
            Err(DomainError::AmbiguousReference { reference, candidates, count })
        }
    }
}

fn is_unknown<T>(found: &Result<T, DomainError>) -> bool {
    matches!(found, Err(DomainError::UnknownIssue { .. }))
}

impl Tracker {
    /// Finds one issue, also by the id or number that it has in another tracker.
    ///
    /// # Errors
    ///
    /// Those of [`Store::get`](crate::store::Store::get).
    pub async fn get_issue(&self, issue: IssueRef) -> Result<Arc<Issue>, StoreError> {
        match self.store.get(issue.clone()).await {
            Err(StoreError::Refused(DomainError::UnknownIssue { .. }))
                if issue.external().is_some() =>
            {
                let name = issue.external().unwrap_or_default();
                let condition = Condition::External(name.to_lowercase());
                let take = DomainError::MAX_CANDIDATES + 1;
                let query = Query { condition, take, ..Query::default() };
                let Page { issues: mut found, total, .. } = self.list_issues(query).await?;
                let before = found.len();
                found.retain(|issue| issue.external_ids().iter().any(|id| id == name));
                let count = total.saturating_sub(before - found.len());
                let candidates = found.iter().map(|issue| issue.id);
                let candidates = candidates.take(DomainError::MAX_CANDIDATES).collect();
                match (found.pop(), count) {
                    (None, _) => Err(issue.unknown().into()),
                    (Some(only), 1) => Ok(only),
                    _ => {
                        let reference = name.to_owned();
                        let error =
                            DomainError::AmbiguousReference { reference, candidates, count };
                        Err(error.into())
                    }
                }
            }
            found => found,
        }
    }

    /// Replaces references by ids of other trackers, which stores do not know.
    pub(super) async fn resolve_external<'a>(
        &self,
        references: impl Iterator<Item = &'a mut IssueRef>,
    ) -> Result<(), StoreError> {
        for reference in references.filter(|reference| reference.external().is_some()) {
            *reference = self.get_issue(reference.clone()).await?.id.into();
        }
        Ok(())
    }
}
