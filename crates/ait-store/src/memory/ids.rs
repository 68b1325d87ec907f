//! The positions of issues by their ids.

use std::ops::RangeInclusive;

use imbl::OrdMap;

use ait_domain::{DomainError, IssueId, IssueRef};

/// Returns the only one of the issues that a reference names.
pub(crate) fn only(reference: &IssueRef, named: &[IssueId]) -> Result<IssueId, DomainError> {
    match named {
        [] => Err(DomainError::UnknownIssue { reference: reference.to_string() }),
        [id] => Ok(*id),
        several => Err(DomainError::AmbiguousReference {
            reference: reference.to_string(),
            candidates: several.iter().copied().take(DomainError::MAX_CANDIDATES).collect(),
            count: several.len(),
        }),
    }
}

/// The position of each issue in the order of filing. A clone costs the same at any size.
#[derive(Clone, Debug, Default)]
pub struct IdIndex(OrdMap<IssueId, usize>);

impl IdIndex {
    /// Adds an issue, or moves it.
    pub fn insert(&mut self, id: IssueId, position: usize) {
        self.0.insert(id, position);
    }

    /// Removes an issue.
    pub fn remove(&mut self, id: IssueId) {
        self.0.remove(&id);
    }

    /// Returns the position of an issue, if it exists.
    pub fn get(&self, id: IssueId) -> Option<usize> {
        self.0.get(&id).copied()
    }

    /// Returns the positions of the issues with ids within a range.
    pub fn within(&self, ids: &RangeInclusive<IssueId>) -> impl Iterator<Item = usize> {
        self.0.range(ids.clone()).map(|(_, position)| *position)
    }

    /// Returns the position of the issue that a reference names.
    ///
    /// # Errors
    ///
    /// [`DomainError::UnknownIssue`] and [`DomainError::AmbiguousReference`].
    pub fn find(&self, reference: &IssueRef) -> Result<usize, DomainError> {
        let matching = self.0.range(reference.range());
        let (ids, positions): (Vec<_>, Vec<_>) = matching.map(|(id, at)| (*id, *at)).unzip();
        only(reference, &ids).map(|_| positions[0])
    }

    /// Returns the start of an id that no other issue has: at least 8 hex digits.
    pub fn short_id(&self, id: IssueId) -> String {
        let text = id.to_string();
        let is_unique = |length: &usize| {
            let start = IssueRef::with_min_digits(&text[..*length], IssueRef::MIN_DIGITS);
            start.is_ok_and(|start| {
                !matches!(self.find(&start), Err(DomainError::AmbiguousReference { .. }))
            })
        };
        let length = (id.short().len()..text.len()).find(is_unique).unwrap_or(text.len());
        text[..length].to_owned()
    }
}
