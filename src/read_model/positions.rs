//! A set of positions, with one bit for each issue.

/// The number of positions in a word.
const BITS_PER_WORD: usize = u64::BITS as usize;

/// A set of positions.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Positions(Vec<u64>);

impl Positions {
    /// Returns a set of positions below `count`.
    pub fn of(count: usize, positions: impl Iterator<Item = usize>) -> Self {
        let mut set = Self(vec![0; count.div_ceil(BITS_PER_WORD)]);
        positions.for_each(|at| set.insert(at));
        set
    }

    /// Returns the set with these words.
    pub fn of_words(words: impl Iterator<Item = u64>) -> Self {
        Self(words.collect())
    }

    /// Returns true if a position is in the set.
    pub fn contains(&self, position: usize) -> bool {
        self.0[position / BITS_PER_WORD] >> (position % BITS_PER_WORD) & 1 == 1
    }

    /// Adds a position, which must be below the count.
    pub fn insert(&mut self, position: usize) {
        self.0[position / BITS_PER_WORD] |= 1 << (position % BITS_PER_WORD);
    }

    /// Returns what is not in the set.
    pub fn not(mut self) -> Self {
        self.0.iter_mut().for_each(|word| *word = !*word);
        self
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
