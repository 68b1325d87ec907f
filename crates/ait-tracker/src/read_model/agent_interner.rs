//! The interner for the names of agents.

use indexmap::IndexSet;

/// An agent's name, as an index into [`Names`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Name(u32);

impl Name {
    /// Returns the index of the name. Names are numbered from 0 in order of first occurrence.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The interned names.
#[derive(Clone, Debug, Default)]
pub struct Names(IndexSet<Box<str>>);

impl Names {
    /// Returns the index of a name, and adds the name if it is new.
    pub(super) fn name(&mut self, text: &str) -> Name {
        if let Some(known) = self.find(text) {
            return known;
        }
        let (index, _) = self.0.insert_full(text.into());
        Name(u32::try_from(index).expect("fewer names than memory has room for"))
    }

    /// Returns the index of a known name.
    pub fn find(&self, text: &str) -> Option<Name> {
        self.0.get_index_of(text).map(|index| Name(index as u32))
    }

    /// Returns the text of a name.
    pub fn text(&self, name: Name) -> &str {
        &self.0[name.index()]
    }

    /// Returns the number of names.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns all names with their indexes.
    pub fn iter(&self) -> impl Iterator<Item = (Name, &str)> {
        self.0.iter().enumerate().map(|(index, text)| (Name(index as u32), &**text))
    }
}
