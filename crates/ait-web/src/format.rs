//! Formats numbers, durations and times in English.

use chrono::{DateTime, Utc};

use ait_domain::Timestamp;

const MINUTE_MS: u64 = 60_000;
pub const HOUR_MS: u64 = 60 * MINUTE_MS;
pub const DAY_MS: u64 = 24 * HOUR_MS;
pub const WEEK_MS: u64 = 7 * DAY_MS;

/// Returns a number with its digits in groups of three.
pub fn number(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join(",")
}

/// Returns a duration in its two largest units: `3 h 12 min`.
pub fn precise_duration(span_ms: u64) -> String {
    let units = [(DAY_MS, "d"), (HOUR_MS, "h"), (MINUTE_MS, "min"), (1_000, "s")];
    let largest = units.iter().position(|(unit_ms, _)| span_ms >= *unit_ms);
    let largest = largest.unwrap_or(units.len() - 1);
    let (unit_ms, unit) = units[largest];
    let whole = span_ms / unit_ms;
    let rest_ms = span_ms % unit_ms;
    // Hours do not matter beside a hundred days, nor seconds beside ten minutes.
    let precise_below = if unit_ms == MINUTE_MS { 10 } else { 100 };
    match units.get(largest + 1).map(|&(unit_ms, unit)| (rest_ms / unit_ms, unit)) {
        Some((rest, smaller)) if rest > 0 && whole < precise_below => {
            format!("{whole} {unit} {rest} {smaller}")
        }
        _ => format!("{} {unit}", number(whole)),
    }
}

/// Returns a point in time, to the minute.
pub fn time(time: Timestamp) -> String {
    format_time(time, "%-d %b %Y, %H:%M")
}

/// Returns the time of the day, to the second.
pub fn clock(time: Timestamp) -> String {
    format_time(time, "%H:%M:%S")
}

/// Returns a point in time, to the minute and with its time zone.
pub fn exact_time(time: Timestamp) -> String {
    format_time(time, "%Y-%m-%d %H:%M UTC")
}

/// What the label of a time shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    Minute,
    Day,
    Month,
    Year,
}

impl Unit {
    /// Returns the word by which the script knows it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Day => "day",
            Self::Month => "month",
            Self::Year => "year",
        }
    }
}

/// Returns the label of a tick on a time axis.
pub fn tick(time: Timestamp, unit: Unit) -> String {
    let format = match unit {
        Unit::Minute => "%H:%M",
        Unit::Day => "%-d %b",
        Unit::Month => "%b %Y",
        Unit::Year => "%Y",
    };
    format_time(time, format)
}

fn format_time(time: Timestamp, format: &str) -> String {
    DateTime::<Utc>::from(time).format(format).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_thousands_separators() {
        for (given, expected) in
            [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")]
        {
            assert_eq!(number(given), expected);
        }
    }

    #[test]
    fn precise_durations_have_at_most_two_units() {
        for (span_ms, expected) in [
            (0, "0 s"),
            (999, "0 s"),
            (59_999, "59 s"),
            (60_000, "1 min"),
            (61_000, "1 min 1 s"),
            (661_000, "11 min"),
            (11_520_000, "3 h 12 min"),
            (DAY_MS, "1 d"),
            (DAY_MS + 2 * HOUR_MS, "1 d 2 h"),
            (1_234 * DAY_MS + HOUR_MS, "1,234 d"),
        ] {
            assert_eq!(precise_duration(span_ms), expected);
        }
    }
}
