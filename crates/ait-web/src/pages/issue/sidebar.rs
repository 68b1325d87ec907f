//! The sidebar of an issue with its details, and the links to its neighbours.

use maud::{Markup, html};

use super::{IssueView, components};
use crate::actions::forms::known;
use crate::lookup::Found;
use crate::markdown::{self, MAX_CHARS};
use crate::strings::issue as text;
use ait_domain::text::shortened;
use ait_domain::{Timestamp, UnknownKeys};
use ait_tracker::read_model::FoundIssue;

/// The names of the links to the neighbours. The script takes them for those in the list that the reader came from.
const PREVIOUS: &str = "Previous issue";
const NEXT: &str = "Next issue";
/// How many characters of the reason for parking the default page shows.
const MAX_REASON_CHARS: usize = 400;

/// Renders the sidebar: what the head of the page lacks.
pub(super) fn sidebar(view: &IssueView) -> Markup {
    let issue = &view.found.issue;
    let filer = issue.history.first().map(|entry| entry.agent.as_str());
    let last = issue.history.last().map(|entry| entry.agent.as_str());
    html! {
        aside.issue-sidebar #issue-sidebar aria-label="Details" {
            @if let Some(forms) = &view.forms { (forms.properties(issue)) (known(view.view)) }
            dl {
                @if let Some(parked) = parked(view) { (parked) }
                (detail("Filed", &when(issue.created_at, filer, view.now)))
                (detail("Last change", &when(issue.modified_at, last, view.now)))
                (detail("Comments", &html! { (issue.comments.len()) }))
            }
            (unknown_keys(&issue.unknown_keys, view.is_full))
        }
    }
}

/// Renders why the issue is parked, if it is. An open question stands above.
fn parked(view: &IssueView) -> Option<Markup> {
    let attributes = &view.found.issue.attributes;
    let parked = attributes.parked.as_ref().filter(|_| attributes.is_parked_at(view.now))?;
    if view.found.issue.open_question().is_some() {
        return None;
    }
    let reason = if view.is_full {
        parked.reason.clone()
    } else {
        shortened(&parked.reason, MAX_REASON_CHARS)
    };
    Some(detail(
        text::PARKED,
        &html! {
            span dir="auto" { (reason) }
            span.exact { (components::ago(parked.since, view.now)) " " (text::BY) (components::agent(&parked.by)) }
            @if let Some(until) = parked.until { span.exact { (text::UNTIL) " " (components::local_time(until)) (components::utc()) } }
        },
    ))
}

fn detail(name: &str, value: &Markup) -> Markup {
    html! {
        div { dt { (name) } dd { (value) } }
    }
}

fn when(time: Timestamp, agent: Option<&str>, now: Timestamp) -> Markup {
    html! {
        (components::ago(time, now))
        @if let Some(agent) = agent { " " (text::BY) (components::agent(agent)) }
        span.exact { (components::local_time(time)) (components::utc()) }
    }
}

fn unknown_keys(keys: &UnknownKeys, is_full: bool) -> Markup {
    let count = keys.iter().count();
    let json = serde_json::to_string_pretty(keys).unwrap_or_default();
    let json = if is_full { json } else { shortened(&json, MAX_CHARS) };
    html! {
        @if count > 0 {
            details #issue-unknown-keys {
                summary { (text::unknown_keys(count)) }
                (markdown::plain(&json))
            }
        }
    }
}

/// Renders the links to the issues filed before and after.
pub(super) fn neighbours(found: &Found) -> Markup {
    let Found { previous, next, .. } = found;
    html! {
        @if previous.is_some() || next.is_some() {
            nav.neighbours #issue-neighbours aria-label="Adjacent issues" data-prev=(PREVIOUS) data-next=(NEXT) {
                @if let Some(previous) = previous { (neighbour("prev", PREVIOUS, previous)) }
                @if let Some(next) = next { (neighbour("next", NEXT, next)) }
            }
        }
    }
}

fn neighbour(relation: &str, name: &str, link: &FoundIssue) -> Markup {
    html! {
        a class=(relation) rel=(relation) href=(components::issue_path(link.id)) {
            span.quiet { (name) } " "
            bdi { (components::title(&link.title)) }
        }
    }
}
