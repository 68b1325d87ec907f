//! How many issues were in each status as time went on.

use maud::{Markup, html};

use super::{CLASSES, nothing};
use crate::domain::Status;
use crate::overview::stats::Stats;
use crate::web::chart::{self, Area, Band, Caption, Row};
use crate::web::words::stats as words;

/// Fewer points with issues make no picture.
const MIN_POINTS: usize = 3;

/// What one of the pictures shows.
struct Part<'a> {
    id: &'a str,
    texts: &'a words::Flow,
    /// The statuses, the uppermost first, with what their colours go by.
    statuses: Vec<(Status, &'a str)>,
    /// The number in each of them at each point.
    points: Vec<Vec<u32>>,
}

/// The section of the open issues.
pub(super) fn open(stats: &Stats, words: &words::Stats) -> Markup {
    let part = part(stats, "open", &words.open, |status| !status.is_terminal());
    section(stats, &part, words.open.about, words)
}

/// The section of the cumulative flow.
pub(super) fn flow(stats: &Stats, words: &words::Stats) -> Markup {
    let before = stats.flow.points[0].counts;
    let about = match before.total() > before.open() {
        true => format!("{} {}", words.flow.about, (words.ended_since)(&(words.time)(stats.begin))),
        false => words.flow.about.to_owned(),
    };
    section(stats, &part(stats, "flow", &words.flow, |_| true), &about, words)
}

/// What is drawn: issues that had ended before are left out, or they would press all others flat.
fn part<'a>(
    stats: &Stats,
    id: &'a str,
    texts: &'a words::Flow,
    is_shown: fn(Status) -> bool,
) -> Part<'a> {
    let all = Status::ALL.iter().copied().zip(CLASSES);
    let statuses: Vec<_> = all.filter(|(status, _)| is_shown(*status)).collect();
    let before = stats.flow.points[0].counts;
    let points = stats.flow.points.iter().map(|point| {
        let counts = statuses.iter().map(|&(status, _)| {
            let ended = if status.is_terminal() { before.in_status(status) } else { 0 };
            point.counts.in_status(status).saturating_sub(ended)
        });
        counts.collect()
    });
    let points = points.collect();
    Part { id, texts, statuses, points }
}

fn section(stats: &Stats, part: &Part<'_>, about: &str, words: &words::Stats) -> Markup {
    let busy = stats.flow.points.iter().filter(|point| point.counts.total() > 0);
    if busy.count() < MIN_POINTS {
        return super::section(part.id, part.texts.heading, about, &nothing(words.young));
    }
    let last = &part.points[part.points.len() - 1];
    let entries: Vec<_> = part
        .statuses
        .iter()
        .zip(last)
        .map(|(&(status, class), &count)| {
            (class, (words.status)(status), (words.number)(count.into()))
        })
        .collect();
    let chart = html! {
        (chart::legend(&entries))
        figure.wide-labels { (picture(stats, part, words)) }
        (table(stats, part, words))
    };
    super::section(part.id, part.texts.heading, about, &chart)
}

fn picture(stats: &Stats, part: &Part<'_>, words: &words::Stats) -> Markup {
    let times: Vec<_> = stats.flow.points.iter().map(|point| point.at).collect();
    let length_ms = stats.now.millis_since(stats.begin).max(1) as f64;
    let places = times.iter().map(|time| time.millis_since(stats.begin) as f64 / length_ms);
    let number = |count: u32| (words.number)(count.into());
    let said = |counts: &Vec<u32>| {
        let parts = part.statuses.iter().zip(counts).filter(|(_, count)| **count > 0);
        let parts: Vec<_> = parts
            .map(|((status, _), &count)| (words.pair)((words.status)(*status), &number(count)))
            .collect();
        (words.list)(&parts)
    };
    let hints = times.iter().zip(&part.points);
    let bands = part.statuses.iter().enumerate().map(|(place, &(status, class))| {
        let values: Vec<_> = part.points.iter().map(|counts| counts[place]).collect();
        let last = values.last().copied().unwrap_or(0);
        Band { class, name: (words.status)(status), value: number(last), values }
    });
    let area = Area {
        bands: bands.collect(),
        places: places.collect(),
        hints: hints
            .map(|(&time, counts)| format!("{}\n{}", (words.time)(time), said(counts)))
            .collect(),
        ticks: chart::time_ticks(stats.begin, stats.now, words.tick),
        number: words.number,
    };
    let last = said(&part.points[part.points.len() - 1]);
    let [from, until] = [stats.begin, stats.now].map(words.time);
    let description = (part.texts.description)(&from, &until, &last);
    area.draw(Caption { id: part.id, title: part.texts.heading, description: &description })
}

fn table(stats: &Stats, part: &Part<'_>, words: &words::Stats) -> Markup {
    let mut head = vec![words.time_column];
    head.extend(part.statuses.iter().map(|(status, _)| (words.status)(*status)));
    let rows = stats.flow.points.iter().zip(&part.points).map(|(point, counts)| {
        let counts = counts.iter().map(|&count| (words.number)(count.into()));
        ((words.time)(point.at), counts.collect())
    });
    let rows: Vec<Row> = rows.collect();
    chart::table(part.id, words.numbers, part.texts.heading, &head, &rows)
}
