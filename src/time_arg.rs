//! Points in time as people name them: on the command line, and in the addresses of pages.

use chrono::{NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone, Utc};

use crate::domain::Timestamp;

/// A point in time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeArg {
    /// So long ago.
    Ago(TimeDelta),
    /// At that time.
    At(Timestamp),
}

/// What can be said, in short.
pub const FORMS: &str = "90m, 2h, 3d, 2026-11-21, 2026-11-21 13:00, 2026-11-21T13:00:00Z";
/// The same for the command line.
const EXPECTED: &str = "say how long ago (90m, 2h, 3d) or when (2026-11-21, 2026-11-21 13:00, or an RFC 3339 time such as \
     2026-11-21T13:00:00Z)";

impl TimeArg {
    /// Reads a span that lies behind us (`90m`, `2h 30m`, `3d`), an RFC 3339 time, or a date with or without
    /// a time in a time zone.
    ///
    /// # Errors
    ///
    /// What is expected, in words.
    pub fn parse(text: &str, zone: &impl TimeZone) -> Result<Self, String> {
        let text = text.trim();
        if let Ok(span) = humantime::parse_duration(text) {
            // What is longer than can be said is longer than anything has been kept.
            return Ok(Self::Ago(TimeDelta::from_std(span).unwrap_or(TimeDelta::MAX)));
        }
        if let Some(time) = Timestamp::parse(text) {
            return Ok(Self::At(time));
        }
        let form = text.replacen('T', " ", 1);
        let date =
            NaiveDate::parse_from_str(&form, "%Y-%m-%d").map(|day| day.and_time(NaiveTime::MIN));
        let time = date
            .or_else(|_| NaiveDateTime::parse_from_str(&form, "%Y-%m-%d %H:%M"))
            .or_else(|_| NaiveDateTime::parse_from_str(&form, "%Y-%m-%d %H:%M:%S"))
            .map_err(|_| EXPECTED.to_owned())?;
        // Of a time that comes twice, the first; clocks that are put forward leave some out.
        let time = time.and_local_timezone(zone.clone()).earliest();
        let time = time.ok_or_else(|| format!("there was no such time here; {EXPECTED}"))?;
        Ok(Self::At(Timestamp::from(time.with_timezone(&Utc))))
    }

    /// Returns the point in time; the earliest one there is for a span that goes back behind all times.
    pub fn time(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(time) => time,
            Self::Ago(span) => {
                let millis = now.unix_millis().saturating_sub(span.num_milliseconds());
                Timestamp::from_unix_millis(millis)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::Local;

    use super::*;

    fn parse(text: &str) -> Result<TimeArg, String> {
        TimeArg::parse(text, &Local)
    }

    #[test]
    fn spans_times_and_local_dates_are_understood() {
        for (text, minutes) in [("90m", 90), ("2h", 120), ("2h 30m", 150), ("3d", 3 * 24 * 60)] {
            assert_eq!(parse(text), Ok(TimeArg::Ago(TimeDelta::minutes(minutes))), "{text}");
        }
        let at = |text: &str| Ok(TimeArg::At(Timestamp::parse(text).unwrap()));
        assert_eq!(parse("2026-11-21T13:00:00Z"), at("2026-11-21T13:00:00Z"));
        assert_eq!(parse("2026-11-21T13:00:00.5+02:00"), at("2026-11-21T11:00:00.500Z"));
        let midnight = parse("2026-11-21").unwrap();
        for same in ["2026-11-21 00:00", "2026-11-21T00:00", "2026-11-21 00:00:00"] {
            assert_eq!(parse(same), Ok(midnight), "{same}");
        }
        assert_ne!(parse("2026-11-21 00:00:01"), Ok(midnight));
        assert_eq!(TimeArg::parse("2026-11-21", &Utc), at("2026-11-21T00:00:00Z"));
        for text in ["", "soon", "2026-13-01", "5", "-2h"] {
            assert!(parse(text).unwrap_err().contains("90m"), "{text}");
        }
    }

    #[test]
    fn a_span_that_is_longer_than_time_goes_back_to_the_first_one() {
        let now = Timestamp::parse("2026-11-21T13:00:00Z").unwrap();
        let two_hours = parse("2h").unwrap().time(now);
        assert_eq!(Some(two_hours), Timestamp::parse("2026-11-21T11:00:00Z"));
        let first = Timestamp::from_unix_millis(i64::MIN);
        assert_eq!(parse("400000000y").unwrap().time(now), first);
    }
}
