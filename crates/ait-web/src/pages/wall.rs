//! The wallboard: the queue at a glance, for a screen on a wall.
//!
//! It has all its parts at once, and the script shows one after another.

use maud::{Markup, html};

use super::components;
use super::{PageContext, icons};
use crate::strings::{self, board, wall as text};
use ait_domain::{Status, StatusSet};
use ait_tracker::read_model::{Column, IssueSummary, ReadView};

/// How many issues a column has, and how many rows there are. The style sheet hides those that do not fit on
/// the screen; the headings count all.
const MAX_CARDS: usize = 24;
const MAX_ROWS: usize = 12;

/// Renders the page.
pub(super) fn content(view: &ReadView<'_>, context: &PageContext) -> Markup {
    let attention = &context.attention;
    html! {
        h1.unseen { (text::TITLE) }
        div.wall {
            (counts(view, attention.count()))
            (board(view, context))
            section #wall-attention aria-labelledby="wall-attention-heading" {
                h2 #wall-attention-heading { "Needs attention" " " span.count { (attention.count()) } }
                @if attention.count() == 0 {
                    p.wall-calm { (icons::status(Status::Closed)) " " "Nothing needs attention" }
                } @else {
                    (attention.large_rows(MAX_ROWS))
                }
            }
        }
    }
}

fn counts(view: &ReadView<'_>, attention: usize) -> Markup {
    let counts = view.counts();
    html! {
        ul.wall-counts aria-label="Issues by status" {
            @for status in StatusSet::open().iter() {
                li class={ "status-" (status) } {
                    (icons::status(status)) b { (counts.in_status(status)) } " " (strings::status(status))
                }
            }
            @if attention > 0 { li.bad { (icons::other("clock")) b { (attention) } " " "for people" } }
        }
    }
}

fn board(view: &ReadView<'_>, context: &PageContext) -> Markup {
    let max_cards = |status: Status| if status.has_ended() { 0 } else { MAX_CARDS };
    let columns = view.board(context.now, max_cards, |_| true);
    let open = columns.iter().filter(|column| column.status.is_open());
    html! {
        section #wall-board aria-labelledby="wall-board-heading" {
            h2.unseen #wall-board-heading { "Board" }
            div.wall-columns { @for shown in open { (column(shown, view, context)) } }
        }
    }
}

fn column(column: &Column, view: &ReadView<'_>, context: &PageContext) -> Markup {
    html! {
        div class={ "status-" (column.status) } {
            h3 {
                (icons::status(column.status)) span { (strings::status(column.status)) }
                " " span.count { (column.total) }
                @if column.old_claims > 0 { " " strong.stale { (board::old_claims(column.old_claims)) } }
            }
            ul {
                @for &position in &column.cards {
                    @let summary = &view.summaries()[position];
                    li.wall-row .bad[summary.has_old_claim_at(context.now) || context.gone.is_gone(summary.id)] {
                        (title(summary))
                        @if let Some(held) = summary.holder() {
                            span.who {
                                (components::agent(view.names().text(held.agent))) " " (context.held_since(held.since, summary, view))
                            }
                        }
                    }
                }
            }
            // The script counts what has no room.
            p.wall-more data-total=(column.total) data-more="{count} more" {}
        }
    }
}

fn title(summary: &IssueSummary) -> Markup {
    // Not by Tab, which would move to cards that are out of sight. The board has the same links.
    html! { a href=(components::issue_path(summary.id)) tabindex="-1" dir="auto" { (components::title(&summary.title)) } }
}
