//! The agents: what each holds, did last and has done.

use maud::{Markup, html};
use xxhash_rust::xxh3::xxh3_64;

use super::parts;
use crate::domain::Timestamp;
use crate::overview::{Agent, Deed, Survey};
use crate::web::address::ListAddress;
use crate::web::words::Words;

/// How many agents the page shows.
const MAX_AGENTS: usize = 200;
/// How many of the issues that an agent holds are named.
const MAX_HELD: usize = 3;

/// The page.
pub(in crate::web) fn content(survey: &Survey, now: Timestamp, words: &Words) -> Markup {
    let (agents, text) = (survey.agents(), &words.agents);
    let rest = agents.len().saturating_sub(MAX_AGENTS);
    let deeds: Vec<_> = Deed::ALL
        .iter()
        .copied()
        // What few agents ever do has a column where there is any of it.
        .filter(|&deed| !deed.is_rare() || agents.iter().any(|it| it.count(deed) > 0))
        .collect();
    html! {
        h1.unseen { (text.heading) }
        @if agents.is_empty() {
            p.notice { (text.empty) }
        } @else {
            div.sheet {
                table.agents role="table" {
                    caption.unseen { ((text.caption)(agents.len())) }
                    thead role="rowgroup" {
                        tr role="row" {
                            th role="columnheader" scope="col" { (text.agent) }
                            th role="columnheader" scope="col" { (text.holds) }
                            th role="columnheader" scope="col" { (text.last) }
                            @for &deed in &deeds { th.number role="columnheader" scope="col" { ((text.times)(deed)) } }
                        }
                    }
                    tbody role="rowgroup" {
                        @for agent in agents.iter().take(MAX_AGENTS) {
                            (row(agent, &deeds, survey, now, words))
                        }
                    }
                }
            }
            @if rest > 0 { p.quiet { ((text.more)(rest)) } }
        }
    }
}

fn row(agent: &Agent, deeds: &[Deed], survey: &Survey, now: Timestamp, words: &Words) -> Markup {
    let text = &words.agents;
    let name = survey.names().text(agent.name);
    let address = ListAddress { agent: Some(name.to_owned()), ..ListAddress::default() };
    let (act, position) = agent.last;
    let digest = &survey.digests()[position];
    let rest = agent.holds.len().saturating_sub(MAX_HELD);
    html! {
        tr role="row" id={ (format_args!("a-{:016x}", xxh3_64(name.as_bytes()))) }
            data-changed=(act.at.unix_millis())
        {
            th role="rowheader" scope="row" { a href={ "/" (address.query()) } { (parts::agent(name)) } }
            td.holds role="cell" {
                @if agent.holds.is_empty() {
                    span.quiet { (text.nothing) }
                } @else {
                    ul {
                        @for &position in agent.holds.iter().take(MAX_HELD) {
                            li { (held(position, survey, now, words)) }
                        }
                        @if rest > 0 { li.quiet { ((text.more)(rest)) } }
                    }
                }
            }
            td.last role="cell" {
                ((text.deed)(act.deed)) " "
                a.title href=(parts::address(digest.id)) dir="auto" { (digest.title) } " "
                (parts::ago(act.at, now, words))
            }
            @for &deed in deeds {
                td.number role="cell" data-label=((text.times)(deed)) { (agent.count(deed)) }
            }
        }
    }
}

fn held(position: usize, survey: &Survey, now: Timestamp, words: &Words) -> Markup {
    let digest = &survey.digests()[position];
    let Some(held) = digest.holder() else { return Markup::default() };
    let span = (words.terms.span)(now.millis_since(held.since));
    html! {
        (parts::status(digest.status, words)) " "
        a.title href=(parts::address(digest.id)) dir="auto" { (digest.title) } " "
        (parts::time(held.since, &(words.list.since)(&span)))
    }
}
