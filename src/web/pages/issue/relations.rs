//! The sections with the issues that an issue is linked with, and with those that name it.

use maud::{Markup, html};

use super::{IssueView, components};
use crate::domain::IssueId;
use crate::read_model::{Mentions, Progress, ReadView, Relation};
use crate::web::query::ListQuery;
use crate::web::strings::{issue, relations as text};

/// How many issues of a relation the page shows.
const MAX_SHOWN: usize = 50;
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
                @for (relation, ids) in &relations { (group(*relation, ids, issue.id, view.view)) }
            }
        }
    }
}

/// Renders the issues whose texts name this one; a search for them if looking for them would take long.
pub(super) fn backlinks(view: &IssueView) -> Markup {
    let id = view.found.issue.id;
    let search = ListQuery { search: id.short(), ..ListQuery::default() };
    let mentions = view.view.mentions(id, MAX_MENTIONS);
    let all = html! { a href={ "/" (search.query_string()) } { (issue::SEARCH_MENTIONS) } };
    html! {
        @match mentions {
            Some(Mentions { positions, .. }) if positions.is_empty() => {}
            Some(Mentions { positions, has_more }) => {
                section #issue-mentions.links aria-labelledby="mentions-heading" {
                    h2 #mentions-heading { (issue::MENTIONED) }
                    ul {
                        @for at in positions { li { (linked(view.view.summaries()[at].id, view.view)) } }
                        @if has_more { li { (all) } }
                    }
                }
            }
            None => { p #issue-mentions.quiet { (all) } }
        }
    }
}

fn group(relation: Relation, ids: &[IssueId], id: IssueId, view: &ReadView) -> Markup {
    let progress = view.attribute_counts().progress(id).filter(|_| relation == Relation::Parts);
    let hidden = ids.len().saturating_sub(MAX_SHOWN);
    html! {
        h3 {
            (text::heading(relation))
            @if let Some(Progress { ended, total }) = progress {
                " " span.count { (text::done(ended, total)) }
                " " progress max=(total) value=(ended) aria-label=(text::ended(ended, total)) {}
            }
        }
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

fn linked(id: IssueId, view: &ReadView) -> Markup {
    html! {
        @match view.summary(id) {
            Some(other) => {
                (components::status(other.status)) " "
                a.title href=(components::issue_path(id)) dir="auto" { (components::undirected(&other.title)) } " "
                code { (id.short()) }
            }
            None => { code { (id.short()) } " " span.quiet { (text::UNKNOWN) } }
        }
    }
}
