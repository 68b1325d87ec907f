//! The one form in which times are kept, written and compared.

use std::fmt;

use chrono::{DateTime, SecondsFormat, SubsecRound, Utc};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A point in time with a resolution of one millisecond.
///
/// Written as ISO 8601 in UTC with exactly three decimals and a `Z`
/// (`2026-01-31T09:30:00.000Z`), which is what JavaScript's `Date.prototype.toISOString` gives.
/// Reading accepts any RFC 3339 time and converts it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(DateTime<Utc>);

impl Timestamp {
    /// Milliseconds from `earlier` to `self`; zero when `earlier` is the later of the two.
    pub fn millis_since(self, earlier: Self) -> u64 {
        (self.0 - earlier.0).num_milliseconds().try_into().unwrap_or(0)
    }

    /// Parses an RFC 3339 time; anything finer than a millisecond is cut off.
    pub fn parse(text: &str) -> Option<Self> {
        let time = DateTime::parse_from_rfc3339(text).ok()?;
        Some(Self::from(time.with_timezone(&Utc)))
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
    fn is_written_in_utc_with_three_decimals_whatever_it_was_read_from() {
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
    fn a_span_that_would_be_negative_is_zero() {
        let early = Timestamp::parse("2026-01-01T00:00:00.000Z").unwrap();
        let late = Timestamp::parse("2026-01-01T00:00:01.500Z").unwrap();
        assert_eq!(late.millis_since(early), 1500);
        assert_eq!(early.millis_since(late), 0);
    }
}
