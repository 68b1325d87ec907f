//! The activity page: the events of the log, filtered, 100 a page. From claim to review an issue has one row.

use std::collections::HashMap;

use maud::{Markup, html};

use super::issue::changes::ChangeWriter;
use super::{PageContext, components, icons};
use crate::activity_api::Activity;
use crate::format;
use crate::markdown::one_line;
use crate::query::{ActivityQuery, PageCursor};
use crate::strings::{self, activity as text};
use ait_domain::{Event, EventKind, Facts, IssueId, Patch, Status, Timestamp};
use ait_tracker::NumberedEvent;
use ait_tracker::activity::{MAX_SCANNED, title_in};
use ait_tracker::read_model::ReadView;

/// How many events a page shows.
pub(super) const PAGE_SIZE: usize = 100;
/// The time that has a heading of its own; as long without events is one line.
const HOUR_MS: i64 = format::HOUR_MS.cast_signed();
/// How many characters of a comment a row shows.
const MAX_COMMENT_CHARS: usize = 160;
/// The word for an event that records what an agent used.
const USED: &str = "used";

/// What the page shows.
pub(super) struct ActivityView<'a, 'b> {
    pub query: &'a ActivityQuery,
    pub activity: &'a Activity,
    pub view: &'a ReadView<'b>,
    pub context: &'a PageContext,
}

/// Renders the link to the feed of the same events, for the head of the page.
pub(super) fn head(query: &str) -> Markup {
    html! {
        link rel="alternate" type="application/atom+xml" href={ "/activity.atom" (query) } title=(text::TITLE);
    }
}

/// Renders the page.
pub(super) fn content(view: &ActivityView) -> Markup {
    let activity = view.activity;
    html! {
        h1.unseen { (text::TITLE) }
        div.bar { (filters(view)) }
        @if activity.events.is_empty() {
            @if !activity.is_cut { (nothing(view)) }
        } @else {
            p.quiet.utc { (strings::ALL_UTC) }
            div.sheet {
                table.activity role="table" {
                    caption.unseen { (text::caption(activity.events.len())) }
                    thead role="rowgroup" {
                        tr role="row" {
                            @for column in [text::WHEN, strings::AGENT, text::EVENT, strings::ISSUE] {
                                th role="columnheader" scope="col" { (column) }
                            }
                        }
                    }
                    tbody role="rowgroup" data-hold { (rows(view)) }
                }
            }
        }
        @if activity.is_cut { p.quiet { "Searched " (MAX_SCANNED) " events for this page. Older events may match, too." } }
        @if activity.older.is_none() && activity.oldest > 1 {
            p.quiet { "Events before number " (activity.oldest) " are no longer kept." }
        }
        (paging(view))
    }
}

/// Renders the filters as a form that works without scripts.
fn filters(view: &ActivityView) -> Markup {
    let query = view.query;
    let since = query.since.as_ref().map(|since| since.text.as_str());
    let is_listed = |since: &&str| text::PERIODS.iter().any(|(period, _)| period == since);
    let other = since.filter(|since| !is_listed(since));
    html! {
        form #filters.filters method="get" action="/activity" autocomplete="off" role="search"
            aria-label="Filters"
        {
            label {
                span { (strings::ISSUE) }
                input type="search" name="issue" value=[query.issue.as_ref()] placeholder="id, or its first 8 digits"
                    maxlength="36" autocomplete="off" spellcheck="false";
            }
            label {
                span { (text::EVENT) }
                select name="kind" {
                    option value="" { "any event" }
                    @for kind in EventKind::WORDS {
                        option value=(kind) selected[query.kind == Some(kind)] { (text::action(kind)) }
                    }
                }
            }
            (components::agent_filter(view.view, query.agent.as_deref()))
            label {
                span { (text::WHEN) }
                select name="since" {
                    option value="" { "any time" }
                    @for (period, name) in text::PERIODS {
                        option value=(period) selected[since == Some(period)] { (name) }
                    }
                    @if let Some(other) = other { option value=(other) selected { (other) } }
                }
            }
            button type="submit" { (strings::APPLY) }
            @if !query.is_unfiltered() { a.clear href="/activity" { (strings::CLEAR_FILTERS) } }
        }
    }
}

/// A row: an event, and the steps before it on the way from the claim to the review of its issue, the latest first.
struct Entry<'a> {
    /// The place of the event on the page.
    at: usize,
    event: &'a NumberedEvent,
    steps: Vec<&'a NumberedEvent>,
    /// What was recorded as used on the way.
    used: Option<&'a NumberedEvent>,
}

impl Entry<'_> {
    /// Returns how many events the row has.
    fn count(&self) -> usize {
        1 + self.steps.len() + usize::from(self.used.is_some())
    }

    fn is_use(&self) -> bool {
        self.event.event.kind.word() == USED
    }
}

/// Joins the steps from a claim to the review of an issue, and what its agent used, unless `joins` is false. Other
/// events keep their own rows.
fn entries(events: &[NumberedEvent], joins: bool) -> Vec<Entry<'_>> {
    let mut entries: Vec<Entry> = Vec::new();
    // The rows that earlier steps can join, by their issues.
    let mut open: HashMap<IssueId, usize> = HashMap::new();
    for (at, event) in events.iter().enumerate() {
        let issue = event.event.issue;
        let kind = &event.event.kind;
        let is_step = joins
            && matches!(
                kind,
                EventKind::Claimed | EventKind::Completed { .. } | EventKind::ReviewStarted
            );
        let is_use = joins && kind.word() == USED;
        let row = open.get(&issue).map(|row| &mut entries[*row]);
        match row {
            // It was recorded with this step, or with what else its agent did.
            Some(row)
                if !is_use
                    && row.is_use()
                    && (is_step || row.event.event.agent == event.event.agent) =>
            {
                row.used = Some(std::mem::replace(&mut row.event, event));
                if event.event.status_after().is_none() {
                    open.remove(&issue);
                }
            }
            Some(row) if is_step => row.steps.push(event),
            Some(row) if is_use && !row.is_use() && row.used.is_none() => row.used = Some(event),
            _ => {
                if is_use || event.event.status_after().is_some() {
                    open.insert(issue, entries.len());
                }
                entries.push(Entry { at, event, steps: Vec::new(), used: None });
            }
        }
        // What is before a claim is another attempt, and what returns an issue is an end of its own.
        let is_on_the_way =
            is_step || matches!(kind, EventKind::Closed { .. } | EventKind::Rejected { .. });
        let is_begin = matches!(kind, EventKind::Claimed);
        if is_begin || event.event.status_after().is_some() && !is_on_the_way {
            open.remove(&issue);
        }
    }
    entries
}

/// Renders the events by the hour, and the gaps between them.
fn rows(view: &ActivityView) -> Markup {
    let events = &view.activity.events;
    let hour = |event: &NumberedEvent| event.event.at.unix_millis().div_euclid(HOUR_MS);
    // Filters leave steps out, and what is between two attempts.
    let joins = view.query.kind.is_none() && view.query.agent.is_none();
    let entries = entries(events, joins);
    let groups = entries.chunk_by(|one, next| hour(one.event) == hour(next.event));
    let mut changes = ChangeWriter::new(view.view, false);
    html! {
        @for group in groups {
            @let first = group[0].event;
            @let last = group[group.len() - 1].event;
            @let newer = group[0].at.checked_sub(1).map(|at| &events[at]);
            @let gap_ms = newer.map_or(0, |newer| newer.event.at.millis_since(first.event.at));
            @if gap_ms >= format::HOUR_MS {
                tr.gap role="row" id={ "gap-" (first.position.number) } {
                    td role="cell" colspan="4" { (text::gap(gap_ms)) }
                }
            }
            // The oldest event of an hour names it, so that the row stays the same when newer ones come.
            tr.hour role="row" id={ "hour-" (last.position.number) } {
                th role="cell" colspan="4" {
                    @let begin = Timestamp::from_unix_millis(hour(first) * HOUR_MS);
                    (components::local_time(begin)) " · "
                    (components::ago(first.event.at, view.context.now))
                    " " span.count { (text::caption(group.iter().map(Entry::count).sum())) }
                }
            }
            @for entry in group { (row(entry, view, &mut changes)) }
        }
    }
}

fn row(entry: &Entry, view: &ActivityView, changes: &mut ChangeWriter<'_, '_>) -> Markup {
    let NumberedEvent { position, event } = entry.event;
    let by_agent =
        ActivityQuery { agent: Some(event.agent.clone()), ..view.query.at(PageCursor::Newest) };
    html! {
        tr role="row" id={ "e-" (position.number) } data-changed=(event.at.unix_millis()) {
            th.when role="rowheader" scope="row" {
                time datetime=(event.at) title=(event.at) data-as="clock" { (format::clock(event.at)) }
                " " span.event-number { "#" (position.number) }
            }
            td.who role="cell" {
                a href={ "/activity" (by_agent.query_string()) } { (components::agent(&event.agent)) }
            }
            td.what role="cell" {
                @if !entry.steps.is_empty() { (steps(entry)) }
                (action(event, entry.used.map_or(event, |used| &used.event), changes))
            }
            td.which role="cell" { (issue(event, view)) }
        }
    }
}

/// Renders the steps that have no row of their own, each with its agent unless that did the one before or the last.
fn steps(entry: &Entry) -> Markup {
    let mut before = None;
    // It stands in a column of its own.
    let last = &entry.event.event.agent;
    html! {
        ol.steps {
            @for NumberedEvent { event, .. } in entry.steps.iter().rev() {
                li {
                    time class={ "deed " (colour_class(event)) } datetime=(event.at) title=(event.at) {
                        (icon(event)) " " (text::step(event.kind.word()))
                    }
                    @if before.replace(&event.agent) != Some(&event.agent) && event.agent != *last { " " (components::agent(&event.agent)) }
                }
            }
        }
    }
}

/// Renders what was done in an event, with what `used` records.
fn action(event: &Event, used: &Event, changes: &mut ChangeWriter<'_, '_>) -> Markup {
    // What is asked, answered or recorded says more than its fields.
    let patch = patch_of(event).filter(|_| event.kind.word() == event.kind.logged_word());
    let comment = event.kind.comment().map(|text| one_line(text, MAX_COMMENT_CHARS));
    html! {
        p class={ "deed " (colour_class(event)) } { (icon(event)) " " (text::action(word(event))) }
        @if let Some(check) = facts(event).and_then(|facts| facts.check.as_ref()) {
            p.said { (if check.has_passed() { "passed" } else { "failed" }) " " code { (check.command) } }
        }
        @if let Some(patch) = patch { (changes.write_briefly(patch)) }
        @if let Some(comment) = comment {
            p.said dir="auto" title=(comment) { (comment) }
        }
        @if let Some(usage) = facts(used).and_then(|facts| facts.usage.as_ref()) { p.said { (usage) } }
    }
}

fn patch_of(event: &Event) -> Option<&Patch> {
    match &event.kind {
        EventKind::Edited { patch } | EventKind::Changed { patch } => Some(patch),
        _ => None,
    }
}

/// Returns what an event recorded as measured.
fn facts(event: &Event) -> Option<&Facts> {
    Some(&patch_of(event)?.history.as_ref()?.added.last()?.facts)
}

/// Returns the word for what was done. Entries of the memory are kept, not filed.
fn word(event: &Event) -> &'static str {
    if event.status_after() == Some(Status::Kept) { "kept" } else { event.kind.word() }
}

fn colour_class(event: &Event) -> String {
    event.status_after().map_or_else(String::new, |status| format!("status-{status}"))
}

fn icon(event: &Event) -> Markup {
    match (&event.kind, event.status_after()) {
        (EventKind::Returned { .. } | EventKind::Lapsed { .. }, _) => icons::other("return"),
        (EventKind::Changed { .. } | EventKind::Commented { .. }, _) => match event.kind.word() {
            "asked" | "answered" | "commented" => icons::other("comment"),
            "checked" => icons::status(Status::Closed),
            USED => icons::other("clock"),
            _ => icons::other("edit"),
        },
        (EventKind::Edited { .. }, _) => icons::other("edit"),
        (_, Some(Status::Kept)) => icons::other("lines"),
        (_, Some(status)) => icons::status(status),
        (_, None) => icons::other("clock"),
    }
}

fn issue(event: &Event, view: &ActivityView) -> Markup {
    if event.issue == IssueId::NIL {
        return html! { span.quiet { (text::NO_ISSUE) } };
    }
    html! {
        code { (event.issue.short()) } " "
        @match view.view.summary(event.issue) {
            Some(summary) => {
                a.title href=(components::issue_path(summary.id)) dir="auto" { (components::title(&summary.title)) }
            }
            // An entry of the memory, or an issue that was removed since.
            None => {
                @let title = components::title(title_in(event).unwrap_or_default());
                @if event.status_after() == Some(Status::Kept) {
                    a.title href=(components::issue_path(event.issue)) dir="auto" { (title) }
                } @else {
                    span dir="auto" { (title) }
                }
            }
        }
    }
}

fn nothing(view: &ActivityView) -> Markup {
    let is_unfiltered = *view.query == ActivityQuery::default();
    html! {
        section.notice {
            @if is_unfiltered && !view.view.summaries().is_empty() {
                p {
                    "The log has no changes. Each change from now on appears here; the page of \
                     each issue shows what happened before."
                }
            } @else if is_unfiltered {
                p { "Nothing has happened yet. Each change from now on appears here." }
                (components::command(strings::list::FILE_COMMAND))
                (components::example(view.context.has_example))
            } @else {
                p { "No event matches the filters." " " a href="/activity" { "Show all events" } }
            }
        }
    }
}

fn paging(view: &ActivityView) -> Markup {
    let query = |cursor: PageCursor| view.query.at(cursor).query_string();
    html! {
        nav.paging aria-label="Pages of events" {
            @if let Some(newer) = view.activity.newer {
                a href={ "/activity" (query(PageCursor::Newest)) } { "Newest" }
                a rel="prev" href={ "/activity" (query(PageCursor::After(newer))) } { "Newer" }
            }
            @if let Some(older) = view.activity.older {
                a rel="next" href={ "/activity" (query(PageCursor::Before(older))) } { "Older" }
            }
            a href={ "/activity.atom" (query(PageCursor::Newest)) } { "Subscribe to the feed" }
        }
    }
}
