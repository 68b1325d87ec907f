//! Going on where a sync of the journal has failed.
//!
//! A kernel that could not write pages marks them as written all the same, and says so once to each opening
//! of the file: another sync of the same file succeeds, and nothing is saved. So a journal is not
//! synced again by a process that has seen that fail, which takes the lock and begins the journal anew in
//! another file ([`begin_anew`]):
//!
//! * The usual way: header, base and changes as before, under a new epoch and `follows` the old one. All whole
//!   batches of the old file are in it, those that others have appended and wait for included; it is synced
//!   before it takes the place of the old one in one step, and the directory behind that. Before that step
//!   nothing has happened, and behind it nothing is missing, so a process that dies leaves either; whoever
//!   has the old one open follows as behind a checkpoint.
//! * Where the old file cannot be read back to where it is known: all that is in memory goes into a new
//!   `issues.json`; then the old journal is put aside, as `issues.json.journal.suspect-*`, since it may hold what
//!   nobody knows; then a journal begins. Without a journal, `issues.json` alone is the truth, so there is no
//!   moment at which anything is missing here either.
//!
//! When neither can be done, whoever asked for the change learns that nobody knows whether it is saved, and
//! the next change tries again with files of its own: those are new, so a disk that takes them is mended.
//!
//! A process that opens the journal later is told nothing. What it finds is made durable by writing
//! it again before it is synced for the first time ([`write_again`]), from where on no other process has
//! said, in what it appended, that it saw it durable. So it does not matter who died before telling whom.
//!
//! The same holds for an `issues.json` that somebody else wrote: where its sync fails, what it holds is written to
//! a file of this process's own. A directory whose sync fails is tried again together with another rename in it.

use std::fmt::Display;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::checkpoint;
use super::frame::Hex128;
use super::fs::{Directory, OpenFile, Stamp, sync_name};
use super::journal::{self, Entry, Header, Rest};
use super::replica::{Replica, lock};
use super::session::{Interrupted, Session, refused, timestamp};
use super::view::{Journal, View};
use crate::store::StoreError;

/// How many journals are remembered: only the one at its path matters, and a few come and go meanwhile.
const MAX_SUSPECTS: usize = 8;

/// The files that this process has seen a sync fail of.
#[derive(Default)]
pub(super) struct Suspects {
    /// Journals, and why.
    journals: Mutex<Vec<(Hex128, String)>>,
    base: Mutex<Option<Stamp>>,
}

impl Suspects {
    /// Takes note that a journal, or its name, could not be made durable.
    pub fn add(&self, journal: &Journal, source: &io::Error) {
        let (epoch, why) = (journal.epoch(), source.to_string());
        let mut suspects = lock(&self.journals);
        suspects.retain(|(known, _)| *known != epoch);
        if suspects.len() == MAX_SUSPECTS {
            suspects.remove(0);
        }
        suspects.push((epoch, why));
    }

    /// Why the journal of a state is not to be relied on; `None` when it is.
    pub fn why(&self, view: &View) -> Option<String> {
        let why = self.about(view.journal.as_ref()?)?;
        Some(failed_sync(&view.place.journal, why))
    }

    /// Why a journal is not to be relied on; `None` when it is.
    pub fn about(&self, journal: &Journal) -> Option<String> {
        let (epoch, suspects) = (journal.epoch(), lock(&self.journals));
        let found = suspects.iter().find(|(known, _)| *known == epoch);
        found.map(|(_, why)| why.clone())
    }
}

impl Replica {
    /// Makes durable what was appended to a journal and, with the directory, its name; measures how long
    /// that takes. A journal of which that fails is not to be relied on any more.
    pub fn sync(&self, journal: &Journal, names: Option<&Directory>) -> io::Result<()> {
        self.sync_as(&journal.open, journal, names)
    }

    /// The same by another opening of the journal: each is told of a failure once, so that one thread does not
    /// take away what another one is to be told.
    pub fn sync_as(
        &self,
        open: &OpenFile,
        journal: &Journal,
        names: Option<&Directory>,
    ) -> io::Result<()> {
        let begun = Instant::now();
        let synced = self.fs.sync_data(&open.file);
        let synced = synced.and_then(|()| names.map_or(Ok(()), |it| self.fs.sync_directory(it)));
        self.syncs.observe(begun.elapsed().as_secs_f64());
        lock(&self.last_sync).note(synced.is_ok(), self.fs.now());
        synced.inspect_err(|source| self.suspects.add(journal, source))?;
        // Another thread may have been told meanwhile what this one was not, about the name.
        drop(lock(&self.naming));
        self.suspects.about(journal).map_or(Ok(()), |why| Err(io::Error::other(why)))
    }

    /// Makes the name of a journal durable that was just put at a path. One of which that fails is not to be
    /// relied on.
    pub fn sync_name(&self, journal: &Journal, path: &Path) -> io::Result<()> {
        let _naming = lock(&self.naming);
        sync_name(&*self.fs, path).inspect_err(|source| self.suspects.add(journal, source))
    }
}

/// Begins a journal that follows `issues.json` as it was found, and that holds all there is; gives the state that
/// stands on both.
pub(super) fn begin_behind(session: &Session<'_>, view: &View) -> Result<View, Interrupted> {
    let stamp = view.snapshot.map(|snapshot| snapshot.stamp);
    let suspects = &session.replica.suspects;
    let is_suspect = stamp.is_some() && *lock(&suspects.base) == stamp;
    if !is_suspect {
        match checkpoint::make_base_durable(session) {
            Ok(()) => return checkpoint::begin_journal(session, view, Duration::ZERO),
            // There is no file that could be written anew.
            Err(error) if stamp.is_none() => return Err(error),
            Err(_) => {}
        }
    }
    *lock(&suspects.base) = stamp;
    checkpoint::checkpoint(session, view)
}

/// What is said when a sync of the journal has failed.
pub(super) fn failed_sync(path: &Path, source: impl Display) -> String {
    format!("the disk failed to save {} ({source})", path.display())
}

/// Why a store did not do something, without what that means for a change.
pub(super) fn reason(error: StoreError) -> String {
    match error {
        StoreError::Busy(why)
        | StoreError::Unreadable(why)
        | StoreError::Damaged(why)
        | StoreError::ReadOnly(why)
        | StoreError::NotSaved(why)
        | StoreError::Uncertain(why) => why,
        other => other.to_string(),
    }
}

/// Begins the journal of a settled state anew in another file; gives the state that stands on that.
pub(super) fn begin_anew(session: &Session<'_>, view: &View) -> Result<View, Interrupted> {
    let fs = session.fs();
    let Some(old) = &view.journal else { return Err(Interrupted::Overtaken) };
    let base = view.snapshot.map(|snapshot| (snapshot.content, snapshot.stamp));
    let mut header = Header::new(Hex128(fs.random()), old.header.base_seq, base);
    header.follows = Some(old.epoch());
    header.took_ms = old.header.took_ms;
    let Some(bytes) = copied(session, view, old, &header) else {
        return put_aside(session, view);
    };
    let journal = Arc::new(checkpoint::put_journal(session, Some(old), header, &bytes)?);
    journal.is_durable_to(bytes.len() as u64);
    tracing::warn!(
        "the journal of {} is begun anew in another file, with all that it held",
        session.place.snapshot.display(),
    );
    Ok(View {
        journal: Some(journal),
        end: bytes.len() as u64,
        announced_bytes: None,
        ..view.clone()
    })
}

/// A journal with this header and the changes of another one; `None` when they cannot be read back.
fn copied(session: &Session<'_>, view: &View, old: &Journal, header: &Header) -> Option<Vec<u8>> {
    let mut found = session.fs().read_at(&old.open.file, old.begin).ok()?;
    found.truncate(usize::try_from(view.end - old.begin).ok()?);
    let scan = journal::scan(old.epoch(), old.begin, header.base_seq, &found);
    let mut bytes = header.to_bytes();
    let mut copied_seq = header.base_seq;
    for entry in &scan.entries {
        // What an intent announced has not come about, or this journal would not be followed.
        let Entry::Change { seq, event } = entry else { continue };
        let offset = bytes.len() as u64;
        // Each for itself, so that others can go on behind any of them.
        bytes.extend(journal::batch(header.epoch, offset, *seq, offset, &[Arc::clone(event)]));
        copied_seq = *seq;
    }
    let is_whole = (scan.end, scan.rest, copied_seq) == (view.end, Rest::Nothing, view.seq);
    is_whole.then_some(bytes)
}

/// Goes on without a journal that cannot be read back, and keeps it for people.
fn put_aside(session: &Session<'_>, view: &View) -> Result<View, Interrupted> {
    let (fs, path, begun) = (session.fs(), &session.place.journal, Instant::now());
    let saved = checkpoint::write_base(session, view)?;
    let kept = session.place.suspect(&timestamp(fs.now()).to_string());
    fs.put_aside(path, &kept).map_err(|source| refused(path, &source))?;
    tracing::warn!(
        "{} cannot be read back; what this process knew of it is in {}, and the file is kept as {}",
        path.display(),
        session.place.snapshot.display(),
        kept.display(),
    );
    checkpoint::begin_journal(session, &saved, fs.since(begun))
}

/// Writes what others left in a journal again, at the same place, where nobody is known to have made it
/// durable, so that a sync saves it; to be called under the lock.
pub(super) fn write_again(
    session: &Session<'_>,
    view: &View,
    journal: &Journal,
) -> Result<(), StoreError> {
    let (fs, file, from) = (session.fs(), &journal.open.file, journal.durable());
    if from >= view.end {
        return Ok(());
    }
    let failed = |source| refused(&session.place.journal, &source);
    let mut bytes = fs.read_at(file, from).map_err(failed)?;
    bytes.truncate(usize::try_from(view.end - from).unwrap_or(usize::MAX));
    fs.write_at(file, from, &bytes).map_err(failed)
}
