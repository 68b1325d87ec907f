//! Opening: which state the files describe.
//!
//! Snapshot and journal are read without the lock, and again if one of them was replaced meanwhile.
//! Then the hash of `issues.json` decides:
//!
//! | its hash is | it means | the state |
//! |---|---|---|
//! | that of an intent in the journal | a checkpoint was interrupted after its rename | it and the changes beyond the intent's number, wherever they stand |
//! | the journal's `baseHash` | the usual case | it and all changes |
//! | neither | somebody edited it | what it and this process's knowledge make together (`edits`); for one that knows nothing, it and all changes that fit |
//!
//! A journal that a restore has begun for an `issues.json` that is not there yet describes none: the two
//! damaged files that it replaces must not be taken for one another's.
//!
//! Without a journal, `issues.json` alone is the truth; without either, the store is empty. A journal
//! that cannot be followed to its end makes the store read-only.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use super::edits::{self, Edit};
use super::format::{self, FormatError};
use super::fs::{Contents, FileSystem, Stamp};
use super::journal::{self, Content, Entry, Header, Scan};
use super::merge::Upheld;
use super::view::{Journal, Place, Snapshot, Standing, View, explained};
use super::written::WORTH_A_THREAD_BYTES;
use crate::domain::{EventKind, Extra, IssueId, Trace};
use crate::store::backup::format as backup;
use crate::store::changes::Recent;
use crate::store::{IssueStore, StoreError};

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
    #[error("{} was being put in place by a restore that did not come to its end: run `ait restore FILE --force` again; the files that it was to replace are beside it, with names that end in .damaged-{time}", path.display())]
    Interrupted { path: PathBuf, time: String },
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

/// A journal as it was found, with all of its bytes.
struct Found {
    journal: Result<Arc<Journal>, String>,
    stamp: Option<Stamp>,
    bytes: Vec<u8>,
}

/// Reads the files. `before` is the state that this process knew of them, if any.
pub(super) fn load(
    fs: &dyn FileSystem,
    place: &Place,
    before: Option<&View>,
) -> Result<View, LoadError> {
    let at_snapshot = |source| unreadable(&place.snapshot, source);
    let at_journal = |source| unreadable(&place.journal, source);
    let contents = fs.read(&place.snapshot).map_err(at_snapshot)?;
    let found = find_journal(fs, place).map_err(at_journal)?;
    let stamp = contents.as_ref().map(|contents| contents.stamp);
    if fs.stamp(&place.snapshot).map_err(at_snapshot)? != stamp {
        return Err(LoadError::Moving(place.snapshot.clone()));
    }
    let Some(found) = found else {
        return without_journal(fs, place, before, contents);
    };
    let moved = match &found.journal {
        Ok(journal) => !fs.is_at(&journal.open.file, &place.journal).map_err(at_journal)?,
        Err(_) => fs.stamp(&place.journal).map_err(at_journal)? != found.stamp,
    };
    if moved {
        return Err(LoadError::Moving(place.journal.clone()));
    }
    with_journal(fs, place, before, contents, found)
}

fn find_journal(fs: &dyn FileSystem, place: &Place) -> io::Result<Option<Found>> {
    let Some(open) = fs.open(&place.journal)? else { return Ok(None) };
    let stamp = Some(fs.stamp_open(&open.file)?);
    let bytes = fs.read_at(&open.file, 0)?;
    let journal = Header::read(&bytes)
        .map(|(header, begin)| Arc::new(Journal::found(open, header, begin)))
        .map_err(explained);
    Ok(Some(Found { journal, stamp, bytes }))
}

/// Opens the journal at its path; gives what stands behind its header too.
pub(super) fn open_journal(
    fs: &dyn FileSystem,
    place: &Place,
) -> io::Result<Option<(Arc<Journal>, Vec<u8>)>> {
    let Some(Found { journal: Ok(journal), mut bytes, .. }) = find_journal(fs, place)? else {
        return Ok(None);
    };
    bytes.drain(..usize::try_from(journal.begin).unwrap_or(usize::MAX));
    Ok(Some((journal, bytes)))
}

/// The state when there is no journal.
fn without_journal(
    fs: &dyn FileSystem,
    place: &Place,
    before: Option<&View>,
    contents: Option<Contents>,
) -> Result<View, LoadError> {
    let stamp = contents.as_ref().map(|contents| contents.stamp);
    let is_known = |view: &&View| view.snapshot.is_some_and(|known| Some(known.stamp) == stamp);
    if let Some(view) = before.filter(is_known)
        && let Some(journal) = &view.journal
    {
        // Somebody removed the journal alone. This process still has it open, and knows all of it.
        let bytes = fs.read_at(&journal.open.file, view.end);
        let bytes = bytes.map_err(|source| unreadable(&place.journal, source))?;
        let mut view = view.clone();
        // What cannot be followed was never answered, or was known before.
        let _ = view.follow(&journal::scan(journal.epoch(), view.end, view.seq, &bytes));
        view.standing = Standing::Unsettled { edited: false, journal: None };
        return Ok(view);
    }
    let was_there = before.is_some_and(|view| view.snapshot.is_some() || view.seq > 0);
    if contents.is_none() && was_there {
        return Err(LoadError::Gone(place.snapshot.clone()));
    }
    let found = state_of(place, before, contents)?;
    let known = edits::known_of_removed(fs, before);
    let known = known.map_err(|source| unreadable(&place.journal, source))?;
    Ok(match (known, before) {
        (Some(known), Some(before)) => edits::merged(found, known, before, None),
        _ => found,
    })
}

/// The state when there is a journal.
fn with_journal(
    fs: &dyn FileSystem,
    place: &Place,
    before: Option<&View>,
    contents: Option<Contents>,
    found: Found,
) -> Result<View, LoadError> {
    let restoring = found.journal.as_ref().ok().and_then(|it| it.header.restoring.clone());
    check_presence(place, contents.as_ref(), &found, restoring.as_ref())?;
    if restoring.is_none()
        && let Some(view) = as_before(fs, place, before, contents.as_ref(), &found)?
    {
        return Ok(view);
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
    // What a restore has put in place is new to other processes, too.
    let restored = restoring.map(|_| (base_seq, true));
    let saved = saved_by_checkpoint(&scan, content).or(restored);
    // An edit that a checkpoint had taken over before it was interrupted is one for other processes.
    let (seq, edited) = saved.unwrap_or((base_seq, content != journal.header.base()));
    if edited && saved.is_none() {
        let known = edits::known(fs, before, &journal, &found.bytes);
        let known = known.map_err(|source| unreadable(&place.journal, source))?;
        if let (Some(known), Some(before)) = (known, before) {
            return Ok(edits::merged(view, known, before, found.stamp));
        }
        let upheld = Upheld::default();
        view.edit = Some(Arc::new(Edit { before: None, upheld }));
    } else {
        let recent = edits::retold_by_another(fs, before, &journal, &view.issues);
        let recent = recent.map_err(|source| unreadable(&place.journal, source))?;
        view.recent = recent.unwrap_or(view.recent);
    }
    view.seq = seq;
    scan.entries.retain(|entry| match entry {
        Entry::Change { seq, .. } => *seq > view.seq,
        Entry::Intent { .. } => false,
    });
    let followed = if edited && saved.is_none() {
        follow_what_fits(&mut view, &scan)
    } else {
        view.follow(&scan)
    };
    journal.is_durable_to(scan.durable);
    view.journal = Some(journal);
    view.standing = match followed {
        Err(why) => damaged(place, &why, found.stamp),
        Ok(()) if edited || saved.is_some() => Standing::Unsettled { edited, journal: found.stamp },
        Ok(()) => Standing::Settled,
    };
    Ok(view)
}

/// Makes sure that the `issues.json` is there that a journal follows, or was begun for by a restore.
fn check_presence(
    place: &Place,
    contents: Option<&Contents>,
    found: &Found,
    restoring: Option<&String>,
) -> Result<(), LoadError> {
    let Ok(journal) = &found.journal else { return Ok(()) };
    let path = || place.snapshot.clone();
    if let Some(time) = restoring
        && contents.map(|contents| Content::of(&contents.bytes)) != journal.header.base()
    {
        return Err(LoadError::Interrupted { path: path(), time: time.clone() });
    }
    if contents.is_none() && journal.header.base().is_some() {
        return Err(LoadError::Gone(path()));
    }
    Ok(())
}

/// The state that this process knows, where `issues.json` was only touched, or put back: it need not be read.
fn as_before(
    fs: &dyn FileSystem,
    place: &Place,
    before: Option<&View>,
    contents: Option<&Contents>,
    found: &Found,
) -> Result<Option<View>, LoadError> {
    let (Some(before), Some(contents), Ok(journal)) = (before, contents, &found.journal) else {
        return Ok(None);
    };
    // What a checkpoint has made of an edit, which is gone again, is not what was known before.
    if before.standing.is_edited() && before.edit.is_none() {
        return Ok(None);
    }
    let known = edits::known(fs, Some(before), journal, &found.bytes);
    let Some(known) = known.map_err(|source| unreadable(&place.journal, source))? else {
        return Ok(None);
    };
    let snapshot = Snapshot { stamp: contents.stamp, content: Content::of(&contents.bytes) };
    let is_base = journal.header.base() == Some(snapshot.content);
    Ok(is_base.then(|| edits::without(known, before, snapshot, journal.header.base_seq)))
}

/// The number of the last change that `issues.json` contains, when it is that of an intent, and whether
/// it contains an edit as well.
fn saved_by_checkpoint(scan: &Scan, content: Option<Content>) -> Option<(u64, bool)> {
    scan.entries.iter().rev().find_map(|entry| match entry {
        Entry::Intent { seq, content: intended, edited } if Some(*intended) == content => {
            Some((*seq, *edited))
        }
        _ => None,
    })
}

/// Follows the changes over an edited `issues.json`: a change that it contains is not made again, and
/// one of an issue that somebody deleted is dropped.
fn follow_what_fits(view: &mut View, scan: &Scan) -> Result<(), String> {
    // Up to where the history of each issue is that of the changes so far.
    let mut told: HashMap<IssueId, usize> = HashMap::new();
    for entry in &scan.entries {
        let Entry::Change { seq, event } = entry else { continue };
        let told = told.entry(event.issue).or_default();
        let issue = view.issues.find(&event.issue.into());
        if let (EventKind::Imported { issue: imported }, Ok(issue)) = (&event.kind, &issue) {
            // An import leaves no entry: that the issue is there tells that it happened.
            *told = imported.issue().history.len().min(issue.history.len());
            view.seq = *seq;
            continue;
        }
        if let Some(trace) = issue.as_ref().ok().and_then(|issue| event.trace_in(issue, *told)) {
            if let Trace::Entry(place) = trace {
                *told = place + 1;
            }
            view.seq = *seq;
            continue;
        }
        *told = match (&event.kind, &issue) {
            (EventKind::Imported { issue }, _) => issue.issue().history.len(),
            (EventKind::Edited { issue }, _) => issue.history.len(),
            // A comment alone adds nothing to the history.
            (EventKind::Commented { .. }, _) => *told,
            (_, Ok(issue)) => issue.history.len() + 1,
            (_, Err(_)) => 1,
        };
        if let Err(error) = view.advance(*seq, event) {
            view.seq = *seq;
            tracing::warn!("an edit of issues.json leaves no place for change {seq}: {error}");
        }
    }
    view.follow(&Scan { entries: Vec::new(), ..*scan })
}

/// The state that `issues.json` alone describes.
fn state_of(
    place: &Place,
    before: Option<&View>,
    contents: Option<Contents>,
) -> Result<View, LoadError> {
    let (snapshot, issues, extra) = match contents {
        None => Default::default(),
        Some(contents) => {
            let (content, read) = read_unless_known(before, &contents);
            let snapshot = Some(Snapshot { stamp: contents.stamp, content });
            let at_snapshot = |source| LoadError::Format { path: place.snapshot.clone(), source };
            let (issues, extra) = read.map_err(at_snapshot)?;
            (snapshot, issues, extra)
        }
    };
    let mut recent = before.map_or_else(Recent::default, |view| view.recent.clone());
    recent.interrupt();
    Ok(View {
        place: Arc::new(place.clone()),
        issues,
        extra,
        seq: 0,
        snapshot,
        journal: None,
        end: 0,
        unsaved: 0,
        announced_bytes: None,
        standing: Standing::Settled,
        edit: None,
        recent,
    })
}

type Read = Result<(IssueStore, Arc<Extra>), FormatError>;

/// What a file holds. What was only touched, or put back, need not be read again.
fn read_unless_known(before: Option<&View>, Contents { bytes, .. }: &Contents) -> (Content, Read) {
    let read = || {
        let mut document = format::parse(bytes.clone())?;
        backup::forget(&mut document.extra);
        Ok((document.issues, Arc::new(document.extra)))
    };
    let known =
        before.filter(|view| view.unsaved == 0).and_then(|view| view.snapshot.zip(Some(view)));
    let Some((snapshot, view)) = known else {
        if bytes.len() < WORTH_A_THREAD_BYTES {
            return (Content::of(bytes), read());
        }
        return thread::scope(|scope| {
            let content = scope.spawn(|| Content::of(bytes));
            let read = read();
            (content.join().unwrap_or_else(|_| Content::of(bytes)), read)
        });
    };
    let content = Content::of(bytes);
    let is_known = snapshot.content == content;
    (content, if is_known { Ok((view.issues.clone(), Arc::clone(&view.extra))) } else { read() })
}

fn damaged(place: &Place, why: &str, journal: Option<Stamp>) -> Standing {
    Standing::Damaged { why: format!("{}: {why}", place.journal.display()), journal }
}
