//! The list of issues: filtered, searched, sorted, 50 a page.

use maud::{Markup, html};

use super::chips::Chips;
use super::error::WebError;
use super::list_filters::filters;
use super::{icons, parts};
use crate::domain::{Counts, Status, StatusSet, Timestamp};
use crate::read_model::{Direction, IssueSummary, Listing, MAX_FOUND, ReadView, SortKey};
use crate::web::lookup::filter;
use crate::web::query::ListQuery;
use crate::web::strings::{self, list as text};

/// How many issues a page shows.
pub(in crate::web) const PAGE_SIZE: usize = 50;

/// What the page shows.
pub(super) struct ListView<'a, 'b> {
    query: &'a ListQuery,
    listing: Listing,
    view: &'a ReadView<'b>,
    now: Timestamp,
}

impl<'a, 'b> ListView<'a, 'b> {
    /// Finds the issues that a query asks for.
    ///
    /// # Errors
    ///
    /// Those of [`filter`].
    pub fn new(
        view: &'a mut ReadView<'b>,
        query: &'a ListQuery,
        now: Timestamp,
    ) -> Result<Self, WebError> {
        let filter = filter(query, view, now)?;
        let listing = view.find(&filter, query.order, query.page, PAGE_SIZE);
        Ok(Self { query, listing, view, now })
    }
}

/// Renders the page.
pub(super) fn content(view: &ListView) -> Markup {
    let Listing { positions, total, is_exact, .. } = &view.listing;
    html! {
        h1.unseen { (strings::ISSUES) }
        div.bar {
            (statuses(view))
            (filters(view.query, view.view))
        }
        @if positions.is_empty() {
            (nothing(view))
        } @else {
            @if !is_exact { p.notice { (text::too_many(MAX_FOUND)) } }
            @let chips = Chips { view: view.view, now: view.now, query: view.query.clone() };
            div.sheet {
                table.issues role="table" {
                    caption.unseen { (text::caption(*total, *is_exact)) }
                    thead role="rowgroup" { (head(view.query)) }
                    tbody role="rowgroup" {
                        @for &position in positions { (row(&view.view.summaries()[position], view, &chips)) }
                    }
                }
            }
            (paging(view))
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
                    (label) " " span.count { (sum(counts, statuses)) @if !has_exact_counts { "+" } }
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

fn head(query: &ListQuery) -> Markup {
    let columns = [
        (SortKey::Title, strings::ISSUE),
        (SortKey::Classification, strings::KIND),
        (SortKey::Status, strings::STATUS),
        (SortKey::Agent, strings::AGENT),
        (SortKey::Activity, text::LAST_ACTIVITY),
        (SortKey::Created, text::CREATED),
    ];
    let sorted = |key| {
        (query.order.key == key).then_some(match query.order.direction {
            Direction::Ascending => "ascending",
            Direction::Descending => "descending",
        })
    };
    html! {
        tr role="row" {
            @for (key, name) in columns {
                th role="columnheader" scope="col" aria-sort=[sorted(key)] {
                    a href={ "/" (query.sorted_by(key).query_string()) } { (name) }
                }
            }
        }
    }
}

fn row(summary: &IssueSummary, view: &ListView, chips: &Chips) -> Markup {
    html! {
        tr role="row" id={ "i-" (summary.id.short()) } data-changed=(summary.modified_at.unix_millis()) {
            th.issue role="rowheader" scope="row" {
                a.title href=(parts::issue_path(summary.id)) dir="auto" { (summary.title) }
                p.details {
                    code { (summary.id.short()) }
                    (chips.of(summary))
                    @if summary.comments > 0 {
                        span { (icons::other("comment")) (text::comments(summary.comments)) }
                    }
                    (parts::returns(summary.returns()))
                }
            }
            td.kind role="cell" { (parts::kind(summary.classification)) }
            td.status role="cell" { (parts::status(summary.status)) }
            td.who role="cell" { (agent(summary, view)) }
            td.when role="cell" {
                @if let Some(last) = summary.actions.last() {
                    span.kind dir="auto" {
                        (summary.last_words.as_deref().unwrap_or(strings::agents::action(last.kind)))
                    }
                    " "
                    (parts::ago(last.at, view.now))
                } @else {
                    (parts::ago(summary.modified_at, view.now))
                }
            }
            td.filed role="cell" {
                span.narrow { (text::CREATED) " " }
                (parts::ago(summary.created_at, view.now))
            }
        }
    }
}

/// Renders the holder of an issue, or else the last agent that changed it.
fn agent(summary: &IssueSummary, view: &ListView) -> Markup {
    let name = |name| parts::agent(view.view.names().text(name));
    html! {
        @if let Some(held) = summary.holder() {
            span.narrow { (text::HELD_BY) " " }
            b { (name(held.agent)) }
            " " span.since { (parts::held_since(held.since, view.now)) }
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
                pre tabindex="0" { code { (text::FILE_COMMAND) } }
                p { (text::CONNECT) }
                pre tabindex="0" { code { (text::CONNECT_COMMAND) } }
                p { (text::APPEARS) }
            } @else {
                h2 { (text::NO_MATCH) }
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
