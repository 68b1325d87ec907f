//! The agents: a row for each with its claims over time, and a page for each.

mod agent;
mod lane;

use std::collections::HashMap;

use maud::{Markup, html};
use xxhash_rust::xxh3::xxh3_64;

pub(super) use self::agent::AgentView;
use self::lane::ClaimTimeline;
use super::gone_clients::GoneClients;
use super::{components, icons};
use crate::format;
use crate::query::{InvalidParameter, ListQuery, Parameters};
use crate::strings::{self, agents as text, list};
use ait_domain::Timestamp;
use ait_tracker::read_model::{Agent, AgentWork, IssueSummary, ReadView};

/// How many agents a page shows.
const PAGE_SIZE: usize = 40;
/// How many of the issues that an agent holds a row shows.
const MAX_HELD: usize = 3;
/// How many bars of a lane say what they are on hover: the latest ones.
const MAX_NAMED: usize = 5;

/// How far back the lanes reach.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Period {
    #[default]
    Day,
    Week,
}

impl Period {
    const ALL: [Self; 2] = [Self::Day, Self::Week];

    /// Parses the query string of the page of an agent.
    pub fn parse(query: Option<&str>) -> Result<Self, InvalidParameter> {
        Self::of(&Parameters::of_page(query))
    }

    fn of(parameters: &Parameters) -> Result<Self, InvalidParameter> {
        let known = || Self::ALL.map(Self::as_str).join(", ");
        let parse = |text: &str| Self::ALL.into_iter().find(|period| period.as_str() == text);
        Ok(parameters.get("range", known, parse)?.unwrap_or_default())
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
            nav.ranges aria-label="Period" {
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

/// The query of the page of all agents.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct AgentsQuery {
    period: Period,
    /// The number of the page, from 1.
    page: usize,
}

impl AgentsQuery {
    /// Parses the query string.
    pub fn parse(query: Option<&str>) -> Result<Self, InvalidParameter> {
        let parameters = Parameters::of_page(query);
        let expected = || "1, 2, 3, …".to_owned();
        let number = |text: &str| text.parse().ok().filter(|&page: &usize| page > 0);
        let page = parameters.get("page", expected, number)?.unwrap_or(1);
        Ok(Self { period: Period::of(&parameters)?, page })
    }
}

/// Returns the path of the page of an agent.
pub(super) fn agent_path(name: &str) -> String {
    // Browsers take these names for folders in every spelling, so they lead to the issues of the agent.
    if matches!(name, "." | "..") {
        let query = ListQuery { agent: Some(name.to_owned()), ..ListQuery::default() };
        return format!("/{}", query.query_string());
    }
    let encoded: String = form_urlencoded::byte_serialize(name.as_bytes()).collect();
    // In a path, a plus sign stands for itself.
    format!("/agents/{}", encoded.replace('+', "%20"))
}

/// Renders the page.
pub(super) fn content(
    view: &ReadView,
    gone: &GoneClients,
    AgentsQuery { period, page }: AgentsQuery,
    now: Timestamp,
) -> Markup {
    let agents = view.agents();
    let page = page.clamp(1, agents.len().div_ceil(PAGE_SIZE).max(1));
    let lane = ClaimTimeline::new(period, now);
    let mut work = view.work_since(lane.begin());
    let asked = questions_by_agent(view);
    html! {
        h1.unseen { (text::TITLE) }
        @if agents.is_empty() {
            section.notice {
                p {
                    "No agent has done anything yet. Connect your coding agents, in a terminal in \
                     your project:"
                }
                (components::command(strings::list::CONNECT_COMMAND))
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
                            th role="columnheader" scope="col" { "Last action" }
                            @for name in [text::COMPLETED, text::REVIEWED, text::SENT_BACK] {
                                th.number role="columnheader" scope="col" { (name) }
                            }
                        }
                    }
                    tbody role="rowgroup" {
                        @for agent in agents.iter().skip((page - 1) * PAGE_SIZE).take(PAGE_SIZE) {
                            @let asked = asked.get(view.names().text(agent.name));
                            (row(agent, &work.take(agent.name), &lane, asked, (view, gone), now))
                        }
                    }
                }
            }
            (paging(agents.len(), period, page))
        }
    }
}

/// Renders the links to the other pages, if there are any.
fn paging(total: usize, period: Period, page: usize) -> Markup {
    let first = (page - 1) * PAGE_SIZE + 1;
    let last = total.min(page * PAGE_SIZE);
    let link = |rel: &str, page: usize, label: &str| {
        let path = format!("/agents?range={}&page={page}", period.as_str());
        html! { a rel=(rel) href=(path) { (label) } }
    };
    html! {
        @if total > PAGE_SIZE {
            nav.paging aria-label="Pages of agents" {
                @if page > 1 { (link("prev", page - 1, list::PREVIOUS)) }
                span { (list::range(first, last, total, true)) }
                @if last < total { (link("next", page + 1, list::NEXT)) }
            }
        }
    }
}

fn row(
    agent: &Agent,
    work: &AgentWork,
    lane: &ClaimTimeline,
    asked: Option<&Questions>,
    (view, gone): (&ReadView, &GoneClients),
    now: Timestamp,
) -> Markup {
    let name = view.names().text(agent.name);
    let (last, position) = agent.last;
    let summary = &view.summaries()[position];
    let hidden = agent.holds.len().saturating_sub(MAX_HELD);
    let counts = [
        (text::COMPLETED, work.record.completed),
        (text::REVIEWED, work.record.reviewed),
        (text::SENT_BACK, work.record.sent_back),
    ];
    html! {
        tr role="row" id={ (format_args!("a-{:016x}", xxh3_64(name.as_bytes()))) }
            data-changed=(last.at().unix_millis())
        {
            th role="rowheader" scope="row" {
                a href=(agent_path(name)) { (components::agent(name)) }
                p.details { (presence(agent, view, gone, now)) }
            }
            td.over-time role="cell" { (lane.draw(&work.spans, MAX_NAMED, view)) }
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
                @if let Some(asked) = asked { (questions(asked, now)) }
            }
            td.last role="cell" {
                (text::action(last.kind)) " "
                a.title href=(components::issue_path(summary.id)) dir="auto" { (components::undirected(&summary.title)) } " "
                (components::ago(last.at(), now))
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
            Some(true) => { span.alive { "connected" } }
            Some(false) => { span.gone { "gone" } }
            None => {}
        }
        span { "last seen" " " (components::ago(agent.last.0.at(), now)) }
    }
}

/// The issues about which an agent has asked people, each with the time of the question.
type Questions<'a> = Vec<(Timestamp, &'a IssueSummary)>;

/// Returns for each agent the open questions that it has asked.
fn questions_by_agent<'a>(view: &'a ReadView) -> HashMap<&'a str, Questions<'a>> {
    let mut asked: HashMap<&str, Questions> = HashMap::new();
    for (summary, parked, _) in view.questions() {
        asked.entry(&parked.by).or_default().push((parked.since, summary));
    }
    asked
}

/// Renders the questions for whose answers an agent waits.
fn questions(asked: &Questions, now: Timestamp) -> Markup {
    html! {
        @for (since, issue) in asked.iter().take(MAX_HELD) {
            p {
                strong.asked { (icons::other("comment")) "waits for an answer:" } " "
                a.title href=(components::issue_path(issue.id)) dir="auto" { (components::undirected(&issue.title)) } " "
                (components::ago(*since, now))
            }
        }
    }
}

fn held(position: usize, view: &ReadView, now: Timestamp) -> Markup {
    let summary = &view.summaries()[position];
    html! {
        @if let Some(held) = summary.holder() {
            (components::status_icon(summary.status)) " "
            a.title href=(components::issue_path(summary.id)) dir="auto" { (components::undirected(&summary.title)) } " "
            (components::held_since(held.since, now))
            @if summary.has_old_claim_at(now) { " " (components::old_claim()) }
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
            ("..", "/?agent=.."),
            ("...", "/agents/..."),
        ] {
            assert_eq!(agent_path(name), expected);
        }
    }
}
