//! Issues with fields that both sides of a sync changed.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{FindingInput, Hit, Hits, Why};
use ait_domain::Issue;
use ait_domain::external_id::SYNC_KEY;

/// What the tie of an issue to a remote says of conflicts.
#[derive(Deserialize)]
struct Tie {
    #[serde(default)]
    conflicts: BTreeMap<String, IgnoredAny>,
}

/// Returns the names of the fields in conflict, separated by commas.
pub(in crate::read_model) fn fields_in_conflict(issue: &Issue) -> Option<Box<str>> {
    let ties = issue.unknown_keys.get(SYNC_KEY)?;
    let ties: BTreeMap<String, Tie> = serde_json::from_str(ties).ok()?;
    let fields: Vec<String> =
        ties.into_values().flat_map(|tie| tie.conflicts.into_keys()).collect();
    (!fields.is_empty()).then(|| fields.join(", ").into())
}

pub(super) fn conflicts<'a>(input: &'a FindingInput<'a>) -> Hits<'a> {
    let rows = input.view.index.rows.iter().enumerate().filter(|(_, row)| row.is_in_conflict);
    Box::new(rows.filter_map(|(at, _)| {
        let fields = input.view.summaries()[at].conflicts.clone()?;
        Some(Hit::new(at, 0, Why::Conflict(fields)))
    }))
}
