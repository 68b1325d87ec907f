//! What the work used, and what it cost.

use maud::{Markup, html};

use super::number;
use crate::chart::{self, BarRows, Bars, Caption, Hint, Row, TimeAxis};
use crate::format;
use crate::pages::components;
use crate::strings::stats as text;
use ait_domain::{Timestamp, Usage};
use ait_tracker::read_model::stats::{Stats, UsageStats};

/// Renders the section.
pub(super) fn section(stats: &Stats, used: &UsageStats) -> Markup {
    let work = stats.throughput.total;
    let content = html! {
        ul {
            li { "All: " (used.total) }
            @if let Some(each) = used.per_closed_issue() { li { "A closed issue, on average: " (each) } }
            @if !used.failed.is_empty() { li { "Attempts that failed: " (used.failed) } }
            li { "Returned: " (number(work.returned)) ", completed: " (number(work.completed)) }
        }
        figure { (picture(stats, used)) }
        (table(stats, used))
    };
    super::section("usage", text::USAGE, text::USAGE_ABOUT, &content)
}

/// From which cost in all on whole units are drawn, in millionths.
const WHOLE_FROM_MICROS: u64 = 20_000_000;

/// Draws costs, small ones in hundredths, or thousands of tokens where no cost is known.
fn picture(stats: &Stats, used: &UsageStats) -> Markup {
    let (name, unit) = match used.total.micros {
        Some(WHOLE_FROM_MICROS..) => (text::COST, 1_000_000),
        Some(_) => (text::SMALL_COST, 10_000),
        None => (text::THOUSANDS, 1_000),
    };
    let value = |usage: &Usage| match used.total.micros {
        Some(_) => usage.micros.unwrap_or(0) / unit,
        None => usage.tokens() / unit,
    };
    let values = used.buckets.iter().map(|usage| u32::try_from(value(usage)).unwrap_or(u32::MAX));
    let bars = Bars {
        class: "status-in_progress",
        name,
        total: format::number(value(&used.total)),
        values: values.collect(),
    };
    let hints = stats.throughput.buckets.iter().zip(&used.buckets);
    let hints = hints.map(|(bucket, usage)| Hint { at: bucket.begin, text: usage.to_string() });
    let length_ms = stats.throughput.bucket_ms * used.buckets.len() as u64;
    let end_ms = stats.begin.unix_millis().saturating_add_unsigned(length_ms);
    let rows = BarRows {
        rows: vec![vec![bars]],
        hints: hints.collect(),
        axis: TimeAxis::between(stats.begin, Timestamp::from_unix_millis(end_ms)),
    };
    let description = format!("A row of bars over time. In all: {}.", used.total);
    rows.draw(Caption { id: "usage", title: text::USAGE, description: &description })
}

fn table(stats: &Stats, used: &UsageStats) -> Markup {
    let row = |name: Markup, usage: &Usage| (name, vec![usage.to_string()]);
    let times = stats.throughput.buckets.iter().zip(&used.buckets);
    let times = times.filter(|(_, usage)| !usage.is_empty());
    let times = times.map(|(bucket, usage)| row(components::local_time(bucket.begin), usage));
    let named = used
        .by_model
        .iter()
        .chain(&used.by_agent)
        .map(|(name, usage)| row(html! { (name) }, usage));
    let rows: Vec<Row> = named.chain(times).collect();
    chart::table("usage", text::USAGE, &[text::USAGE_COLUMN, text::USAGE], &rows)
}
