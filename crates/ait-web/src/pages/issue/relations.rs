//! The sections with the issues that an issue is linked with, and with those that name it.

use std::sync::Arc;

use maud::{Markup, html};

use super::{IssueView, components};
use crate::pages::graph;
use crate::pages::stats::flow::burn_up as burn_up_of;
use crate::query::ListQuery;
use crate::strings::relations as text;
use ait_domain::{Condition, Issue, IssueId, Query, Timestamp};
use ait_tracker::graph::Node;
use ait_tracker::read_model::{Progress, ReadView, Relation};
use ait_tracker::{Lesson, Tracker};

/// How many issues of a relation the page shows.
const MAX_SHOWN: usize = 50;
/// How many parts a chart shows at most. An issue with more has none.
const MAX_CHARTED: usize = 2_000;
/// The end of a chart is rounded up to so many milliseconds.
const STEP_MS: i64 = 60_000;
/// How many issues that name this one the page shows.
const MAX_MENTIONS: usize = 20;

/// Renders the section; nothing if there are no links.
pub(super) fn relations(view: &IssueView) -> Markup {
    let issue = &view.found.issue;
    let relations = view.view.relations(issue);
    html! {
        @if !relations.is_empty() {
            section #issue-links.links aria-labelledby="links-heading" {
                h2 #links-heading { (text::LINKS) }
                @for (relation, ids) in &relations { (group(*relation, ids, view)) }
            }
        }
    }
}

/// Renders the issues whose texts name this one.
pub(super) fn backlinks(view: &IssueView) -> Markup {
    let search = ListQuery { search: view.found.issue.id.short(), ..ListQuery::default() };
    let Mentions { ids, has_more } = &view.mentions;
    html! {
        @if !ids.is_empty() {
            section #issue-mentions.links aria-labelledby="mentions-heading" {
                h2 #mentions-heading { "Mentioned in" }
                ul {
                    @for id in ids { li { (linked(*id, view.view)) } }
                    @if *has_more { li { a href={ "/" (search.query_string()) } { "Search for texts that name this issue" } } }
                }
            }
        }
    }
}

/// Renders what closed issues nearby warn of, if there is any.
pub(super) fn known(view: &IssueView) -> Markup {
    html! {
        @if !view.known.is_empty() {
            section #issue-known.links aria-labelledby="known-heading" {
                h2 #known-heading { "What the team knows" }
                p.quiet { a href=(graph::path(&Node::Issue(view.found.issue.id))) { "What lies around it" } }
                ul {
                    @for Lesson { issue, kind, text, .. } in &view.known {
                        li {
                            a href=(components::issue_path(*issue)) { code { (issue.short()) } } " "
                            @if let Some(kind) = kind { span.chip { (kind) } " " }
                            span dir="auto" { (components::title(text)) }
                        }
                    }
                }
            }
        }
    }
}

/// The issues whose texts have the first 8 digits of an id.
#[derive(Default)]
pub(crate) struct Mentions {
    /// The last filed first.
    ids: Vec<IssueId>,
    has_more: bool,
}

impl Mentions {
    /// Finds the issues that name an issue. There are none if they cannot be read.
    pub async fn find(tracker: &Tracker, issue: &Issue) -> Self {
        let short = issue.id.short();
        // One more than is shown, and the issue itself.
        let take = MAX_MENTIONS + 2;
        let condition = Condition::Text(short.clone());
        let query = Query { condition, reversed: true, take, ..Query::default() };
        let found = tracker.list_issues(query).await.map(|page| page.issues).unwrap_or_default();
        // An id that begins with the same digits is none.
        let names = |other: &Arc<Issue>| {
            other.id != issue.id && other.searchable_texts().any(|text| text.contains(&short))
        };
        let mut ids: Vec<_> = found.into_iter().filter(names).map(|other| other.id).collect();
        let has_more = ids.len() > MAX_MENTIONS;
        ids.truncate(MAX_MENTIONS);
        Self { ids, has_more }
    }
}

fn group(relation: Relation, ids: &[IssueId], page: &IssueView) -> Markup {
    let view = page.view;
    let id = page.found.issue.id;
    let progress = view.progress(id).filter(|_| relation == Relation::Parts);
    let hidden = ids.len().saturating_sub(MAX_SHOWN);
    html! {
        h3 {
            (text::heading(relation))
            @if let Some(Progress { ended, total, .. }) = progress {
                " " span.count { (ended) " of " (total) " done" }
                " " progress max=(total) value=(ended) aria-label=(text::ended(ended, total)) {}
            }
        }
        @if relation == Relation::Parts { (burn_up(ids, page)) }
        ul {
            @for id in ids.iter().take(MAX_SHOWN) { li { (linked(*id, view)) } }
            @if hidden > 0 {
                li {
                    @if relation == Relation::Parts {
                        @let query = ListQuery { parent: Some(id.into()), ..ListQuery::default() };
                        a href={ "/" (query.query_string()) } { (text::more(hidden)) }
                    } @else {
                        (text::more(hidden))
                    }
                }
            }
        }
    }
}

/// Renders how the parts of an issue came to their ends, up to the end of the last one.
fn burn_up(ids: &[IssueId], page: &IssueView) -> Markup {
    let parts = ids.iter().filter_map(|id| page.view.summary(*id)).collect::<Vec<_>>();
    let ends = parts.iter().map(|part| part.status.has_ended().then(|| part.in_status_since()));
    let end = ends.collect::<Option<Vec<_>>>().and_then(|ends| ends.into_iter().max());
    // Rounded, so that an unchanged page stays the same for a while.
    let now_ms = (page.now.unix_millis() / STEP_MS + 1).saturating_mul(STEP_MS);
    let until = end.unwrap_or_else(|| Timestamp::from_unix_millis(now_ms));
    html! {
        @if ids.len() <= MAX_CHARTED { (burn_up_of(&page.view.stats_of(ids, until))) }
    }
}

fn linked(id: IssueId, view: &ReadView) -> Markup {
    html! {
        @match view.summary(id) {
            Some(other) => {
                (components::status(other.status)) " "
                a.title href=(components::issue_path(id)) dir="auto" { (components::title(&other.title)) } " "
                code { (id.short()) }
            }
            None => { code { (id.short()) } " " span.quiet { "not in this store" } }
        }
    }
}
