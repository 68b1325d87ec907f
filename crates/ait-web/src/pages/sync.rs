//! The page of the syncs with remote trackers: how their last runs ended, what both sides changed, and what waits to be
//! sent.

use std::sync::Arc;

use maud::{Markup, html};

use super::components::{self, undirected, with_code};
use crate::actions::forms::IssueForms;
use crate::markdown;
use crate::strings::sync as text;
use ait_domain::text::shortened;
use ait_domain::{Issue, Timestamp};
use ait_sync::plan::own_value;
use ait_sync::{LastRun, Link, Push, SyncSettings, Waiting};
use ait_tracker::hints;

/// How many characters of a value the page shows.
const MAX_CHARS: usize = 2_000;

/// What the page shows.
pub(super) struct SyncView<'a> {
    pub syncs: &'a [SyncSettings],
    /// Those of the syncs, in their order.
    pub last_runs: Vec<Option<LastRun>>,
    pub waiting: Arc<[Waiting]>,
    /// The issues with conflicts.
    pub issues: Vec<Arc<Issue>>,
    /// How many more there are.
    pub more: usize,
    /// The forms, if the reader may change issues here.
    pub forms: Option<IssueForms>,
    pub now: Timestamp,
}

/// Renders the page.
pub(super) fn content(view: &SyncView) -> Markup {
    html! {
        h1.unseen { (text::TITLE) }
        @for (number, sync) in view.syncs.iter().enumerate() {
            section.questions.sync aria-labelledby={ "sync-" (number) } {
                h2 id={ "sync-" (number) } { bdi { (undirected(&sync.name)) } }
                p.details { (sync.kind) " " bdi { (undirected(&sync.project)) } }
                (last_run(view.last_runs.get(number).and_then(Option::as_ref), view.now))
                @for issue in &view.issues {
                    @if let Some(link) = Link::of(issue, &sync.name).filter(|link| !link.conflicts.is_empty()) {
                        (conflict(issue, &link, view))
                    }
                }
                @if let Some(waiting) = view.waiting.get(number) { (sent_next(&sync.name, waiting)) }
            }
        }
        @if view.more > 0 { p.more { (with_code(&text::more(view.more))) } }
    }
}

fn last_run(run: Option<&LastRun>, now: Timestamp) -> Markup {
    html! {
        @match run {
            None => { p.quiet { (with_code(text::NO_RUN)) } }
            Some(run) => {
                p.notice.bad[run.has_failed] dir="auto" translate="yes" {
                    (text::LAST_RUN) (components::ago(run.at, now)) ": " (undirected(&run.result))
                }
                @if !run.problems.is_empty() {
                    ul { @for problem in &run.problems { li dir="auto" translate="yes" { (undirected(problem)) } } }
                }
            }
        }
    }
}

/// Renders what the next run sends.
fn sent_next(sync: &str, waiting: &Waiting) -> Markup {
    html! {
        @if waiting.count > 0 {
            p { (text::waiting(waiting.count)) }
            ul {
                @for (issue, sent) in &waiting.first {
                    li {
                        a href=(components::issue_path(issue.id)) dir="auto" { (components::title(&issue.title)) }
                        @if let Some(link) = Link::of(issue, sync) { " " span.quiet { bdi { (undirected(&link.key)) } } }
                        ": " (sent.iter().copied().map(Push::as_str).collect::<Vec<_>>().join(", "))
                    }
                }
            }
            @let more = waiting.count - waiting.first.len();
            @if more > 0 { p.more { (text::more_waiting(more)) } }
        }
    }
}

/// Renders the values of both sides, and how to choose one.
fn conflict(issue: &Issue, link: &Link, view: &SyncView) -> Markup {
    let id = issue.id.short();
    html! {
        article.question {
            h3 {
                a href=(components::issue_path(issue.id)) dir="auto" { (components::title(&issue.title)) }
                " " span.quiet { bdi { (undirected(&link.key)) } }
            }
            div.sheet {
                table role="table" {
                    thead role="rowgroup" {
                        tr role="row" {
                            @for name in text::COLUMNS { th scope="col" role="columnheader" { (name) } }
                        }
                    }
                    tbody role="rowgroup" {
                        @for (field, theirs) in &link.conflicts {
                            tr role="row" {
                                th scope="row" role="rowheader" { (field) }
                                @for value in [&own_value(issue, *field), theirs] {
                                    td role="cell" dir="auto" { (markdown::plain(&shortened(value, MAX_CHARS))) }
                                }
                            }
                        }
                    }
                }
            }
            @match &view.forms {
                Some(forms) => { (forms.choice(issue)) }
                None => { p.quiet { (with_code(&hints::for_sync_conflict(&id))) } }
            }
        }
    }
}
