//! Which issues name an issue in their texts.

use super::read_view::ReadView;
use crate::domain::IssueId;

/// With how many issues the index of texts is built for this. In a larger store the first search builds it.
const MAX_TO_BUILD: usize = 20_000;
/// How many issues are examined; the index promises nearly only issues that do contain a text.
const MAX_EXAMINED: usize = 200;

/// The issues that name an issue.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Mentions {
    /// Their positions, the last filed first.
    pub positions: Vec<usize>,
    /// Whether there may be more.
    pub has_more: bool,
}

impl ReadView<'_> {
    /// Returns at most `limit` issues with a text that has the first 8 digits of an id; `None` if the index of texts
    /// would have to be built for many issues.
    pub fn mentions(&self, id: IssueId, limit: usize) -> Option<Mentions> {
        if self.summaries().len() > MAX_TO_BUILD && !self.index.signatures.are_built() {
            return None;
        }
        let short = id.short();
        let candidates = self.index.signatures.candidates(&short, &self.issues);
        let is_other = |at: &usize| candidates.contains(*at) && self.summaries()[*at].id != id;
        let promising = (0..self.summaries().len()).rev().filter(is_other);
        let mut found = Mentions::default();
        for (examined, at) in promising.enumerate() {
            if found.positions.len() == limit || examined == MAX_EXAMINED {
                found.has_more = true;
                break;
            }
            // An id that begins with the same digits is none.
            if self.issue(at).searchable_texts().any(|text| text.contains(&short)) {
                found.positions.push(at);
            }
        }
        Some(found)
    }
}
