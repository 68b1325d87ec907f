//! The statistics: headline numbers, and charts of how the queue moves and how long issues take.

mod ages;
pub(super) mod flow;
mod throughput;
mod times;
mod usage;

use maud::{Markup, html};

use crate::chart;
use crate::format;
use crate::pages::{PageContext, components};
use crate::strings::{list, stats as text};
use ait_domain::Status;
use ait_tracker::read_model::stats::{Range, Stats};

/// The classes of the statuses in the order of [`Status::OF_WORK`].
const CLASSES: [&str; Status::OF_WORK.len()] = [
    "status-created",
    "status-in_progress",
    "status-completed",
    "status-in_review",
    "status-closed",
    "status-rejected",
];

/// Returns all statuses with their classes.
fn statuses() -> impl Iterator<Item = (Status, &'static str)> {
    Status::OF_WORK.iter().copied().zip(CLASSES)
}

/// Renders the page.
pub(super) fn content(stats: &Stats, context: &PageContext) -> Markup {
    html! {
        div.stats {
            div.stats-head {
                h1 { (text::TITLE) }
                nav.ranges aria-label="Time range" {
                    @for &range in Range::ALL {
                        a href={ "/stats?range=" (range) }
                            aria-current=[(stats.range == range).then_some("page")]
                        {
                            (text::range(range))
                        }
                    }
                }
            }
            @if stats.total == 0 {
                section.notice #stats-empty {
                    h2 { "No issues yet" }
                    p {
                        "Once agents file issues and work on them, this page shows how the queue \
                         moves and how long issues take."
                    }
                    (components::command(list::FILE_COMMAND))
                    (components::example(context.has_example))
                }
            } @else {
                p.quiet #stats-covers { "Since " (components::local_time(stats.begin)) " " (components::all_utc()) }
                (headlines(stats))
                (chart::patterns(&CLASSES))
                (flow::open(stats))
                (flow::flow(stats))
                (throughput::section(stats))
                (times::by_kind("lead", &stats.lead, &text::LEAD))
                (times::by_kind("cycle", &stats.cycle, &text::CYCLE))
                (times::by_status(&stats.in_status))
                @if let Some(used) = &stats.usage { (usage::section(stats, used)) }
                (ages::section(stats))
            }
        }
    }
}

fn headlines(stats: &Stats) -> Markup {
    let throughput = stats.throughput.total;
    let lead = stats.lead.all;
    let hint = |hint: &str| {
        if lead.count > 0 { hint } else { "no issue was closed in this period" }.to_owned()
    };
    let waiting = text::waiting(stats.present.in_status(Status::Created));
    let tiles = [
        ("open", "Open now", number(stats.open), waiting),
        ("closed", "Closed", number(throughput.closed), text::filed(throughput.filed)),
        (
            "median",
            "Median lead time",
            duration(lead.median_ms),
            hint("half of the closed issues took no longer"),
        ),
        ("p90", "90 % closed within", duration(lead.p90_ms), hint("of being filed")),
    ];
    html! {
        dl.headlines {
            @for (id, name, value, hint) in tiles {
                div id={ "stats-" (id) } {
                    dt { (name) }
                    dd.value { (value) }
                    dd.hint { (hint) }
                }
            }
        }
    }
}

/// Renders a section with a chart, or with a text in place of the chart.
fn section(id: &str, heading: &str, about: &str, chart: &Markup) -> Markup {
    html! {
        section.statistic id={ "stats-" (id) } {
            h2 { (heading) }
            p.about { (about) }
            (chart)
        }
    }
}

fn nothing(text: &str) -> Markup {
    html! { p.nothing { (text) } }
}

fn number(number: u32) -> String {
    format::number(number.into())
}

fn duration(ms: Option<u64>) -> String {
    ms.map_or("–".to_owned(), format::precise_duration)
}
