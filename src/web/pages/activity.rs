//! What happened: the events of the log, filtered, 100 a page.

use maud::{Markup, html};

use super::{icons, parts};
use crate::activity::{MAX_SCANNED, title_in};
use crate::domain::text::shortened;
use crate::domain::{Event, EventKind, IssueId, Timestamp};
use crate::overview::Survey;
use crate::tracker::NumberedEvent;
use crate::web::activity_api::Activity;
use crate::web::address::{ActivityAddress, Part};
use crate::web::words::Words;

/// How many events a page shows.
pub(in crate::web) const PAGE_SIZE: usize = 100;
/// How many agents can be chosen, those that did something last.
const MAX_AGENTS: usize = 100;
/// How much of a comment a row shows.
const MAX_COMMENT_CHARS: usize = 240;

/// Everything that the page shows.
pub(in crate::web) struct ActivityView<'a, 'b> {
    pub address: &'a ActivityAddress,
    pub activity: &'a Activity,
    pub survey: &'a Survey<'b>,
    pub now: Timestamp,
}

/// What the head of the page says: where the feed of the same events is.
pub(in crate::web) fn head(query: &str, words: &Words) -> Markup {
    html! {
        link rel="alternate" type="application/atom+xml" href=(feed(query)) title=(words.activity.feed);
    }
}

fn feed(query: &str) -> String {
    format!("/activity.atom{query}")
}

/// The page.
pub(in crate::web) fn content(view: &ActivityView, words: &Words) -> Markup {
    let (activity, text) = (view.activity, &words.activity);
    html! {
        h1.unseen { (text.heading) }
        div.bar { (filters(view, words)) }
        @if activity.events.is_empty() {
            @if !activity.is_cut { (nothing(view, words)) }
        } @else {
            div.sheet {
                table.activity role="table" {
                    caption.unseen { ((text.caption)(activity.events.len())) }
                    thead role="rowgroup" {
                        tr role="row" {
                            @for column in [text.when, text.agent, text.what, text.issue] {
                                th role="columnheader" scope="col" { (column) }
                            }
                        }
                    }
                    tbody role="rowgroup" { @for event in &activity.events { (row(event, view, words)) } }
                }
            }
        }
        @if activity.is_cut { p.quiet { ((text.cut)(MAX_SCANNED)) } }
        @if activity.older.is_none() && activity.oldest > 1 {
            p.quiet { ((text.no_longer_kept)(activity.oldest)) }
        }
        (paging(view, words))
    }
}

/// The filters, as a form that works without a script.
fn filters(view: &ActivityView, words: &Words) -> Markup {
    let (address, text) = (view.address, &words.activity);
    let mut agents = view.survey.recent_agents(MAX_AGENTS);
    if let Some(agent) = address.agent.as_deref().filter(|agent| !agents.contains(agent)) {
        agents.push(agent);
    }
    agents.sort_unstable();
    let since = address.since.as_ref().map(|since| since.text.as_str());
    let is_span = |since: &&str| text.spans.iter().any(|(span, _)| span == since);
    let other = since.filter(|since| !is_span(since));
    html! {
        form #filters.filters method="get" action="/activity" autocomplete="off" role="search"
            aria-label=(text.filters)
        {
            label {
                span { (text.issue) }
                input type="search" name="issue" value=[address.issue.as_ref()] placeholder=(text.issue_hint)
                    maxlength="36" autocomplete="off" spellcheck="false";
            }
            label {
                span { (text.what) }
                select name="kind" {
                    option value="" { (text.anything) }
                    @for kind in EventKind::WORDS {
                        option value=(kind) selected[address.kind == Some(kind)] { ((text.did)(kind)) }
                    }
                }
            }
            label {
                span { (text.agent) }
                select name="agent" {
                    option value="" { (words.list.any_agent) }
                    @for agent in &agents {
                        option value=(agent) selected[address.agent.as_deref() == Some(agent)] { (agent) }
                    }
                }
            }
            label {
                span { (text.since) }
                select name="since" {
                    option value="" { (text.any_time) }
                    @for (span, name) in text.spans {
                        option value=(span) selected[since == Some(span)] { (name) }
                    }
                    @if let Some(other) = other { option value=(other) selected { (other) } }
                }
            }
            button type="submit" { (words.list.apply) }
            @if !address.is_unfiltered() { a.clear href="/activity" { (words.list.clear) } }
        }
    }
}

fn row(numbered: &NumberedEvent, view: &ActivityView, words: &Words) -> Markup {
    let NumberedEvent { position, event } = numbered;
    let by_agent =
        ActivityAddress { agent: Some(event.agent.clone()), ..ActivityAddress::default() };
    html! {
        tr role="row" id={ "e-" (position.number) } data-changed=(event.at.unix_millis()) {
            th.when role="rowheader" scope="row" {
                (parts::ago(event.at, view.now, words)) " " span.event-number { "#" (position.number) }
            }
            td.who role="cell" { a href={ "/activity" (by_agent.query()) } { (parts::agent(&event.agent)) } }
            td.what role="cell" { (what(event, words)) }
            td.which role="cell" { (which(event, view, words)) }
        }
    }
}

fn what(event: &Event, words: &Words) -> Markup {
    let text = &words.activity;
    let fields = match &event.kind {
        EventKind::Edited { patch } => patch.fields(),
        _ => Vec::new(),
    };
    let said = event.kind.comment().and_then(|it| it.lines().find(|line| !line.trim().is_empty()));
    html! {
        p class={ "deed " (colour(event)) } { (sign(event)) " " ((text.did)(event.kind.word())) }
        @if !fields.is_empty() { p.said { ((text.fields)(&fields)) } }
        @if let Some(said) = said { p.said dir="auto" { (shortened(said.trim(), MAX_COMMENT_CHARS)) } }
    }
}

/// The class that gives an event its colour.
fn colour(event: &Event) -> String {
    event.status_after().map_or_else(String::new, |status| format!("status-{status}"))
}

/// The drawing in front of what was done.
fn sign(event: &Event) -> Markup {
    match (&event.kind, event.status_after()) {
        (EventKind::Returned { .. } | EventKind::Lapsed { .. }, _) => icons::other("return"),
        (EventKind::Commented { .. }, _) => icons::other("comment"),
        (_, Some(status)) => icons::status(status),
        (_, None) => icons::other("clock"),
    }
}

fn which(event: &Event, view: &ActivityView, words: &Words) -> Markup {
    if event.issue == IssueId::NIL {
        return html! { span.quiet { (words.activity.no_issue) } };
    }
    let id = html! { p.details { code { (event.issue.short()) } } };
    match view.survey.digest(event.issue) {
        Some(digest) => html! {
            a.title href=(parts::address(digest.id)) dir="auto" { (digest.title) }
            (id)
        },
        // It was removed since.
        None => html! {
            span dir="auto" { (title_in(event).unwrap_or_default()) }
            (id)
        },
    }
}

fn nothing(view: &ActivityView, words: &Words) -> Markup {
    let text = &words.activity;
    let is_everything = *view.address == ActivityAddress::default();
    html! {
        section.notice {
            @if is_everything {
                p { (text.empty) }
            } @else {
                p { (text.nothing_fits) " " a href="/activity" { (text.everything) } }
            }
        }
    }
}

fn paging(view: &ActivityView, words: &Words) -> Markup {
    let (address, text) = (view.address, &words.activity);
    let link = |part: Part| format!("/activity{}", address.at(part).query());
    html! {
        nav.paging aria-label=(text.paging) {
            @if let Some(newer) = view.activity.newer {
                a href=(link(Part::Newest)) { (text.newest) }
                a rel="prev" href=(link(Part::After(newer))) { (text.newer) }
            }
            @if let Some(older) = view.activity.older {
                a rel="next" href=(link(Part::Before(older))) { (text.older) }
            }
            a href=(feed(&address.at(Part::Newest).query())) { (text.subscribe) }
        }
    }
}
