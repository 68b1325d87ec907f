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
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tempfile::NamedTempFile;
use xxhash_rust::xxh3::Xxh3;

use super::format::{self, Document};
use super::frame::Hex128;
use super::fs::{FileSystem, OpenFile, Stamp, sync_name};
use super::journal::{self, Content, Header};
use super::replica::Replica;
use super::session::{Interrupted, Session, refused};
use super::stale;
use super::suspect::failed_sync;
use super::view::{Journal, Place, Snapshot, View};
use crate::store::StoreError;

/// How much of `issues.json` is gathered before it is written.
const CHUNK_BYTES: usize = 256 * 1024;

/// Writes `issues.json` and begins a journal behind it; gives the state that stands on both.
pub(super) fn checkpoint(session: &Session<'_>, view: &View) -> Result<View, Interrupted> {
    let begun = Instant::now();
    let saved = write_base(session, view)?;
    begin_journal(session, &saved, session.fs().since(begun))
}

/// Writes `issues.json`, durably; gives the same state with that, and with the old journal still.
pub(super) fn write_base(session: &Session<'_>, view: &View) -> Result<View, Interrupted> {
    let (fs, path) = (session.fs(), &session.place.snapshot);
    let rendered = render(fs, path, &view.document(), u64::MAX)?;
    let content = rendered.content;
    announce(session, view, view.seq, content)?;
    let stamp = rendered.take_place(session, view)?;
    sync_name(fs, path).map_err(|source| refused(path, &source))?;
    Ok(View { snapshot: Some(Snapshot { stamp, content }), ..view.clone() })
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
fn rename_base(
    fs: &dyn FileSystem,
    temp: NamedTempFile,
    path: &Path,
) -> Result<Stamp, Interrupted> {
    let file = fs.replace(temp, path).map_err(|source| not_replaced(path, &source))?;
    fs.stamp_open(&file).map_err(|source| refused(path, &source).into())
}

/// Puts an `issues.json` in the place of another one, if that is still the one that was found; what somebody
/// saved there in between goes back to where it was.
fn exchange_base(
    fs: &dyn FileSystem,
    rendered: Rendered,
    place: &Place,
    found: Stamp,
) -> Result<Stamp, Interrupted> {
    let (path, Rendered { temp, stamp, .. }) = (&place.snapshot, rendered);
    let mut temp =
        stale::mark(fs, temp, [stamp, found]).map_err(|source| refused(path, &source))?;
    let exchange = || fs.exchange(&temp, path).map_err(|source| not_replaced(path, &source));
    if !exchange()? {
        // Where names cannot be exchanged, the look before has to do.
        return rename_base(fs, temp, path);
    }
    // From here on the name of the temporary file leads to what was there.
    let displaced = fs.stamp(temp.path());
    let is_it = |stamp: &Option<Stamp>| stamp.is_some_and(|stamp| stamp.is_renamed(&found));
    if displaced.as_ref().is_ok_and(is_it) {
        return fs.stamp_open(temp.as_file()).map_err(|source| refused(path, &source).into());
    }
    // Back to where it was. Whoever saved once more, over what was written here, counts as the later one.
    let is_back = exchange().is_ok();
    let is_ours = || -> io::Result<bool> {
        let is_at = fs.is_at(temp.as_file(), temp.path())?;
        Ok(is_at && fs.stamp_open(temp.as_file())?.same_content(&stamp))
    };
    let is_ours = is_back.then(is_ours);
    if matches!(is_ours, Some(Ok(false))) {
        // Should that fail, the later one is what is kept beside it.
        let _ = exchange();
    }
    if !matches!(is_ours, Some(Ok(true))) {
        // If it cannot get another name, it is left where it is, for another look.
        temp.disable_cleanup(true);
        stale::keep(fs, temp, place)?;
    }
    displaced.map_err(|source| refused(path, &source))?;
    // A journal that follows what is there now may be durable before its name is.
    sync_name(fs, path).map_err(|source| refused(path, &source))?;
    Err(Interrupted::Overtaken)
}

/// Why an `issues.json` could not be replaced.
fn not_replaced(path: &Path, source: &io::Error) -> Interrupted {
    match source.kind() {
        io::ErrorKind::ResourceBusy | io::ErrorKind::CrossesDevices => {
            Interrupted::Hopeless(mounted(path, source))
        }
        _ => refused(path, source).into(),
    }
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
    let base = view.snapshot.map(|snapshot| (snapshot.content, snapshot.stamp));
    let mut header = Header::new(Hex128(session.fs().random()), view.seq, base);
    let before = view.edit.as_ref().and_then(|edit| edit.before.as_ref());
    let followed = view.journal.as_ref().or_else(|| before?.journal.as_ref());
    header.follows = followed.map(|journal| journal.epoch());
    header.edited = view.standing.is_edited();
    header.took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let bytes = header.to_bytes();
    let journal = put_journal(session, view.journal.as_deref(), header, &bytes)?;
    let mut view = view.clone();
    view.begin(Arc::new(journal));
    Ok(view)
}

/// Puts a journal with these bytes, which begin with its header, in the place of the one that this process
/// knows, durably.
pub(super) fn put_journal(
    session: &Session<'_>,
    old: Option<&Journal>,
    header: Header,
    bytes: &[u8],
) -> Result<Journal, Interrupted> {
    let (fs, path) = (session.fs(), &session.place.journal);
    let failed = |source| Interrupted::from(refused(path, &source));
    let begin = header.to_bytes().len() as u64;
    let mut temp = fs.create_temp(path, &session.place.snapshot).map_err(failed)?;
    fs.write(&mut temp, bytes).map_err(failed)?;
    fs.sync(&temp).map_err(failed)?;
    // Where there is none, no claim keeps others from making one, should they hold another lock file.
    let old = old.map(|journal| fs.is_at(&journal.open.file, path));
    let placed = match old.transpose().map_err(failed)? {
        Some(true) => fs.replace(temp, path),
        Some(false) | None => fs.place(temp, path),
    };
    let file = placed.map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists => Interrupted::Overtaken,
        _ => failed(source),
    })?;
    let journal = Journal::found(OpenFile { file, is_writable: true }, header, begin);
    session.replica.sync_name(&journal, path).map_err(failed)?;
    journal.adopt();
    Ok(journal)
}

/// Tells in the journal, durably, which `issues.json` is about to appear, and up to which change it has them.
fn announce(
    session: &Session<'_>,
    view: &View,
    seq: u64,
    content: Content,
) -> Result<(), Interrupted> {
    // It helps whoever comes after a process that dies, and a suspect journal does no more. Behind a power cut
    // `issues.json`, which has all that this one has, is taken for an edit.
    let is_suspect = session.replica.suspects.why(view).is_some();
    match append_intent(session, view, seq, content) {
        Ok(Some(announced)) if !is_suspect => announced.make_durable(session.replica),
        Err(_) if is_suspect => Ok(()),
        appended => appended.map(drop),
    }
}

/// An intent in a journal.
pub(super) struct Announced {
    journal: Arc<Journal>,
    /// The journal once more, for whoever syncs it while others do.
    own: Option<OpenFile>,
    /// Where it ends.
    end: u64,
    path: PathBuf,
}

/// Tells that in the journal, where it is not durable yet; `None` where somebody has removed the journal, of
/// which nothing will be read.
pub(super) fn append_intent(
    session: &Session<'_>,
    view: &View,
    seq: u64,
    content: Content,
) -> Result<Option<Announced>, Interrupted> {
    let Some(journal) = view.journal.as_ref() else { return Ok(None) };
    let (fs, path, file) = (session.fs(), &session.place.journal, &journal.open.file);
    let failed = |source| Interrupted::from(refused(path, &source));
    if !fs.is_at(file, path).map_err(failed)? {
        return Ok(None);
    }
    let (durable, edited) = (journal.durable(), view.standing.is_edited());
    let intent = journal::intent(journal.epoch(), view.end, durable, seq, content, edited);
    if let Err(source) = fs.write_at(file, view.end, &intent) {
        // What remains of it is cut by the next session in any case.
        let _ = fs.truncate(file, view.end);
        return Err(failed(source));
    }
    let end = view.end + intent.len() as u64;
    let (journal, path) = (Arc::clone(journal), path.clone());
    Ok(Some(Announced { journal, own: None, end, path }))
}

impl Announced {
    /// The same with a journal that was opened apart.
    pub fn apart(self, own: OpenFile) -> Self {
        Self { own: Some(own), ..self }
    }

    /// Makes it durable, which needs no lock where the journal was opened apart.
    pub fn make_durable(&self, replica: &Replica) -> Result<(), Interrupted> {
        let open = self.own.as_ref().unwrap_or(&self.journal.open);
        let synced = replica.sync_as(open, &self.journal, None);
        let failed = |source| StoreError::NotSaved(failed_sync(&self.path, &source));
        synced.map_err(|source| Interrupted::Failed(failed(source)))?;
        self.journal.is_durable_to(self.end);
        Ok(())
    }
}

/// The refusal to go on where `issues.json` cannot be replaced: with the journal beside it, and not
/// beside the file that is mounted there, others would not see the changes.
fn mounted(path: &Path, source: &io::Error) -> StoreError {
    StoreError::ReadOnly(format!(
        "{} cannot be replaced ({source}); if it is mounted by itself, mount its directory instead",
        path.display()
    ))
}

/// An `issues.json` in a temporary file, where it is durable.
pub(super) struct Rendered {
    pub temp: NamedTempFile,
    /// What identified it when it was written.
    pub stamp: Stamp,
    pub content: Content,
}

/// Writes what is to be at `path` to a temporary file, which is synced each time that so much was written.
pub(super) fn render(
    fs: &dyn FileSystem,
    path: &Path,
    document: &Document,
    sync_every: u64,
) -> Result<Rendered, Interrupted> {
    let failed = |source| Interrupted::from(refused(path, &source));
    let mut temp = fs.create_temp(path, path).map_err(failed)?;
    let (hasher, buffer) = (Xxh3::new(), Vec::with_capacity(CHUNK_BYTES));
    let temp_file = &mut temp;
    let mut sink =
        Sink { fs, temp: temp_file, hasher, buffer, length_bytes: 0, sync_every, unsynced: 0 };
    format::write(document, &mut sink).and_then(|()| sink.flush()).map_err(failed)?;
    let content =
        Content { hash: Hex128(sink.hasher.digest128()), length_bytes: sink.length_bytes };
    fs.sync(&temp).map_err(failed)?;
    let stamp = fs.stamp_open(temp.as_file()).map_err(failed)?;
    Ok(Rendered { temp, stamp, content })
}

impl Rendered {
    /// Takes the place of the `issues.json` of a state, if that is still there; gives what identifies it there.
    /// Its name is not durable yet.
    pub fn take_place(self, session: &Session<'_>, view: &View) -> Result<Stamp, Interrupted> {
        let (fs, place) = (session.fs(), &session.place);
        let failed = |source| Interrupted::from(refused(&place.snapshot, &source));
        // The last look before the point of no return, since not everybody takes the lock.
        let mine = fs.is_at(&session.lock.file, &place.lock).map_err(failed)?;
        let found = fs.stamp(&place.snapshot).map_err(failed)?;
        if !mine || found != view.snapshot.map(|snapshot| snapshot.stamp) {
            return Err(Interrupted::Overtaken);
        }
        let written = self.stamp;
        let stamp = match found {
            Some(found) => exchange_base(fs, self, place, found).inspect_err(|_| {
                // A file may be left of which it is not known whose it is.
                session.replica.is_clean.store(false, Ordering::Release);
            })?,
            None => {
                // Somebody may make one just now.
                let placed = fs.place(self.temp, &place.snapshot);
                let file = placed.map_err(|source| match source.kind() {
                    io::ErrorKind::AlreadyExists => Interrupted::Overtaken,
                    _ => failed(source),
                })?;
                fs.stamp_open(&file).map_err(failed)?
            }
        };
        if !stamp.same_content(&written) {
            // Somebody wrote into the new file already: the next look finds out what.
            return Err(Interrupted::Overtaken);
        }
        Ok(stamp)
    }
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
