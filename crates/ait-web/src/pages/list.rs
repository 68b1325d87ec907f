//! The list of issues: filtered, searched, sorted, 50 a page.

use std::collections::BTreeMap;
use std::sync::Arc;

use maud::{Markup, html};

use super::PageContext;
use super::chips::Chips;
use super::list_filters::Filters;
use super::row::Row;
use super::{components, icons};
use crate::actions::forms::known;
use crate::actions::many::ManyForms;
use crate::listing::Listing;
use crate::marks::Marks;
use crate::query::{ListQuery, Place, Rows, Sorting};
use crate::strings::{self, list as text};
use ait_domain::{ActionKind, Issue, MatchCounts, Order, Page, Status, StatusSet};
use ait_query::{NoMatch, QueryError, SavedQueries};
use ait_tracker::read_model::{HistoryAction, IssueSummary, ReadView};

/// How many issues a page shows.
pub(crate) const PAGE_SIZE: usize = 50;

/// What the page shows.
pub(super) struct ListView<'a, 'b> {
    pub place: Place,
    pub query: &'a ListQuery,
    /// What was found, or what is wrong with the search.
    pub listing: &'a Result<Listing, QueryError>,
    pub saved: &'a SavedQueries,
    pub view: &'a ReadView<'b>,
    pub context: &'a PageContext,
    /// The forms of a person who may change issues.
    pub forms: Option<&'a ManyForms>,
}

impl ListView<'_, '_> {
    /// Returns the address of the page.
    fn path(&self) -> String {
        self.place.address(self.query)
    }
}

/// Renders the page.
pub(super) fn content(view: &ListView, has_actions: bool) -> Markup {
    let is_start =
        view.query.statuses.is_none() && view.query.is_unfiltered() && view.query.page <= 1;
    let filters = Filters {
        place: view.place,
        query: view.query,
        view: view.view,
        saved: view.saved,
        kinds: &view.context.kinds,
        forms: view.forms,
        is_valid: view.listing.is_ok(),
    };
    html! {
        h1.unseen { (strings::ISSUES) }
        @if let Some(forms) = view.forms { (forms.notice(&view.path())) }
        @if is_start && view.view.counts().total() > 0 { (view.context.attention.section(has_actions, view.forms, &view.path())) }
        div.bar {
            (filters.saved())
            (statuses(view))
            (filters.form())
        }
        @match view.listing {
            Err(mistake) => { (components::invalid_search(mistake)) }
            Ok(listing) if listing.found.issues.is_empty() => { (nothing(listing, view)) }
            Ok(listing) => {
                (table(listing, view))
                (paging(listing, view))
                @if let Some(forms) = view.forms { (forms.bar(&view.path())) (known(view.view)) }
            }
        }
    }
}

fn table(listing: &Listing, view: &ListView) -> Markup {
    let Page { issues, total, is_exact, .. } = &listing.found;
    // With a filter, the page shows all statuses by itself.
    let statuses = view.query.statuses.filter(|statuses| *statuses != StatusSet::ALL);
    let query = ListQuery { statuses, ..view.query.clone() };
    let chips = Chips { view: view.view, now: view.context.now, place: view.place, query };
    let marks = Marks::of(&listing.search.condition());
    let selected = |_| issues.iter().map(|issue| ManyForms::selected(issue)).collect::<Vec<_>>();
    let selected = view.forms.map(selected);
    let selected = selected.as_deref();
    let groups = groups(issues, view);
    let is_by_status = view.place.rows() == Some(Rows::Status);
    html! {
        @if !is_exact { p.notice { (*total) " or more issues match. Add a word or a filter to narrow the list." } }
        div.sheet {
            table.issues.by-status[is_by_status] role="table" {
                caption.unseen { (text::caption(*total, *is_exact)) }
                thead role="rowgroup" { (head(view, listing.order, selected)) }
                @for (name, rows) in groups {
                    tbody role="rowgroup" {
                        @if let Some(name) = name {
                            tr.group role="row" {
                                @if selected.is_some() { td.box role="cell" {} }
                                th.issue scope="rowgroup" role="rowheader" {
                                    (name) " " span.count { (rows.len()) }
                                }
                                // They have the ground of the row.
                                td colspan=(if is_by_status { 3 } else { 4 }) role="cell" {}
                                td.filed role="cell" {}
                            }
                        }
                        @for (at, summary) in rows {
                            (row(&issues[at], summary, &marks, &chips, view.context, selected.map(|all| &*all[at])))
                        }
                    }
                }
            }
        }
    }
}

/// The issues of a group with their places on the page, and its name if the page has groups.
type Group<'a> = (Option<Markup>, Vec<(usize, &'a IssueSummary)>);

/// Returns the issues of the page in the groups that the address asks for.
fn groups<'a>(issues: &[Arc<Issue>], view: &'a ListView) -> Vec<Group<'a>> {
    let summary = |(at, issue): (usize, &Arc<Issue>)| Some((at, view.view.summary(issue.id)?));
    let all = issues.iter().enumerate().filter_map(summary);
    let Place::List(Some(by)) = view.place else { return vec![(None, all.collect())] };
    let mut groups: BTreeMap<Row, Vec<_>> = BTreeMap::new();
    for (at, summary) in all {
        groups.entry(Row::of(summary, by, view.view)).or_default().push((at, summary));
    }
    groups.into_iter().map(|(row, issues)| (Some(row.name(by)), issues)).collect()
}

/// Renders the links that choose a status, with the number of issues behind each.
fn statuses(view: &ListView) -> Markup {
    let all = MatchCounts { counts: view.view.counts(), are_exact: true };
    let MatchCounts { counts, are_exact } = view.listing.as_ref().map_or(all, Listing::counts);
    let count = |statuses| match counts.in_statuses(statuses) {
        count if are_exact => count.to_string(),
        // Of the best matches only, none is counted.
        0 => String::new(),
        count => format!("{count}+"),
    };
    let shown = view.query.on_page().statuses.unwrap_or(StatusSet::ALL);
    let link = |statuses: StatusSet, label: Markup, class: Option<String>| {
        let is_current = shown == statuses;
        html! {
            li class=[class] {
                a href=(view.place.address(&view.query.on_tab(statuses)))
                    aria-current=[is_current.then_some("true")]
                {
                    (label) " " span.count { (count(statuses)) }
                }
            }
        }
    };
    html! {
        nav #statuses.statuses aria-label=(strings::STATUS) {
            ul {
                (link(StatusSet::open(), html! { span.word { (text::OPEN) } }, None))
                (link(StatusSet::ALL, html! { span.word { (strings::ALL) } }, None))
                @for &status in Status::OF_WORK {
                    (link(
                        StatusSet::from_iter([status]),
                        html! { (icons::status(status)) span.word { (strings::status(status)) } },
                        Some(format!("status-{status}")),
                    ))
                }
            }
        }
    }
}

/// Renders the head; `selected` is what the boxes of the rows send, if they have boxes.
fn head(view: &ListView, order: Sorting, selected: Option<&[String]>) -> Markup {
    let columns = [
        (Order::Title, "issue", strings::ISSUE),
        (Order::Classification, "kind", strings::KIND),
        (Order::Status, "status", strings::STATUS),
        (Order::Holder, "who", strings::AGENT),
        (Order::LatestActivity, "when", "Last activity"),
        (Order::Created, "filed", "Filed"),
    ];
    let sorted = |key| (order.key == key).then(|| order.spoken());
    html! {
        tr role="row" {
            @if let Some(selected) = selected { td.box role="cell" { (ManyForms::box_of_all(selected)) } }
            @for (key, class, name) in columns {
                th class=(class) role="columnheader" scope="col" aria-sort=[sorted(key)] {
                    a href=(view.place.address(&view.query.sorted_by(key, order))) { (name) }
                }
            }
        }
    }
}

fn row(
    issue: &Issue,
    summary: &IssueSummary,
    marks: &Marks,
    chips: &Chips,
    context: &PageContext,
    selected: Option<&str>,
) -> Markup {
    let now = chips.now;
    html! {
        tr role="row" id={ "i-" (summary.id) } data-changed=(summary.modified_at.unix_millis()) {
            @let title = components::undirected(&summary.title);
            @if let Some(selected) = selected { td.box role="cell" { (ManyForms::box_of(selected, &title)) } }
            th.issue role="rowheader" scope="row" {
                div.line {
                    a.title href=(components::issue_path(summary.id)) title=(title) dir="auto" {
                        @if marks.has(&title) { (marks.marked(&title)) } @else { (components::title(&summary.title)) }
                    }
                    p.details {
                        code { (summary.id.short()) }
                        (chips.of(summary))
                        @let comments = issue.comments.len();
                        @if comments > 0 {
                            (components::number("comment", comments, &text::comments(comments)))
                        }
                        (components::returns(summary.returns()))
                    }
                }
                @if let Some(excerpt) = marks.excerpt(issue) {
                    p.excerpt dir="auto" { (marks.marked(&components::undirected(&excerpt))) }
                }
            }
            td.kind role="cell" { (components::kind(summary.classification)) }
            td.status role="cell" { (components::status(summary.status)) }
            td.who role="cell" { (agent(summary, chips, context)) }
            td.when role="cell" {
                @if let Some(last) = latest(summary) {
                    span.deed dir="auto" translate="yes" {
                        (deed(issue, last.kind))
                    }
                    " "
                    (components::ago(last.at(), now))
                } @else {
                    (components::ago(summary.modified_at, now))
                }
            }
            td.filed role="cell" {
                (components::ago(summary.created_at, now))
            }
        }
    }
}

/// Returns what was done last. What was used says less than what it was used for.
fn latest(summary: &IssueSummary) -> Option<&HistoryAction> {
    let mut actions = summary.actions.iter();
    actions.rfind(|action| action.kind != ActionKind::Used).or(summary.actions.last())
}

/// Returns the name of a known action, or the words of an unknown one.
fn deed(issue: &Issue, kind: ActionKind) -> &str {
    let mut entries = issue.history.iter();
    let unknown = entries.rfind(|entry| entry.facts.usage.is_none());
    let unknown = unknown.filter(|_| kind == ActionKind::Other);
    unknown.map_or(strings::agents::did(kind), |entry| &entry.action)
}

/// Renders the holder of an issue, or else the last agent that changed it.
fn agent(summary: &IssueSummary, chips: &Chips, context: &PageContext) -> Markup {
    // A long name is cut in its column.
    let name = |name| {
        let name = components::undirected(chips.view.names().text(name));
        html! { bdi.agent title=(name) { (name) } }
    };
    html! {
        @if let Some(held) = summary.holder() {
            b { (name(held.agent)) }
            " " span.since { (context.held_since(held.since, summary, chips.view)) }
        } @else if let Some(last) = latest(summary) {
            span.quiet { (name(last.agent)) }
        } @else {
            span.quiet { "none" }
        }
    }
}

fn nothing(listing: &Listing, view: &ListView) -> Markup {
    html! {
        section.notice {
            @if view.view.summaries().is_empty() {
                h2 { "No issues yet" }
                (components::example(view.context.has_example))
                p { (text::FILE_FIRST) }
                (components::command(text::FILE_COMMAND))
                p { "Or connect your coding agents, so that they file issues and work on them:" }
                (components::command(text::CONNECT_COMMAND))
                p { "New issues appear here at once." }
            } @else {
                h2 { "No matching issues" }
                @if let Some(reason) = listing.nothing.as_ref().and_then(NoMatch::reason) {
                    p { bdi { (components::with_code(&reason)) "." } }
                }
                @if let Some(nearest) = listing.nothing.as_ref().map(|why| &why.nearest).filter(|all| !all.is_empty()) {
                    p { "The issues with the most of the words:" }
                    ul { @for issue in nearest {
                        li { a href=(components::issue_path(issue.id)) dir="auto" { (components::title(&issue.title)) } }
                    } }
                }
                p { "An issue must match every word and every filter. " a href="/?status=all" { (strings::errors::ALL_ISSUES) } }
            }
        }
    }
}

fn paging(listing: &Listing, view: &ListView) -> Markup {
    let Page { issues, total, is_exact, .. } = &listing.found;
    let first = (listing.number - 1) * PAGE_SIZE + 1;
    let last = first + issues.len() - 1;
    let link = |rel: &str, page: usize, label: &str| {
        html! { a rel=(rel) href=(view.place.address(&view.query.at_page(page))) { (label) } }
    };
    html! {
        nav.paging aria-label="Pages of the list" {
            @if listing.number > 1 { (link("prev", listing.number - 1, text::PREVIOUS)) }
            span { (text::range(first, last, *total, *is_exact)) }
            @if listing.number < listing.pages() { (link("next", listing.number + 1, text::NEXT)) }
        }
    }
}
