//! Backups: one file that holds everything a store held at one moment, whichever kind of store.
//!
//! [`mod@format`] knows the bytes of such a file and tells whether they are still what was written, [`mod@file`]
//! puts it on a disk and reads it from there, [`difference`] tells what would be lost if a store went back
//! to it.

pub mod difference;
pub mod file;
pub mod format;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

pub use difference::{Difference, Differing};
pub use file::{Saved, Saving};
pub use format::{About, Backup};

use super::json::format::{Document, FormatError};

/// Everything that a store holds at one moment.
#[derive(Clone, Debug)]
pub struct Holdings {
    /// The issues, and whatever else is kept beside them.
    pub document: Document,
    /// What is damaged, in words, when the document has only the part that can be read.
    pub damage: Option<String>,
}

/// How much may be lost when a store goes back to a backup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Consent {
    /// Nothing is to be changed: only the difference is asked for.
    Look,
    /// Nothing may be lost that the backup lacks.
    Nothing,
    /// Whatever it takes, as long as what is replaced is kept.
    Everything,
}

/// What came of going back to a backup.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Replacement {
    /// How it ended.
    pub verdict: Verdict,
    /// What the store had that the backup lacks, and the other way round; `None` where the store could
    /// not be read as a whole.
    pub difference: Option<Difference>,
    /// What is wrong with the store as it was, in words.
    pub damage: Option<String>,
    /// Where what was replaced is kept.
    pub kept: Vec<PathBuf>,
}

/// How going back to a backup ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The store holds what the backup holds.
    Done,
    /// It did so before; nothing was changed.
    Unneeded,
    /// Something would be lost, and nobody has consented; nothing was changed.
    Refused,
    /// It was only asked what would happen.
    Looked,
}

impl Replacement {
    /// What a look without a change, or a refusal of one, has found.
    pub(super) fn found(consent: Consent, difference: Difference) -> Option<Self> {
        let verdict = match consent {
            _ if difference.is_none() => Verdict::Unneeded,
            Consent::Look => Verdict::Looked,
            Consent::Nothing if difference.loses() => Verdict::Refused,
            Consent::Nothing | Consent::Everything => return None,
        };
        let (difference, damage, kept) = (Some(difference), None, Vec::new());
        Some(Self { verdict, difference, damage, kept })
    }

    /// The same for a store that cannot be read as a whole.
    pub(super) fn found_damaged(consent: Consent, damage: String) -> Option<Self> {
        let verdict = match consent {
            Consent::Look => Verdict::Looked,
            Consent::Nothing => Verdict::Refused,
            Consent::Everything => return None,
        };
        let (difference, damage, kept) = (None, Some(damage), Vec::new());
        Some(Self { verdict, difference, damage, kept })
    }

    /// Tells whether it takes somebody's consent.
    pub fn needs_consent(&self) -> bool {
        self.damage.is_some() || self.difference.as_ref().is_some_and(Difference::loses)
    }
}

/// Why a backup could not be written or read.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BackupError {
    /// There is such a file already.
    #[error("{} exists already: choose another name, or replace it with --force", .0.display())]
    Exists(PathBuf),
    /// The file is one of those that the store itself consists of.
    #[error("{} belongs to the store itself: choose another name", .0.display())]
    OfTheStore(PathBuf),
    /// There is no such file.
    #[error("there is no file {}: name one that `ait backup` has written, or a copy of issues.json", .0.display())]
    Missing(PathBuf),
    /// A file could not be written.
    #[error("{}: {cause}: nothing was saved; mend that, or choose another place", path.display())]
    NotSaved {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        cause: Arc<io::Error>,
    },
    /// A file could not be read.
    #[error("{}: {cause}: nothing was changed; make it readable, or take another one", path.display())]
    Io {
        /// Which one.
        path: PathBuf,
        /// What the system said.
        cause: Arc<io::Error>,
    },
    /// The file is not what `ait backup` has written.
    #[error(
        "{} is not what `ait backup` has written: its checksum does not fit. Nothing was changed; take \
         another backup, or, if you trust its issues as they are, remove its last key, \"backup\"",
        .0.display()
    )]
    Changed(PathBuf),
    /// The file holds no issues.
    #[error("{}, {cause}: nothing was changed; take another backup", path.display())]
    Format {
        /// Which one.
        path: PathBuf,
        /// What is wrong with it, and where.
        cause: FormatError,
    },
}
