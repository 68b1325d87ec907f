//! The time range of the statistics.

use ait_domain::string_enum;

string_enum! {
    /// The time range of the statistics.
    pub enum Range {
        /// The last 24 hours.
        Day = "24h",
        /// The last seven days.
        Week = "7d",
        /// The last thirty days.
        Month = "30d",
        /// Everything since the first issue.
        All = "all",
    }
}

pub(super) const HOUR_MS: i64 = 3_600_000;
pub(super) const DAY_MS: i64 = 24 * HOUR_MS;

impl Range {
    /// Returns the length in milliseconds; `None` if unbounded.
    pub(super) fn length_ms(self) -> Option<i64> {
        match self {
            Self::Day => Some(DAY_MS),
            Self::Week => Some(7 * DAY_MS),
            Self::Month => Some(30 * DAY_MS),
            Self::All => None,
        }
    }
}
