//! When an issue should have ended.

use std::fmt;
use std::str::FromStr;

use chrono::{DateTime, NaiveDate, NaiveTime, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{DomainError, Timestamp};

/// A day, or a time. Claims do not look at it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Due {
    /// A day. It lasts to the end of the day in UTC.
    Day(NaiveDate),
    /// A time.
    Time(Timestamp),
}

/// The form of a day.
const DAY: &str = "%Y-%m-%d";

impl Due {
    /// Returns the day that begins at a time in UTC, or else the time.
    pub fn of_time(time: Timestamp) -> Self {
        let date = DateTime::<Utc>::from(time);
        if date.time() == NaiveTime::MIN { Self::Day(date.date_naive()) } else { Self::Time(time) }
    }

    /// Returns the last moment at which the issue is in time.
    pub fn end(self) -> Timestamp {
        match self {
            Self::Time(time) => time,
            Self::Day(day) => {
                let last = NaiveTime::from_hms_milli_opt(23, 59, 59, 999).unwrap_or_default();
                day.and_time(last).and_utc().into()
            }
        }
    }

    /// Returns true if a time is after it.
    pub fn is_past_at(self, now: Timestamp) -> bool {
        self.end() < now
    }
}

impl FromStr for Due {
    type Err = DomainError;

    /// Parses `2026-11-21`, or an RFC 3339 time.
    fn from_str(text: &str) -> Result<Self, DomainError> {
        if let Ok(day) = NaiveDate::parse_from_str(text, DAY)
            && text.len() == "2026-11-21".len()
        {
            return Ok(Self::Day(day));
        }
        const EXPECTED: &str =
            "is no date: give a day such as 2026-11-21, or a time such as 2026-11-21T13:00:00Z";
        let time = Timestamp::parse(text).map(Self::Time);
        time.ok_or_else(|| DomainError::invalid(text, EXPECTED))
    }
}

impl fmt::Display for Due {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Day(day) => day.format(DAY).fmt(f),
            Self::Time(time) => time.fmt(f),
        }
    }
}

impl Serialize for Due {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Due {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_times_round_trip_and_pass() {
        let now = Timestamp::parse("2026-11-21T13:00:00Z").unwrap();
        for (text, shown, is_past) in [
            ("2026-11-20", "2026-11-20", true),
            ("2026-11-21", "2026-11-21", false),
            ("2026-11-21T12:59:59Z", "2026-11-21T12:59:59.000Z", true),
            ("2026-11-21T15:00:00+02:00", "2026-11-21T13:00:00.000Z", false),
        ] {
            let due: Due = text.parse().unwrap();
            assert_eq!(due.to_string(), shown);
            assert_eq!(due.is_past_at(now), is_past, "{text}");
            assert_eq!(shown.parse::<Due>().unwrap(), due);
        }
        for text in ["", "soon", "2026-1-2", "2026-02-30", "21.11.2026"] {
            assert!(text.parse::<Due>().is_err(), "{text}");
        }
    }
}
