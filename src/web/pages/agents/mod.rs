//! The agents: a row for each with its claims over time, and a page for each.

mod agent;
mod lane;

use maud::{Markup, html};
use xxhash_rust::xxh3::xxh3_64;

pub(super) use self::agent::AgentView;
use self::lane::Lane;
use super::gone_clients::GoneClients;
use super::parts;
use crate::domain::Timestamp;
use crate::read_model::{Agent, ClaimSpan, ReadView, work_record};
use crate::web::format;
use crate::web::query::{InvalidParameter, Parameters};
use crate::web::strings::{self, agents as text};

/// How many agents the page shows.
const MAX_AGENTS: usize = 200;
/// How many of the issues that an agent holds a row shows.
const MAX_HELD: usize = 3;

/// How far back the lanes reach.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Period {
    #[default]
    Day,
    Week,
}

impl Period {
    const ALL: [Self; 2] = [Self::Day, Self::Week];

    /// Parses the query string.
    pub fn parse(query: Option<&str>) -> Result<Self, InvalidParameter> {
        let known = || Self::ALL.map(Self::as_str).join(", ");
        let parse = |text: &str| Self::ALL.into_iter().find(|period| period.as_str() == text);
        Ok(Parameters::parse(query, &["range"])?.get("range", known, parse)?.unwrap_or_default())
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Day => "24h",
            Self::Week => "7d",
        }
    }

    fn length_ms(self) -> u64 {
        match self {
            Self::Day => format::DAY_MS,
            Self::Week => format::WEEK_MS,
        }
    }

    /// Renders the choice of the period on a page.
    fn choice(self, path: &str) -> Markup {
        html! {
            nav.ranges aria-label=(text::PERIOD) {
                @for period in Self::ALL {
                    a href={ (path) "?range=" (period.as_str()) }
                        aria-current=[(period == self).then_some("page")]
                    {
                        (text::period(period.as_str()))
                    }
                }
            }
        }
    }
}

/// Returns the path of the page of an agent.
pub(super) fn agent_path(name: &str) -> String {
    let encoded: String = form_urlencoded::byte_serialize(name.as_bytes()).collect();
    // In a path, a plus sign stands for itself.
    format!("/agents/{}", encoded.replace('+', "%20"))
}

/// Renders the page.
pub(super) fn content(
    view: &ReadView,
    gone: &GoneClients,
    period: Period,
    now: Timestamp,
) -> Markup {
    let agents = view.agents();
    let hidden = agents.len().saturating_sub(MAX_AGENTS);
    let lane = Lane::new(period, now);
    let spans = view.claim_spans(lane.begin());
    html! {
        h1.unseen { (text::TITLE) }
        @if agents.is_empty() {
            section.notice {
                p { (text::EMPTY) }
                (parts::command(strings::list::CONNECT_COMMAND))
            }
        } @else {
            div.agents-head { (period.choice("/agents")) (lane::legend()) }
            div.sheet {
                table.agents role="table" {
                    caption.unseen { (text::caption(agents.len())) }
                    thead role="rowgroup" {
                        tr role="row" {
                            th role="columnheader" scope="col" { (strings::AGENT) }
                            th role="columnheader" scope="col" { (text::over_time(period.as_str())) }
                            th role="columnheader" scope="col" { (text::HOLDING) }
                            th role="columnheader" scope="col" { (text::LAST_ACTION) }
                            @for name in [text::COMPLETED, text::REVIEWED, text::SENT_BACK] {
                                th.number role="columnheader" scope="col" { (name) }
                            }
                        }
                    }
                    tbody role="rowgroup" {
                        @for agent in agents.iter().take(MAX_AGENTS) {
                            (row(agent, &spans, &lane, (view, gone), now))
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
    spans: &[ClaimSpan],
    lane: &Lane,
    (view, gone): (&ReadView, &GoneClients),
    now: Timestamp,
) -> Markup {
    let name = view.names().text(agent.name);
    let (last, position) = agent.last;
    let summary = &view.summaries()[position];
    let hidden = agent.holds.len().saturating_sub(MAX_HELD);
    let record = work_record(agent.name, spans);
    let counts = [
        (text::COMPLETED, record.completed),
        (text::REVIEWED, record.reviewed),
        (text::SENT_BACK, record.sent_back),
    ];
    html! {
        tr role="row" id={ (format_args!("a-{:016x}", xxh3_64(name.as_bytes()))) }
            data-changed=(last.at.unix_millis())
        {
            th role="rowheader" scope="row" {
                a href=(agent_path(name)) { (parts::agent(name)) }
                p.details { (presence(agent, view, gone, now)) }
            }
            td.over-time role="cell" { (lane.draw(agent.name, spans, view)) }
            td.holds role="cell" {
                @if agent.holds.is_empty() {
                    span.quiet { (text::NOTHING) }
                } @else {
                    ul {
                        @for &position in agent.holds.iter().take(MAX_HELD) {
                            li { (held(position, view, now)) (gone.mark(view.summaries()[position].id)) }
                        }
                        @if hidden > 0 { li { a href=(agent_path(name)) { (text::more(hidden)) } } }
                    }
                }
            }
            td.last role="cell" {
                (text::action(last.kind)) " "
                a.title href=(parts::issue_path(summary.id)) dir="auto" { (parts::undirected(&summary.title)) } " "
                (parts::ago(last.at, now))
            }
            @for (label, count) in counts {
                td.number role="cell" data-label=(label) { (count) }
            }
        }
    }
}

/// Renders whether an agent is connected, as far as its claims tell, and when it was last seen.
fn presence(agent: &Agent, view: &ReadView, gone: &GoneClients, now: Timestamp) -> Markup {
    let mut known = agent.holds.iter().filter_map(|&at| gone.is_alive(view.summaries()[at].id));
    let is_alive = known.next().map(|first| first || known.any(|is_alive| is_alive));
    html! {
        @match is_alive {
            Some(true) => { span.alive { (text::ALIVE) } }
            Some(false) => { span.gone { (text::GONE) } }
            None => {}
        }
        span { (text::LAST_SEEN) " " (parts::ago(agent.last.0.at, now)) }
    }
}

fn held(position: usize, view: &ReadView, now: Timestamp) -> Markup {
    let summary = &view.summaries()[position];
    html! {
        @if let Some(held) = summary.holder() {
            (parts::status_icon(summary.status)) " "
            a.title href=(parts::issue_path(summary.id)) dir="auto" { (parts::undirected(&summary.title)) } " "
            (parts::held_since(held.since, now))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::agent_path;

    #[test]
    fn names_of_agents_are_escaped_in_paths() {
        for (name, expected) in [
            ("dev-1", "/agents/dev-1"),
            ("dev & co", "/agents/dev%20%26%20co"),
            ("a/b+c?d", "/agents/a%2Fb%2Bc%3Fd"),
            ("é", "/agents/%C3%A9"),
        ] {
            assert_eq!(agent_path(name), expected);
        }
    }
}
