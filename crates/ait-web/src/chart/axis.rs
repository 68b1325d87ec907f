//! Axes: ticks at round times, and the grid lines of both directions.

use chrono::{DateTime, Datelike, NaiveDate, Utc};
use maud::{Markup, html};

use super::scale::{Scale, percent};
use crate::format::{self, Unit};
use ait_domain::Timestamp;
use ait_tracker::read_model::stats::PARTS_OF_DAY_MS;

/// A time axis with ticks at round times (UTC). The script moves them to round times of the reader.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct TimeAxis {
    begin_ms: i64,
    length_ms: i64,
    /// The distance of the ticks; `None` between months or years.
    step_ms: Option<i64>,
    /// The ticks of the axis, and one before and after it, which may move into it.
    ticks: Vec<Tick>,
}

#[derive(Clone, PartialEq, Debug)]
struct Tick {
    at_ms: i64,
    /// From 0 to 1 on the axis.
    position: f64,
    unit: Unit,
}

impl Tick {
    fn is_on_axis(&self) -> bool {
        (0.0..=1.0).contains(&self.position)
    }

    fn label(&self) -> String {
        format::tick(Timestamp::from_unix_millis(self.at_ms), self.unit)
    }
}

/// The most ticks of an axis. Narrow screens leave out every other one.
const MAX_TICKS: i64 = 8;
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
/// The steps between parts of a day and months.
const DAYS_MS: [i64; 3] = [2 * DAY_MS, 7 * DAY_MS, 14 * DAY_MS];
/// The first Monday of 1970.
const MONDAY_MS: i64 = 4 * DAY_MS;

impl TimeAxis {
    /// Creates the axis between two times.
    pub fn between(begin: Timestamp, end: Timestamp) -> Self {
        let begin_ms = begin.unix_millis();
        let end_ms = end.unix_millis();
        let length_ms = (end_ms - begin_ms).max(1);
        let mut steps = PARTS_OF_DAY_MS.into_iter().chain(DAYS_MS);
        let step_ms = steps.find(|step_ms| length_ms / step_ms < MAX_TICKS);
        let times: Vec<_> = match step_ms {
            Some(step_ms) => even(begin_ms, end_ms, step_ms).collect(),
            None => months(begin, end),
        };
        let tick = |(at_ms, unit)| Tick {
            at_ms,
            position: (at_ms - begin_ms) as f64 / length_ms as f64,
            unit,
        };
        Self { begin_ms, length_ms, step_ms, ticks: times.into_iter().map(tick).collect() }
    }

    /// Renders the axis below a plot of a height, with ticks up to a position.
    pub(crate) fn draw(&self, height: u32, last: f64) -> Markup {
        let is_shown = |tick: &Tick| tick.is_on_axis() && tick.position <= last;
        let first = self.ticks.iter().position(is_shown).unwrap_or(0);
        let shown = self.ticks.iter().filter(|tick| is_shown(tick)).count();
        let unit = self.ticks.first().map_or(Unit::Minute, |tick| tick.unit);
        html! {
            g.axis data-begin=(self.begin_ms) data-length=(self.length_ms)
                data-step=(self.step_ms.unwrap_or(0)) data-as=(unit.word()) data-last=(last)
            {
                @for (index, tick) in self.ticks.iter().enumerate() {
                    @let x = percent(tick.position);
                    g class=[class_of(index.abs_diff(first), shown)] data-at=(tick.at_ms)
                        display=[(!is_shown(tick)).then_some("none")]
                    {
                        line x1=(x) x2=(x) y1=(height) y2=(height + 5) {}
                        // The first label has room at its left, below the values.
                        text x=(x) y=(height + 20) text-anchor=(if tick.position > 0.96 { "end" } else { "middle" }) {
                            (tick.label())
                        }
                    }
                }
            }
        }
    }
}

/// Returns times at equal distances. The label of midnight is the day.
fn even(begin_ms: i64, end_ms: i64, step_ms: i64) -> impl Iterator<Item = (i64, Unit)> {
    let origin_ms = if step_ms >= 7 * DAY_MS { MONDAY_MS } else { 0 };
    let first_ms = (begin_ms - origin_ms + step_ms - 1).div_euclid(step_ms) * step_ms + origin_ms;
    let unit = |at_ms: i64| if at_ms.rem_euclid(DAY_MS) == 0 { Unit::Day } else { Unit::Minute };
    let times = (first_ms - step_ms..=end_ms + step_ms).step_by(step_ms as usize);
    times.map(move |at_ms| (at_ms, unit(at_ms)))
}

/// Returns the starts of months or years.
fn months(begin: Timestamp, end: Timestamp) -> Vec<(i64, Unit)> {
    let month_of = |time: Timestamp| {
        let date = DateTime::<Utc>::from(time);
        i64::from(date.year()) * 12 + i64::from(date.month0())
    };
    // The beginning of a month is on the axis if it is that of the axis, and the one before waits.
    let first = month_of(Timestamp::from_unix_millis(begin.unix_millis() - 1));
    let last = month_of(end);
    let years = std::iter::successors(Some(12), |months| Some(months * 10));
    let years = years.flat_map(|months| [1, 2, 5].map(|digit| months * digit));
    let mut steps = [1, 2, 3, 6].into_iter().chain(years);
    let step = steps.find(|step| (last - first) / step < MAX_TICKS).unwrap_or(i64::MAX);
    let unit = if step < 12 { Unit::Month } else { Unit::Year };
    let months = (first.div_euclid(step)..).map(|index| index * step);
    let starts = months.take_while(|month| *month <= last + step).filter_map(|month| {
        let year = month.div_euclid(12);
        let month = month.rem_euclid(12);
        let date = NaiveDate::from_ymd_opt(year as i32, month as u32 + 1, 1)?;
        Some(date.and_time(chrono::NaiveTime::MIN).and_utc().timestamp_millis())
    });
    starts.map(|at_ms| (at_ms, unit)).collect()
}

/// Returns the class by which narrow screens leave out every other tick.
fn class_of(index: usize, ticks: usize) -> Option<&'static str> {
    (ticks > 3 && index % 2 == 1).then_some("second")
}

/// Returns the anchor that keeps a label within the plot.
fn anchor(position: f64) -> &'static str {
    match position {
        position if position < 0.04 => "start",
        position if position > 0.96 => "end",
        _ => "middle",
    }
}

/// Renders the grid of a vertical scale of numbers, with labels left of the plot.
pub(super) fn vertical_grid(scale: Scale, y: u32, height: u32) -> Markup {
    let y_of =
        |value| format!("{:.1}", f64::from(y + height) - scale.position(value) * f64::from(height));
    html! {
        g.grid {
            @for value in scale.ticks() {
                line x2="100%" y1=(y_of(value)) y2=(y_of(value)) class=[(value == 0).then_some("zero")] {}
                text x="-8" y=(y_of(value)) dy=".35em" text-anchor="end" { (format::number(value)) }
            }
        }
    }
}

/// Renders the grid of a horizontal scale, with labels below the plot.
pub(super) fn horizontal_grid(scale: Scale, height: u32, label: fn(u64) -> String) -> Markup {
    html! {
        g.grid {
            @for (index, value) in scale.ticks().enumerate() {
                @let x = percent(scale.position(value));
                line x1=(x) x2=(x) y2=(height) class=[(value == 0).then_some("zero")] {}
                text x=(x) y=(height + 18) text-anchor=(anchor(scale.position(value)))
                    class=[class_of(index, scale.ticks().count())] { (label(value)) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(begin: &str, end: &str) -> Vec<String> {
        let at = |text: &str| Timestamp::parse(text).unwrap();
        let TimeAxis { ticks, .. } = TimeAxis::between(at(begin), at(end));
        ticks.iter().filter(|tick| tick.is_on_axis()).map(Tick::label).collect()
    }

    #[test]
    fn a_tick_waits_on_either_side_of_an_axis() {
        for (begin, end) in [
            ("2026-03-18T10:00:00Z", "2026-03-18T10:12:00Z"),
            ("2026-03-11T00:00:00Z", "2026-03-18T00:00:00Z"),
            ("2025-12-29T00:00:00Z", "2026-05-18T10:20:00Z"),
            ("2004-12-30T00:00:00Z", "2028-05-18T10:20:00Z"),
        ] {
            let [begin, end] = [begin, end].map(|text| Timestamp::parse(text).unwrap());
            let TimeAxis { ticks, .. } = TimeAxis::between(begin, end);
            let waiting: Vec<_> = ticks.iter().map(|tick| !tick.is_on_axis()).collect();
            assert!(waiting[0] && waiting[waiting.len() - 1], "{begin} {ticks:?}");
            assert_eq!(waiting.iter().filter(|waits| **waits).count(), 2, "{begin} {ticks:?}");
        }
    }

    #[test]
    fn ticks_are_at_round_times() {
        for (begin, end, expected) in [
            ("2026-03-18T10:00:00Z", "2026-03-18T10:12:00Z", "10:00, 10:05, 10:10"),
            ("2026-03-17T10:00:00Z", "2026-03-18T10:20:00Z", "12:00, 18:00, 18 Mar, 06:00"),
            (
                "2026-03-11T00:00:00Z",
                "2026-03-18T10:20:00Z",
                "11 Mar, 12 Mar, 13 Mar, 14 Mar, 15 Mar, 16 Mar, 17 Mar, 18 Mar",
            ),
            (
                "2026-02-16T00:00:00Z",
                "2026-03-18T10:20:00Z",
                "16 Feb, 23 Feb, 2 Mar, 9 Mar, 16 Mar",
            ),
            (
                "2025-12-29T00:00:00Z",
                "2026-05-18T10:20:00Z",
                "Jan 2026, Feb 2026, Mar 2026, Apr 2026, May 2026",
            ),
            (
                "2024-12-30T00:00:00Z",
                "2028-05-18T10:20:00Z",
                "Jan 2025, Jul 2025, Jan 2026, Jul 2026, Jan 2027, Jul 2027, Jan 2028",
            ),
            ("2004-12-30T00:00:00Z", "2028-05-18T10:20:00Z", "2005, 2010, 2015, 2020, 2025"),
            ("2026-03-18T10:00:00Z", "2026-03-18T10:00:00Z", "10:00"),
        ] {
            assert_eq!(labels(begin, end).join(", "), expected, "{begin} {end}");
        }
        let all = labels("0000-01-01T00:00:00Z", "9999-12-31T00:00:00Z");
        assert!((3..9).contains(&all.len()), "{all:?}");
    }
}
