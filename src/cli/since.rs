//! Points in time as people name them on the command line.

use chrono::{Local, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Utc};

use crate::domain::Timestamp;

/// From when on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Since {
    /// So long ago.
    Ago(TimeDelta),
    /// At that time.
    At(Timestamp),
}

impl Since {
    /// The point in time; `None` when it lies before all times.
    pub fn from(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::At(time) => Some(time),
            Self::Ago(span) => {
                let now: chrono::DateTime<Utc> = now.into();
                now.checked_sub_signed(span).map(Timestamp::from)
            }
        }
    }
}

/// Reads a span that lies behind us (`90m`, `2h 30m`, `3d`), an RFC 3339 time, or a date with or without
/// a time in the time zone of this machine.
pub(super) fn since(text: &str) -> Result<Since, String> {
    let text = text.trim();
    if let Ok(span) = humantime::parse_duration(text) {
        // What is longer than can be said is longer than anything has been kept.
        return Ok(Since::Ago(TimeDelta::from_std(span).unwrap_or(TimeDelta::MAX)));
    }
    if let Some(time) = Timestamp::parse(text) {
        return Ok(Since::At(time));
    }
    let form = text.replacen('T', " ", 1);
    let date = NaiveDate::parse_from_str(&form, "%Y-%m-%d").map(|day| day.and_time(NaiveTime::MIN));
    let time = date
        .or_else(|_| NaiveDateTime::parse_from_str(&form, "%Y-%m-%d %H:%M"))
        .or_else(|_| NaiveDateTime::parse_from_str(&form, "%Y-%m-%d %H:%M:%S"))
        .map_err(|_| EXPECTED.to_owned())?;
    // Of a time that comes twice, the first; clocks that are put forward leave some out.
    let time = time.and_local_timezone(Local).earliest();
    let time = time.ok_or_else(|| format!("there was no such time here; {EXPECTED}"))?;
    Ok(Since::At(Timestamp::from(time.with_timezone(&Utc))))
}

const EXPECTED: &str = "say how long ago (90m, 2h, 3d) or when (2026-11-21, 2026-11-21 13:00, or an RFC 3339 time such as \
     2026-11-21T13:00:00Z)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_times_and_local_dates_are_understood() {
        for (text, minutes) in [("90m", 90), ("2h", 120), ("2h 30m", 150), ("3d", 3 * 24 * 60)] {
            assert_eq!(since(text), Ok(Since::Ago(TimeDelta::minutes(minutes))), "{text}");
        }
        let at = |text: &str| Ok(Since::At(Timestamp::parse(text).unwrap()));
        assert_eq!(since("2026-11-21T13:00:00Z"), at("2026-11-21T13:00:00Z"));
        assert_eq!(since("2026-11-21T13:00:00.5+02:00"), at("2026-11-21T11:00:00.500Z"));
        let midnight = since("2026-11-21").unwrap();
        for same in ["2026-11-21 00:00", "2026-11-21T00:00", "2026-11-21 00:00:00"] {
            assert_eq!(since(same), Ok(midnight), "{same}");
        }
        assert_ne!(since("2026-11-21 00:00:01"), Ok(midnight));
        for text in ["", "soon", "2026-13-01", "5", "-2h"] {
            assert!(since(text).unwrap_err().contains("90m"), "{text}");
        }
    }

    #[test]
    fn a_span_that_is_longer_than_time_is_no_limit() {
        let now = Timestamp::parse("2026-11-21T13:00:00Z").unwrap();
        assert_eq!(since("2h").unwrap().from(now), Timestamp::parse("2026-11-21T11:00:00Z"));
        assert_eq!(since("400000000y").unwrap().from(now), None);
    }
}
