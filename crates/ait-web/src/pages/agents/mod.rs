//! The agents: a line for each, the worst first, and a page for each.

mod agent;
mod lane;

use std::collections::HashMap;

use maud::{Markup, html};
use xxhash_rust::xxh3::xxh3_64;

pub(super) use self::agent::AgentView;
use self::lane::ClaimTimeline;
use super::{PageContext, components};
use crate::format;
use crate::query::{InvalidParameter, ListQuery, Parameters};
use crate::strings::{self, agents as text, claims, list};
use ait_domain::{Timestamp, Work};
use ait_system::span::humanize_duration as duration;
use ait_tracker::read_model::{Agent, IssueSummary, ReadView, WorkRecord};
use ait_worktrees::branch_of;

/// How many agents a page shows.
const PAGE_SIZE: usize = 40;
/// How many bars of a lane say what they are on hover: the latest ones.
const MAX_NAMED: usize = 5;
/// From which share of completed issues on being sent back is bad, in percent.
const BAD_PERCENT: usize = 15;

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

/// Parses the number of a page of all agents, from 1.
pub(super) fn page_number(query: Option<&str>) -> Result<usize, InvalidParameter> {
    let expected = || "1, 2, 3, …".to_owned();
    let number = |text: &str| text.parse().ok().filter(|&page: &usize| page > 0);
    Ok(Parameters::of_page(query).get("page", expected, number)?.unwrap_or(1))
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

/// What an agent does; the worst first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum State {
    Gone,
    Stuck,
    Asks,
    Silent,
    Works,
    Idle,
    /// It never claimed an issue: a person, or one that only files issues.
    Person,
}

/// What the line of an agent shows of its claims.
struct Line<'a> {
    agent: Agent,
    state: State,
    /// The issue that says most about the state, and since when it does.
    issue: Option<(&'a IssueSummary, Timestamp)>,
    /// The median of claims of the same kind.
    median_ms: Option<u64>,
}

impl Line<'_> {
    /// Returns since when it is in its state.
    fn since(&self) -> Option<Timestamp> {
        match self.state {
            State::Silent => Some(self.agent.last.0.at()),
            _ => self.issue.map(|(_, since)| since),
        }
    }
}

/// What the page of all agents shows.
pub(super) struct Cockpit<'a, 'b> {
    view: &'a ReadView<'b>,
    context: &'a PageContext,
    /// What is on the branches of issues.
    branches: &'a HashMap<String, Work>,
    /// For each agent the issue about which it asked first.
    asked: HashMap<&'a str, (&'a IssueSummary, Timestamp)>,
}

impl<'a, 'b> Cockpit<'a, 'b> {
    /// Renders a page of the agents.
    pub fn content(
        view: &'a ReadView<'b>,
        context: &'a PageContext,
        branches: &'a HashMap<String, Work>,
        page: usize,
    ) -> Markup {
        let now = context.now;
        let lane = ClaimTimeline::new(Period::Day, now);
        let since = now.unix_millis().saturating_sub(format::WEEK_MS.cast_signed());
        let mut work = view.work_since(Timestamp::from_unix_millis(since));
        let mut asked = HashMap::new();
        for (summary, parked, _) in view.questions() {
            asked.entry(&*parked.by).or_insert((summary, parked.since));
        }
        let cockpit = Self { view, context, branches, asked };
        let mut lines: Vec<_> =
            view.agents().into_iter().map(|agent| cockpit.line(agent)).collect();
        // Stable, so that the latest action comes first where nothing is worse.
        lines.sort_by_key(|line| (line.state, line.since()));
        let total = lines.len();
        let page = page.clamp(1, total.div_ceil(PAGE_SIZE).max(1));
        let shown = lines.iter().skip((page - 1) * PAGE_SIZE).take(PAGE_SIZE);
        let (people, agents): (Vec<_>, Vec<_>) =
            shown.partition(|line| line.state == State::Person);
        html! {
            h1.unseen { (text::TITLE) }
            @if total == 0 {
                section.notice {
                    p {
                        "No agent has done anything yet. Connect your coding agents, in a terminal in \
                         your project:"
                    }
                    (components::command(strings::list::CONNECT_COMMAND))
                    @if view.summaries().is_empty() { (components::example(context.has_example)) }
                }
            }
            @if !agents.is_empty() {
                div.agents-head { (lane::legend()) p.quiet { "Cost and reviews of the last 7 days" } }
                div.sheet {
                    table.agents role="table" {
                        caption.unseen { (text::caption(agents.len())) }
                        (head(&lane))
                        tbody role="rowgroup" {
                            @for line in agents {
                                @let work = work.take(line.agent.name);
                                (cockpit.row(line, &work.record, &lane.draw(&work.spans, MAX_NAMED, view)))
                            }
                        }
                    }
                }
            }
            @if !people.is_empty() {
                section.people aria-labelledby="people-heading" {
                    h2 #people-heading { "People, and agents without a claim" }
                    ul { @for line in people { (cockpit.person(line)) } }
                }
            }
            (paging(total, page))
        }
    }

    /// Says what an agent does: of the issues that it holds, the worst.
    fn line(&self, agent: Agent) -> Line<'a> {
        let Self { view, context, .. } = *self;
        let claims = agent.holds.iter().filter_map(|&at| {
            let summary: &IssueSummary = &view.summaries()[at];
            let since = summary.holder()?.since;
            let state = if context.gone.is_gone(summary.id) {
                State::Gone
            } else if context.stuck.contains(&summary.id) {
                State::Stuck
            } else if context.silent_ms(summary, view).is_some() {
                State::Silent
            } else {
                State::Works
            };
            Some((state, since, summary))
        });
        let worst = claims.min_by_key(|(state, since, _)| (*state, *since));
        let (state, issue) = match worst {
            Some((state, since, summary)) => (state, Some((summary, since))),
            None => match self.asked.get(view.names().text(agent.name)) {
                Some(asked) if agent.has_claimed => (State::Asks, Some(*asked)),
                _ if agent.has_claimed => (State::Idle, None),
                asked => (State::Person, asked.copied()),
            },
        };
        let median_ms = issue.and_then(|(summary, _)| context.median_of(summary, view));
        Line { agent, state, issue, median_ms }
    }

    fn row(&self, line: &Line, record: &WorkRecord, lane: &Markup) -> Markup {
        let now = self.context.now;
        let name = self.view.names().text(line.agent.name);
        let (last, _) = line.agent.last;
        let held = line.issue.filter(|_| line.state != State::Asks);
        html! {
            tr role="row" id=(row_id(name)) data-changed=(last.at().unix_millis()) {
                td.state role="cell" { (state(line, now)) }
                th role="rowheader" scope="row" { a href=(agent_path(name)) title=(name) { (components::agent(name)) } }
                td.holds role="cell" {
                    // In front, because a long title is cut.
                    @if let more @ 1.. = line.agent.holds.len().saturating_sub(1) {
                        a href=(agent_path(name)) title="and others" { "+" (more) } " "
                    }
                    @if let Some((issue, _)) = line.issue { (issue_link(issue)) }
                }
                td.time role="cell" {
                    @if let Some((_, since)) = held {
                        @let taken = now.millis_since(since);
                        (components::time(since, &duration(taken)))
                        @if let Some(median) = line.median_ms { span.quiet title="the median of its kind" { " / " (duration(median)) } }
                    }
                }
                td.last role="cell" { (text::did(last.kind)) " " (components::ago(last.at(), now)) }
                td.branch role="cell" { @if let Some((issue, _)) = held { (self.branch(issue)) } }
                td.number role="cell" data-label="Cost" { @if !record.used.is_empty() { (record.used.cost()) } }
                td.number role="cell" data-label=(text::SENT_BACK) {
                    @if record.completed > 0 || record.sent_back > 0 {
                        @let is_bad = record.sent_back * 100 >= record.completed.max(1) * BAD_PERCENT;
                        span class=[is_bad.then_some("bad")] { (record.sent_back) " of " (record.completed) }
                    }
                }
                td.over-time role="cell" { (lane) }
            }
        }
    }

    /// Renders what is on the branch of an issue, as a link to the diff.
    fn branch(&self, issue: &IssueSummary) -> Markup {
        let name = branch_of(&issue.id.short());
        html! {
            @if let Some(work) = self.branches.get(&name) {
                a href={ (components::issue_path(issue.id)) "?diff=1#issue-diff" } title=(name) {
                    (format::number(work.commits as u64)) @if work.commits == 1 { " commit" } @else { " commits" }
                    " +" (work.added) " −" (work.removed)
                }
            }
        }
    }

    fn person(&self, line: &Line) -> Markup {
        let name = self.view.names().text(line.agent.name);
        let (last, position) = line.agent.last;
        html! {
            li id=(row_id(name)) data-changed=(last.at().unix_millis()) {
                a href=(agent_path(name)) { (components::agent(name)) }
                span { (text::action(last.kind)) " " (issue_link(&self.view.summaries()[position])) }
                (components::ago(last.at(), self.context.now))
            }
        }
    }
}

fn head(lane: &ClaimTimeline) -> Markup {
    html! {
        thead role="rowgroup" {
            tr role="row" {
                @for (class, name) in [
                    ("state", "State"), ("name", strings::AGENT), ("holds", strings::ISSUE), ("time", "Time / median"),
                    ("last", "Last event"), ("branch", "Branch"), ("number", "Cost"), ("number", text::SENT_BACK),
                ] {
                    th class=(class) role="columnheader" scope="col" { (name) }
                }
                th.over-time role="columnheader" scope="col" {
                    span.unseen { (text::over_time(Period::Day.as_str())) } (lane.axis())
                }
            }
        }
    }
}

fn state(line: &Line, now: Timestamp) -> Markup {
    let silent_ms = now.millis_since(line.agent.last.0.at());
    html! {
        @match line.state {
            State::Gone => { strong.gone { "gone" } }
            State::Stuck => { strong.bad { "stuck" } }
            State::Asks => { strong.asked { "asks" } }
            State::Silent => { span.silent { (claims::silent(silent_ms)) } }
            State::Works => { span.alive { "works" } }
            State::Idle | State::Person => { span.quiet { "idle" } }
        }
    }
}

fn issue_link(issue: &IssueSummary) -> Markup {
    html! {
        (components::status_icon(issue.status)) " "
        a.title href=(components::issue_path(issue.id)) title=(components::undirected(&issue.title)) dir="auto" {
            (components::title(&issue.title))
        }
    }
}

fn row_id(name: &str) -> String {
    format!("a-{:016x}", xxh3_64(name.as_bytes()))
}

/// Renders the links to the other pages, if there are any.
fn paging(total: usize, page: usize) -> Markup {
    let first = (page - 1) * PAGE_SIZE + 1;
    let last = total.min(page * PAGE_SIZE);
    let link = |rel: &str, page: usize, label: &str| {
        html! { a rel=(rel) href={ "/agents?page=" (page) } { (label) } }
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
