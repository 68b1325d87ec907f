//! What is known of `issues.json` without reading it: the note `published`, which processes share, and what this
//! process has seen.

use std::io;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::fs::{FileFingerprint, FileLock, FileSystem, Rename, lock_at, read_file};
use super::paths::StorePaths;
use crate::EventPosition;
use ait_domain::IssueId;

/// The note about the file that was last published, or merged as an external edit. It is a cache: without it, the
/// file is compared once more.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct PublishedNote {
    /// The number of the newest event that the file shows.
    pub number: u64,
    /// The hash of that event, as 16 hex digits.
    pub event: String,
    /// XXH3-128 of the file, as 32 hex digits.
    pub content: String,
    pub fingerprint: FileFingerprint,
    /// How long writing the file took, in milliseconds; `None` for a merged edit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
    /// The fingerprint of the file that the new one replaces. The note is written before the file is replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub displaced: Option<FileFingerprint>,
    /// The issues whose edits were merged since the file was written, with the lengths of the histories in the file.
    /// The file does not show the history entry of the edit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edited: Edited,
}

/// Edited issues, in order, with the lengths of their histories in a file.
pub(crate) type Edited = Vec<(IssueId, usize)>;

/// What a process knows of `issues.json`.
#[derive(Default)]
pub(crate) struct KnownFile {
    /// The fingerprint at the last check: `None` before the first check, `Some(None)` for a missing file.
    pub checked: Option<Option<FileFingerprint>>,
    /// Why the file was not merged, for people.
    pub problem: Option<String>,
}

impl PublishedNote {
    /// Creates the note of a file that shows everything up to a position.
    pub fn new(position: EventPosition, fingerprint: FileFingerprint, hash: u128) -> Self {
        let event = format!("{:016x}", position.hash);
        let number = position.number;
        let content = format!("{hash:032x}");
        let took_ms = None;
        let displaced = None;
        let edited = Vec::new();
        Self { number, event, content, fingerprint, took_ms, displaced, edited }
    }

    /// Returns true if a file is no edit: it is the file of the note, or the one that it replaces.
    pub fn knows(&self, found: &FileFingerprint) -> bool {
        self.fingerprint == *found || self.displaced.as_ref() == Some(found)
    }

    /// Returns the XXH3-128 of the file.
    pub fn hash(&self) -> u128 {
        u128::from_str_radix(&self.content, 16).unwrap_or(0)
    }

    /// Returns the position of the newest event that the file shows.
    pub fn position(&self) -> EventPosition {
        let hash = u64::from_str_radix(&self.event, 16).unwrap_or(0);
        EventPosition { number: self.number, hash }
    }

    /// Reads the note if the database has what the file shows. Returns `None` if there is no note, or if the database
    /// is an older copy that lacks the note's position.
    pub fn read_up_to(
        fs: &dyn FileSystem,
        paths: &StorePaths,
        newest: EventPosition,
    ) -> Option<Self> {
        let lacks = |note: &Self| {
            let position = note.position();
            // This position marks the file that a restore found. It shows nothing of the new log, and is no edit of
            // it.
            let is_of_log = position != EventPosition::default();
            is_of_log
                && (position.number > newest.number
                    || (position.number == newest.number && position != newest))
        };
        Self::read(fs, paths).filter(|note| !lacks(note))
    }

    /// Reads the note. Returns `None` if there is no valid one.
    pub fn read(fs: &dyn FileSystem, paths: &StorePaths) -> Option<Self> {
        serde_json::from_slice(&read_file(fs, &paths.published()).ok()??).ok()
    }

    /// Waits for the lock under which the file and its note are replaced together. Without it, a note could describe
    /// a file that another process has just replaced.
    pub fn lock(fs: &dyn FileSystem, paths: &StorePaths) -> io::Result<Option<FileLock>> {
        lock_at(fs, &paths.published_lock(), &paths.issues, true)
    }

    /// Returns the edits that were merged since the file was last written.
    pub fn edits(fs: &dyn FileSystem, paths: &StorePaths) -> Edited {
        Self::read(fs, paths).map(|note| note.edited).unwrap_or_default()
    }

    /// Writes the note. The caller holds its lock if the store is in use.
    pub fn write(&self, fs: &dyn FileSystem, paths: &StorePaths) -> io::Result<()> {
        let target = paths.published();
        let temp = paths.directory.join(format!(".published.{:08x}.tmp", random()));
        let file = fs.create(&temp, &paths.issues)?;
        fs.write_at(&file, 0, &serde_json::to_vec(self)?)?;
        // If the note were lost, issues that a restore removed would come back from an older file.
        fs.sync(&file)?;
        fs.rename(&temp, &target, Rename::Replace).inspect_err(|_| drop(fs.remove(&temp)))
    }
}

/// Returns a random number for the name of a temporary file.
pub(crate) fn random() -> u32 {
    Uuid::new_v4().as_u128() as u32
}
