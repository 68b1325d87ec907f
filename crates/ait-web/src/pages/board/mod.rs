//! The board: a column for each status, and a card for each issue.

mod query;

use std::collections::{BTreeSet, HashMap};

use maud::{Markup, html};

pub(super) use self::query::BoardQuery;
use super::chips::Chips;
use super::gone_clients::GoneClients;
use super::{components, icons, questions};
use crate::actions::forms::known;
use crate::actions::many::ManyForms;
use crate::format;
use crate::query::ListQuery;
use crate::strings::{self, board as text};
use ait_domain::{Classifications, IssueId, Status, StatusSet, Timestamp};
use ait_tracker::Hold;
use ait_tracker::read_model::{Column, FindingKind, IssueSummary, ReadView};

/// How many cards a column of ended issues shows.
const MAX_ENDED: usize = 10;
/// How many cards every other column shows.
const MAX_CARDS: usize = 40;

/// What the page shows.
pub(super) struct BoardView<'a, 'b> {
    pub query: &'a BoardQuery,
    pub view: &'a ReadView<'b>,
    pub gone: &'a GoneClients,
    pub now: Timestamp,
    pub has_actions: bool,
    /// The providers whose agents get nothing.
    pub holds: &'a [Hold],
    /// The kinds of work that the project uses.
    pub kinds: &'a Classifications,
    /// The forms of a person who may change issues.
    pub forms: Option<&'a ManyForms>,
    /// What the boxes of the cards send.
    pub selected: &'a HashMap<IssueId, String>,
    /// The address of the page.
    pub path: &'a str,
}

impl BoardView<'_, '_> {
    /// Returns the box that selects the issue of a card, for those who may change it.
    fn box_of(&self, summary: &IssueSummary) -> Option<Markup> {
        let selected = self.selected.get(&summary.id)?;
        Some(ManyForms::box_of(selected, &components::undirected(&summary.title)))
    }
}

fn columns(query: &BoardQuery, view: &ReadView, now: Timestamp) -> Vec<Column> {
    let max_cards = |status: Status| if status.has_ended() { MAX_ENDED } else { MAX_CARDS };
    view.board(now, max_cards, |summary| query.shows(summary, view))
}

/// Returns the issues that the page has cards of.
pub(super) fn shown(query: &BoardQuery, view: &ReadView, now: Timestamp) -> Vec<IssueId> {
    let columns = columns(query, view, now);
    let cards = columns.iter().flat_map(|column| &column.cards);
    cards.map(|&position| view.summaries()[position].id).collect()
}

/// Renders the page.
pub(super) fn content(board: &BoardView) -> Markup {
    let BoardView { query, view, now, forms, path, .. } = *board;
    let columns = columns(query, view, now);
    let (ended, open): (Vec<_>, Vec<_>) =
        columns.iter().partition(|column| column.status.has_ended());
    let is_empty = !query.is_unfiltered() && columns.iter().all(|column| column.total == 0);
    let chips = Chips { view, now, query: ListQuery::default() };
    html! {
        h1.unseen { (text::TITLE) }
        @if let Some(forms) = forms { (forms.notice(path)) }
        (questions::of_all(view, now, board.has_actions))
        @for Hold { provider, until } in board.holds {
            p.notice { (text::held(provider)) (components::time(*until, &format::time(*until))) }
        }
        (query.controls(view, board.kinds))
        @if is_empty { p.notice { "No issue matches the filters." } }
        @if view.summaries().is_empty() {
            section.notice {
                p { (strings::list::FILE_FIRST) }
                (components::command(strings::list::FILE_COMMAND))
            }
        }
        // On a phone it scrolls, also without a card that could take the focus.
        @let has_cards = open.iter().any(|column| !column.cards.is_empty());
        @if query.has_rows {
            (rows(&open, board, &chips))
        } @else {
            nav.jump aria-label="Columns of the board" {
                ul {
                    @for column in &open {
                        li { a href={ "#c-" (column.status) } { (name(column)) (old_claims(column)) } }
                    }
                }
            }
            div.board tabindex=[(!has_cards).then_some("0")] {
                @for shown in &open { (self::column(shown, board, &chips)) }
            }
        }
        div.ended { @for shown in &ended { (folded(shown, board, &chips)) } }
        @if let Some(forms) = forms { (forms.bar(path)) (known(view)) }
    }
}

/// Renders the name of a column with the number of its issues.
fn name(column: &Column) -> Markup {
    html! {
        (icons::status(column.status))
        span { (strings::status(column.status)) }
        " " span.count { (column.total) }
    }
}

/// Renders how many claims of a column are old; nothing if none is.
fn old_claims(column: &Column) -> Markup {
    html! {
        @if column.old_claims > 0 { " " span.stale { (text::old_claims(column.old_claims)) } }
    }
}

fn heading(column: &Column) -> Markup {
    html! {
        h2 {
            (name(column))
            @if column.old_claims > 0 {
                a href={ "/inbox?kind=" (FindingKind::OldClaim) } { (old_claims(column)) }
            }
        }
    }
}

fn column(column: &Column, board: &BoardView, chips: &Chips) -> Markup {
    let status = column.status;
    html! {
        section id={ "c-" (status) } class={ "column status-" (status) } {
            (heading(column))
            (cards(column, board, chips))
        }
    }
}

/// Renders the columns with a row for each agent that holds an issue or has one assigned. The last row has the other
/// issues.
fn rows(columns: &[&Column], board: &BoardView, chips: &Chips) -> Markup {
    let summary = |position: &usize| &chips.view.summaries()[*position];
    let agent = |position: &usize| {
        let summary = summary(position);
        let holder = summary.holder().map(|held| chips.view.names().text(held.agent));
        holder.or(summary.attributes.assignee.as_deref())
    };
    let cards = columns.iter().flat_map(|column| &column.cards);
    let agents: BTreeSet<_> = cards.map(agent).collect();
    // Those without an agent come last.
    let agents = agents.iter().filter(|agent| agent.is_some()).chain(agents.get(&None));
    html! {
        div.board.heads { @for shown in columns { (head(shown, board)) } }
        @for row in agents {
            section.row {
                h2 { @match row { Some(name) => (components::agent(name)), None => (text::NO_AGENT) } }
                div.board {
                    @for shown in columns {
                        div class={ "column status-" (shown.status) } {
                            h3.unseen { (strings::status(shown.status)) }
                            ol.cards {
                                @for one in shown.cards.iter().filter(|one| agent(one) == *row).map(summary) {
                                    li id={ "card-" (one.id) } { (card(one, chips, board)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Renders the heading of a column above rows.
fn head(column: &Column, board: &BoardView) -> Markup {
    html! {
        section id={ "c-" (column.status) } class={ "column status-" (column.status) } {
            (heading(column))
            (rest(column, board))
        }
    }
}

/// Renders a column of ended issues, which opens on demand.
fn folded(column: &Column, board: &BoardView, chips: &Chips) -> Markup {
    let status = column.status;
    html! {
        section id={ "c-" (status) } class={ "column status-" (status) } {
            details id={ "fold-" (status) } {
                summary { h2 { (name(column)) } }
                (cards(column, board, chips))
            }
        }
    }
}

fn cards(column: &Column, board: &BoardView, chips: &Chips) -> Markup {
    let cards = &column.cards;
    html! {
        @if cards.is_empty() {
            p.quiet { "no issues" }
        } @else {
            ol.cards {
                @for summary in cards.iter().map(|&position| &chips.view.summaries()[position]) {
                    li id={ "card-" (summary.id) } { (card(summary, chips, board)) }
                }
            }
        }
        (rest(column, board))
    }
}

/// Renders a link to the issues of a column that have no card; nothing if all have one.
fn rest(column: &Column, board: &BoardView) -> Markup {
    let hidden = column.total - column.cards.len();
    let query = board.query.list(StatusSet::from_iter([column.status]));
    html! {
        @if hidden > 0 {
            p.more { a href={ "/" (query.query_string()) } { (hidden) " more" } }
        }
    }
}

fn card(summary: &IssueSummary, chips: &Chips, board: &BoardView) -> Markup {
    let view = chips.view;
    let now = chips.now;
    let holder = summary.holder();
    let since = holder.map_or_else(|| summary.in_status_since(), |held| held.since);
    let age_ms = now.millis_since(since);
    let has_old_claim = summary.has_old_claim_at(now);
    let selects = board.box_of(summary);
    html! {
        article id={ "i-" (summary.id) } class={ "card" @if has_old_claim { " stale" } }
            data-changed=(summary.modified_at.unix_millis()) draggable=[selects.as_ref().map(|_| "true")]
        {
            @if let Some(selects) = selects { (selects) }
            h3 { a.title href=(components::issue_path(summary.id)) dir="auto" { (components::undirected(&summary.title)) } }
            p.details {
                (components::kind(summary.classification))
                code { (summary.id.short()) }
                (chips.of(summary))
                (components::returns(summary.returns()))
            }
            p.standing {
                @if let Some(held) = holder {
                    b { (components::agent(view.names().text(held.agent))) } " "
                    (components::held_since(since, now))
                    @if has_old_claim { " " (components::old_claim()) }
                    (board.gone.mark(summary.id))
                } @else if summary.status.has_ended() {
                    (components::ago(since, now))
                } @else {
                    (components::time(since, &text::waiting(age_ms)))
                }
            }
        }
    }
}
