//! What an issue may cost, or use.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::{DomainError, Usage};

/// What an issue may use.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Budget {
    /// A cost, in millionths of the currency of the prices.
    Micros(u64),
    /// Tokens that models read and write.
    Tokens(u64),
}

impl Budget {
    /// Returns true if more was used.
    pub fn is_exceeded_by(self, usage: &Usage) -> bool {
        match self {
            Self::Micros(budget) => usage.micros.is_some_and(|micros| micros > budget),
            Self::Tokens(budget) => usage.input.saturating_add(usage.output) > budget,
        }
    }
}

impl FromStr for Budget {
    type Err = DomainError;

    fn from_str(text: &str) -> Result<Self, DomainError> {
        const EXPECTED: &str =
            "is no budget: give a cost, such as 2.50, or tokens, such as 500k tokens";
        const MAX: f64 = 1e12;
        let number = |text: &str, unit: f64| {
            let number = text.trim().parse().ok().filter(|number| (0.0..=MAX).contains(number))?;
            Some((number * unit).round() as u64)
        };
        // The sign of a currency says nothing here, but people write it.
        let is_currency =
            |word: &str| word.len() == 3 && word.bytes().all(|b| b.is_ascii_uppercase());
        let parsed = match text.trim().strip_suffix("tokens").map(str::trim_end) {
            None => {
                let split = text.trim().split_once(' ').filter(|(_, word)| is_currency(word));
                number(split.map_or(text, |(cost, _)| cost), 1e6).map(Self::Micros)
            }
            Some(tokens) => match tokens.split_at_checked(tokens.len().saturating_sub(1)) {
                Some((thousands, "k")) => number(thousands, 1e3).map(Self::Tokens),
                Some((millions, "M")) => number(millions, 1e6).map(Self::Tokens),
                _ => number(tokens, 1.0).map(Self::Tokens),
            },
        };
        parsed.ok_or_else(|| DomainError::invalid(text, EXPECTED))
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Micros(micros) => write!(f, "{}", *micros as f64 / 1e6),
            Self::Tokens(tokens) => write!(f, "{tokens} tokens"),
        }
    }
}

impl Serialize for Budget {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Budget {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}
