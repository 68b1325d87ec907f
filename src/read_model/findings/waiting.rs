//! Issues that wait too long, or came back too often.

use super::{Hit, Hits, Scene, Why};
use crate::domain::Status;
use crate::domain::thresholds::{
    MANY_RETURNS, OLD_CLAIM_AFTER_MS, REVIEW_WAITS_AFTER_MS, STALE_AFTER_MS,
};

pub(super) fn stale<'a>(scene: &'a Scene<'a>) -> Hits<'a> {
    let hits = scene.open().filter_map(|(at, summary, _)| {
        let age = scene.age(summary.active_at);
        let is_stale = age >= STALE_AFTER_MS && !summary.is_parked_at(scene.now);
        is_stale.then(|| Hit::new(at, age, Why::Unchanged(age)))
    });
    Box::new(hits)
}

pub(super) fn old_claims<'a>(scene: &'a Scene<'a>) -> Hits<'a> {
    let hits = scene.open().filter_map(|(at, summary, _)| {
        let claim = summary.holder()?;
        let age = scene.age(claim.since);
        (age > OLD_CLAIM_AFTER_MS).then(|| Hit::new(at, age, Why::Held(claim.agent, age)))
    });
    Box::new(hits)
}

pub(super) fn returned_often<'a>(scene: &'a Scene<'a>) -> Hits<'a> {
    let hits = scene.open().filter_map(|(at, summary, _)| {
        let returns = summary.returns();
        (returns >= MANY_RETURNS).then(|| Hit::new(at, returns as u64, Why::Returned(returns)))
    });
    Box::new(hits)
}

pub(super) fn for_review<'a>(scene: &'a Scene<'a>) -> Hits<'a> {
    let waiting = scene.open().filter(|(_, summary, _)| {
        summary.status == Status::Completed && !summary.is_parked_at(scene.now)
    });
    let hits = waiting.filter_map(|(at, summary, _)| {
        let age = scene.age(summary.in_status_since());
        (age > REVIEW_WAITS_AFTER_MS).then(|| Hit::new(at, age, Why::Unreviewed(age)))
    });
    Box::new(hits)
}
