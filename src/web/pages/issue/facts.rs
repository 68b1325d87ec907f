//! What is known of an issue besides its texts, and what is beside it.

use maud::{Markup, html};

use super::{IssueView, Neighbour, held_since, parts, returns};
use crate::domain::text::shortened;
use crate::domain::{Extra, Timestamp};
use crate::web::markdown::{self, MAX_CHARS};
use crate::web::words::Words;

/// The facts beside the story.
pub(super) fn facts(view: &IssueView<'_>, words: &Words) -> Markup {
    let issue = view.issue;
    let filer = issue.history.first().map(|entry| entry.agent.as_str());
    let last = issue.history.last().map(|entry| entry.agent.as_str());
    html! {
        aside.issue-facts #issue-facts aria-label=(words.issue.facts) {
            dl {
                (fact(words.issue.status, &parts::status(issue.status, words)))
                (fact(words.issue.classification, &parts::kind(issue.classification, words)))
                (fact(words.issue.holder, &html! {
                    @match issue.holder() {
                        Some(holder) => {
                            (parts::agent(holder.agent))
                            span.exact { (held_since(holder.since, view, words)) }
                        }
                        None => { span.quiet { (words.issue.nobody) } }
                    }
                }))
                (fact(words.issue.filed, &when(issue.created_at, filer, view, words)))
                (fact(words.issue.changed, &when(issue.modified_at, last, view, words)))
                (fact(words.issue.returns, &html! { ((words.issue.times)(returns(issue))) }))
                (fact(words.issue.comments, &html! { (issue.comments.len()) }))
            }
            (unknown_keys(&issue.extra, view.is_whole, words))
        }
    }
}

fn fact(name: &str, value: &Markup) -> Markup {
    html! {
        div { dt { (name) } dd { (value) } }
    }
}

fn when(time: Timestamp, agent: Option<&str>, view: &IssueView<'_>, words: &Words) -> Markup {
    html! {
        (parts::ago(time, view.now, words))
        @if let Some(agent) = agent { " " (words.issue.by) (parts::agent(agent)) }
        span.exact { ((words.issue.exact)(time)) }
    }
}

fn unknown_keys(extra: &Extra, is_whole: bool, words: &Words) -> Markup {
    let count = extra.iter().count();
    let json = serde_json::to_string_pretty(extra).unwrap_or_default();
    let json = if is_whole { json } else { shortened(&json, MAX_CHARS) };
    html! {
        @if count > 0 {
            details #issue-unknown-keys {
                summary { ((words.issue.unknown_keys)(count)) }
                (markdown::plain(&json))
            }
        }
    }
}

/// The links to the issues beside it.
pub(super) fn neighbours(view: &IssueView<'_>, words: &Words) -> Markup {
    let (previous, next) = (&view.previous, &view.next);
    html! {
        @if previous.is_some() || next.is_some() {
            nav.neighbours #issue-neighbours aria-label=(words.issue.neighbours) {
                @if let Some(previous) = previous {
                    (neighbour("prev", words.issue.previous, previous))
                }
                @if let Some(next) = next { (neighbour("next", words.issue.next, next)) }
            }
        }
    }
}

fn neighbour(relation: &str, name: &str, neighbour: &Neighbour) -> Markup {
    html! {
        a class=(relation) rel=(relation) href=(parts::address(neighbour.id)) {
            span.quiet { (name) } " "
            bdi { (neighbour.title) }
        }
    }
}
