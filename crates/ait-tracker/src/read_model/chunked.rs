//! A copy-on-write list: clones share unchanged chunks.
//!
//! It has two levels, so that a look at each of 100,000 issues takes some nanoseconds; trees of more levels take ten
//! times as long (`queries` in `benches/`). A clone copies a reference for each chunk, and a change copies one chunk.

use std::ops::Index;
use std::sync::Arc;

const CHUNK: usize = 256;

/// A list. All chunks but the last are full.
#[derive(Clone, Debug)]
pub struct Chunked<T>(Vec<Arc<Vec<T>>>);

impl<T> Default for Chunked<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> Chunked<T> {
    /// Returns the number of items.
    pub fn len(&self) -> usize {
        self.0.last().map_or(0, |last| (self.0.len() - 1) * CHUNK + last.len())
    }

    /// Returns true if there is no item.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the item at a position.
    pub fn get(&self, position: usize) -> Option<&T> {
        self.0.get(position / CHUNK)?.get(position % CHUNK)
    }

    /// Returns all items in their order.
    pub fn iter(&self) -> impl Iterator<Item = &T> + Clone {
        self.0.iter().flat_map(|chunk| chunk.iter())
    }
}

impl<T: Clone> Chunked<T> {
    /// Replaces the item at a position, or adds one at the end.
    ///
    /// # Panics
    ///
    /// Panics if the position is behind the end.
    pub(super) fn put(&mut self, position: usize, item: T) {
        if position == self.0.len() * CHUNK {
            self.0.push(Arc::default());
        }
        let chunk = Arc::make_mut(&mut self.0[position / CHUNK]);
        if position % CHUNK == chunk.len() {
            chunk.push(item);
        } else {
            chunk[position % CHUNK] = item;
        }
    }
}

impl<T> Index<usize> for Chunked<T> {
    type Output = T;

    fn index(&self, position: usize) -> &T {
        &self.0[position / CHUNK][position % CHUNK]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clone_keeps_what_the_other_changes() {
        let mut list = Chunked::default();
        assert!(list.is_empty() && list.get(0).is_none());
        for number in 0..2 * CHUNK + 1 {
            assert_eq!(list.len(), number);
            list.put(number, number);
        }
        let before = list.clone();
        list.put(CHUNK, 7);
        list.put(2 * CHUNK + 1, 8);
        assert_eq!(
            (list[CHUNK], list.len(), list.get(2 * CHUNK + 1)),
            (7, 2 * CHUNK + 2, Some(&8))
        );
        assert!(before.iter().copied().eq(0..2 * CHUNK + 1), "{before:?}");
        assert!(Arc::ptr_eq(&before.0[0], &list.0[0]), "an unchanged chunk is shared");
    }
}
