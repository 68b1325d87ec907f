//! The board: a column for each status, a card for each issue.

use maud::{Markup, html};

use super::chips::Chips;
use super::gone_clients::GoneClients;
use super::{icons, parts, questions};
use crate::domain::{STALE_CLAIM_AFTER_MS, Status, StatusSet, Timestamp};
use crate::read_model::{Column, IssueSummary, ReadView};
use crate::web::query::ListQuery;
use crate::web::strings::{self, board as text};

/// How many cards a column of ended issues shows.
const MAX_ENDED: usize = 20;
/// How many cards every other column shows.
const MAX_CARDS: usize = 40;

/// Renders the page.
pub(super) fn content(view: &ReadView, gone: &GoneClients, now: Timestamp) -> Markup {
    let max_cards = |status: Status| if status.is_terminal() { MAX_ENDED } else { MAX_CARDS };
    let chips = Chips { view, now, query: ListQuery::default() };
    html! {
        h1.unseen { (text::TITLE) }
        (questions::of_all(view, now))
        div.board {
            @for shown in view.board(now, max_cards) { (column(&shown, &chips, gone)) }
        }
    }
}

fn column(column: &Column, chips: &Chips, gone: &GoneClients) -> Markup {
    let Column { status, total, cards } = column;
    let hidden = total - cards.len();
    let query = ListQuery::default().in_statuses(StatusSet::from_iter([*status]));
    html! {
        section id={ "c-" (status) } class={ "column status-" (status) } {
            h2 {
                (icons::status(*status))
                span { (strings::status(*status)) }
                " " span.count { (total) }
            }
            @if cards.is_empty() {
                p.quiet { (text::EMPTY_COLUMN) }
            } @else {
                ol.cards {
                    @for summary in cards.iter().map(|&position| &chips.view.summaries()[position]) {
                        li id={ "card-" (summary.id.short()) } { (card(summary, chips, gone)) }
                    }
                }
            }
            @if hidden > 0 {
                p.more { a href={ "/" (query.query_string()) } { (text::more(hidden)) } }
            }
        }
    }
}

fn card(summary: &IssueSummary, chips: &Chips, gone: &GoneClients) -> Markup {
    let (view, now) = (chips.view, chips.now);
    let holder = summary.holder();
    let since = holder.map_or_else(|| summary.in_status_since(), |held| held.since);
    let age_ms = now.millis_since(since);
    let is_stale = summary.status.is_claimed() && age_ms >= STALE_CLAIM_AFTER_MS;
    html! {
        article id={ "i-" (summary.id.short()) } class={ "card" @if is_stale { " stale" } }
            data-changed=(summary.modified_at.unix_millis())
        {
            h3 { a.title href=(parts::issue_path(summary.id)) dir="auto" { (summary.title) } }
            p.details {
                (parts::kind(summary.classification))
                code { (summary.id.short()) }
                (chips.of(summary))
                (parts::returns(summary.returns()))
            }
            p.standing {
                @if let Some(held) = holder {
                    b { (parts::agent(view.names().text(held.agent))) } " "
                    (parts::held_since(since, now))
                    @if is_stale { " " strong.stale { (icons::other("clock")) (text::STALE_CLAIM) } }
                    (gone.mark(summary.id))
                } @else if summary.status.is_terminal() {
                    (parts::ago(since, now))
                } @else {
                    (parts::time(since, &text::waiting(age_ms)))
                }
            }
        }
    }
}
