//! Issues whose texts do not say what to do.

use super::{FindingInput, Hit, OpenIssue, Why};
use ait_domain::Status;

pub(super) fn placeholder_title(
    _: &FindingInput<'_>,
    (at, _, facts): OpenIssue<'_>,
) -> Option<Hit> {
    facts.is_placeholder.then(|| Hit::new(at, 0, Why::Placeholder))
}

pub(super) fn thin_description(
    input: &FindingInput<'_>,
    (at, summary, facts): OpenIssue<'_>,
) -> Option<Hit> {
    let is_thin =
        summary.status == Status::Created && !facts.is_described() && !input.has_parts(summary.id);
    is_thin.then(|| Hit::new(at, 0, Why::Thin(facts.description_chars)))
}
