//! Issues that wait too long, or came back too often, and a queue that grows.

use std::iter;

use super::{FindingInput, Hit, Hits, OpenIssue, Why};
use ait_domain::Status;
use ait_domain::thresholds::{
    FILED_PER_ENDED, FILING_WINDOW_MS, MANY_FILED, MANY_RETURNS, REVIEW_WAITS_AFTER_MS,
    STALE_AFTER_MS, is_old_claim,
};

pub(super) fn stale(input: &FindingInput<'_>, (at, summary, _): OpenIssue<'_>) -> Option<Hit> {
    let age = input.age(summary.active_at);
    if age < STALE_AFTER_MS || summary.is_open_and_parked_at(input.now) {
        return None;
    }
    // An agent that claimed it lately works on it.
    let is_taken_up = summary.holder().is_some_and(|claim| input.age(claim.since) < STALE_AFTER_MS);
    (!is_taken_up).then(|| Hit::new(at, age, Why::Unchanged(age)))
}

pub(super) fn old_claims<'a>(input: &'a FindingInput<'a>) -> Hits<'a> {
    let hits = input.claimed().filter_map(|(at, summary)| {
        let claim = summary.holder()?;
        let age = input.age(claim.since);
        is_old_claim(age).then(|| Hit::new(at, age, Why::Held(claim.agent, age)))
    });
    Box::new(hits)
}

pub(super) fn returned_often(_: &FindingInput<'_>, (at, summary, _): OpenIssue<'_>) -> Option<Hit> {
    let returns = summary.returns();
    (returns >= MANY_RETURNS).then(|| Hit::new(at, returns as u64, Why::Returned(returns)))
}

pub(super) fn for_review(input: &FindingInput<'_>, (at, summary, _): OpenIssue<'_>) -> Option<Hit> {
    if summary.status != Status::Completed || summary.is_open_and_parked_at(input.now) {
        return None;
    }
    let age = input.age(summary.in_status_since());
    (age > REVIEW_WAITS_AFTER_MS).then(|| Hit::new(at, age, Why::Unreviewed(age)))
}

pub(super) fn filing_faster_than_closing<'a>(input: &'a FindingInput<'a>) -> Hits<'a> {
    let is_recent = |time| input.age(time) <= FILING_WINDOW_MS;
    let rows = &input.view.index.rows;
    let filed = rows.iter().filter(|row| is_recent(row.created_at)).count();
    let ended = rows
        .iter()
        .filter(|row| row.status.has_ended() && is_recent(row.modified_at) && is_recent(row.since));
    let ended = ended.count();
    if filed < MANY_FILED || filed < FILED_PER_ENDED * ended {
        return Box::new(iter::empty());
    }
    let why = Why::Filed { filed, ended };
    Box::new(iter::once(Hit { weight: 0, issue: None, others: Vec::new(), why }))
}
