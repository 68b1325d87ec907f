//! The page of one agent: whether it lives, what it holds, and its claims over time.

use maud::{Markup, html};

use super::lane::{ClaimTimeline, MAX_BARS, legend};
use super::{Period, agent_path};
use crate::pages::gone_clients::GoneClients;
use crate::pages::{PageContext, components};
use crate::query::{ActivityQuery, ListQuery};
use crate::strings::{self, agents as text};
use ait_domain::Timestamp;
use ait_system::span::humanize_duration;
use ait_tracker::read_model::{Agent, ClaimSpan, IssueSummary, ReadView, WorkRecord};

/// How many of the issues that the agent holds the page shows.
const MAX_HELD: usize = 100;
/// How many claims the page lists: the latest ones.
const MAX_CLAIMS: usize = 100;

/// What the page shows.
pub(in crate::pages) struct AgentView<'a, 'b> {
    pub agent: &'a Agent,
    pub view: &'a ReadView<'b>,
    pub context: &'a PageContext,
    pub period: Period,
}

impl AgentView<'_, '_> {
    /// Renders the page.
    pub fn content(&self) -> Markup {
        let Self { agent, view, context, period } = *self;
        let now = context.now;
        let name = view.names().text(agent.name);
        let lane = ClaimTimeline::new(period, now);
        let work = view.work_since(lane.begin()).take(agent.name);
        let all = ListQuery { agent: Some(name.to_owned()), ..ListQuery::default() };
        let events = ActivityQuery { agent: Some(name.to_owned()), ..ActivityQuery::default() };
        html! {
            div.one-agent {
                header.agent-head {
                    h1 { (components::agent(name)) }
                    p.details { (presence(agent, view, &context.gone, now)) }
                    (period.choice(&agent_path(name)))
                }
                (headlines(agent, &work.record))
                section aria-labelledby="over-time-heading" {
                    h2 #over-time-heading { (text::over_time(period.as_str())) }
                    div.lane-large {
                        (lane.draw(&work.spans, MAX_BARS, view))
                        (lane.axis())
                    }
                    (legend())
                }
                (self.holds())
                (self.claims(&work.spans))
                p.agent-links {
                    a href={ "/" (all.query_string()) } { "All its issues" } " "
                    a href={ "/activity" (events.query_string()) } { "All it did" }
                }
            }
        }
    }

    fn holds(&self) -> Markup {
        let hidden = self.agent.holds.len().saturating_sub(MAX_HELD);
        html! {
            section aria-labelledby="holding-heading" {
                h2 #holding-heading { (text::HOLDING) }
                @if self.agent.holds.is_empty() { p.quiet { (text::NOTHING) } }
                ul.held {
                    @for &position in self.agent.holds.iter().take(MAX_HELD) {
                        @let summary = &self.view.summaries()[position];
                        li id={ "i-" (summary.id) } data-changed=(summary.modified_at.unix_millis()) {
                            (held(summary, self.view, self.context)) (self.context.gone.mark(summary.id))
                        }
                    }
                    @if hidden > 0 { li.quiet { (text::more(hidden)) } }
                }
            }
        }
    }

    /// Renders the claims of the period as a list, the latest first.
    fn claims(&self, own: &[ClaimSpan]) -> Markup {
        let hidden = own.len().saturating_sub(MAX_CLAIMS);
        html! {
            section aria-labelledby="claims-heading" {
                h2 #claims-heading { "Claims" " " span.count { (own.len()) } }
                @if own.is_empty() { p.quiet { "No claims in this period." } }
                ol.claims {
                    @for span in own.iter().take(MAX_CLAIMS) {
                        @let summary = &self.view.summaries()[span.position];
                        li {
                            (components::time(span.from, &strings::ago(self.context.now.millis_since(span.from)))) " "
                            span class={ "badge status-" (if span.is_review { "in_review" } else { "in_progress" }) } {
                                (if span.is_review { text::REVIEW } else { text::WORK })
                            }
                            " "
                            a.title href=(components::issue_path(summary.id)) dir="auto" {
                                (components::title(&summary.title))
                            }
                            " "
                            span.quiet {
                                (strings::held_for(span.length_ms(self.context.now))) ", "
                                (text::ended(span.until.is_none(), span.end))
                            }
                        }
                    }
                    @if hidden > 0 { li.quiet { (text::more(hidden)) } }
                }
            }
        }
    }
}

fn headlines(agent: &Agent, record: &WorkRecord) -> Markup {
    let median = record.median_ms.map_or_else(|| "none".to_owned(), humanize_duration);
    let values = [
        (text::HOLDING, agent.holds.len().to_string()),
        (text::COMPLETED, record.completed.to_string()),
        (text::REVIEWED, record.reviewed.to_string()),
        (text::SENT_BACK, record.sent_back.to_string()),
        ("Cycle time", median),
    ];
    html! {
        dl.headlines {
            @for (name, value) in values {
                div { dt { (name) } dd { span.value { (value) } } }
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

fn held(summary: &IssueSummary, view: &ReadView, context: &PageContext) -> Markup {
    html! {
        @if let Some(held) = summary.holder() {
            (components::status_icon(summary.status)) " "
            a.title href=(components::issue_path(summary.id)) dir="auto" { (components::title(&summary.title)) } " "
            (context.held_since(held.since, summary, view))
            @if summary.has_old_claim_at(context.now) { " " (components::old_claim()) }
        }
    }
}
