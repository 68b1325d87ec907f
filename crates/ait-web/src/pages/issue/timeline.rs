//! The timeline of an issue: actions and comments in one list.

use maud::{Markup, html};

use super::changes::ChangeWriter;
use super::markdown_budget::MarkdownBudget;
use super::{IssueView, components, icons};
use crate::strings::issue as text;
use ait_domain::event::CHANGE_ACTION;
use ait_domain::{ActionKind, Status, TimelineEntry};

/// How many of the latest entries the default page shows, beside the first one.
const LATEST: usize = 50;

/// The shortest time between two entries that the timeline tells.
const MIN_GAP_MS: u64 = 60_000;

/// Renders the timeline, oldest entry first.
pub(super) fn timeline(view: &IssueView, budget: &mut MarkdownBudget) -> Markup {
    let issue = &view.found.issue;
    let timeline = issue.timeline();
    let total = timeline.len();
    let hidden = if view.is_full { 0 } else { total.saturating_sub(1 + LATEST) };
    let mut changes = ChangeWriter::new(view.view, view.is_full);
    let open_question = issue.open_question().and_then(|question| {
        let comment = question.comment();
        let is_it = |moment: &TimelineEntry<'_>| {
            moment.kind() == ActionKind::Asked && moment.comment == Some(&*comment)
        };
        timeline.iter().rposition(is_it)
    });
    // Rendered from the latest to the oldest, because readers want the latest and the budget is limited.
    let mut entries: Vec<Markup> = timeline
        .iter()
        .enumerate()
        .filter(|(index, _)| *index == 0 || *index > hidden)
        .rev()
        .map(|(index, _)| {
            let is_open = open_question == Some(index);
            entry(index, &timeline, is_open, view, budget, &mut changes)
        })
        .collect();
    entries.reverse();
    html! {
        section #issue-timeline aria-labelledby="timeline-heading" {
            h2 #timeline-heading { "Timeline" }
            @if entries.is_empty() {
                p.quiet { "Nothing has happened yet." }
            } @else {
                ol #timeline.timeline {
                    @for (index, entry) in entries.iter().enumerate() {
                        (entry)
                        @if index == 0 && hidden > 0 {
                            li.gap #issue-gap {
                                (text::hidden_entries(hidden)) " "
                                a href={ (components::issue_path(issue.id)) "?all=1" } { "Show all " (total) " entries" }
                            }
                        }
                    }
                }
            }
            @if view.is_full {
                p { a href=(components::issue_path(issue.id)) { "Show less" } }
            }
        }
    }
}

/// Renders an entry. `is_open` says that it is the question that stands above the timeline, in full.
fn entry(
    index: usize,
    timeline: &[TimelineEntry<'_>],
    is_open: bool,
    view: &IssueView,
    budget: &mut MarkdownBudget,
    changes: &mut ChangeWriter,
) -> Markup {
    let moment = &timeline[index];
    let gap_ms =
        index.checked_sub(1).map_or(0, |before| moment.at.millis_since(timeline[before].at));
    html! {
        li class={ "moment " (colour_class(moment)) } id={ "moment-" (index + 1) }
            data-changed=(moment.at.unix_millis())
        {
            (icon(moment))
            p.kind {
                (components::agent(moment.agent)) " "
                @if is_open { "asked " a href="#issue-question" { "the open question" } }
                @else { (action(moment)) }
                " "
                a.permalink href={ "#moment-" (index + 1) } { (components::ago(moment.at, view.now)) }
                @if gap_ms >= MIN_GAP_MS { span.gap-before { (text::later(gap_ms)) } }
                @if let Some(held_ms) = held_ms(&timeline[..index], moment) {
                    span.gap-before { (text::held(held_ms)) }
                }
            }
            @if let Some(patch) = view.changes.of(moment).filter(|_| !is_about_question(moment)) { (changes.write(patch)) }
            @if let Some(comment) = moment.comment.filter(|_| !is_open) {
                div.prose dir="auto" { (budget.render(comment)) }
            }
        }
    }
}

/// Returns how long the issue had been held if an entry ends a claim. `before` are the entries before it.
fn held_ms(before: &[TimelineEntry<'_>], moment: &TimelineEntry<'_>) -> Option<u64> {
    let is_end = moment.status().is_some_and(|status| !status.is_claimed());
    let claim = before.iter().rev().find(|entry| entry.status().is_some())?;
    let is_claim = claim.status().is_some_and(Status::is_claimed);
    (is_end && is_claim).then(|| moment.at.millis_since(claim.at))
}

/// Returns true for a question and an answer. Their comments say what changed.
fn is_about_question(moment: &TimelineEntry<'_>) -> bool {
    matches!(moment.kind(), ActionKind::Asked | ActionKind::Answered)
}

fn colour_class(moment: &TimelineEntry<'_>) -> String {
    match (moment.kind(), moment.status()) {
        (ActionKind::Returned, _) => "was-returned".to_owned(),
        (_, Some(status)) => format!("status-{status}"),
        (_, None) => String::new(),
    }
}

fn icon(moment: &TimelineEntry<'_>) -> Markup {
    match (moment.kind(), moment.status()) {
        (ActionKind::Returned, _) => icons::other("return"),
        _ if is_about_question(moment) => icons::other("comment"),
        (ActionKind::Commented, _) => icons::other("comment"),
        (ActionKind::Changed | ActionKind::Edited, _) => icons::other("edit"),
        (_, Some(status)) => icons::status(status),
        (_, None) => icons::other("clock"),
    }
}

fn action(moment: &TimelineEntry<'_>) -> Markup {
    html! {
        @match (moment.kind(), moment.status()) {
            (ActionKind::Returned, _) => { "returned it to the queue" }
            (ActionKind::Commented, _) => { "commented" }
            (ActionKind::Asked, _) => { "asked a question" }
            (ActionKind::Answered, _) => { "answered the question" }
            (ActionKind::Checked, _) => { "ran the check" }
            (ActionKind::Used, _) => { "recorded what the claim used" }
            (ActionKind::Changed, _) => {
                "changed" " "
                bdi { (moment.action.unwrap_or_default().trim_start_matches(CHANGE_ACTION)) }
            }
            (_, Some(status)) => { (text::action(status)) }
            // Written by another program.
            (_, None) => { "· " bdi { (moment.action.unwrap_or_default()) } }
        }
    }
}
