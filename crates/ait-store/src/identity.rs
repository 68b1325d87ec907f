//! The id of a store, which every process that shares the store computes alike.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;
use xxhash_rust::xxh3::Xxh3;

/// The id of a store: 16 bytes; as text, 32 lower-case hex digits.
///
/// Distinguishes the stores of one machine. It is neither a secret nor a proof of identity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StoreId([u8; 16]);

/// The error for a text that is not a [`StoreId`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a store id has 32 lower-case hex digits")]
pub struct NotAStoreId;

impl StoreId {
    /// The number of hex digits in the text.
    const DIGITS: usize = 32;

    /// Returns the id of a store of one kind at one place: XXH3-128 of both, separated by a zero byte.
    pub(super) fn of(kind: &str, place: &[u8]) -> Self {
        let mut hasher = Xxh3::new();
        for part in [kind.as_bytes(), &[0], place] {
            hasher.update(part);
        }
        Self(hasher.digest128().to_be_bytes())
    }

    /// Returns a random id.
    pub(super) fn random() -> Self {
        Self(Uuid::new_v4().into_bytes())
    }
}

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl FromStr for StoreId {
    type Err = NotAStoreId;

    fn from_str(text: &str) -> Result<Self, NotAStoreId> {
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        if text.len() != Self::DIGITS || !text.bytes().all(is_digit) {
            return Err(NotAStoreId);
        }
        let number = u128::from_str_radix(text, 16).map_err(|_| NotAStoreId)?;
        Ok(Self(number.to_be_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn store_ids_round_trip_and_invalid_text_is_rejected() {
        for id in [StoreId([0; 16]), StoreId::of("kind", b"/place"), StoreId::random()] {
            assert_eq!(id.to_string().parse(), Ok(id));
        }
        let good = "0123456789abcdef0123456789abcdef";
        assert_eq!(good.parse::<StoreId>().unwrap().to_string(), good);
        for bad in
            ["", &good[1..], &format!("{good}0"), &good.to_uppercase(), &format!("+{}", &good[1..])]
        {
            assert_eq!(bad.parse::<StoreId>(), Err(NotAStoreId), "{bad}");
        }
    }

    #[test]
    fn store_ids_differ_by_kind_and_location() {
        assert_ne!(StoreId::of("a", b"b"), StoreId::of("a", b"c"));
        assert_ne!(StoreId::of("a", b"b"), StoreId::of("ab", b""));
        assert_ne!(StoreId::random(), StoreId::random());
    }
}
