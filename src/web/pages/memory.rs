//! The page of the memory: the entries that agents and people keep, newest first, by kind.

use std::sync::Arc;

use maud::{Markup, html};

use super::components;
use crate::domain::{Classification, Issue, IssueId, LinkKind, Timestamp, memory};
use crate::tracker::Lesson;
use crate::web::strings::memory as text;

/// What the page shows.
pub(super) struct MemoryView<'a> {
    /// What was looked for; empty for all entries.
    pub search: &'a str,
    /// What is wrong with it.
    pub mistake: Option<String>,
    pub entries: &'a [Arc<Issue>],
    /// How many match.
    pub total: usize,
    /// What closed issues tell, for a search.
    pub closed: &'a [Lesson],
    /// Whether replaced and ended entries are shown, too.
    pub with_past: bool,
    pub now: Timestamp,
}

/// Renders the page.
pub(super) fn content(view: &MemoryView) -> Markup {
    let kinds = [
        Classification::Decision,
        Classification::Trap,
        Classification::Fact,
        Classification::Progress,
    ];
    html! {
        h1.unseen { (text::TITLE) }
        form.filters method="get" action="/memory" role="search" {
            label for="q" { span.unseen { (text::SEARCH) } }
            input #q type="search" name="q" value=(view.search) placeholder=(text::HINT) autocomplete="off";
            label { input type="checkbox" name="all" value="1" checked[view.with_past]; " " (text::ALSO_PAST) }
            button type="submit" { (text::FIND) }
        }
        @if let Some(mistake) = &view.mistake {
            section.notice role="alert" { p { bdi { (mistake) } } }
        } @else if view.entries.is_empty() && view.closed.is_empty() {
            section.notice {
                p { (if view.search.is_empty() { text::EMPTY } else { text::NOTHING }) }
                (components::command(text::COMMAND))
            }
        }
        @for kind in kinds {
            @let of_kind = view.entries.iter().filter(|entry| entry.classification == kind);
            @if of_kind.clone().next().is_some() {
                section.questions aria-labelledby={ "kind-" (kind) } {
                    h2 id={ "kind-" (kind) } { (text::kind(kind)) " " span.count { (of_kind.clone().count()) } }
                    @for one in of_kind { (entry(one, view.now)) }
                }
            }
        }
        @if view.total > view.entries.len() { p.quiet { (text::more(view.total - view.entries.len())) } }
        @if !view.closed.is_empty() {
            section.links aria-labelledby="closed" {
                h2 #closed { (text::CLOSED) }
                ul {
                    @for Lesson { issue, text, .. } in view.closed {
                        li { (link(*issue)) " " span dir="auto" { (components::undirected(text)) } }
                    }
                }
            }
        }
    }
}

fn entry(entry: &Issue, now: Timestamp) -> Markup {
    let is_past = !memory::is_in_force(entry, now);
    html! {
        article.question.past[is_past] {
            p.asked dir="auto" { (components::undirected(memory::text(entry))) }
            p.details {
                (link(entry.id))
                @for file in memory::files(entry) { a.chip href={ "/memory?q=file:" (file) } { (file) } }
                @for label in &entry.attributes.labels { a.chip href={ "/memory?q=label:" (label) } { (label) } }
                @for issue in entry.attributes.linked(LinkKind::Related) {
                    a.chip href=(components::issue_path(issue)) { (issue.short()) }
                }
                @if let Some(replacement) = memory::replacement(entry) {
                    span.quiet { (text::REPLACED_BY) " " (link(replacement)) }
                }
                @if let Some(due) = entry.attributes.due { span.quiet { (text::UNTIL) " " (due) } }
                span.quiet {
                    @if let Some(first) = entry.history.first() { (components::agent(&first.agent)) " " }
                    (components::ago(entry.created_at, now))
                }
            }
        }
    }
}

fn link(id: IssueId) -> Markup {
    html! { a href=(components::issue_path(id)) { code { (id.short()) } } }
}
