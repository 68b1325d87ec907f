//! A sketch of a text, by which similar texts are found without reading them again.
//!
//! One permutation hashing with rotation: the hash of each pair of neighbouring words falls into one of [`SLOTS`]
//! slots, and a slot keeps the least. The share of equal slots of two sketches estimates the Jaccard similarity of the
//! pairs. See A. Shrivastava and P. Li, "Densifying one permutation hashing via rotation for fast near neighbor
//! search", ICML 2014.

use xxhash_rust::xxh3::xxh3_64;

use ait_domain::titles::words;

/// The number of slots of a sketch.
pub const SLOTS: usize = 8;
/// The number of keys of a sketch.
pub const KEYS: usize = SLOTS / 2;
/// How much of a text counts, in bytes. The beginning of a long one tells it from others.
const MAX_BYTES: usize = 4_000;

/// The sketch of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Sketch([u32; SLOTS]);

impl Sketch {
    pub fn of(text: &str) -> Self {
        let mut end = MAX_BYTES.min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let text = text[..end].to_lowercase();
        let mut least = [u32::MAX; SLOTS];
        let mut before = 0;
        for word in words(&text) {
            let word = xxh3_64(word.as_bytes());
            let pair = (u64::rotate_left(before, 5) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let slot = &mut least[(pair >> (u64::BITS - SLOTS.ilog2())) as usize];
            *slot = (*slot).min((pair >> 16) as u32);
            before = word;
        }
        // An empty slot gets the value of the next one that is not empty.
        let filled = least;
        for (at, slot) in least.iter_mut().enumerate() {
            let next = (0..SLOTS).map(|step| filled[(at + step) % SLOTS]);
            *slot = next.into_iter().find(|value| *value != u32::MAX).unwrap_or(u32::MAX);
        }
        Self(least)
    }

    /// Returns how many slots are equal.
    pub fn common(&self, other: &Self) -> usize {
        self.0.iter().zip(&other.0).filter(|(one, other)| one == other).count()
    }

    /// Returns one of the [`KEYS`] by which similar texts meet: each is made of two slots.
    pub fn key(&self, at: usize) -> u64 {
        u64::from(self.0[2 * at]) << 32 | u64::from(self.0[2 * at + 1])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "When a file ends without a line feed, the importer drops its last line. Steps: save the \
        file without a line feed, run the import and look at the count. Expected one row, got none at all.";

    #[test]
    fn similar_texts_have_similar_sketches() {
        let sketch = Sketch::of(TEXT);
        let common = |text: &str| sketch.common(&Sketch::of(text));
        assert_eq!(common(&TEXT.to_uppercase()), SLOTS);
        assert_eq!(common(&TEXT.replace(' ', "\n")), SLOTS);
        assert!(common(&TEXT.replace("one row", "two rows")) >= 5);
        assert!(
            common("The page of the agents shows no claim while the store restarts; reload it.")
                <= 1
        );
        // Neither panics, nor looks like the other.
        assert_eq!(Sketch::of("").common(&Sketch::of("ä")), 0);
        Sketch::of(&"ä".repeat(5_000));
    }
}
