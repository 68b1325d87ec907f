//! What was done as time went on.

use maud::{Markup, html};

use super::nothing;
use crate::domain::Timestamp;
use crate::overview::stats::{Stats, Work};
use crate::web::chart::{self, Caption, Lane, Lanes, Row};
use crate::web::words::stats as words;

/// What the colours of the lanes go by: the status that each leads to.
const CLASSES: [&str; 5] = [
    "status-created",
    "status-completed",
    "status-closed",
    "status-rejected",
    "status-in_progress",
];

/// The section of what was done.
pub(super) fn section(stats: &Stats, words: &words::Stats) -> Markup {
    let texts = &words.throughput;
    let about = (texts.about)(stats.throughput.bucket_ms);
    if stats.throughput.total == Work::default() {
        return super::section("throughput", texts.heading, &about, &nothing(texts.nothing));
    }
    let chart = html! {
        figure { (picture(stats, words)) }
        (table(stats, words))
    };
    super::section("throughput", texts.heading, &about, &chart)
}

fn picture(stats: &Stats, words: &words::Stats) -> Markup {
    let (buckets, total) = (&stats.throughput.buckets, &stats.throughput.total);
    let texts = &words.throughput;
    let lanes = texts.lanes.iter().zip(CLASSES).map(|((name, count), class)| Lane {
        class,
        name,
        total: (words.number)(count(total).into()),
        values: buckets.iter().map(|bucket| count(&bucket.work)).collect(),
    });
    let hints =
        buckets.iter().map(|it| format!("{}\n{}", (words.time)(it.begin), said(&it.work, words)));
    let length_ms = stats.throughput.bucket_ms * buckets.len() as u64;
    let end_ms = stats.begin.unix_millis().saturating_add_unsigned(length_ms);
    let end = Timestamp::from_unix_millis(end_ms);
    let lanes = Lanes {
        lanes: lanes.collect(),
        hints: hints.collect(),
        ticks: chart::time_ticks(stats.begin, end, words.tick),
        number: words.number,
    };
    let description = (texts.description)(&said(total, words));
    lanes.draw(Caption { id: "throughput", title: texts.heading, description: &description })
}

/// What was done of all that is counted.
fn said(work: &Work, words: &words::Stats) -> String {
    let parts = words.throughput.lanes.iter();
    let parts: Vec<_> = parts
        .map(|(name, count)| (words.pair)(name, &(words.number)(count(work).into())))
        .collect();
    (words.list)(&parts)
}

fn table(stats: &Stats, words: &words::Stats) -> Markup {
    let lanes = &words.throughput.lanes;
    let mut head = vec![words.time_column];
    head.extend(lanes.iter().map(|(name, _)| *name));
    let cells =
        |work: &Work| lanes.iter().map(|(_, count)| (words.number)(count(work).into())).collect();
    let rows = stats.throughput.buckets.iter();
    let rows = rows.map(|bucket| ((words.time)(bucket.begin), cells(&bucket.work)));
    let total = (words.total_column.to_owned(), cells(&stats.throughput.total));
    let rows: Vec<Row> = rows.chain([total]).collect();
    chart::table("throughput", words.numbers, words.throughput.heading, &head, &rows)
}
