//! Finds imported issues by the ids and numbers that they have in the trackers that they come from.

use std::sync::Arc;

use super::{IndexedIssues, Issue, IssueId, IssueRef, StoreError, Tracker};
use ait_domain::{Condition, DomainError, Page, Query, StatusSet};

/// Returns the position of the issue that a reference names. The id of an issue goes before the ids of other trackers.
///
/// # Errors
///
/// [`DomainError::UnknownIssue`] and [`DomainError::AmbiguousReference`].
pub fn position(issues: &IndexedIssues, reference: &IssueRef) -> Result<usize, DomainError> {
    let by_id = issues.position(reference);
    let Some(name) = reference.external().filter(|_| is_unknown(&by_id)) else { return by_id };
    let named: Vec<IssueId> =
        issues.issues().filter(|issue| is_named(issue, name)).map(|issue| issue.id).collect();
    issues.position(&only(reference, &named, named.len())?.into())
}

/// Returns true if an issue has an id in another tracker.
fn is_named(issue: &Issue, name: &str) -> bool {
    issue.external_ids().iter().any(|id| id == name)
}

/// Returns the only issue that a reference names with an id of another tracker. `named` are the first of `count`.
fn only(reference: &IssueRef, named: &[IssueId], count: usize) -> Result<IssueId, DomainError> {
    match (named, count) {
        ([], _) => Err(reference.unknown()),
        ([only], 1) => Ok(*only),
        _ => {
            let candidates = named.iter().copied().take(DomainError::MAX_CANDIDATES).collect();
            let reference = reference.external().unwrap_or_default().to_owned();
            Err(DomainError::AmbiguousReference { reference, candidates, count })
        }
    }
}

fn is_unknown<T>(found: &Result<T, DomainError>) -> bool {
    matches!(found, Err(DomainError::UnknownIssue { .. }))
}

impl Tracker {
    /// Finds one issue, also by the id or number that it has in another tracker.
    pub async fn get_issue(&self, issue: IssueRef) -> Result<Arc<Issue>, StoreError> {
        let found = self.store.get(issue.clone()).await;
        let Some(name) = issue.external() else { return found };
        if !matches!(found, Err(StoreError::Refused(DomainError::UnknownIssue { .. }))) {
            return found;
        }
        let condition = Condition::External(name.to_lowercase());
        let take = DomainError::MAX_CANDIDATES + 1;
        let statuses = StatusSet::EVERYTHING;
        let query = Query { statuses, condition, take, ..Query::default() };
        let Page { issues, total, .. } = self.list_issues(query).await?;
        let named = issues.iter().filter(|issue| is_named(issue, name));
        let named: Vec<IssueId> = named.map(|issue| issue.id).collect();
        let others = issues.len() - named.len();
        let id = only(&issue, &named, total.saturating_sub(others))?;
        issues.into_iter().find(|issue| issue.id == id).ok_or_else(|| issue.unknown().into())
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
