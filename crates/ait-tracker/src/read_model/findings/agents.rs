//! Agents that hold too much, or review what they made.

use super::{FindingInput, Hit, Hits, Why};
use crate::read_model::{IssueSummary, Name};
use ait_domain::thresholds::{MANY_CLAIMS, SELF_REVIEW_WITHIN_MS};
use ait_domain::{ActionKind, Status};

/// How many issues of an agent a finding names.
const MAX_ISSUES: usize = 10;

pub(super) fn overloaded<'a>(input: &'a FindingInput<'a>) -> Hits<'a> {
    let mut held: Vec<Vec<usize>> = vec![Vec::new(); input.view.names().count()];
    for (at, summary) in input.claimed() {
        if let Some(claim) = summary.holder() {
            held[claim.agent.index()].push(at);
        }
    }
    let agents = input.view.names().iter().zip(held);
    let hits =
        agents.filter(|(_, held)| held.len() >= MANY_CLAIMS).map(|((name, _), mut issues)| {
            let count = issues.len();
            issues.truncate(MAX_ISSUES);
            let issue = issues.first().copied();
            let others = issues.split_off(1);
            Hit { weight: count as u64, issue, others, why: Why::Holds(name, count) }
        });
    Box::new(hits)
}

pub(super) fn self_reviewed<'a>(input: &'a FindingInput<'a>) -> Hits<'a> {
    reviews(input, own_review)
}

pub(super) fn never_reviewed<'a>(input: &'a FindingInput<'a>) -> Hits<'a> {
    reviews(input, no_review)
}

/// Returns what is wrong with the reviews that go on, and those of issues that were closed lately.
fn reviews<'a>(input: &'a FindingInput<'a>, why: fn(&IssueSummary) -> Option<Why>) -> Hits<'a> {
    let reviewed = input.view.index.rows.iter().enumerate().filter(|(_, row)| match row.status {
        Status::InReview => true,
        Status::Closed => input.age(row.since) <= SELF_REVIEW_WITHIN_MS,
        _ => false,
    });
    let hits = reviewed.filter_map(move |(at, _)| {
        let summary = &*input.view.summaries()[at];
        let why = why(summary)?;
        Some(Hit::new(at, u64::MAX - input.age(summary.modified_at), why))
    });
    Box::new(hits)
}

/// Returns who closed an issue that agents worked on without a review since. What its author closed is another finding.
fn no_review(summary: &IssueSummary) -> Option<Why> {
    if summary.status != Status::Closed || own_review(summary).is_some() {
        return None;
    }
    let actions = &summary.actions;
    let is_work = |kind| matches!(kind, ActionKind::Claimed | ActionKind::Completed);
    let worked = actions.iter().rposition(|action| is_work(action.kind))?;
    let after = &actions[worked + 1..];
    let is_reviewed = after.iter().any(|action| action.kind == ActionKind::ReviewStarted);
    let closed = after.iter().rfind(|action| action.kind == ActionKind::Closed)?;
    (!is_reviewed).then_some(Why::NoReview(closed.agent))
}

/// Returns who reviews or closed what it completed itself. A review by another agent after the completion counts for
/// the issue, no matter which agent closed it.
fn own_review(summary: &IssueSummary) -> Option<Why> {
    let actions = &summary.actions;
    let completed = actions.iter().rposition(|action| action.kind == ActionKind::Completed)?;
    let author: Name = actions[completed].agent;
    if summary.status == Status::InReview {
        return (summary.holder()?.agent == author).then_some(Why::OwnReview(author));
    }
    let after = &actions[completed + 1..];
    let closed = after.iter().rfind(|action| action.kind == ActionKind::Closed)?;
    let is_reviewed = after
        .iter()
        .any(|action| action.kind == ActionKind::ReviewStarted && action.agent != author);
    (closed.agent == author && !is_reviewed).then_some(Why::OwnClosing(author))
}
