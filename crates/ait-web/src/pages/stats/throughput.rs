//! How many issues were filed, completed and ended over time.

use maud::{Markup, html};

use super::{nothing, number};
use crate::chart::{self, BarRows, Bars, Caption, Hint, Row, TimeAxis};
use crate::pages::components;
use crate::strings::stats as text;
use ait_domain::Timestamp;
use ait_tracker::read_model::stats::{Stats, Work};

/// The classes of what is counted: the status that each of them leads to.
const CLASSES: [&str; 5] = [
    "status-created",
    "status-closed",
    "status-completed",
    "status-rejected",
    "status-in_progress",
];

/// Renders the section.
pub(super) fn section(stats: &Stats) -> Markup {
    let about = text::throughput_about(stats.throughput.bucket_ms);
    let chart = if stats.throughput.total == Work::default() {
        nothing("No issue was filed or ended in this period.")
    } else {
        html! {
            figure { (picture(stats)) }
            (table(stats))
        }
    };
    super::section("throughput", text::THROUGHPUT, &about, &chart)
}

fn picture(stats: &Stats) -> Markup {
    let buckets = &stats.throughput.buckets;
    let total = &stats.throughput.total;
    let mut counted =
        text::THROUGHPUT_ROWS.iter().zip(CLASSES).map(|((name, count), class)| Bars {
            class,
            name,
            total: number(count(total)),
            values: buckets.iter().map(|bucket| count(&bucket.work)).collect(),
        });
    // What came in stands beside what got done.
    let first = counted.by_ref().take(2).collect();
    let rows = [first].into_iter().chain(counted.map(|bars| vec![bars]));
    let hints =
        buckets.iter().map(|bucket| Hint { at: bucket.begin, text: counts_text(&bucket.work) });
    let length_ms = stats.throughput.bucket_ms * buckets.len() as u64;
    let end_ms = stats.begin.unix_millis().saturating_add_unsigned(length_ms);
    let rows = BarRows {
        rows: rows.collect(),
        hints: hints.collect(),
        axis: TimeAxis::between(stats.begin, Timestamp::from_unix_millis(end_ms)),
    };
    let description = format!("Rows of bars over time. Totals: {}.", counts_text(total));
    rows.draw(Caption { id: "throughput", title: text::THROUGHPUT, description: &description })
}

fn counts_text(work: &Work) -> String {
    let rows = text::THROUGHPUT_ROWS.iter();
    let pairs: Vec<_> = rows.map(|(name, count)| text::pair(name, &number(count(work)))).collect();
    pairs.join(", ")
}

fn table(stats: &Stats) -> Markup {
    let mut head = vec![text::TIME_COLUMN];
    head.extend(text::THROUGHPUT_ROWS.map(|(name, _)| name));
    let cells =
        |work: &Work| text::THROUGHPUT_ROWS.iter().map(|(_, count)| number(count(work))).collect();
    let rows = stats.throughput.buckets.iter();
    let rows = rows.map(|bucket| (components::local_time(bucket.begin), cells(&bucket.work)));
    let total = (html! { (text::TOTAL_COLUMN) }, cells(&stats.throughput.total));
    let rows: Vec<Row> = rows.chain([total]).collect();
    chart::table("throughput", text::THROUGHPUT, &head, &rows)
}
