//! Writing `issues.json` and beginning the journal anew.
//!
//! Under the lock of a commit (all of it, or, where that takes long, the end: see `aside`), in this order, so
//! that a crash after any step leaves files from which [`load`](super::load) finds the state:
//!
//! 1. render the issues into a temporary file, sync it;
//! 2. append an intent with its hash to the journal, sync that: from now on the new file would be
//!    recognized for what it is;
//! 3. rename it to `issues.json`, sync the directory;
//! 4. write a new journal, which has nothing but a header with a new epoch, to a temporary file, sync
//!    it, rename it to `issues.json.journal`, sync the directory.
//!
//! Other processes follow by the header; see [`replica`](super::replica).

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::NamedTempFile;
use xxhash_rust::xxh3::Xxh3;

use super::format::{self, Document};
use super::frame::Hex128;
use super::fs::{FileSystem, OpenFile, Stamp, sync_name};
use super::journal::{self, Content, Header};
use super::session::{Interrupted, Session, refused};
use super::view::{Journal, Place, Snapshot, View};
use crate::store::StoreError;

/// How much of `issues.json` is gathered before it is written.
const CHUNK_BYTES: usize = 256 * 1024;

/// Writes `issues.json` and begins a journal behind it; gives the state that stands on both.
pub(super) fn checkpoint(session: &Session<'_>, view: &View) -> Result<View, Interrupted> {
    let (fs, place, begun) = (session.fs(), &session.place, Instant::now());
    let failed = |source| Interrupted::from(refused(&place.snapshot, &source));
    let mut temp = fs.create_temp(&place.snapshot, &place.snapshot).map_err(failed)?;
    let content = render(fs, &mut temp, &view.document(), u64::MAX).map_err(failed)?;
    fs.sync(&temp).map_err(failed)?;
    let written = fs.stamp_open(temp.as_file()).map_err(failed)?;
    announce(session, view, view.seq, content)?;
    // The last look before the point of no return, since not everybody takes the lock.
    let mine = fs.is_at(&session.lock.file, &place.lock).map_err(failed)?;
    let found = fs.stamp(&place.snapshot).map_err(failed)?;
    if !mine || found != view.snapshot.map(|snapshot| snapshot.stamp) {
        return Err(Interrupted::Overtaken);
    }
    let stamp = replace_base(fs, temp, &place.snapshot)?;
    if !stamp.same_content(&written) {
        // Somebody wrote into the new file already: the next look finds out what.
        return Err(Interrupted::Overtaken);
    }
    let saved = View { snapshot: Some(Snapshot { stamp, content }), ..view.clone() };
    begin_journal(session, &saved, begun.elapsed())
}

/// Puts an `issues.json` in its place, durably; gives what identified it before its name was durable.
pub(super) fn replace_base(
    fs: &dyn FileSystem,
    temp: NamedTempFile,
    path: &Path,
) -> Result<Stamp, Interrupted> {
    let stamp = rename_base(fs, temp, path)?;
    sync_name(fs, path).map_err(|source| refused(path, &source))?;
    Ok(stamp)
}

/// The same, with a name that is not durable yet.
pub(super) fn rename_base(
    fs: &dyn FileSystem,
    temp: NamedTempFile,
    path: &Path,
) -> Result<Stamp, Interrupted> {
    let failed = |source| Interrupted::from(refused(path, &source));
    let file = fs.replace(temp, path).map_err(|source| match source.kind() {
        io::ErrorKind::ResourceBusy | io::ErrorKind::CrossesDevices => {
            Interrupted::Hopeless(mounted(path, &source))
        }
        _ => failed(source),
    })?;
    fs.stamp_open(&file).map_err(failed)
}

/// Makes an `issues.json` durable that this process did not write: somebody edited it, or a process
/// died between the rename and the sync of the directory. A journal must not outlive its base.
pub(super) fn make_base_durable(session: &Session<'_>) -> Result<(), Interrupted> {
    let (fs, path) = (session.fs(), &session.place.snapshot);
    let failed = |source| Interrupted::from(refused(path, &source));
    if let Some(open) = fs.open(path).map_err(failed)? {
        fs.sync_data(&open.file).map_err(failed)?;
    }
    sync_name(fs, path).map_err(failed)
}

/// Begins a journal that follows `issues.json` as it was found, which contains all changes; `took` is
/// how long it took to write it.
pub(super) fn begin_journal(
    session: &Session<'_>,
    view: &View,
    took: Duration,
) -> Result<View, Interrupted> {
    let (fs, path) = (session.fs(), &session.place.journal);
    let failed = |source| Interrupted::from(refused(path, &source));
    let base = view.snapshot.map(|snapshot| (snapshot.content, snapshot.stamp));
    let mut header = Header::new(Hex128(fs.random()), view.seq, base);
    header.follows = view.journal.as_ref().map(|journal| journal.epoch());
    header.edited = view.standing.is_edited();
    header.took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let bytes = header.to_bytes();
    let mut temp = fs.create_temp(path, &session.place.snapshot).map_err(failed)?;
    fs.write(&mut temp, &bytes).map_err(failed)?;
    fs.sync(&temp).map_err(failed)?;
    // Where there is none, no claim keeps others from making one, should they hold another lock file.
    let old = view.journal.as_ref().map(|journal| fs.is_at(&journal.open.file, path));
    let placed = match old.transpose().map_err(failed)? {
        Some(true) => fs.replace(temp, path),
        Some(false) | None => fs.place(temp, path),
    };
    let file = placed.map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => Interrupted::Overtaken,
        _ => failed(source),
    })?;
    sync_name(fs, path).map_err(failed)?;
    let journal = Journal::found(OpenFile { file, is_writable: true }, header, bytes.len() as u64);
    journal.adopt();
    let mut view = view.clone();
    view.begin(Arc::new(journal));
    Ok(view)
}

/// Tells in the journal which `issues.json` is about to appear, and up to which change it has them.
pub(super) fn announce(
    session: &Session<'_>,
    view: &View,
    seq: u64,
    content: Content,
) -> Result<(), Interrupted> {
    let Some(journal) = view.journal.as_ref() else { return Ok(()) };
    let (fs, path, file) = (session.fs(), &session.place.journal, &journal.open.file);
    let failed = |source| Interrupted::from(refused(path, &source));
    // A journal that somebody removed needs none: nothing will be read from it.
    if !fs.is_at(file, path).map_err(failed)? {
        return Ok(());
    }
    let (durable, edited) = (journal.durable(), view.standing.is_edited());
    let intent = journal::intent(journal.epoch(), view.end, durable, seq, content, edited);
    if let Err(source) = fs.write_at(file, view.end, &intent) {
        // What remains of it is cut by the next session in any case.
        let _ = fs.truncate(file, view.end);
        return Err(failed(source));
    }
    sync_journal(session, journal)?;
    journal.is_durable_to(view.end + intent.len() as u64);
    Ok(())
}

/// Makes a journal durable. Where that fails, the kernel may have dropped what others appended and
/// rely on, and another sync would not tell: nothing is tried on this file again.
pub(super) fn sync_journal(session: &Session<'_>, journal: &Journal) -> Result<(), Interrupted> {
    let synced = session.replica.sync(journal, None);
    let failed = |source| StoreError::NotSaved(failed_sync(&session.place, &source));
    synced.map_err(|source| Interrupted::Hopeless(failed(source)))
}

/// What is said when a sync of the journal has failed.
pub(super) fn failed_sync(place: &Place, source: &io::Error) -> String {
    let path = place.journal.display();
    format!("the disk failed to save {path} ({source}): restart when it is mended")
}

/// The refusal to go on where `issues.json` cannot be replaced: with the journal beside it, and not
/// beside the file that is mounted there, others would not see the changes.
fn mounted(path: &Path, source: &io::Error) -> StoreError {
    StoreError::ReadOnly(format!(
        "{} cannot be replaced ({source}); if it is mounted by itself, mount its directory instead",
        path.display()
    ))
}

/// Writes an `issues.json` to a temporary file, which is synced each time that so much was written.
pub(super) fn render(
    fs: &dyn FileSystem,
    temp: &mut NamedTempFile,
    document: &Document,
    sync_every: u64,
) -> io::Result<Content> {
    let (hasher, buffer) = (Xxh3::new(), Vec::with_capacity(CHUNK_BYTES));
    let mut sink = Sink { fs, temp, hasher, buffer, length_bytes: 0, sync_every, unsynced: 0 };
    format::write(document, &mut sink)?;
    sink.flush()?;
    Ok(Content { hash: Hex128(sink.hasher.digest128()), length_bytes: sink.length_bytes })
}

/// Hashes and counts what it passes on in chunks.
struct Sink<'a> {
    fs: &'a dyn FileSystem,
    temp: &'a mut NamedTempFile,
    hasher: Xxh3,
    buffer: Vec<u8>,
    length_bytes: u64,
    sync_every: u64,
    unsynced: u64,
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= CHUNK_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if !self.buffer.is_empty() {
            self.fs.write(self.temp, &self.buffer)?;
            self.hasher.update(&self.buffer);
            self.length_bytes += self.buffer.len() as u64;
            self.unsynced += self.buffer.len() as u64;
            if self.unsynced >= self.sync_every {
                self.fs.sync(self.temp)?;
                self.unsynced = 0;
            }
            self.buffer.clear();
        }
        Ok(())
    }
}
