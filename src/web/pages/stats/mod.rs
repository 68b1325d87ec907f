//! How the queue moves, and how fast: headline numbers, and charts with what they show in words.

mod ages;
mod flow;
mod throughput;
mod times;

use maud::{Markup, html};

use crate::domain::Status;
use crate::overview::stats::{Range, Stats};
use crate::web::chart;
use crate::web::words::{self, Words};

/// The statuses that areas and bars are divided by, the uppermost first: what their colours go by.
const CLASSES: [&str; 6] = [
    "status-created",
    "status-in_progress",
    "status-completed",
    "status-in_review",
    "status-closed",
    "status-rejected",
];

/// The page below its header.
pub(in crate::web) fn content(stats: &Stats, words: &Words) -> Markup {
    let words = &words.stats;
    html! {
        div.stats {
            div.stats-head {
                h1 { (words.title) }
                (ranges(stats.range, words))
            }
            @if stats.total == 0 {
                section.notice #stats-empty { h2 { (words.empty[0]) } p { (words.empty[1]) } }
            } @else {
                p.quiet #stats-covers { ((words.covers)(&(words.time)(stats.begin))) }
                (headlines(stats, words))
                (chart::patterns(&CLASSES))
                (flow::open(stats, words))
                (flow::flow(stats, words))
                (throughput::section(stats, words))
                (times::section("lead", &stats.lead, &words.lead, words))
                (times::section("cycle", &stats.cycle, &words.cycle, words))
                (ages::section(stats, words))
            }
        }
    }
}

fn ranges(current: Range, words: &words::stats::Stats) -> Markup {
    html! {
        nav.ranges aria-label=(words.ranges) {
            @for &range in Range::ALL {
                a href={ "/stats?range=" (range) } aria-current=[(current == range).then_some("page")] {
                    ((words.range)(range))
                }
            }
        }
    }
}

fn headlines(stats: &Stats, words: &words::stats::Stats) -> Markup {
    let texts = &words.headlines;
    let number = |value: u32| (words.number)(value.into());
    let span = |ms: Option<u64>| ms.map_or(words.none.to_owned(), words.span);
    let (done, lead) = (stats.throughput.total, stats.lead.all);
    let waiting = (texts.waiting)(stats.present.in_status(Status::Created));
    let hint = |hint: &str| if lead.count > 0 { hint } else { texts.no_lead }.to_owned();
    let tiles = [
        ("open", texts.open, number(stats.open), waiting),
        ("closed", texts.closed, number(done.closed), (texts.filed)(&number(done.filed))),
        ("median", texts.median, span(lead.median_ms), hint(texts.median_hint)),
        ("p90", texts.p90, span(lead.p90_ms), hint(texts.p90_hint)),
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

/// A section around a chart: what it is called, what it shows, and the chart.
fn section(id: &str, heading: &str, about: &str, chart: &Markup) -> Markup {
    html! {
        section.statistic id={ "stats-" (id) } {
            h2 { (heading) }
            p.about { (about) }
            (chart)
        }
    }
}

/// A chart of which there is nothing to show yet.
fn nothing(text: &str) -> Markup {
    html! { p.nothing { (text) } }
}
