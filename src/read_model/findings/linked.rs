//! Links that lead nowhere, and links between issues whose statuses do not fit.

use super::{Hit, Scene, Why};
use crate::domain::{IssueId, IssueRef, LinkKind, Status};

pub(super) fn orphans(scene: Scene<'_>) -> Vec<Hit> {
    let hits = scene.open().filter_map(|(at, summary, _)| {
        let links = &summary.attributes.links;
        let gone = links.iter().find(|link| scene.view.summary(link.to).is_none())?;
        Some(Hit::new(at, 0, Why::Gone(gone.kind, gone.to)))
    });
    hits.collect()
}

pub(super) fn blocked_by_rejected(scene: Scene<'_>) -> Vec<Hit> {
    let created = scene.open().filter(|(_, summary, _)| summary.status == Status::Created);
    let hits = created.filter_map(|(at, summary, _)| {
        let blockers = summary.attributes.linked(LinkKind::BlockedBy);
        let positions = blockers.filter_map(|id| scene.view.position(&IssueRef::from(id)).ok());
        let is_rejected = |at: &usize| scene.view.summaries()[*at].status == Status::Rejected;
        let rejected: Vec<usize> = positions.filter(is_rejected).collect();
        let issues = std::iter::once(at).chain(rejected.iter().copied()).collect();
        (!rejected.is_empty()).then_some(Hit { weight: 0, issues, why: Why::RejectedBlocker })
    });
    hits.collect()
}

pub(super) fn parents(scene: Scene<'_>) -> Vec<Hit> {
    let summaries = scene.view.summaries();
    let parts = summaries.iter().enumerate();
    let parts = parts.filter_map(|(at, summary)| Some((summary.attributes.parent()?, at)));
    let mut parts: Vec<(IssueId, usize)> = parts.collect();
    parts.sort_unstable();
    let hits = parts.chunk_by(|(one, _), (next, _)| one == next).filter_map(|parts| {
        let parent = scene.view.position(&IssueRef::from(parts[0].0)).ok()?;
        let is_open = |at: &usize| !summaries[*at].status.is_terminal();
        let open: Vec<usize> = parts.iter().map(|(_, at)| *at).filter(is_open).collect();
        let why = match summaries[parent].status {
            status if status.is_terminal() && !open.is_empty() => Why::OpenParts(open.len()),
            Status::Created if open.is_empty() => Why::EndedParts(parts.len()),
            _ => return None,
        };
        let issues = std::iter::once(parent).chain(open.iter().copied().take(MAX_PARTS)).collect();
        Some(Hit { weight: open.len() as u64, issues, why })
    });
    hits.collect()
}

/// How many open parts a finding names.
const MAX_PARTS: usize = 10;
