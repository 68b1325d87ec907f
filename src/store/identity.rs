//! Which store is meant, wherever it is asked: the same answer in every process that shares it.

use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::str::FromStr;

use xxhash_rust::xxh3::Xxh3;

/// The identity of a store, in 16 bytes; as text, 32 lower-case hex digits.
///
/// Tells the stores of one machine apart; it is no secret and no proof of anything.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct StoreId([u8; 16]);

/// A text that is no [`StoreId`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the id of a store is 32 lower-case hex digits")]
pub struct NotAStoreId;

impl StoreId {
    /// How many hex digits the text has.
    const DIGITS: usize = 32;

    /// The id in bytes, the first digits of the text first.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// The id of a store of some kind at some place: XXH3-128 of both, with a zero byte between them.
    pub(super) fn of(kind: &str, place: &[u8]) -> Self {
        let mut hasher = Xxh3::new();
        for part in [kind.as_bytes(), &[0], place] {
            hasher.update(part);
        }
        Self(hasher.digest128().to_be_bytes())
    }

    /// An id that no other store has.
    pub(super) fn random() -> Self {
        // The keys of each hasher are random; nobody needs more than that no two are the same.
        let half = || RandomState::new().hash_one(());
        Self((u128::from(half()) << 64 | u128::from(half())).to_be_bytes())
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
    fn the_text_of_an_id_gives_it_back_and_nothing_else_does() {
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
    fn kinds_and_places_make_different_ids() {
        assert_ne!(StoreId::of("a", b"b"), StoreId::of("a", b"c"));
        assert_ne!(StoreId::of("a", b"b"), StoreId::of("ab", b""));
        assert_ne!(StoreId::random(), StoreId::random());
    }
}
