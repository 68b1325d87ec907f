//! What is known of `issues.json` without reading it: the note of what was published last, which processes share,
//! and what this process has looked at.

use std::io;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::fs::{FileFingerprint, FileLock, FileSystem, Rename, TO_THE_END, lock_at};
use super::place::Place;
use crate::domain::IssueId;
use crate::store::Position;

/// What was published last, or taken over from an edit. Only a cache: without it the file is compared once more.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Published {
    /// The number of the event up to which the file tells everything.
    pub number: u64,
    /// Its hash, as 16 hex digits.
    pub event: String,
    /// XXH3-128 of the file, as 32 hex digits.
    pub content: String,
    /// What it was known by.
    pub fingerprint: FileFingerprint,
    /// How many milliseconds it took to write the file; `None` for one that was taken over from an edit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
    /// What the file was known by whose place it takes. The note is written before the file is put there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub displaced: Option<FileFingerprint>,
    /// The issues of which an edit was taken over since the file was written, with the lengths of the histories that
    /// it shows of them: it does not show the entry of the edit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edited: Edited,
}

/// Issues that were edited, in order, with the lengths of the histories that a file shows of them.
pub(super) type Edited = Vec<(IssueId, usize)>;

/// What a process knows of the file of the issues.
#[derive(Default)]
pub(super) struct KnownFile {
    /// What it was known by when it was looked at last; `None` before the first look, and inside for no file.
    pub looked_at: Option<Option<FileFingerprint>>,
    /// Why it was not taken over, for people.
    pub problem: Option<String>,
}

impl Published {
    /// The note of a file that tells everything up to a position.
    pub fn new(position: Position, fingerprint: FileFingerprint, hash: u128) -> Self {
        let event = format!("{:016x}", position.hash);
        let (number, content) = (position.number, format!("{hash:032x}"));
        let (took_ms, displaced, edited) = (None, None, Vec::new());
        Self { number, event, content, fingerprint, took_ms, displaced, edited }
    }

    /// Whether nobody has edited a file: it is the one of the note, or the one whose place that takes.
    pub fn knows(&self, found: &FileFingerprint) -> bool {
        self.fingerprint == *found || self.displaced.as_ref() == Some(found)
    }

    /// XXH3-128 of the file.
    pub fn hash(&self) -> u128 {
        u128::from_str_radix(&self.content, 16).unwrap_or(0)
    }

    /// The position of the event up to which the file tells everything.
    pub fn position(&self) -> Position {
        let hash = u64::from_str_radix(&self.event, 16).unwrap_or(0);
        Position { number: self.number, hash }
    }

    /// Reads the note of a file that tells what the log has up to `newest`; `None` where there is none, and where
    /// the log is an older copy, which lacks what the file tells.
    pub fn read_up_to(fs: &dyn FileSystem, place: &Place, newest: Position) -> Option<Self> {
        let lacks = |note: &Self| {
            let position = note.position();
            // What stood there when a restore made the log tells nothing of it, and is no edit of it either.
            let is_of_log = position != Position::default();
            is_of_log
                && (position.number > newest.number
                    || (position.number == newest.number && position != newest))
        };
        Self::read(fs, place).filter(|note| !lacks(note))
    }

    /// Reads the note; `None` where there is none.
    pub fn read(fs: &dyn FileSystem, place: &Place) -> Option<Self> {
        let open = fs.open(&place.published()).ok()??;
        serde_json::from_slice(&fs.read_at(&open.file, 0, TO_THE_END).ok()?).ok()
    }

    /// Waits for the lock under which the file and the note are replaced together, so that the note never tells of
    /// a file that another has just displaced.
    pub fn lock(fs: &dyn FileSystem, place: &Place) -> io::Result<Option<FileLock>> {
        lock_at(fs, &place.published_lock(), &place.issues, true)
    }

    /// The edits that were taken over since the file was written last.
    pub fn edits(fs: &dyn FileSystem, place: &Place) -> Edited {
        Self::read(fs, place).map(|note| note.edited).unwrap_or_default()
    }

    /// Writes the note. Where the store is in use, only under its lock.
    pub fn write(&self, fs: &dyn FileSystem, place: &Place) -> io::Result<()> {
        let target = place.published();
        let temp = place.directory.join(format!(".published.{:08x}.tmp", random()));
        let file = fs.create(&temp, &place.issues)?;
        fs.write_at(&file, 0, &serde_json::to_vec(self)?)?;
        // Without it, what a restore has taken out of the store would come back from a file that is older than that.
        fs.sync(&file)?;
        fs.rename(&temp, &target, Rename::Replace).inspect_err(|_| drop(fs.remove(&temp)))
    }
}

/// A number at random, for the names of temporary files.
pub(super) fn random() -> u32 {
    Uuid::new_v4().as_u128() as u32
}
