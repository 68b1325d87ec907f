//! The board in lanes: for each agent the open issues that it has, by status.

use std::collections::BTreeMap;

use maud::{Markup, html};
use xxhash_rust::xxh3::xxh3_64;

use super::super::agents::agent_path;
use super::{BoardView, card, components, icons};
use crate::domain::{ActionKind, Status, StatusSet};
use crate::read_model::{Column, IssueSummary, ReadView};
use crate::web::pages::chips::Chips;
use crate::web::strings::{self, board as text};

/// How many lanes the page shows.
const MAX_LANES: usize = 20;
/// How many cards a lane shows of each status.
const MAX_CARDS: usize = 3;

/// The issues of an agent, for each column.
type Lane = Vec<Vec<usize>>;

/// Renders a lane for each agent, and one for the issues that no agent has.
pub(super) fn lanes(columns: &[&Column], board: &BoardView, chips: &Chips) -> Markup {
    let mut lanes: BTreeMap<&str, Lane> = BTreeMap::new();
    let empty = vec![Vec::new(); columns.len()];
    let mut others = empty.clone();
    for (number, column) in columns.iter().enumerate() {
        for &position in &column.cards {
            let lane = match agent_of(&board.view.summaries()[position], board.view) {
                Some(agent) => lanes.entry(agent).or_insert_with(|| empty.clone()),
                None => &mut others,
            };
            lane[number].push(position);
        }
    }
    let hidden = lanes.len().saturating_sub(MAX_LANES);
    html! {
        div.lanes {
            @for (agent, lane) in lanes.iter().take(MAX_LANES) {
                (self::lane(Some(agent), lane, columns, board, chips))
            }
            @if hidden > 0 { p.more { a href="/agents" { (text::more_lanes(hidden)) } } }
            @if others.iter().any(|cards| !cards.is_empty()) {
                (self::lane(None, &others, columns, board, chips))
            }
        }
    }
}

/// Returns the agent that has an issue: its holder, who completed it, or whom it is assigned to.
fn agent_of<'a>(summary: &'a IssueSummary, view: &'a ReadView) -> Option<&'a str> {
    let completed = || {
        let mut actions = summary.actions.iter().rev();
        actions.find(|action| action.kind == ActionKind::Completed).map(|action| action.agent)
    };
    let is_waiting = summary.status == Status::Created;
    let agent = match summary.holder() {
        Some(held) => Some(held.agent),
        None if is_waiting => None,
        None => completed(),
    };
    agent.map(|agent| view.names().text(agent)).or(summary.attributes.assignee.as_deref())
}

fn lane(
    agent: Option<&str>,
    lane: &Lane,
    columns: &[&Column],
    board: &BoardView,
    chips: &Chips,
) -> Markup {
    let total: usize = lane.iter().map(Vec::len).sum();
    let query = agent.map_or_else(|| board.query.clone(), |agent| board.query.of_agent(agent));
    let id = format!("lane-{:016x}", xxh3_64(agent.unwrap_or_default().as_bytes()));
    html! {
        section.lane id=(id) aria-labelledby={ (id) "-name" } {
            h2 id={ (id) "-name" } {
                @match agent {
                    Some(agent) => { a href=(agent_path(agent)) { (components::agent(agent)) } }
                    None => { (text::NO_AGENT) }
                }
                " " span.count { (total) }
            }
            div.board {
                @for (column, cards) in columns.iter().zip(lane) {
                    @let status = column.status;
                    @let hidden = cards.len().saturating_sub(MAX_CARDS);
                    div class={ "cell status-" (status) @if cards.is_empty() { " empty" } } {
                        p.cell-name {
                            (icons::status(status)) (strings::status(status)) " " span.count { (cards.len()) }
                        }
                        ol.cards {
                            @for &position in cards.iter().take(MAX_CARDS) {
                                li { (card(&chips.view.summaries()[position], chips, board.gone)) }
                            }
                        }
                        @if hidden > 0 {
                            @let query = query.list(StatusSet::from_iter([status]));
                            p.more { a href={ "/" (query.query_string()) } { (text::MORE_OF_AGENT) } }
                        }
                    }
                }
            }
        }
    }
}
