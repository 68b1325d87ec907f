//! Issues whose texts do not say what to do.

use super::{FindingInput, Hit, OpenIssue, Why};
use ait_domain::{Classification, Status};

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

pub(super) fn no_acceptance(
    input: &FindingInput<'_>,
    (at, summary, facts): OpenIssue<'_>,
) -> Option<Hit> {
    let is_new =
        matches!(summary.classification, Classification::Feature | Classification::Improvement);
    let is_unclear = summary.status == Status::Created
        && is_new
        && facts.is_described()
        && !facts.says_when_done
        && !input.has_parts(summary.id);
    is_unclear.then(|| Hit::new(at, 0, Why::NoAcceptance))
}
