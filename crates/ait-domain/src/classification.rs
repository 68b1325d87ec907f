//! The kinds of work, and which of them a project uses.

use super::Status;
use crate::string_enum;

string_enum! {
    /// The kind of work. The stores keep the number of the variant: a new one comes last.
    pub enum Classification {
        /// A defect.
        Bug = "bug",
        /// An improvement of something that exists.
        Improvement = "improvement",
        /// Something new.
        Feature = "feature",
        /// Work of no other kind.
        Task = "task",
        /// Work on tools, dependencies and builds.
        Chore = "chore",
        /// Documentation.
        Docs = "docs",
        /// Work on tests.
        Test = "test",
        /// A change of the code that users do not see.
        Refactor = "refactor",
        /// Speed, memory or size.
        Performance = "performance",
        /// A weakness that an attacker could use.
        Security = "security",
        /// Something to find out.
        Research = "research",
        /// A trial with a time limit.
        Spike = "spike",
        /// Something to answer.
        Question = "question",
        /// A wish from the view of a user.
        Story = "story",
        /// A large piece of work with parts.
        Epic = "epic",
        /// An entry of the [memory](super::memory): what was decided, and why.
        Decision = "decision",
        /// An entry: what goes wrong if one does not know it.
        Trap = "trap",
        /// An entry: what is so, and stands nowhere else.
        Fact = "fact",
        /// An entry: how far something is.
        Progress = "progress",
    }
}

impl Classification {
    /// Returns true for the kinds of entries of the [memory](super::memory), which are no work.
    pub fn is_entry(self) -> bool {
        matches!(self, Self::Decision | Self::Trap | Self::Fact | Self::Progress)
    }

    /// Returns the kinds of work in display order.
    pub fn of_work() -> impl Iterator<Item = Self> + Clone {
        Self::ALL.iter().copied().filter(|kind| !kind.is_entry())
    }

    /// Returns the kind of work that has a word.
    pub fn work_from_word(word: &str) -> Option<Self> {
        Self::from_word(word).filter(|kind| !kind.is_entry())
    }

    /// Returns the words of the kinds of work.
    pub fn words_of_work() -> impl Iterator<Item = &'static str> + Clone {
        Self::of_work().map(Self::as_str)
    }

    /// Returns the status in which something new of this kind is.
    pub fn first_status(self) -> Status {
        if self.is_entry() { Status::Kept } else { Status::Created }
    }
}

/// The kinds of work that a project uses, in the order in which a lead hands them out; at least one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Classifications(Vec<Classification>);

impl Default for Classifications {
    /// Returns those of a project that chooses none.
    fn default() -> Self {
        Self(vec![Classification::Bug, Classification::Improvement, Classification::Feature])
    }
}

impl Classifications {
    /// Returns the kinds in their order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Classification> + Clone + '_ {
        self.0.iter().copied()
    }

    /// Returns the words of the kinds.
    pub fn words(&self) -> impl ExactSizeIterator<Item = &'static str> + Clone + '_ {
        self.iter().map(Classification::as_str)
    }

    /// Returns true if the project uses a kind.
    pub fn contains(&self, kind: Classification) -> bool {
        self.0.contains(&kind)
    }

    /// Returns a kind if the project uses it, else the usual one.
    pub fn fitting(&self, kind: Classification) -> Classification {
        if self.contains(kind) { kind } else { self.usual() }
    }

    /// Returns the kind of an issue of which nothing else is known: an improvement, or the first kind.
    pub fn usual(&self) -> Classification {
        let improvement = Classification::Improvement;
        if self.contains(improvement) { improvement } else { self.0[0] }
    }
}

/// Collects kinds, each once. None stand for the usual ones.
impl FromIterator<Classification> for Classifications {
    fn from_iter<I: IntoIterator<Item = Classification>>(kinds: I) -> Self {
        let mut used = Vec::new();
        for kind in kinds {
            if !used.contains(&kind) {
                used.push(kind);
            }
        }
        if used.is_empty() { Self::default() } else { Self(used) }
    }
}

impl std::fmt::Display for Classifications {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.words().collect::<Vec<_>>().join(", "))
    }
}
