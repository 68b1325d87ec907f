//! Links that lead nowhere, and links between issues whose statuses do not fit.

use super::{FindingInput, Hit, Hits, OpenIssue, Why};
use ait_domain::{LinkKind, Status};

pub(super) fn orphan(input: &FindingInput<'_>, (at, summary, _): OpenIssue<'_>) -> Option<Hit> {
    let links = &summary.attributes.links;
    let gone = links.iter().find(|link| input.position(link.to).is_none())?;
    Some(Hit::new(at, 0, Why::Gone(gone.kind, gone.to)))
}

pub(super) fn blocked_by_rejected(
    input: &FindingInput<'_>,
    (at, summary, _): OpenIssue<'_>,
) -> Option<Hit> {
    if summary.status != Status::Created || input.rejected == 0 {
        return None;
    }
    let blockers = summary.attributes.linked(LinkKind::BlockedBy);
    let positions = blockers.filter_map(|id| input.position(id));
    let is_rejected = |at: &usize| input.view.summaries()[*at].status == Status::Rejected;
    let rejected: Vec<usize> = positions.filter(is_rejected).collect();
    let hit = Hit::new(at, 0, Why::RejectedBlocker);
    (!rejected.is_empty()).then_some(Hit { others: rejected, ..hit })
}

pub(super) fn parents<'a>(input: &'a FindingInput<'a>) -> Hits<'a> {
    let summaries = input.view.summaries();
    let hits = input.parts.chunk_by(|(one, _), (next, _)| one == next).filter_map(|parts| {
        let parent = input.position(parts[0].0)?;
        let is_open = |at: &usize| !summaries[*at].status.has_ended();
        let open: Vec<usize> = parts.iter().map(|(_, at)| *at).filter(is_open).collect();
        let why = match summaries[parent].status {
            status if status.has_ended() && !open.is_empty() => Why::OpenParts(open.len()),
            Status::Created if open.is_empty() => Why::EndedParts(parts.len()),
            _ => return None,
        };
        let hit = Hit::new(parent, open.len() as u64, why);
        Some(Hit { others: open.into_iter().take(MAX_PARTS).collect(), ..hit })
    });
    Box::new(hits)
}

/// How many open parts a finding names.
const MAX_PARTS: usize = 10;
