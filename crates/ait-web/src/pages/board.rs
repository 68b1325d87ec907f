//! The board: a column for each status, and a card for each issue.

use std::collections::{BTreeMap, HashMap};

use maud::{Markup, html};

use super::PageContext;
use super::chips::Chips;
use super::list_filters::{Filters, other_places};
use super::row::Row;
use super::{components, icons, questions};
use crate::actions::forms::known;
use crate::actions::many::ManyForms;
use crate::listing::Matches;
use crate::query::{ListQuery, Place, Rows};
use crate::strings::{self, board as text};
use ait_domain::{IssueId, Status, StatusSet, Timestamp, readiness};
use ait_query::{QueryError, SavedQueries};
use ait_tracker::Hold;
use ait_tracker::read_model::{Column, FindingKind, IssueSummary, ReadView};

/// How many cards a column of ended issues shows.
const MAX_ENDED: usize = 10;
/// How many cards every other column shows.
pub(super) const MAX_CARDS: usize = 40;
/// How many cards of a column the row of the issues without an agent shows: the agents' own are what the rows are for.
const MAX_WITHOUT_AGENT: usize = 8;
/// The most matches in an open status from which the board takes its cards: the first by priority. It looks at more
/// than it shows, because those that must wait come after the others.
const MAX_MATCHES: usize = 200;

/// What a query finds: all issues if it is `None`, or what is wrong with the search.
pub(super) type Found = Result<Option<Matches>, QueryError>;

/// What the page shows.
pub(super) struct BoardView<'a, 'b> {
    pub place: Place,
    pub query: &'a ListQuery,
    pub found: &'a Found,
    pub view: &'a ReadView<'b>,
    pub context: &'a PageContext,
    pub has_actions: bool,
    pub saved: &'a SavedQueries,
    /// The providers whose agents get nothing.
    pub holds: &'a [Hold],
    /// The forms of a person who may change issues.
    pub forms: Option<&'a ManyForms>,
    /// What the boxes of the cards send.
    pub selected: &'a HashMap<IssueId, String>,
}

impl BoardView<'_, '_> {
    /// Returns the box that selects the issue of a card, for those who may change it.
    fn box_of(&self, summary: &IssueSummary) -> Option<Markup> {
        let selected = self.selected.get(&summary.id)?;
        Some(ManyForms::box_of(selected, &components::undirected(&summary.title)))
    }

    /// Returns true if a status has only as many issues as its column says.
    fn is_exact(&self, status: Status) -> bool {
        let matches = self.found.as_ref().ok().and_then(Option::as_ref);
        matches.and_then(|matches| matches.total(status)).is_none_or(|(_, is_exact)| is_exact)
    }
}

/// Returns how many matches of a query the board asks for.
pub(super) fn most_matches(status: Status) -> usize {
    if status.has_ended() { MAX_ENDED } else { MAX_MATCHES }
}

fn columns(found: &Found, view: &ReadView, now: Timestamp) -> Vec<Column> {
    let Ok(matches) = found else { return Vec::new() };
    let max_cards = |status: Status| if status.has_ended() { MAX_ENDED } else { MAX_CARDS };
    let shows =
        |summary: &IssueSummary| matches.as_ref().is_none_or(|matches| matches.has(summary.id));
    let mut columns = view.board(now, max_cards, shows);
    if let Some(matches) = matches {
        columns.retain_mut(|column| {
            let total = matches.total(column.status);
            column.total = column.total.max(total.map_or(0, |(total, _)| total));
            total.is_some()
        });
    }
    columns
}

/// Returns the issues that the page has cards of.
pub(super) fn shown(found: &Found, view: &ReadView, now: Timestamp) -> Vec<IssueId> {
    let columns = columns(found, view, now);
    let cards = columns.iter().flat_map(|column| &column.cards);
    cards.map(|&position| view.summaries()[position].id).collect()
}

/// Renders the page.
pub(super) fn content(board: &BoardView) -> Markup {
    let BoardView { place, query, found, view, context, saved, forms, .. } = *board;
    let path = &place.address(query);
    let is_valid = found.is_ok();
    let filters = Filters { place, query, view, saved, kinds: &context.kinds, forms, is_valid };
    html! {
        h1.unseen { (text::TITLE) }
        @if let Some(forms) = forms { (forms.notice(path)) }
        (questions::of_all(view, context.now, board.has_actions, forms, path))
        @for Hold { provider, until } in board.holds {
            p.notice { (text::held(provider)) (components::local_time(*until)) (components::utc()) }
        }
        div.bar {
            (filters.saved())
            (filters.form())
        }
        @match found {
            Err(mistake) => { (components::invalid_search(mistake)) }
            Ok(_) => {
                (all_columns(board))
                @if let Some(forms) = forms { (forms.bar(path)) (known(view)) }
            }
        }
    }
}

fn all_columns(board: &BoardView) -> Markup {
    let BoardView { view, context, .. } = *board;
    let columns = columns(board.found, view, context.now);
    let (ended, open): (Vec<_>, Vec<_>) =
        columns.iter().partition(|column| column.status.has_ended());
    let is_empty = !board.query.is_unfiltered() && columns.iter().all(|column| column.total == 0);
    let chips =
        Chips { view, now: context.now, place: Place::List(None), query: ListQuery::default() };
    html! {
        @if is_empty { p.notice { "No issue matches the filters." } }
        @if view.summaries().is_empty() {
            section.notice {
                p { (strings::list::FILE_FIRST) }
                (components::command(strings::list::FILE_COMMAND))
                (components::example(context.has_example))
            }
        }
        // On a phone it scrolls, also without a card that could take the focus.
        @let has_cards = open.iter().any(|column| !column.cards.is_empty());
        @if let Place::Board(Some(by)) = board.place {
            (rows(by, &open, board, &chips))
        } @else if !open.is_empty() {
            nav.jump aria-label="Columns of the board" {
                ul {
                    @for column in &open {
                        li { a href={ "#c-" (column.status) } { (name(column, board)) (old_claims(column)) } }
                    }
                }
                // On a phone they stand here.
                (other_places(board.place, board.query))
            }
            div.board tabindex=[(!has_cards).then_some("0")] {
                @for shown in &open { (self::column(shown, board, &chips)) }
            }
        }
        div.ended { @for shown in &ended { (folded(shown, open.is_empty(), board, &chips)) } }
    }
}

/// Renders the name of a column with the number of its issues.
fn name(column: &Column, board: &BoardView) -> Markup {
    html! {
        (icons::status(column.status))
        span { (strings::status(column.status)) }
        " " span.count { (column.total) @if !board.is_exact(column.status) { "+" } }
    }
}

/// Renders how many claims of a column are old; nothing if none is.
fn old_claims(column: &Column) -> Markup {
    html! {
        @if column.old_claims > 0 { " " span.stale { (text::old_claims(column.old_claims)) } }
    }
}

fn heading(column: &Column, board: &BoardView) -> Markup {
    html! {
        h2 {
            (name(column, board))
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
            (heading(column, board))
            (cards(column, board, chips))
        }
    }
}

/// Renders the columns with a row for each agent, whole or label. The last row has the other issues.
fn rows(by: Rows, columns: &[&Column], board: &BoardView, chips: &Chips) -> Markup {
    let view = chips.view;
    let mut rows: BTreeMap<Row, Vec<Vec<&IssueSummary>>> = BTreeMap::new();
    for (at, column) in columns.iter().enumerate() {
        for &position in &column.cards {
            let summary = &*view.summaries()[position];
            let row = rows.entry(Row::of(summary, by, view));
            row.or_insert_with(|| vec![Vec::new(); columns.len()])[at].push(summary);
        }
    }
    let cards: usize = columns.iter().map(|column| column.cards.len()).sum();
    // A column with most of the cards has room for several beside each other. What is created has no agent, so its
    // column would be empty in all rows but the last.
    let is_wide =
        |column: &Column| by != Rows::Agent && cards > 0 && 2 * column.cards.len() >= cards;
    html! {
        div.rows {
            div.board.heads { @for shown in columns { (head(shown, is_wide(shown), board)) } }
            @for (row, cells) in &rows {
                section.row {
                    h2 { (row.name(by)) " " span.count { (cells.iter().map(Vec::len).sum::<usize>()) } }
                    div.board {
                        @for (shown, cards) in columns.iter().zip(cells) {
                            div class={ "column status-" (shown.status) @if is_wide(shown) { " wide" } } {
                                h3.unseen { (strings::status(shown.status)) }
                                @let max = if by == Rows::Agent && row.is_rest { MAX_WITHOUT_AGENT } else { cards.len() };
                                ol.cards {
                                    @for one in cards.iter().take(max) { li id={ "card-" (one.id) } { (card(one, chips, board, Some(by))) } }
                                }
                                (more(cards.len().saturating_sub(max), shown.status, board))
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Renders the heading of a column above rows.
fn head(column: &Column, is_wide: bool, board: &BoardView) -> Markup {
    html! {
        section id={ "c-" (column.status) } class={ "column status-" (column.status) @if is_wide { " wide" } } {
            (heading(column, board))
            (rest(column, board))
        }
    }
}

/// Renders a column of ended issues, which opens on demand.
fn folded(column: &Column, is_open: bool, board: &BoardView, chips: &Chips) -> Markup {
    let status = column.status;
    html! {
        section id={ "c-" (status) } class={ "column status-" (status) } {
            details id={ "fold-" (status) } open[is_open] {
                summary { h2 { (name(column, board)) } }
                (cards(column, board, chips))
            }
        }
    }
}

fn cards(column: &Column, board: &BoardView, chips: &Chips) -> Markup {
    html! {
        @if column.cards.is_empty() { p.quiet { "no issues" } }
        @for (name, cards) in groups(column, chips) {
            @if !name.is_empty() { h3.waits { (name) " " span.count { (cards.len()) } } }
            ol.cards {
                @for summary in cards { li id={ "card-" (summary.id) } { (card(summary, chips, board, None)) } }
            }
        }
        (rest(column, board))
    }
}

/// Returns the cards of a column: those that agents can claim, and under headings those that wait for others and those
/// that are parked.
fn groups<'a>(
    column: &Column,
    chips: &Chips<'a, '_>,
) -> Vec<(&'static str, Vec<&'a IssueSummary>)> {
    let view = chips.view;
    let mut groups = ["", text::WAITING, strings::issue::PARKED].map(|name| (name, Vec::new()));
    for &position in &column.cards {
        let summary: &IssueSummary = &view.summaries()[position];
        let at = if summary.is_open_and_parked_at(chips.now) {
            2
        } else {
            let waits =
                column.status == Status::Created && !readiness::is_ready(view, summary, chips.now);
            usize::from(waits)
        };
        groups[at].1.push(summary);
    }
    groups.into_iter().filter(|(_, cards)| !cards.is_empty()).collect()
}

/// Renders a link to the issues of a column that have no card; nothing if all have one.
fn rest(column: &Column, board: &BoardView) -> Markup {
    more(column.total - column.cards.len(), column.status, board)
}

/// Renders a link to the issues in a status of which so many are hidden; nothing if none is.
fn more(hidden: usize, status: Status, board: &BoardView) -> Markup {
    let query = board.query.in_statuses(StatusSet::from_iter([status]));
    html! {
        @if hidden > 0 {
            @let is_exact = board.is_exact(status);
            p.more { a href=(Place::List(None).address(&query)) { (hidden) @if !is_exact { "+" } " more" } }
        }
    }
}

/// Renders a card; in a row without what the name of the row says.
fn card(summary: &IssueSummary, chips: &Chips, board: &BoardView, by: Option<Rows>) -> Markup {
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
            h3 { a.title href=(components::issue_path(summary.id)) dir="auto" { (components::title(&summary.title)) } }
            p.details {
                (components::kind(summary.classification))
                code { (summary.id.short()) }
                (chips.in_row(summary, by))
                (components::returns(summary.returns()))
            }
            p.standing {
                @if let Some(held) = holder {
                    @if by != Some(Rows::Agent) { b { (components::agent(view.names().text(held.agent))) } " " }
                    (board.context.held_since(since, summary, view))
                    @if has_old_claim { " " (components::old_claim()) }
                    (board.context.gone.mark(summary.id))
                } @else if summary.status.has_ended() {
                    (components::ago(since, now))
                } @else {
                    (components::time(since, &text::waiting(age_ms)))
                }
            }
        }
    }
}
