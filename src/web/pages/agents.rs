//! The page of the agents: what each agent holds, its last action, and how often it did what.

use maud::{Markup, html};
use xxhash_rust::xxh3::xxh3_64;

use super::gone_clients::GoneClients;
use super::parts;
use crate::domain::{ActionKind, Timestamp};
use crate::read_model::{Agent, ReadView};
use crate::web::query::ListQuery;
use crate::web::strings::{self, agents as text};

/// How many agents the page shows.
const MAX_AGENTS: usize = 200;
/// How many of the issues that an agent holds a row shows.
const MAX_HELD: usize = 3;

/// Renders the page.
pub(super) fn content(view: &ReadView, gone: &GoneClients, now: Timestamp) -> Markup {
    let agents = view.agents();
    let hidden = agents.len().saturating_sub(MAX_AGENTS);
    let deeds: Vec<_> = ActionKind::ALL
        .iter()
        .copied()
        // Rare actions get a column only if there are any.
        .filter(|&deed| !deed.is_rare() || agents.iter().any(|agent| agent.count(deed) > 0))
        .collect();
    html! {
        h1.unseen { (text::TITLE) }
        @if agents.is_empty() {
            p.notice { (text::EMPTY) }
        } @else {
            div.sheet {
                table.agents role="table" {
                    caption.unseen { (text::caption(agents.len())) }
                    thead role="rowgroup" {
                        tr role="row" {
                            th role="columnheader" scope="col" { (strings::AGENT) }
                            th role="columnheader" scope="col" { (text::HOLDING) }
                            th role="columnheader" scope="col" { (text::LAST_ACTION) }
                            @for &deed in &deeds {
                                th.number role="columnheader" scope="col" { (text::count_of(deed)) }
                            }
                        }
                    }
                    tbody role="rowgroup" {
                        @for agent in agents.iter().take(MAX_AGENTS) {
                            (row(agent, &deeds, (view, gone), now))
                        }
                    }
                }
            }
            @if hidden > 0 { p.quiet { (text::more(hidden)) } }
        }
    }
}

fn row(
    agent: &Agent,
    deeds: &[ActionKind],
    (view, gone): (&ReadView, &GoneClients),
    now: Timestamp,
) -> Markup {
    let name = view.names().text(agent.name);
    let query = ListQuery { agent: Some(name.to_owned()), ..ListQuery::default() };
    let (last, position) = agent.last;
    let summary = &view.summaries()[position];
    let hidden = agent.holds.len().saturating_sub(MAX_HELD);
    html! {
        tr role="row" id={ (format_args!("a-{:016x}", xxh3_64(name.as_bytes()))) }
            data-changed=(last.at.unix_millis())
        {
            th role="rowheader" scope="row" { a href={ "/" (query.query_string()) } { (parts::agent(name)) } }
            td.holds role="cell" {
                @if agent.holds.is_empty() {
                    span.quiet { (text::NOTHING) }
                } @else {
                    ul {
                        @for &position in agent.holds.iter().take(MAX_HELD) {
                            li { (held(position, view, now)) (gone.mark(view.summaries()[position].id)) }
                        }
                        @if hidden > 0 { li.quiet { (text::more(hidden)) } }
                    }
                }
            }
            td.last role="cell" {
                (text::action(last.kind)) " "
                a.title href=(parts::issue_path(summary.id)) dir="auto" { (summary.title) } " "
                (parts::ago(last.at, now))
            }
            @for &deed in deeds {
                td.number role="cell" data-label=(text::count_of(deed)) { (agent.count(deed)) }
            }
        }
    }
}

fn held(position: usize, view: &ReadView, now: Timestamp) -> Markup {
    let summary = &view.summaries()[position];
    html! {
        @if let Some(held) = summary.holder() {
            (parts::status(summary.status)) " "
            a.title href=(parts::issue_path(summary.id)) dir="auto" { (summary.title) } " "
            (parts::held_since(held.since, now))
        }
    }
}
