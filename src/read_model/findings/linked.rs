//! Links that lead nowhere, and links between issues whose statuses do not fit.

use super::{Hit, Hits, Scene, Why};
use crate::domain::{IssueRef, LinkKind, Status};

pub(super) fn orphans<'a>(scene: &'a Scene<'a>) -> Hits<'a> {
    let hits = scene.open().filter_map(|(at, summary, _)| {
        let links = &summary.attributes.links;
        let gone = links.iter().find(|link| scene.linked(link.to).is_none())?;
        Some(Hit::new(at, 0, Why::Gone(gone.kind, gone.to)))
    });
    Box::new(hits)
}

pub(super) fn blocked_by_rejected<'a>(scene: &'a Scene<'a>) -> Hits<'a> {
    let created = scene.open().filter(|(_, summary, _)| summary.status == Status::Created);
    let hits = created.filter_map(|(at, summary, _)| {
        let blockers = summary.attributes.linked(LinkKind::BlockedBy);
        let positions = blockers.filter_map(|id| scene.linked(id));
        let is_rejected = |at: &usize| scene.view.summaries()[*at].status == Status::Rejected;
        let rejected: Vec<usize> = positions.filter(is_rejected).collect();
        let hit = Hit::new(at, 0, Why::RejectedBlocker);
        (!rejected.is_empty()).then_some(Hit { others: rejected, ..hit })
    });
    Box::new(hits)
}

pub(super) fn parents<'a>(scene: &'a Scene<'a>) -> Hits<'a> {
    let summaries = scene.view.summaries();
    let hits = scene.parts.chunk_by(|(one, _), (next, _)| one == next).filter_map(|parts| {
        let parent = scene.view.position(&IssueRef::from(parts[0].0)).ok()?;
        let is_open = |at: &usize| !summaries[*at].status.is_terminal();
        let open: Vec<usize> = parts.iter().map(|(_, at)| *at).filter(is_open).collect();
        let why = match summaries[parent].status {
            status if status.is_terminal() && !open.is_empty() => Why::OpenParts(open.len()),
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
