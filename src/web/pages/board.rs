//! The board: a column for each status, a card for each issue.

use maud::{Markup, html};

use super::{icons, parts};
use crate::domain::{OLD_CLAIM_MS, Status, Statuses, Timestamp};
use crate::overview::{Column, Digest, Survey};
use crate::web::address::ListAddress;
use crate::web::words::Words;

/// How many cards a column of issues that have ended shows.
const MAX_ENDED: usize = 20;
/// How many cards the other columns show.
const MAX_CARDS: usize = 40;

/// The page.
pub(in crate::web) fn content(survey: &Survey, now: Timestamp, words: &Words) -> Markup {
    let most = |status: Status| if status.is_terminal() { MAX_ENDED } else { MAX_CARDS };
    html! {
        h1.unseen { (words.board.heading) }
        div.board {
            @for shown in survey.board(most) { (column(&shown, survey, now, words)) }
        }
    }
}

fn column(column: &Column, survey: &Survey, now: Timestamp, words: &Words) -> Markup {
    let Column { status, total, cards } = column;
    let rest = total - cards.len();
    let address = ListAddress::default().in_statuses(Statuses::from_iter([*status]));
    html! {
        section id={ "c-" (status) } class={ "column status-" (status) } {
            h2 {
                (icons::status(*status))
                span { ((words.terms.status)(*status)) }
                " " span.count { (total) }
            }
            @if cards.is_empty() {
                p.quiet { (words.board.nothing) }
            } @else {
                ol.cards {
                    @for &position in cards {
                        li id={ "card-" (survey.digests()[position].id.short()) } {
                            (card(&survey.digests()[position], survey, now, words))
                        }
                    }
                }
            }
            @if rest > 0 {
                p.more { a href={ "/" (address.query()) } { ((words.board.more)(rest)) } }
            }
        }
    }
}

fn card(digest: &Digest, survey: &Survey, now: Timestamp, words: &Words) -> Markup {
    let returns = digest.returns();
    let since = digest.holder().map_or_else(|| digest.standing_since(), |held| held.since);
    let age_ms = now.millis_since(since);
    let is_old = digest.status.is_claimed() && age_ms >= OLD_CLAIM_MS;
    html! {
        article id={ "i-" (digest.id.short()) } class={ "card" @if is_old { " old" } }
            data-changed=(digest.modified_at.unix_millis())
        {
            h3 { a.title href=(parts::address(digest.id)) dir="auto" { (digest.title) } }
            p.details {
                (parts::kind(digest.classification, words))
                code { (digest.id.short()) }
                @if returns > 0 {
                    span.returns { (icons::other("return")) ((words.terms.returned)(returns)) }
                }
            }
            p.standing {
                @if let Some(held) = digest.holder() {
                    b { (parts::agent(survey.names().text(held.agent))) } " "
                    (parts::time(since, &(words.list.since)(&(words.terms.span)(age_ms))))
                    @if is_old { " " strong.stale { (icons::other("clock")) (words.board.old_claim) } }
                } @else if digest.status.is_terminal() {
                    (parts::time(since, &(words.board.ended)(&(words.terms.span)(age_ms))))
                } @else {
                    (parts::time(since, &(words.board.waits)(&(words.terms.span)(age_ms))))
                }
            }
        }
    }
}
