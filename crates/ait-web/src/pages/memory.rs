//! The page of the memory: the entries that agents and people keep, newest first, by kind.

use std::sync::Arc;

use form_urlencoded::Serializer;
use maud::{Markup, html};

use super::{components, graph};
use crate::markdown::{self, Links};
use crate::repository::Repository;
use crate::strings::memory as text;
use ait_domain::text::shortened;
use ait_domain::{Classification, Issue, IssueId, IssueRef, LinkKind, Timestamp, memory};
use ait_tracker::Lesson;
use ait_tracker::graph::Node;
use ait_tracker::read_model::ReadView;

/// How much of a text is shown, in characters.
const MAX_CHARS: usize = 2_000;

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
    pub view: &'a ReadView<'a>,
    pub repository: Option<&'a Repository>,
}

/// Renders the page.
pub(super) fn content(view: &MemoryView) -> Markup {
    let kinds = Classification::ALL.iter().copied().filter(|kind| kind.is_entry());
    html! {
        h1.unseen { (text::TITLE) }
        form.filters method="get" action="/memory" role="search" {
            label {
                span.unseen { (text::SEARCH) }
                input type="search" name="q" value=(view.search) placeholder=(text::HINT) autocomplete="off";
            }
            @if view.with_past { input type="hidden" name="all" value="1"; }
            button type="submit" { (text::FIND) }
            @if !view.with_past { a href=(with_past(view.search)) { (text::ALSO_PAST) } }
        }
        @if let Some(mistake) = &view.mistake {
            section.notice role="alert" { p { bdi { (mistake) } } }
        } @else if view.entries.is_empty() && view.closed.is_empty() {
            section.notice {
                p { (if view.search.is_empty() { text::EMPTY } else { text::NOTHING }) }
                (components::command(text::COMMAND))
            }
        }
        @if !view.entries.is_empty() {
            div.questions.entries {
                @for kind in kinds {
                    @for one in view.entries.iter().filter(|entry| entry.classification == kind) { (entry(one, view)) }
                }
            }
        }
        @if view.total > view.entries.len() { p.quiet { (text::more(view.total - view.entries.len())) } }
        @if !view.closed.is_empty() {
            section.links aria-labelledby="closed" {
                h2 #closed { (text::CLOSED) }
                ul {
                    @for Lesson { issue, text, .. } in view.closed {
                        li { (link(*issue)) " " span dir="auto" { (components::title(text)) } }
                    }
                }
            }
        }
    }
}

fn entry(entry: &Issue, view: &MemoryView) -> Markup {
    let is_past = !memory::is_in_force(entry, view.now);
    let text = shortened(memory::text(entry), MAX_CHARS);
    let mention = |reference: &IssueRef| components::mention(reference, view.view);
    let text = markdown::render(&text, &Links { issue: &mention, repository: view.repository });
    html! {
        article.question.past[is_past] {
            p.details { (components::kind(entry.classification)) (link(entry.id)) }
            div.prose dir="auto" { (text) }
            p.details {
                @for file in memory::files(entry) { a.chip href={ "/memory?q=file:" (file) } { (file) } }
                @for label in &entry.attributes.labels { a.chip href={ "/memory?q=label:" (label) } { (label) } }
                @for issue in entry.attributes.linked(LinkKind::Related) {
                    a.chip href=(components::issue_path(issue)) { (issue.short()) }
                }
                @if let Some(replacement) = memory::replacement(entry) {
                    span.quiet { (text::REPLACED_BY) " " (link(replacement)) }
                }
                @for issue in entry.attributes.linked(LinkKind::BlockedBy) {
                    span.quiet { (text::UNTIL_ENDED) " " (link(issue)) }
                }
                @if let Some(due) = entry.attributes.due { span.quiet { (text::UNTIL) " " (due) } }
                a.quiet href=(graph::path(&Node::Issue(entry.id))) { "What lies around it" }
                span.quiet {
                    @if let Some(first) = entry.history.first() { (components::agent(&first.agent)) " " }
                    (components::ago(entry.created_at, view.now))
                }
            }
        }
    }
}

/// Returns the path of the same search with entries that were replaced or have ended.
fn with_past(search: &str) -> String {
    let mut query = Serializer::new(String::from("/memory?"));
    query.append_pair("all", "1");
    if !search.is_empty() {
        query.append_pair("q", search);
    }
    query.finish()
}

fn link(id: IssueId) -> Markup {
    html! { a href=(components::issue_path(id)) { code { (id.short()) } } }
}
