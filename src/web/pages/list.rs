//! The list of issues: filtered, searched, sorted, 50 a page.

use maud::{Markup, html};

use super::PageContext;
use super::attention::Attention;
use super::chips::Chips;
use super::error::WebError;
use super::list_filters::filters;
use super::{components, icons};
use crate::domain::text::shortened;
use crate::domain::{Counts, Status, StatusSet, Timestamp};
use crate::query_language::{NoMatch, QueryError, SavedQueries};
use crate::read_model::{Direction, IssueSummary, Listing, MAX_FOUND, ReadView, SortKey, Sorting};
use crate::web::lookup::resolve;
use crate::web::marks::Marks;
use crate::web::query::ListQuery;
use crate::web::strings::{self, list as text};

/// How many issues a page shows.
pub(in crate::web) const PAGE_SIZE: usize = 50;
/// How many saved queries the page offers, and how many characters of each it shows on hover.
const MAX_SAVED: usize = 30;
const MAX_SAVED_CHARS: usize = 300;

/// What the page shows.
pub(super) struct ListView<'a, 'b> {
    query: &'a ListQuery,
    listing: Listing,
    order: Sorting,
    /// What the search marks in the rows.
    marks: Marks,
    saved: &'a SavedQueries,
    /// What is wrong with the search.
    mistake: Option<QueryError>,
    /// Why no issue matches.
    nothing: Option<NoMatch>,
    view: &'a ReadView<'b>,
    now: Timestamp,
    attention: &'a Attention,
}

impl<'a, 'b> ListView<'a, 'b> {
    /// Finds the issues that a query asks for.
    ///
    /// # Errors
    ///
    /// Those of [`resolve`].
    pub fn new(
        view: &'a ReadView<'b>,
        query: &'a ListQuery,
        saved: &'a SavedQueries,
        context: &'a PageContext,
    ) -> Result<Self, WebError> {
        let PageContext { now, attention, .. } = context;
        let now = *now;
        let base = Self {
            query,
            listing: Listing::empty(view.counts()),
            order: Sorting::default(),
            marks: Marks::default(),
            saved,
            mistake: None,
            nothing: None,
            view,
            now,
            attention,
        };
        let resolved = match resolve(query, view, saved, now)? {
            Ok(resolved) => resolved,
            Err(mistake) => return Ok(Self { mistake: Some(mistake), ..base }),
        };
        let narrowed = resolved.search.narrow(resolved.base.clone());
        let listing = view.list_with_counts(&narrowed, resolved.order, query.page, PAGE_SIZE);
        let is_searched = listing.total == 0 && !resolved.search.is_empty();
        let nothing = is_searched.then(|| resolved.no_match(view));
        let marks = Marks::of(&resolved.search.condition());
        Ok(Self { listing, order: resolved.order, marks, nothing, ..base })
    }

    /// Returns true if the search is a mistake.
    pub fn is_mistaken(&self) -> bool {
        self.mistake.is_some()
    }
}

/// Renders the page.
pub(super) fn content(view: &ListView, has_actions: bool) -> Markup {
    let Listing { positions, total, is_exact, .. } = &view.listing;
    html! {
        h1.unseen { (strings::ISSUES) }
        @if view.query.is_unfiltered() && view.listing.page == 1 && *total > 0 { (view.attention.section(has_actions)) }
        div.bar {
            (saved(view))
            (statuses(view))
            (filters(view.query, view.view, view.saved))
        }
        @if let Some(mistake) = &view.mistake {
            section.notice role="alert" {
                h2 { (strings::errors::INVALID_QUERY) }
                p { bdi { (mistake.to_string()) } }
            }
        } @else if positions.is_empty() {
            (nothing(view))
        } @else {
            @if !is_exact { p.notice { (text::too_many(*total)) } }
            @let chips = Chips { view: view.view, now: view.now, query: view.query.clone() };
            div.sheet {
                table.issues role="table" {
                    caption.unseen { (text::caption(*total, *is_exact)) }
                    thead role="rowgroup" { (head(view.query, view.order)) }
                    tbody role="rowgroup" {
                        @for &position in positions { (row(position, view, &chips)) }
                    }
                }
            }
            (paging(view))
        }
    }
}

/// Renders the links to the saved queries.
fn saved(view: &ListView) -> Markup {
    let link = |name: &str| ListQuery { search: format!("@{name}"), ..ListQuery::default() };
    html! {
        @if !view.saved.is_empty() {
            nav #saved.saved aria-label=(text::SAVED) {
                ul {
                    @for (name, query) in view.saved.iter().take(MAX_SAVED) {
                        @let link = link(name);
                        li {
                            a href={ "/" (link.query_string()) } title=(shortened(query, MAX_SAVED_CHARS))
                                aria-current=[(link.search == view.query.search).then_some("true")]
                            {
                                (name)
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Renders the links that choose a status, with the number of issues behind each.
fn statuses(view: &ListView) -> Markup {
    let Listing { counts, has_exact_counts, .. } = &view.listing;
    let link = |statuses: StatusSet, label: Markup, class: Option<String>| {
        let is_current = view.query.statuses == statuses;
        html! {
            li class=[class] {
                a href={ "/" (view.query.in_statuses(statuses).query_string()) }
                    aria-current=[is_current.then_some("true")]
                {
                    (label) " " span.count {
                        @if *has_exact_counts { (sum(counts, statuses)) } @else { (sum(counts, statuses).min(MAX_FOUND)) "+" }
                    }
                }
            }
        }
    };
    html! {
        nav #statuses.statuses aria-label=(strings::STATUS) {
            ul {
                (link(StatusSet::ALL, html! { span.word { (strings::ALL) } }, None))
                (link(StatusSet::open(), html! { span.word { (text::OPEN) } }, None))
                @for &status in Status::ALL {
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

fn sum(counts: &Counts, statuses: StatusSet) -> usize {
    statuses.iter().map(|status| counts.in_status(status)).sum()
}

fn head(query: &ListQuery, order: Sorting) -> Markup {
    let columns = [
        (SortKey::Title, strings::ISSUE),
        (SortKey::Classification, strings::KIND),
        (SortKey::Status, strings::STATUS),
        (SortKey::Agent, strings::AGENT),
        (SortKey::Activity, text::LAST_ACTIVITY),
        (SortKey::Created, text::CREATED),
    ];
    let sorted = |key| {
        (order.key == key).then_some(match order.direction {
            Direction::Ascending => "ascending",
            Direction::Descending => "descending",
        })
    };
    html! {
        tr role="row" {
            @for (key, name) in columns {
                th role="columnheader" scope="col" aria-sort=[sorted(key)] {
                    a href={ "/" (query.sorted_by(key, order).query_string()) } { (name) }
                }
            }
        }
    }
}

fn row(position: usize, view: &ListView, chips: &Chips) -> Markup {
    let summary = &*view.view.summaries()[position];
    html! {
        tr role="row" id={ "i-" (summary.id) } data-changed=(summary.modified_at.unix_millis()) {
            th.issue role="rowheader" scope="row" {
                a.title href=(components::issue_path(summary.id)) dir="auto" {
                    (view.marks.marked(&components::undirected(&summary.title)))
                }
                @if let Some(excerpt) = view.marks.excerpt(|| view.view.issue(position), &summary.title) {
                    p.excerpt dir="auto" { (view.marks.marked(&components::undirected(&excerpt))) }
                }
                p.details {
                    code { (summary.id.short()) }
                    (chips.of(summary))
                    @if summary.comments > 0 {
                        (components::number("comment", summary.comments, &text::comments(summary.comments)))
                    }
                    (components::returns(summary.returns()))
                }
            }
            td.kind role="cell" { (components::kind(summary.classification)) }
            td.status role="cell" { (components::status(summary.status)) }
            td.who role="cell" { (agent(summary, view)) }
            td.when role="cell" {
                @if let Some(last) = summary.actions.last() {
                    span.deed dir="auto" {
                        (summary.last_words.as_deref().unwrap_or(strings::agents::did(last.kind)))
                    }
                    " "
                    (components::ago(last.at, view.now))
                } @else {
                    (components::ago(summary.modified_at, view.now))
                }
            }
            td.filed role="cell" {
                (components::ago(summary.created_at, view.now))
            }
        }
    }
}

/// Renders the holder of an issue, or else the last agent that changed it.
fn agent(summary: &IssueSummary, view: &ListView) -> Markup {
    // A long name is cut in its column.
    let name = |name| {
        let name = components::undirected(view.view.names().text(name));
        html! { bdi.agent title=(name) { (name) } }
    };
    html! {
        @if let Some(held) = summary.holder() {
            b { (name(held.agent)) }
            " " span.since { (components::held_since(held.since, view.now)) }
        } @else if let Some(last) = summary.actions.last() {
            span.quiet { (name(last.agent)) }
        } @else {
            span.quiet { (text::NO_ACTIVITY) }
        }
    }
}

fn nothing(view: &ListView) -> Markup {
    html! {
        section.notice {
            @if view.view.summaries().is_empty() {
                h2 { (text::EMPTY) }
                p { (text::FILE_FIRST) }
                (components::command(text::FILE_COMMAND))
                p { (text::CONNECT) }
                (components::command(text::CONNECT_COMMAND))
                p { (text::APPEARS) }
            } @else {
                h2 { (text::NO_MATCH) }
                @if let Some(reason) = view.nothing.as_ref().and_then(NoMatch::reason) {
                    p { bdi { (reason) "." } }
                }
                @if let Some(nearest) = view.nothing.as_ref().map(|why| &why.nearest).filter(|all| !all.is_empty()) {
                    p { (text::NEAREST) }
                    ul { @for issue in nearest {
                        li { a href=(components::issue_path(issue.id)) dir="auto" { (issue.title) } }
                    } }
                }
                p { (text::NO_MATCH_ADVICE) " " a href="/" { (strings::errors::ALL_ISSUES) } }
            }
        }
    }
}

fn paging(view: &ListView) -> Markup {
    let listing = &view.listing;
    let first = (listing.page - 1) * PAGE_SIZE + 1;
    let last = first + listing.positions.len() - 1;
    let link = |rel: &str, page: usize, label: &str| {
        html! { a rel=(rel) href={ "/" (view.query.at_page(page).query_string()) } { (label) } }
    };
    html! {
        nav.paging aria-label=(text::PAGING) {
            @if listing.page > 1 { (link("prev", listing.page - 1, text::PREVIOUS)) }
            span { (text::range(first, last, listing.total, listing.is_exact)) }
            @if listing.page < listing.pages(PAGE_SIZE) { (link("next", listing.page + 1, text::NEXT)) }
        }
    }
}
