//! The number of issues in each status over time, also of the parts of an issue.

use maud::{Markup, html};

use super::{nothing, number, statuses};
use crate::chart::{self, Area, Band, Caption, Hint, Row, TimeAxis};
use crate::format;
use crate::pages::components;
use crate::strings::stats as text;
use ait_domain::Status;
use ait_tracker::read_model::stats::Stats;

/// The chart needs at least this many points with issues.
const MIN_POINTS: usize = 3;
/// The heights of plots.
const HEIGHT: u32 = 280;
const SMALL_HEIGHT: u32 = 110;

/// The data of one chart.
struct Flow<'a> {
    id: &'a str,
    texts: &'a text::Flow,
    /// The names of the areas with their classes, from top to bottom.
    bands: Vec<(&'a str, &'a str)>,
    /// The number of issues in each of them, at each point.
    points: Vec<Vec<u32>>,
    height: u32,
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
        about = format!("{about} Issues that ended before are left out.");
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
    let bands = statuses.into_iter().map(|(status, class)| (text::status(status), class));
    Flow { id, texts, bands: bands.collect(), points, height: HEIGHT }
}

/// Renders how many parts of an issue were filed and how many ended over time; nothing while there is little to draw.
pub(in crate::pages) fn burn_up(stats: &Stats) -> Markup {
    let bands = vec![
        (text::OPEN_PARTS, "status-created"),
        (text::status(Status::Rejected), "status-rejected"),
        (text::status(Status::Closed), "status-closed"),
    ];
    let points = stats.flow.points.iter().map(|point| {
        let ended = [Status::Rejected, Status::Closed].map(|status| point.counts.in_status(status));
        [point.counts.open()].into_iter().chain(ended).collect()
    });
    let points = points.collect();
    let flow = Flow { id: "burn-up", texts: &text::BURN_UP, bands, points, height: SMALL_HEIGHT };
    let classes: Vec<_> = flow.bands.iter().map(|(_, class)| *class).collect();
    html! {
        @if has_enough(stats) {
            figure #burn-up {
                (chart::patterns(&classes))
                (legend(&flow))
                (picture(stats, &flow))
                figcaption { (flow.texts.about) " " (components::all_utc()) }
            }
        }
    }
}

fn has_enough(stats: &Stats) -> bool {
    stats.flow.points.iter().filter(|point| point.counts.total() > 0).count() >= MIN_POINTS
}

fn legend(flow: &Flow<'_>) -> Markup {
    let last = flow.bands.iter().zip(&flow.points[flow.points.len() - 1]);
    let entries = last.map(|(&(name, class), &count)| (class, name, number(count)));
    chart::legend(&entries.collect::<Vec<_>>())
}

fn section(stats: &Stats, flow: &Flow<'_>, about: &str) -> Markup {
    if !has_enough(stats) {
        return super::section(
            flow.id,
            flow.texts.heading,
            about,
            &nothing(
                "The first issue is too recent: there is nothing to draw yet. Come back later.",
            ),
        );
    }
    let chart = html! {
        (legend(flow))
        figure.wide-labels { (picture(stats, flow)) }
        (table(stats, flow))
    };
    super::section(flow.id, flow.texts.heading, about, &chart)
}

/// Returns the counts that are not zero, as text.
fn counts_text(flow: &Flow<'_>, counts: &[u32]) -> String {
    let counts = flow.bands.iter().zip(counts).filter(|(_, count)| **count > 0);
    let pairs: Vec<_> =
        counts.map(|((name, _), &count)| text::pair(name, &number(count))).collect();
    pairs.join(", ")
}

fn picture(stats: &Stats, flow: &Flow<'_>) -> Markup {
    let times: Vec<_> = stats.flow.points.iter().map(|point| point.at).collect();
    let length_ms = stats.now.millis_since(stats.begin).max(1) as f64;
    let positions = times.iter().map(|time| time.millis_since(stats.begin) as f64 / length_ms);
    let hints = times
        .iter()
        .zip(&flow.points)
        .map(|(&at, counts)| Hint { at, text: counts_text(flow, counts) });
    let bands = flow.bands.iter().enumerate().map(|(index, &(name, class))| {
        let values: Vec<_> = flow.points.iter().map(|counts| counts[index]).collect();
        let last = values.last().copied().unwrap_or(0);
        Band { class, name, value: number(last), values }
    });
    let area = Area {
        bands: bands.collect(),
        positions: positions.collect(),
        hints: hints.collect(),
        axis: TimeAxis::between(stats.begin, stats.now),
        height: flow.height,
    };
    let last = counts_text(flow, &flow.points[flow.points.len() - 1]);
    let [from, until] = [stats.begin, stats.now].map(format::time);
    let description =
        format!("{}, from {from} to {until} (UTC). At the end: {last}.", flow.texts.description);
    area.draw(Caption { id: flow.id, title: flow.texts.heading, description: &description })
}

fn table(stats: &Stats, flow: &Flow<'_>) -> Markup {
    let mut head = vec![text::TIME_COLUMN];
    head.extend(flow.bands.iter().map(|(name, _)| *name));
    let rows = stats.flow.points.iter().zip(&flow.points).map(|(point, counts)| {
        (components::local_time(point.at), counts.iter().map(|&count| number(count)).collect())
    });
    let rows: Vec<Row> = rows.collect();
    chart::table(flow.id, flow.texts.heading, &head, &rows)
}
