//! Times that users type, on the command line and in URLs.

use chrono::{NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, TimeZone, Utc};

use crate::domain::Timestamp;

/// A time that a user typed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeArg {
    /// This long before or after now.
    Span(TimeDelta),
    /// At this time.
    At(Timestamp),
}

/// Examples of the accepted forms.
pub const FORMS: &str = "90m, 2h, 3d, 2026-11-21, 2026-11-21 13:00, 2026-11-21T13:00:00Z";
/// The accepted forms, for error messages.
const EXPECTED: &str = "use a duration (90m, 2h, 3d) or a time (2026-11-21, 2026-11-21 13:00, or \
     RFC 3339 such as 2026-11-21T13:00:00Z)";

impl TimeArg {
    /// Parses a duration (`90m`, `2h 30m`, `3d`), an RFC 3339 time, or a date with an optional time in
    /// `zone`.
    ///
    /// # Errors
    ///
    /// The text has none of these forms; the error lists them.
    pub fn parse(text: &str, zone: &impl TimeZone) -> Result<Self, String> {
        let text = text.trim();
        if let Ok(span) = humantime::parse_duration(text) {
            // A duration too long to represent goes beyond the first event, or beyond the last.
            return Ok(Self::Span(TimeDelta::from_std(span).unwrap_or(TimeDelta::MAX)));
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
        // Of a local time that occurs twice, take the first. A time that a clock change skips is an error.
        let time = time.and_local_timezone(zone.clone()).earliest();
        let time = time
            .ok_or_else(|| format!("this local time was skipped by a clock change; {EXPECTED}"))?;
        Ok(Self::At(Timestamp::from(time.with_timezone(&Utc))))
    }

    /// Returns the point in time. A duration is added to now.
    pub fn time_after(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(time) => time,
            Self::Span(span) => {
                let millis = now.unix_millis().saturating_add(span.num_milliseconds());
                Timestamp::from_unix_millis(millis)
            }
        }
    }

    /// Returns the point in time. A duration is subtracted from now. Clamped to the earliest that can be represented.
    pub fn time(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(time) => time,
            Self::Span(span) => {
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
    fn durations_times_and_local_dates_are_parsed() {
        for (text, minutes) in [("90m", 90), ("2h", 120), ("2h 30m", 150), ("3d", 3 * 24 * 60)] {
            assert_eq!(parse(text), Ok(TimeArg::Span(TimeDelta::minutes(minutes))), "{text}");
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
    fn durations_beyond_the_time_range_are_clamped() {
        let now = Timestamp::parse("2026-11-21T13:00:00Z").unwrap();
        let two_hours = parse("2h").unwrap().time(now);
        assert_eq!(Some(two_hours), Timestamp::parse("2026-11-21T11:00:00Z"));
        let ahead = parse("2h").unwrap().time_after(now);
        assert_eq!(Some(ahead), Timestamp::parse("2026-11-21T15:00:00Z"));
        assert!(parse("400000000y").unwrap().time_after(now) > ahead);
        let first = Timestamp::from_unix_millis(i64::MIN);
        assert_eq!(parse("400000000y").unwrap().time(now), first);
    }
}
