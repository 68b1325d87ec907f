//! Axes: round times, and the marks of both directions.

use chrono::{DateTime, Datelike, NaiveDate, Utc};
use maud::{Markup, html};

use super::scale::{Scale, percent};
use crate::domain::Timestamp;
use crate::overview::stats::PARTS_OF_DAY_MS;

/// What a tick of an axis of times tells.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::web) enum Unit {
    /// A time of the day.
    Minute,
    /// A day.
    Day,
    /// A month.
    Month,
    /// A year.
    Year,
}

/// A mark on an axis of times.
#[derive(Clone, PartialEq, Debug)]
pub(in crate::web) struct Tick {
    /// Where it is, from 0 to 1.
    pub share: f64,
    /// What it says.
    pub label: String,
}

/// The most ticks of an axis. On a narrow screen every other one is left out.
const MAX_TICKS: i64 = 8;
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
/// Steps of days, beyond those that divide one.
const DAYS_MS: [i64; 3] = [2 * DAY_MS, 7 * DAY_MS, 14 * DAY_MS];
/// The first Monday of 1970.
const MONDAY_MS: i64 = 4 * DAY_MS;

/// Round times of UTC within a span, labelled.
pub(in crate::web) fn time_ticks(
    begin: Timestamp,
    end: Timestamp,
    label: fn(Timestamp, Unit) -> String,
) -> Vec<Tick> {
    let (begin_ms, end_ms) = (begin.unix_millis(), end.unix_millis());
    let length_ms = (end_ms - begin_ms).max(1);
    let mut steps = PARTS_OF_DAY_MS.into_iter().chain(DAYS_MS);
    let step_ms = steps.find(|step_ms| length_ms / step_ms < MAX_TICKS);
    let times: Vec<_> = match step_ms {
        Some(step_ms) => even(begin_ms, end_ms, step_ms).collect(),
        None => months(begin, end),
    };
    let tick = |(at_ms, unit)| Tick {
        share: (at_ms - begin_ms) as f64 / length_ms as f64,
        label: label(Timestamp::from_unix_millis(at_ms), unit),
    };
    times.into_iter().map(tick).collect()
}

/// Times at equal distances; midnight is shown as the day.
fn even(begin_ms: i64, end_ms: i64, step_ms: i64) -> impl Iterator<Item = (i64, Unit)> {
    let origin_ms = if step_ms >= 7 * DAY_MS { MONDAY_MS } else { 0 };
    let first_ms = (begin_ms - origin_ms + step_ms - 1).div_euclid(step_ms) * step_ms + origin_ms;
    let unit = |at_ms: i64| if at_ms.rem_euclid(DAY_MS) == 0 { Unit::Day } else { Unit::Minute };
    (first_ms..=end_ms).step_by(step_ms as usize).map(move |at_ms| (at_ms, unit(at_ms)))
}

/// The first days of months or of years.
fn months(begin: Timestamp, end: Timestamp) -> Vec<(i64, Unit)> {
    let number = |time: Timestamp| {
        let date = DateTime::<Utc>::from(time);
        i64::from(date.year()) * 12 + i64::from(date.month0())
    };
    let (first, last) = (number(begin), number(end));
    let years = std::iter::successors(Some(12), |months| Some(months * 10));
    let years = years.flat_map(|months| [1, 2, 5].map(|digit| months * digit));
    let mut steps = [1, 2, 3, 6].into_iter().chain(years);
    let step = steps.find(|step| (last - first) / step < MAX_TICKS).unwrap_or(i64::MAX);
    let unit = if step < 12 { Unit::Month } else { Unit::Year };
    let begins = ((first + step - 1).div_euclid(step)..).map(|number| number * step);
    let begins = begins.take_while(|number| *number <= last).filter_map(|number| {
        let (year, month) = (number.div_euclid(12), number.rem_euclid(12));
        let date = NaiveDate::from_ymd_opt(year as i32, month as u32 + 1, 1)?;
        Some(date.and_time(chrono::NaiveTime::MIN).and_utc().timestamp_millis())
    });
    let begin_ms = begin.unix_millis();
    begins.filter(|at_ms| *at_ms >= begin_ms).map(|at_ms| (at_ms, unit)).collect()
}

/// The marks of times below a plot.
pub(super) fn time_axis(ticks: &[Tick], height: u32) -> Markup {
    html! {
        g.axis {
            @for (number, tick) in ticks.iter().enumerate() {
                g class=[class_of(number, ticks.len())] {
                    line x1=(percent(tick.share)) x2=(percent(tick.share)) y1=(height) y2=(height + 5) {}
                    text x=(percent(tick.share)) y=(height + 20) text-anchor=(time_anchor(tick.share)) { (tick.label) }
                }
            }
        }
    }
}

/// Left of the first time there is room, below the values.
fn time_anchor(share: f64) -> &'static str {
    if share > 0.96 { "end" } else { "middle" }
}

/// The class of every other mark where there are many, so that it can be left out.
fn class_of(number: usize, marks: usize) -> Option<&'static str> {
    (marks > 3 && number % 2 == 1).then_some("second")
}

/// Labels at the ends do not go beyond them.
fn anchor(share: f64) -> &'static str {
    match share {
        share if share < 0.04 => "start",
        share if share > 0.96 => "end",
        _ => "middle",
    }
}

/// The lines of a scale that goes up, with their values left of the plot.
pub(super) fn upward(scale: Scale, y: u32, height: u32, label: fn(u64) -> String) -> Markup {
    let place =
        |value| format!("{:.1}", f64::from(y + height) - scale.share(value) * f64::from(height));
    html! {
        g.grid {
            @for value in scale.ticks() {
                line x2="100%" y1=(place(value)) y2=(place(value)) class=[(value == 0).then_some("zero")] {}
                text x="-8" y=(place(value)) dy=".35em" text-anchor="end" { (label(value)) }
            }
        }
    }
}

/// The lines of a scale that goes to the right, with their values below the plot.
pub(super) fn rightward(scale: Scale, height: u32, label: fn(u64) -> String) -> Markup {
    html! {
        g.grid {
            @for (number, value) in scale.ticks().enumerate() {
                @let place = percent(scale.share(value));
                line x1=(place) x2=(place) y2=(height) class=[(value == 0).then_some("zero")] {}
                text x=(place) y=(height + 18) text-anchor=(anchor(scale.share(value)))
                    class=[class_of(number, scale.ticks().count())] { (label(value)) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(begin: &str, end: &str) -> Vec<String> {
        let at = |text: &str| Timestamp::parse(text).unwrap();
        let label = |time: Timestamp, unit| {
            let text = time.to_string();
            match unit {
                Unit::Minute => text[11..16].to_owned(),
                Unit::Day => text[5..10].to_owned(),
                Unit::Month => text[..7].to_owned(),
                Unit::Year => text[..4].to_owned(),
            }
        };
        let ticks = time_ticks(at(begin), at(end), label);
        assert!(ticks.iter().all(|tick| (0.0..=1.0).contains(&tick.share)), "{ticks:?}");
        ticks.into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_at_round_times() {
        for (begin, end, expected) in [
            ("2026-03-18T10:00:00Z", "2026-03-18T10:12:00Z", "10:00 10:05 10:10"),
            ("2026-03-17T10:00:00Z", "2026-03-18T10:20:00Z", "12:00 18:00 03-18 06:00"),
            (
                "2026-03-11T00:00:00Z",
                "2026-03-18T10:20:00Z",
                "03-11 03-12 03-13 03-14 03-15 03-16 03-17 03-18",
            ),
            ("2026-02-16T00:00:00Z", "2026-03-18T10:20:00Z", "02-16 02-23 03-02 03-09 03-16"),
            (
                "2025-12-29T00:00:00Z",
                "2026-05-18T10:20:00Z",
                "2026-01 2026-02 2026-03 2026-04 2026-05",
            ),
            (
                "2024-12-30T00:00:00Z",
                "2028-05-18T10:20:00Z",
                "2025-01 2025-07 2026-01 2026-07 2027-01 2027-07 2028-01",
            ),
            ("2004-12-30T00:00:00Z", "2028-05-18T10:20:00Z", "2005 2010 2015 2020 2025"),
            ("2026-03-18T10:00:00Z", "2026-03-18T10:00:00Z", "10:00"),
        ] {
            assert_eq!(labels(begin, end).join(" "), expected, "{begin} {end}");
        }
        let all = labels("0000-01-01T00:00:00Z", "9999-12-31T00:00:00Z");
        assert!((3..9).contains(&all.len()), "{all:?}");
    }
}
