//! Opening: which state the files describe.
//!
//! Snapshot and journal are read without the lock, and again if one of them was replaced meanwhile.
//! Then the hash of `issues.json` decides:
//!
//! | its hash is | it means | the state |
//! |---|---|---|
//! | that of an intent in the journal | a checkpoint was interrupted after its rename | it and the changes beyond the intent's number, wherever they stand |
//! | the journal's `baseHash` | the usual case | it and all changes |
//! | neither | somebody edited it | it and all changes that fit |
//!
//! Without a journal, `issues.json` alone is the truth; without either, the store is empty. A journal
//! that cannot be followed to its end makes the store read-only.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::format::{self, Document, FormatError};
use super::fs::{Contents, FileSystem, Stamp};
use super::journal::{self, Content, Entry, Header, Scan};
use super::view::{Journal, Place, Snapshot, Standing, View, explained};
use crate::store::StoreError;
use crate::store::changes::Recent;

/// Why the files describe no state.
#[derive(Clone, Debug, thiserror::Error)]
pub(super) enum LoadError {
    #[error("the directory {} does not exist: create it, or name another file with --file or ISSUES_FILE", .0.display())]
    MissingDirectory(PathBuf),
    #[error("{} is gone, though it was there: put it back, or begin anew with a file that holds {{\"issues\": []}}", .0.display())]
    Gone(PathBuf),
    #[error("{}: {source}: make it readable, or name another file with --file or ISSUES_FILE", path.display())]
    Io { path: PathBuf, source: Arc<io::Error> },
    #[error("{}, {source}: mend it there, or take a good copy from version control or a backup; it is left untouched until it is valid", path.display())]
    Format { path: PathBuf, source: FormatError },
    /// Another look finds something else.
    #[error("{} is being replaced again and again", .0.display())]
    Moving(PathBuf),
}

impl From<LoadError> for StoreError {
    fn from(error: LoadError) -> Self {
        Self::Unreadable(error.to_string())
    }
}

pub(super) fn unreadable(path: &Path, source: io::Error) -> LoadError {
    LoadError::Io { path: path.to_owned(), source: Arc::new(source) }
}

/// Files that describe no state.
pub(super) struct Bad {
    /// What identified `issues.json` as it was found; nothing when it is gone.
    pub stamp: Option<Stamp>,
    pub error: LoadError,
}

/// A journal as it was found, with all of its bytes.
struct Found {
    journal: Result<Arc<Journal>, String>,
    stamp: Option<Stamp>,
    bytes: Vec<u8>,
}

/// Reads the files. `before` is the state that this process knew, if any.
pub(super) fn load(
    fs: &dyn FileSystem,
    place: &Place,
    before: Option<&View>,
) -> Result<View, Box<Bad>> {
    let failed = |error| Box::new(Bad { stamp: None, error });
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| failed(unreadable(&path, source))
    };
    let contents = fs.read(&place.snapshot).map_err(at(&place.snapshot))?;
    let found = find_journal(fs, place).map_err(at(&place.journal))?;
    let stamp = contents.as_ref().map(|contents| contents.stamp);
    if fs.stamp(&place.snapshot).map_err(at(&place.snapshot))? != stamp {
        return Err(failed(LoadError::Moving(place.snapshot.clone())));
    }
    let Some(found) = found else {
        return without_journal(fs, place, before, contents);
    };
    let moved = match &found.journal {
        Ok(journal) => !fs.is_at(&journal.open.file, &place.journal).map_err(at(&place.journal))?,
        Err(_) => fs.stamp(&place.journal).map_err(at(&place.journal))? != found.stamp,
    };
    if moved {
        return Err(failed(LoadError::Moving(place.journal.clone())));
    }
    with_journal(place, before, contents, found)
}

fn find_journal(fs: &dyn FileSystem, place: &Place) -> io::Result<Option<Found>> {
    let Some(open) = fs.open(&place.journal)? else { return Ok(None) };
    let stamp = Some(fs.stamp_open(&open.file)?);
    let bytes = fs.read_at(&open.file, 0)?;
    let journal = Header::read(&bytes)
        .map(|(header, begin)| Arc::new(Journal::new(open, header, begin)))
        .map_err(explained);
    Ok(Some(Found { journal, stamp, bytes }))
}

/// Opens the journal at its path without reading more than its header.
pub(super) fn open_journal(fs: &dyn FileSystem, place: &Place) -> io::Result<Option<Arc<Journal>>> {
    let found = find_journal(fs, place)?;
    Ok(found.and_then(|found| found.journal.ok()))
}

/// The state when there is no journal.
fn without_journal(
    fs: &dyn FileSystem,
    place: &Place,
    before: Option<&View>,
    contents: Option<Contents>,
) -> Result<View, Box<Bad>> {
    let stamp = contents.as_ref().map(|contents| contents.stamp);
    let known = before.filter(|view| view.snapshot.map(|snapshot| snapshot.stamp) == stamp);
    if let Some(view) = known
        && let Some(journal) = &view.journal
    {
        // Somebody removed the journal alone. This process still has it open, and knows all of it.
        let bytes = fs.read_at(&journal.open.file, view.end);
        let bytes = bytes
            .map_err(|source| Box::new(Bad { stamp, error: unreadable(&place.journal, source) }))?;
        let mut view = view.clone();
        // What cannot be followed was never answered, or was known before.
        let _ = view.follow(&journal::scan(journal.epoch(), view.end, view.seq, &bytes));
        view.standing = Standing::Unsettled { edited: false, journal: None };
        return Ok(view);
    }
    let was_there = before.is_some_and(|view| view.snapshot.is_some() || view.seq > 0);
    if contents.is_none() && was_there {
        return Err(Box::new(Bad { stamp, error: LoadError::Gone(place.snapshot.clone()) }));
    }
    state_of(place, before, contents)
}

/// The state when there is a journal.
fn with_journal(
    place: &Place,
    before: Option<&View>,
    contents: Option<Contents>,
    found: Found,
) -> Result<View, Box<Bad>> {
    if contents.is_none() && found.journal.as_ref().is_ok_and(|it| it.header.base().is_some()) {
        return Err(Box::new(Bad { stamp: None, error: LoadError::Gone(place.snapshot.clone()) }));
    }
    let mut view = state_of(place, before, contents)?;
    let journal = match found.journal {
        Ok(journal) => journal,
        Err(why) => {
            view.standing = damaged(place, &why, found.stamp);
            return Ok(view);
        }
    };
    let begin = usize::try_from(journal.begin).unwrap_or(usize::MAX);
    let base_seq = journal.header.base_seq;
    let mut scan = journal::scan(journal.epoch(), journal.begin, base_seq, &found.bytes[begin..]);
    let content = view.snapshot.map(|snapshot| snapshot.content);
    let saved = saved_by_checkpoint(&scan, content);
    let edited = saved.is_none() && content != journal.header.base();
    view.seq = saved.unwrap_or(base_seq);
    scan.entries.retain(|entry| match entry {
        Entry::Change { seq, .. } => *seq > view.seq,
        Entry::Intent { .. } => false,
    });
    let followed = if edited { follow_what_fits(&mut view, &scan) } else { view.follow(&scan) };
    view.journal = Some(journal);
    view.standing = match followed {
        Err(why) => damaged(place, &why, found.stamp),
        Ok(()) if edited || saved.is_some() => Standing::Unsettled { edited, journal: found.stamp },
        Ok(()) => Standing::Settled,
    };
    Ok(view)
}

/// The number of the last change that `issues.json` contains, when it is that of an intent.
fn saved_by_checkpoint(scan: &Scan, content: Option<Content>) -> Option<u64> {
    scan.entries.iter().rev().find_map(|entry| match entry {
        Entry::Intent { seq, content: intended } if Some(*intended) == content => Some(*seq),
        _ => None,
    })
}

/// Follows the changes over an edited `issues.json`: what somebody deleted stays deleted, and what was
/// filed and is there already is not filed again.
fn follow_what_fits(view: &mut View, scan: &Scan) -> Result<(), String> {
    for entry in &scan.entries {
        if let Entry::Change { seq, event } = entry {
            if view.contains(event) {
                view.seq = *seq;
            } else if let Err(error) = view.advance(*seq, event) {
                view.seq = *seq;
                tracing::warn!("an edit of issues.json leaves no place for change {seq}: {error}");
            }
        }
    }
    let rest = Scan { entries: Vec::new(), ..*scan };
    view.follow(&rest)
}

/// The state that `issues.json` alone describes.
fn state_of(
    place: &Place,
    before: Option<&View>,
    contents: Option<Contents>,
) -> Result<View, Box<Bad>> {
    let (mut document, mut snapshot) = (Document::default(), None);
    if let Some(Contents { bytes, stamp }) = contents {
        document = format::parse(&bytes).map_err(|source| {
            let path = place.snapshot.clone();
            Box::new(Bad { stamp: Some(stamp), error: LoadError::Format { path, source } })
        })?;
        snapshot = Some(Snapshot { stamp, content: Content::of(&bytes) });
    }
    let mut recent = before.map_or_else(Recent::default, |view| view.recent.clone());
    recent.interrupt();
    Ok(View {
        issues: document.issues,
        extra: document.extra,
        seq: 0,
        snapshot,
        journal: None,
        end: 0,
        unsaved: 0,
        announced_bytes: None,
        standing: Standing::Settled,
        recent,
    })
}

fn damaged(place: &Place, why: &str, journal: Option<Stamp>) -> Standing {
    Standing::Damaged { why: format!("{}: {why}", place.journal.display()), journal }
}
