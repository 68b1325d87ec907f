//! How old the open issues are.

use maud::{Markup, html};

use super::{CLASSES, nothing};
use crate::domain::Status;
use crate::overview::stats::{AgeBand, Stats};
use crate::web::chart::{self, Bar, Caption, Row};
use crate::web::words::stats as words;

/// The section of the age of the queue.
pub(super) fn section(stats: &Stats, words: &words::Stats) -> Markup {
    let texts = &words.ages;
    if stats.open == 0 {
        return super::section("ages", texts.heading, texts.about, &nothing(texts.nothing));
    }
    let entries: Vec<_> = open()
        .map(|(status, class)| {
            let count = stats.present.in_status(status);
            (class, (words.status)(status), (words.number)(count.into()))
        })
        .collect();
    let chart = html! {
        (chart::legend(&entries))
        figure.names { (picture(stats, words)) }
        (table(stats, words))
    };
    super::section("ages", texts.heading, texts.about, &chart)
}

/// The statuses that an issue can still leave, with what their colours go by.
fn open() -> impl Iterator<Item = (Status, &'static str)> {
    let all = Status::ALL.iter().copied().zip(CLASSES);
    all.filter(|(status, _)| !status.is_terminal())
}

fn picture(stats: &Stats, words: &words::Stats) -> Markup {
    let name = |band: &AgeBand| (words.ages.band)(band.from_ms, band.under_ms);
    let total = |band: &AgeBand| (words.number)(band.counts.total().into());
    let bar = |band: &AgeBand| {
        let parts = open().map(|(status, class)| {
            let count = band.counts.in_status(status);
            let value = (words.number)(count.into());
            (
                class,
                count,
                format!("{}\n{}", name(band), (words.pair)((words.status)(status), &value)),
            )
        });
        Bar { name: name(band), total: total(band), parts: parts.collect() }
    };
    let rows: Vec<_> = stats.ages.iter().map(bar).collect();
    let said: Vec<_> =
        stats.ages.iter().map(|band| (words.pair)(&name(band), &total(band))).collect();
    let description = (words.ages.description)(&(words.list)(&said));
    let caption = Caption { id: "ages", title: words.ages.heading, description: &description };
    chart::bars(caption, &rows, words.number)
}

fn table(stats: &Stats, words: &words::Stats) -> Markup {
    let mut head = vec![words.ages.column];
    head.extend(open().map(|(status, _)| (words.status)(status)));
    head.push(words.total_column);
    let number = |count: u32| (words.number)(count.into());
    let rows = stats.ages.iter().map(|band| {
        let cells = open().map(|(status, _)| number(band.counts.in_status(status)));
        let cells = cells.chain([number(band.counts.total())]);
        ((words.ages.band)(band.from_ms, band.under_ms), cells.collect())
    });
    let rows: Vec<Row> = rows.collect();
    chart::table("ages", words.numbers, words.ages.heading, &head, &rows)
}
