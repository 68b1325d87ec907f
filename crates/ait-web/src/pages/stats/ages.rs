//! The age of the open issues.

use maud::{Markup, html};

use super::{nothing, number, statuses};
use crate::chart::{self, Bar, Caption, Row};
use crate::strings::stats as text;
use ait_domain::Status;
use ait_tracker::read_model::stats::{AgeBucket, Stats};

/// Renders the section.
pub(super) fn section(stats: &Stats) -> Markup {
    if stats.open == 0 {
        return super::section("ages", text::AGES, text::AGES_ABOUT, &nothing("No issue is open."));
    }
    let legend: Vec<_> = open_statuses()
        .map(|(status, class)| {
            (class, text::status(status), number(stats.present.in_status(status)))
        })
        .collect();
    let chart = html! {
        (chart::legend(&legend))
        figure.names { (picture(stats)) }
        (table(stats))
    };
    super::section("ages", text::AGES, text::AGES_ABOUT, &chart)
}

fn open_statuses() -> impl Iterator<Item = (Status, &'static str)> {
    statuses().filter(|(status, _)| status.is_open())
}

fn name(bucket: &AgeBucket) -> String {
    text::age_bucket(bucket.from_ms, bucket.under_ms)
}

fn total(bucket: &AgeBucket) -> String {
    number(bucket.counts.total())
}

fn picture(stats: &Stats) -> Markup {
    let bar = |bucket: &AgeBucket| {
        let parts = open_statuses().map(|(status, class)| {
            let count = bucket.counts.in_status(status);
            let hint = text::pair(text::status(status), &number(count));
            (class, count, format!("{}\n{hint}", name(bucket)))
        });
        Bar { name: name(bucket), total: total(bucket), parts: parts.collect() }
    };
    let bars: Vec<_> = stats.ages.iter().map(bar).collect();
    let sums: Vec<_> = bars.iter().map(|bar| text::pair(&bar.name, &bar.total)).collect();
    let description =
        format!("Bars, one for each age, divided by status. Open issues: {}.", sums.join(", "));
    chart::bars(Caption { id: "ages", title: text::AGES, description: &description }, &bars)
}

fn table(stats: &Stats) -> Markup {
    let mut head = vec!["Age"];
    head.extend(open_statuses().map(|(status, _)| text::status(status)));
    head.push(text::TOTAL_COLUMN);
    let rows = stats.ages.iter().map(|bucket| {
        let cells = open_statuses().map(|(status, _)| number(bucket.counts.in_status(status)));
        (html! { (name(bucket)) }, cells.chain([total(bucket)]).collect())
    });
    let rows: Vec<Row> = rows.collect();
    chart::table("ages", text::AGES, &head, &rows)
}
