//! The board in lanes: for each agent the open issues that it has, side by side in the order of their statuses.

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
            ul.lane-counts {
                @for (column, cards) in columns.iter().zip(lane).filter(|(_, cards)| !cards.is_empty()) {
                    li class={ "status-" (column.status) } {
                        (icons::status(column.status)) (strings::status(column.status)) " "
                        span.count { (cards.len()) }
                        @if cards.len() > MAX_CARDS {
                            @let query = query.list(StatusSet::from_iter([column.status]));
                            " " a href={ "/" (query.query_string()) } { (text::MORE_OF_AGENT) }
                        }
                    }
                }
            }
            ol.cards {
                @for &position in lane.iter().flat_map(|cards| cards.iter().take(MAX_CARDS)) {
                    @let summary = &chips.view.summaries()[position];
                    li class={ "status-" (summary.status) } { (card(summary, chips, board.gone, true)) }
                }
            }
        }
    }
}
