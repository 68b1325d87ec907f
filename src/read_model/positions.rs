//! A set of positions, with one bit for each issue.

/// The number of positions in a word.
const LANES: usize = u64::BITS as usize;

/// A set of positions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Positions(Vec<u64>);

impl Positions {
    /// Returns a set of positions below `count`.
    pub fn of(count: usize, positions: impl Iterator<Item = usize>) -> Self {
        let mut words = vec![0; count.div_ceil(LANES)];
        positions.for_each(|at| words[at / LANES] |= 1 << (at % LANES));
        Self(words)
    }

    /// Returns the set with these words.
    pub fn of_words(words: impl Iterator<Item = u64>) -> Self {
        Self(words.collect())
    }

    /// Returns true if a position is in the set.
    pub fn contains(&self, position: usize) -> bool {
        self.0[position / LANES] >> (position % LANES) & 1 == 1
    }

    /// Returns what is in both sets.
    pub fn and(mut self, other: Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(own, other)| *own &= other);
        self
    }

    /// Returns what is in one of the sets.
    pub fn or(mut self, other: Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(own, other)| *own |= other);
        self
    }
}
