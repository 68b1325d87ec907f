//! The board in lanes: for each agent the open issues that it has, side by side in the order of their statuses.

use std::collections::BTreeMap;

use maud::{Markup, html};
use xxhash_rust::xxh3::xxh3_64;

use super::super::agents::agent_path;
use super::{BoardView, card, components, icons};
use crate::pages::chips::Chips;
use crate::strings;
use ait_domain::{ActionKind, Status, StatusSet};
use ait_tracker::read_model::{Column, IssueSummary, ReadView};

/// How many lanes the page shows.
const MAX_LANES: usize = 20;
/// How many cards a lane shows of each status.
const MAX_CARDS: usize = 3;

/// The issues of an agent, for each column.
type CardsByColumn = Vec<Vec<usize>>;

/// Renders a lane for each agent, and one for the issues that no agent has.
pub(super) fn render_lanes(columns: &[&Column], board: &BoardView, chips: &Chips) -> Markup {
    let mut by_agent: BTreeMap<&str, CardsByColumn> = BTreeMap::new();
    let empty = vec![Vec::new(); columns.len()];
    let mut unassigned = empty.clone();
    for (column_index, column) in columns.iter().enumerate() {
        for &position in &column.cards {
            let lane = match responsible_agent(&board.view.summaries()[position], board.view) {
                Some(agent) => by_agent.entry(agent).or_insert_with(|| empty.clone()),
                None => &mut unassigned,
            };
            lane[column_index].push(position);
        }
    }
    let hidden_lanes = by_agent.len().saturating_sub(MAX_LANES);
    html! {
        div.lanes {
            @for (agent, lane) in by_agent.iter().take(MAX_LANES) {
                (render_lane(Some(agent), lane, columns, board, chips))
            }
            @if hidden_lanes > 0 { p.more { a href="/agents" { (hidden_lanes) " more agents have issues: see the page of the agents" } } }
            @if unassigned.iter().any(|cards| !cards.is_empty()) {
                (render_lane(None, &unassigned, columns, board, chips))
            }
        }
    }
}

/// Returns the agent that has an issue: its holder, who completed it, or whom it is assigned to.
fn responsible_agent<'a>(summary: &'a IssueSummary, view: &'a ReadView) -> Option<&'a str> {
    let completed = || {
        let mut actions = summary.actions.iter().rev();
        actions.find(|action| action.kind == ActionKind::Completed).map(|action| action.agent)
    };
    let is_created = summary.status == Status::Created;
    let agent = match summary.holder() {
        Some(held) => Some(held.agent),
        None if is_created => None,
        None => completed(),
    };
    agent.map(|agent| view.names().text(agent)).or(summary.attributes.assignee.as_deref())
}

fn render_lane(
    agent: Option<&str>,
    lane: &CardsByColumn,
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
                    None => { "no agent" }
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
                            " " a href={ "/" (query.query_string()) } { "more in the list" }
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
