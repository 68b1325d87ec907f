//! The names of agents, each kept once.

use indexmap::IndexSet;

/// An agent's name, as a number that [`Names`] knows.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Name(u32);

impl Name {
    /// Where it stands among the names: they are numbered from 0 in the order in which they came up.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The names that have come up.
#[derive(Clone, Debug, Default)]
pub struct Names(IndexSet<Box<str>>);

impl Names {
    /// The number of a name, a new one if need be.
    pub(super) fn name(&mut self, text: &str) -> Name {
        if let Some(known) = self.find(text) {
            return known;
        }
        let (index, _) = self.0.insert_full(text.into());
        Name(u32::try_from(index).expect("fewer names than memory has room for"))
    }

    /// The number of a name that has come up.
    pub fn find(&self, text: &str) -> Option<Name> {
        self.0.get_index_of(text).map(|index| Name(index as u32))
    }

    /// What a name reads.
    pub fn text(&self, name: Name) -> &str {
        &self.0[name.index()]
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Tells whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (Name, &str)> {
        self.0.iter().enumerate().map(|(index, text)| (Name(index as u32), &**text))
    }
}
