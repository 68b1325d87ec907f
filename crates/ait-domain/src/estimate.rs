//! How much work an issue is.

use std::fmt;
use std::iter::Sum;
use std::ops::AddAssign;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::DomainError;

/// A number of the team's own unit, such as points or hours: at most 1,000,000, with up to two decimals. Kept in
/// hundredths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Estimate(u64);

/// How many hundredths a unit has.
const UNIT: u64 = 100;

impl Estimate {
    /// The largest estimate of an issue, in units. The sum of several may be larger.
    pub const MAX: u32 = 1_000_000;

    /// Returns the number of hundredths.
    pub fn hundredths(self) -> u64 {
        self.0
    }
}

impl FromStr for Estimate {
    type Err = DomainError;

    fn from_str(text: &str) -> Result<Self, DomainError> {
        const EXPECTED: &str = "is no estimate: give a number such as 3 or 0.5, at most 1000000, with up to two decimals";
        let invalid = || DomainError::invalid(text, EXPECTED);
        let (units, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let decimals = decimals.trim_end_matches('0');
        if !is_number(units) || !(decimals.is_empty() || is_number(decimals) && decimals.len() <= 2)
        {
            return Err(invalid());
        }
        let units: u64 = units.parse().map_err(|_| invalid())?;
        let hundredths: u64 = format!("{decimals:0<2}").parse().map_err(|_| invalid())?;
        let limit = u64::from(Self::MAX) * UNIT;
        let sum = units.checked_mul(UNIT).and_then(|units| units.checked_add(hundredths));
        sum.filter(|sum| *sum <= limit).map(Self).ok_or_else(invalid)
    }
}

impl Sum for Estimate {
    fn sum<I: Iterator<Item = Self>>(estimates: I) -> Self {
        Self(estimates.map(|estimate| estimate.0).sum())
    }
}

impl AddAssign for Estimate {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = self.0 / UNIT;
        let rest = self.0 % UNIT;
        match rest {
            0 => write!(f, "{units}"),
            rest if rest % 10 == 0 => write!(f, "{units}.{}", rest / 10),
            rest => write!(f, "{units}.{rest:02}"),
        }
    }
}

/// A JSON number.
impl Serialize for Estimate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_multiple_of(UNIT) {
            return serializer.serialize_u64(self.0 / UNIT);
        }
        // Two decimals of a number below 2^33 are exact enough to be read as they were written.
        #[expect(clippy::cast_precision_loss, reason = "an estimate is far below 2^53")]
        serializer.serialize_f64(self.0 as f64 / UNIT as f64)
    }
}

impl<'de> Deserialize<'de> for Estimate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        f64::deserialize(deserializer)?.to_string().parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_two_decimals_round_trip() {
        for (text, shown) in [
            ("0", "0"),
            ("3", "3"),
            ("0.5", "0.5"),
            ("2.50", "2.5"),
            ("1.05", "1.05"),
            ("1000000", "1000000"),
        ] {
            let estimate: Estimate = text.parse().unwrap();
            assert_eq!(estimate.to_string(), shown);
            let json = serde_json::to_string(&estimate).unwrap();
            assert_eq!(json, shown);
            assert_eq!(serde_json::from_str::<Estimate>(&json).unwrap(), estimate);
        }
        for text in
            ["", "-1", "x", "1.005", "1,5", "1000000.01", "1e3", "99999999999999999999", ".5"]
        {
            assert!(text.parse::<Estimate>().is_err(), "{text}");
        }
        let sum: Estimate =
            ["0.5", "2.25"].iter().map(|text| text.parse::<Estimate>().unwrap()).sum();
        assert_eq!(sum.to_string(), "2.75");
    }
}
