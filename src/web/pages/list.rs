//! The list of issues: filtered, searched, sorted, 50 a page.

use maud::{Markup, html};

use super::{icons, parts};
use crate::domain::{Classification, Counts, Status, Statuses, Timestamp};
use crate::overview::{Deed, Digest, Direction, Listing, MAX_FOUND, Names, SortKey, Survey};
use crate::web::address::ListAddress;
use crate::web::words::Words;

/// How many issues a page shows.
pub(in crate::web) const PAGE_SIZE: usize = 50;
/// How many agents can be chosen, those that did something last.
const MAX_AGENTS: usize = 100;

/// Everything that the page shows.
pub(in crate::web) struct ListView<'a> {
    address: &'a ListAddress,
    listing: Listing,
    /// What is on the page.
    digests: Vec<&'a Digest>,
    names: &'a Names,
    /// The agents that can be chosen.
    agents: Vec<&'a str>,
    /// Of all issues.
    total: usize,
    now: Timestamp,
}

impl<'a> ListView<'a> {
    /// Looks for what an address asks for.
    pub fn new(survey: &'a mut Survey, address: &'a ListAddress, now: Timestamp) -> Self {
        let listing = survey.find(&address.filter(), address.order, address.page, PAGE_SIZE);
        let survey = &*survey;
        let digests = listing.positions.iter().map(|&at| &survey.digests()[at]).collect();
        let mut agents = survey.recent_agents(MAX_AGENTS);
        if let Some(agent) = address.agent.as_deref().filter(|agent| !agents.contains(agent)) {
            agents.push(agent);
        }
        agents.sort_unstable();
        let (names, total) = (survey.names(), survey.counts().total());
        Self { address, listing, digests, names, agents, total, now }
    }
}

/// The page.
pub(in crate::web) fn content(view: &ListView, words: &Words) -> Markup {
    let list = &words.list;
    html! {
        h1.unseen { (words.terms.issues) }
        div.bar {
            (statuses(view, words))
            (filters(view, words))
        }
        @if view.digests.is_empty() {
            (nothing(view, words))
        } @else {
            @if !view.listing.is_exact { p.notice { ((list.too_many)(MAX_FOUND)) } }
            div.sheet {
                table.issues role="table" {
                    caption.unseen { ((list.caption)(view.listing.total, view.listing.is_exact)) }
                    thead role="rowgroup" { (head(view, words)) }
                    tbody role="rowgroup" { @for digest in &view.digests { (row(digest, view, words)) } }
                }
            }
            (paging(view, words))
        }
    }
}

/// The links that choose the status, with the number of issues behind each.
fn statuses(view: &ListView, words: &Words) -> Markup {
    let (address, counts) = (view.address, &view.listing.counts);
    let link = |statuses: Statuses, label: Markup, class: Option<String>| {
        let is_current = address.statuses == statuses;
        html! {
            li class=[class] {
                a href={ "/" (address.in_statuses(statuses).query()) }
                    aria-current=[is_current.then_some("true")]
                {
                    (label) " " span.count { (sum(counts, statuses, view.listing.has_exact_counts)) }
                }
            }
        }
    };
    let list = &words.list;
    html! {
        nav #statuses.statuses aria-label=(list.statuses) {
            ul {
                (link(Statuses::ALL, html! { span.word { (list.all) } }, None))
                (link(Statuses::open(), html! { span.word { (list.open) } }, None))
                @for &status in Status::ALL {
                    (link(
                        Statuses::from_iter([status]),
                        html! { (icons::status(status)) span.word { ((words.terms.status)(status)) } },
                        Some(format!("status-{status}")),
                    ))
                }
            }
        }
    }
}

fn sum(counts: &Counts, statuses: Statuses, is_exact: bool) -> String {
    let sum: usize = statuses.iter().map(|status| counts.in_status(status)).sum();
    if is_exact { sum.to_string() } else { format!("{sum}+") }
}

/// The search and the other filters, as a form that works without a script.
fn filters(view: &ListView, words: &Words) -> Markup {
    let (address, list) = (view.address, &words.list);
    let chosen = ["classification", "agent", "q", "page"];
    html! {
        form #filters.filters method="get" action="/" autocomplete="off" role="search" aria-label=(list.filters) {
            @for (name, value) in address.parameters() {
                @if !chosen.contains(&name) { input type="hidden" name=(name) value=(value); }
            }
            label {
                span { (list.search) }
                input type="search" name="q" value=(address.search) placeholder=(list.search_hint)
                    maxlength="200" autocomplete="off" spellcheck="false";
            }
            label {
                span { (list.kind) }
                select name="classification" {
                    option value="" { (list.any_kind) }
                    @for &kind in Classification::ALL {
                        option value=(kind) selected[address.kind == Some(kind)] {
                            ((words.terms.classification)(kind))
                        }
                    }
                }
            }
            label {
                span { (list.agent) }
                select name="agent" {
                    option value="" { (list.any_agent) }
                    @for agent in &view.agents {
                        option value=(agent) selected[address.agent.as_deref() == Some(agent)] { (agent) }
                    }
                }
            }
            button type="submit" { (list.apply) }
            @if !address.is_unfiltered() { a.clear href="/" { (list.clear) } }
        }
    }
}

fn head(view: &ListView, words: &Words) -> Markup {
    let list = &words.list;
    let columns = [
        (SortKey::Title, list.issue),
        (SortKey::Classification, list.kind),
        (SortKey::Status, list.status),
        (SortKey::Agent, list.agent),
        (SortKey::Activity, list.activity),
        (SortKey::Created, list.created),
    ];
    let order = view.address.order;
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
                    a href={ "/" (view.address.sorted_by(key).query()) } { (name) }
                }
            }
        }
    }
}

fn row(digest: &Digest, view: &ListView, words: &Words) -> Markup {
    let list = &words.list;
    let returns = digest.returns();
    html! {
        tr role="row" id={ "i-" (digest.id.short()) } data-changed=(digest.modified_at.unix_millis()) {
            th.issue role="rowheader" scope="row" {
                a.title href=(parts::address(digest.id)) dir="auto" { (digest.title) }
                p.details {
                    code { (digest.id.short()) }
                    @if digest.comments > 0 {
                        span { (icons::other("comment")) ((list.comments)(digest.comments)) }
                    }
                    @if returns > 0 {
                        span.returns { (icons::other("return")) ((words.terms.returned)(returns)) }
                    }
                }
            }
            td.kind role="cell" { (parts::kind(digest.classification, words)) }
            td.status role="cell" { (parts::status(digest.status, words)) }
            td.who role="cell" { (who(digest, view, words)) }
            td.when role="cell" {
                @if let Some(act) = digest.acts.last() {
                    span.deed dir="auto" { (deed(digest, act.deed, words)) }
                    " "
                    (parts::ago(act.at, view.now, words))
                } @else {
                    (parts::ago(digest.modified_at, view.now, words))
                }
            }
            td.filed role="cell" {
                span.narrow { (list.created) " " }
                (parts::ago(digest.created_at, view.now, words))
            }
        }
    }
}

/// Who holds the issue, else who did something last.
fn who(digest: &Digest, view: &ListView, words: &Words) -> Markup {
    let list = &words.list;
    if let Some(held) = digest.holder() {
        let span = (words.terms.span)(view.now.millis_since(held.since));
        return html! {
            span.narrow { (list.held_by) " " }
            b { (parts::agent(view.names.text(held.agent))) }
            " " span.since { (parts::time(held.since, &(list.since)(&span))) }
        };
    }
    match digest.acts.last() {
        Some(act) => html! { span.quiet { (parts::agent(view.names.text(act.agent))) } },
        None => html! { span.quiet { (list.no_activity) } },
    }
}

fn deed<'a>(digest: &'a Digest, deed: Deed, words: &Words) -> &'a str {
    digest.last_words.as_deref().unwrap_or((words.agents.deed)(deed))
}

fn nothing(view: &ListView, words: &Words) -> Markup {
    let list = &words.list;
    html! {
        section.notice {
            @if view.total == 0 {
                h2 { (list.empty) }
                p { (list.empty_before) }
                pre tabindex="0" { code { (list.connect) } }
                p { (list.empty_after) }
            } @else {
                h2 { (list.nothing_fits) }
                p { (list.nothing_fits_advice) " " a href="/" { (list.all) } }
            }
        }
    }
}

fn paging(view: &ListView, words: &Words) -> Markup {
    let (list, listing) = (&words.list, &view.listing);
    let first = (listing.page - 1) * PAGE_SIZE + 1;
    let last = first + view.digests.len() - 1;
    let link = |rel: &str, page: usize, label: &str| {
        html! { a rel=(rel) href={ "/" (view.address.at_page(page).query()) } { (label) } }
    };
    html! {
        nav.paging aria-label=(list.paging) {
            @if listing.page > 1 { (link("prev", listing.page - 1, list.previous)) }
            span { ((list.part)(first, last, listing.total, listing.is_exact)) }
            @if listing.page < listing.pages(PAGE_SIZE) { (link("next", listing.page + 1, list.next)) }
        }
    }
}
