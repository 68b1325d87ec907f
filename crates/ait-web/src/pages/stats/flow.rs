//! The number of issues in each status over time.

use maud::{Markup, html};

use super::{nothing, number, statuses};
use crate::chart::{self, Area, Band, Caption, Row};
use crate::format;
use crate::strings::stats as text;
use ait_domain::Status;
use ait_tracker::read_model::stats::Stats;

/// The chart needs at least this many points with issues.
const MIN_POINTS: usize = 3;

/// The data of one chart.
struct Flow<'a> {
    id: &'a str,
    texts: &'a text::Flow,
    /// The statuses with their classes, from top to bottom.
    statuses: Vec<(Status, &'a str)>,
    /// The number of issues in each of these statuses, at each point.
    points: Vec<Vec<u32>>,
}

/// Renders the section of the open issues.
pub(super) fn open(stats: &Stats) -> Markup {
    let flow = flow_of(stats, "open", &text::OPEN, |status| status.is_open());
    section(stats, &flow, text::OPEN.about)
}

/// Renders the section of the cumulative flow.
pub(super) fn flow(stats: &Stats) -> Markup {
    let before = stats.flow.points[0].counts;
    let mut about = text::FLOW.about.to_owned();
    if before.total() > before.open() {
        let begin = format::time(stats.begin);
        about = format!("{about} Issues that ended before {begin} are left out.");
    }
    section(stats, &flow_of(stats, "flow", &text::FLOW, |_| true), &about)
}

/// Returns the data of a chart.
///
/// It leaves out the issues that had ended before, because they would flatten all others.
fn flow_of<'a>(
    stats: &Stats,
    id: &'a str,
    texts: &'a text::Flow,
    is_shown: fn(Status) -> bool,
) -> Flow<'a> {
    let statuses: Vec<_> = statuses().filter(|(status, _)| is_shown(*status)).collect();
    let before = stats.flow.points[0].counts;
    let points = stats.flow.points.iter().map(|point| {
        let counts = statuses.iter().map(|&(status, _)| {
            let ended = if status.has_ended() { before.in_status(status) } else { 0 };
            point.counts.in_status(status).saturating_sub(ended)
        });
        counts.collect()
    });
    let points = points.collect();
    Flow { id, texts, statuses, points }
}

fn section(stats: &Stats, flow: &Flow<'_>, about: &str) -> Markup {
    let busy = stats.flow.points.iter().filter(|point| point.counts.total() > 0);
    if busy.count() < MIN_POINTS {
        return super::section(
            flow.id,
            flow.texts.heading,
            about,
            &nothing(
                "The first issue is too recent: there is nothing to draw yet. Come back later.",
            ),
        );
    }
    let last = flow.statuses.iter().zip(&flow.points[flow.points.len() - 1]);
    let legend: Vec<_> = last
        .map(|(&(status, class), &count)| (class, text::status(status), number(count)))
        .collect();
    let chart = html! {
        (chart::legend(&legend))
        figure.wide-labels { (picture(stats, flow)) }
        (table(stats, flow))
    };
    super::section(flow.id, flow.texts.heading, about, &chart)
}

/// Returns the counts that are not zero, as text.
fn counts_text(flow: &Flow<'_>, counts: &[u32]) -> String {
    let counts = flow.statuses.iter().zip(counts).filter(|(_, count)| **count > 0);
    let pairs: Vec<_> = counts
        .map(|((status, _), &count)| text::pair(text::status(*status), &number(count)))
        .collect();
    pairs.join(", ")
}

fn picture(stats: &Stats, flow: &Flow<'_>) -> Markup {
    let times: Vec<_> = stats.flow.points.iter().map(|point| point.at).collect();
    let length_ms = stats.now.millis_since(stats.begin).max(1) as f64;
    let positions = times.iter().map(|time| time.millis_since(stats.begin) as f64 / length_ms);
    let hints = times
        .iter()
        .zip(&flow.points)
        .map(|(&time, counts)| format!("{}\n{}", format::time(time), counts_text(flow, counts)));
    let bands = flow.statuses.iter().enumerate().map(|(index, &(status, class))| {
        let values: Vec<_> = flow.points.iter().map(|counts| counts[index]).collect();
        let last = values.last().copied().unwrap_or(0);
        Band { class, name: text::status(status), value: number(last), values }
    });
    let area = Area {
        bands: bands.collect(),
        positions: positions.collect(),
        hints: hints.collect(),
        ticks: chart::time_ticks(stats.begin, stats.now),
    };
    let last = counts_text(flow, &flow.points[flow.points.len() - 1]);
    let [from, until] = [stats.begin, stats.now].map(format::time);
    let description =
        format!("{}, from {from} to {until}. At the end: {last}.", flow.texts.description);
    area.draw(Caption { id: flow.id, title: flow.texts.heading, description: &description })
}

fn table(stats: &Stats, flow: &Flow<'_>) -> Markup {
    let mut head = vec![text::TIME_COLUMN];
    head.extend(flow.statuses.iter().map(|(status, _)| text::status(*status)));
    let rows = stats.flow.points.iter().zip(&flow.points).map(|(point, counts)| {
        (format::time(point.at), counts.iter().map(|&count| number(count)).collect())
    });
    let rows: Vec<Row> = rows.collect();
    chart::table(flow.id, flow.texts.heading, &head, &rows)
}
