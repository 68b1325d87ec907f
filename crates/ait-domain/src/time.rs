//! The single representation of time in the store and in JSON.

use std::fmt;

use chrono::{DateTime, Datelike, NaiveDate, SecondsFormat, SubsecRound, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A point in time with millisecond resolution.
///
/// Written as ISO 8601 in UTC with exactly three decimals and a `Z` (`2026-01-31T09:30:00.000Z`), the format of
/// JavaScript's `Date.prototype.toISOString`. Any RFC 3339 time is accepted and converted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(DateTime<Utc>);

impl Timestamp {
    /// The first time that can be written: the begin of the year 0.
    pub const MIN: Self = Self::at_millis(-62_167_219_200_000);
    /// The last time that can be written: the end of the year 9999.
    pub const MAX: Self = Self::at_millis(253_402_300_799_999);

    const fn at_millis(unix_ms: i64) -> Self {
        match DateTime::from_timestamp_millis(unix_ms) {
            Some(time) => Self(time),
            None => panic!("chrono covers the years 0 to 9999"),
        }
    }

    /// Returns the next time, which is a millisecond later; the last time has none after it.
    #[must_use]
    pub fn next(self) -> Self {
        Self::from_unix_millis(self.unix_millis() + 1)
    }

    /// Returns the milliseconds from `earlier` to `self`; zero if `earlier` is later.
    pub fn millis_since(self, earlier: Self) -> u64 {
        (self.0 - earlier.0).num_milliseconds().try_into().unwrap_or(0)
    }

    /// Returns the milliseconds since 1970-01-01T00:00:00Z, negative before it.
    pub fn unix_millis(self) -> i64 {
        self.0.timestamp_millis()
    }

    /// Returns the time that many milliseconds after 1970-01-01T00:00:00Z, clamped to the years 0 to 9999, because
    /// only these can be written.
    pub fn from_unix_millis(unix_ms: i64) -> Self {
        Self::at_millis(unix_ms.clamp(Self::MIN.unix_millis(), Self::MAX.unix_millis()))
    }

    /// Parses an RFC 3339 time and truncates it to milliseconds. Returns `None` also outside the years 0 to 9999 in
    /// UTC, because such times cannot be written.
    pub fn parse(text: &str) -> Option<Self> {
        if let Some(time) = Self::parse_written(text) {
            return Some(time);
        }
        let time = DateTime::parse_from_rfc3339(text).ok()?.with_timezone(&Utc);
        (0..=9999).contains(&time.year()).then(|| Self::from(time))
    }

    /// Parses a time in exactly the form in which `ait` writes times.
    ///
    /// A fast path: a file has about ten times for each issue, nearly all in this form, and parsing it takes a tenth
    /// of the work of the general parser. `None` does not mean that the text is invalid: leap seconds, too, are left
    /// to the general parser.
    fn parse_written(text: &str) -> Option<Self> {
        let digits: &[u8; 24] = text.as_bytes().try_into().ok()?;
        let is_separated =
            [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'.'), (23, b'Z')]
                .iter()
                .all(|&(place, separator)| digits[place] == separator);
        if !is_separated {
            return None;
        }
        let number = |begin: usize, end: usize| {
            digits[begin..end].iter().try_fold(0, |number: u32, digit| {
                digit.is_ascii_digit().then(|| 10 * number + u32::from(digit - b'0'))
            })
        };
        let date = NaiveDate::from_ymd_opt(number(0, 4)? as i32, number(5, 7)?, number(8, 10)?)?;
        let time = (number(11, 13)?, number(14, 16)?, number(17, 19)?, number(20, 23)?);
        Some(Self(date.and_hms_milli_opt(time.0, time.1, time.2, time.3)?.and_utc()))
    }
}

impl From<DateTime<Utc>> for Timestamp {
    fn from(time: DateTime<Utc>) -> Self {
        Self(time.trunc_subsecs(3))
    }
}

impl From<Timestamp> for DateTime<Utc> {
    fn from(time: Timestamp) -> Self {
        time.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Timestamp;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a time such as \"2026-01-31T09:30:00.000Z\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Timestamp, E> {
                Timestamp::parse(text)
                    .ok_or_else(|| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_outside_years_0_to_9999_in_utc_are_rejected() {
        for text in ["0000-01-01T00:00:00+01:00", "9999-12-31T23:59:59-00:01"] {
            assert_eq!(Timestamp::parse(text), None);
        }
        let last = Timestamp::parse("9999-12-31T23:59:59+00:01").unwrap();
        assert_eq!(Timestamp::parse(&last.to_string()), Some(last));
    }

    #[test]
    fn times_are_written_in_utc_with_milliseconds() {
        for (given, written) in [
            ("2026-01-31T09:30:00.000Z", "2026-01-31T09:30:00.000Z"),
            ("2026-01-31T09:30:00Z", "2026-01-31T09:30:00.000Z"),
            ("2026-01-31T09:30:00.1239999Z", "2026-01-31T09:30:00.123Z"),
            ("2026-01-31T09:30:00+02:00", "2026-01-31T07:30:00.000Z"),
        ] {
            assert_eq!(Timestamp::parse(given).unwrap().to_string(), written);
        }
        for given in ["", "yesterday", "2026-01-31", "2026-13-01T00:00:00Z"] {
            assert_eq!(Timestamp::parse(given), None, "{given}");
        }
    }

    #[test]
    fn fast_and_general_time_parsers_agree() {
        for date in ["0000-01-01", "1970-01-01", "2024-02-29", "2026-02-28", "9999-12-31"] {
            for time in ["00:00:00.000", "09:30:07.123", "23:59:59.999", "23:59:60.500"] {
                let written = format!("{date}T{time}Z");
                let other = format!("{date}T{time}+00:00");
                let time = Timestamp::parse(&written).unwrap();
                assert_eq!(Some(time), Timestamp::parse(&other), "{written}");
                assert_eq!(time.to_string(), written);
            }
        }
        for given in [
            "2026-02-29T00:00:00.000Z",
            "2026-00-01T00:00:00.000Z",
            "2026-01-00T00:00:00.000Z",
            "2026-01-01T24:00:00.000Z",
            "2026-01-01T00:60:00.000Z",
            "2026-01-01T00:00:61.000Z",
            "2026-01-01T00:00:00.0x0Z",
            "2026-01-01T00:00:+1.000Z",
            "2026/01-01T00:00:00.000Z",
            "2026-01-01T00:00:00.000W",
        ] {
            assert_eq!(Timestamp::parse(given), None, "{given}");
        }
    }

    #[test]
    fn unix_milliseconds_round_trip_and_are_clamped() {
        for text in
            ["0000-01-01T00:00:00.000Z", "1969-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"]
        {
            let time = Timestamp::parse(text).unwrap();
            assert_eq!(Timestamp::from_unix_millis(time.unix_millis()), time);
        }
        assert_eq!(Timestamp::from_unix_millis(-1).to_string(), "1969-12-31T23:59:59.999Z");
        assert_eq!(Timestamp::from_unix_millis(i64::MIN).to_string(), "0000-01-01T00:00:00.000Z");
        assert_eq!(Timestamp::from_unix_millis(i64::MAX).to_string(), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn negative_durations_are_zero() {
        let early = Timestamp::parse("2026-01-01T00:00:00.000Z").unwrap();
        let late = Timestamp::parse("2026-01-01T00:00:01.500Z").unwrap();
        assert_eq!(late.millis_since(early), 1500);
        assert_eq!(early.millis_since(late), 0);
    }
}
