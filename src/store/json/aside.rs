//! Writing `issues.json` while others commit.
//!
//! What takes long is done without the lock of a commit. Whoever does it holds a lock of its own
//! (`issues.json.checkpoint`), so that several processes do not write the same at once.
//!
//! 1. Under the lock, for a moment: which state is to be written. Nobody takes back what stands in the journal
//!    then, whereas the end of it may be a batch whose writer fails and cuts it.
//! 2. Without it: the issues are written to a temporary file, and synced piece by piece: a file system may
//!    make whoever syncs a journal wait for all that was written to other files.
//! 3. Under it for a moment: the intent is appended, with the number of the last change in the new `issues.json`.
//!    Then without it: what was appended since the first step is copied to the journal that is to follow, and
//!    both journals are synced.
//! 4. Under it: the few changes that are left are copied, and the files change places in the order of
//!    [`checkpoint`](super::checkpoint). The changes that are not in `issues.json` stand before and behind the
//!    intent in the old journal, and behind the header in the new one.
//! 5. Without it: the room of the file that was replaced is given back, piece by piece.
//!
//! Until the fourth step the intent is all that anybody could notice, and it announces what never comes about if
//! this is given up.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use tempfile::NamedTempFile;

use super::checkpoint::{Announced, Rendered, append_intent, render};
use super::commit::Settled;
use super::frame::Hex128;
use super::fs::{FileSystem, Lock, OpenFile, sync_name};
use super::journal::{self, Entry, Header};
use super::replica::Replica;
use super::session::{Interrupted, Session, refused};
use super::view::{Journal, Place, Snapshot, Standing, View};
use crate::store::StoreError;

/// How much of `issues.json` is written between two syncs: whoever syncs a journal waits for that much at most.
const SYNC_EVERY_BYTES: u64 = 256 * 1024;
/// How much room of the `issues.json` that was replaced is given back at once: whoever syncs a journal waits for
/// that much at most.
const GIVE_BACK_BYTES: u64 = 4 * 1024 * 1024;
/// The room for the header of a journal that is begun before all of it is known.
const HEADER_BYTES: usize = 1024;

/// Brings `issues.json` up to date from a state that was settled under the lock, which is free by now. `settled` takes
/// it again.
pub(super) fn checkpoint<'a>(
    replica: &'a Replica,
    alone: Lock,
    view: Arc<View>,
    mut settled: impl FnMut() -> Result<Settled<'a>, StoreError>,
) -> Result<Arc<View>, Interrupted> {
    let mut aside = Aside::write(replica, alone, view)?;
    let (session, view, _) = settled()?;
    let announced = aside.announce(&session, &view)?;
    drop(session);
    aside.catch_up(replica, &view)?;
    announced.make_durable(replica)?;
    let (session, view, _) = settled()?;
    let (saved, replaced) = aside.finish(&session, &view)?;
    let saved = replica.publish(saved);
    drop(session);
    // Others need not wait for this, nor until the room of a large file is free.
    if let Some(journal) = &saved.journal {
        match replica.sync_name(journal, &saved.place.journal) {
            Ok(()) => journal.adopt(),
            // What others have appended by now is to be durable without another change.
            Err(_) => drop(settled()),
        }
    }
    if let Some(replaced) = replaced {
        give_back(&*replica.fs, &replaced);
    }
    Ok(saved)
}

/// An `issues.json` on its way, and the journal that is to follow it.
struct Aside {
    place: Place,
    begun: Instant,
    /// The state in it.
    base: Arc<View>,
    snapshot: Rendered,
    journal: NamedTempFile,
    epoch: Hex128,
    /// How long the new journal is, with the room for its header.
    end: u64,
    /// Up to which change, and up to where in the old journal, it is copied.
    copied_seq: u64,
    copied_to: u64,
    /// Dropped last, since others may remove what was left here once it is free.
    _alone: Lock,
}

impl Aside {
    /// Writes a state that was settled under the lock, which is free by now.
    fn write(replica: &Replica, alone: Lock, base: Arc<View>) -> Result<Self, Interrupted> {
        let (fs, place, begun) = (&*replica.fs, Place::clone(&base.place), Instant::now());
        let snapshot = render(fs, &place.snapshot, &base.document(), SYNC_EVERY_BYTES)?;
        let failed = |source| Interrupted::from(refused(&place.journal, &source));
        let mut journal = fs.create_temp(&place.journal, &place.snapshot).map_err(failed)?;
        fs.write(&mut journal, &[b' '; HEADER_BYTES]).map_err(failed)?;
        let (copied_seq, copied_to) = (base.seq, base.end);
        Ok(Self {
            _alone: alone,
            begun,
            snapshot,
            journal,
            epoch: Hex128(fs.random()),
            end: HEADER_BYTES as u64,
            copied_seq,
            copied_to,
            base,
            place,
        })
    }

    /// Announces it in the old journal, under the lock. Gives what is to be made durable before
    /// [`finish`](Self::finish).
    fn announce(&self, session: &Session<'_>, view: &View) -> Result<Announced, Interrupted> {
        self.old_journal(view)?;
        let path = &session.place.journal;
        // Opened before it is written: this thread is told what becomes of it, and so are others.
        let own = session.fs().open(path).map_err(|source| refused(path, &source))?;
        let announced = append_intent(session, view, self.base.seq, self.snapshot.content)?;
        announced.zip(own).map(|(it, own)| it.apart(own)).ok_or(Interrupted::Overtaken)
    }

    /// Copies what was appended up to a later state that was settled under the lock, and syncs it.
    fn catch_up(&mut self, replica: &Replica, view: &View) -> Result<(), Interrupted> {
        self.copy(replica, view)?;
        let failed = |source| Interrupted::from(refused(&self.place.journal, &source));
        replica.fs.sync(&self.journal).map_err(failed)
    }

    /// Puts both into their places, under the lock; gives the state that stands on them, and what was replaced.
    fn finish(
        mut self,
        session: &Session<'_>,
        view: &View,
    ) -> Result<(View, Option<OpenFile>), Interrupted> {
        self.copy(session.replica, view)?;
        let (fs, place) = (session.fs(), &session.place);
        let failed = |source| Interrupted::from(refused(&place.snapshot, &source));
        let content = self.snapshot.content;
        // Again, for those who are just reading: what the last entry of a journal announces, they need not read.
        // Nothing is put into place beside a journal that somebody has removed.
        let announced = append_intent(session, view, self.base.seq, content)?;
        announced.ok_or(Interrupted::Overtaken)?;
        // Whoever closes a large file last that has no name any more waits until its room is free.
        let replaced = fs.open(&place.snapshot).map_err(failed)?;
        let stamp = self.snapshot.take_place(session, view)?;
        let base = Some((content, stamp));
        let mut header = Header::new(self.epoch, self.base.seq, base);
        header.follows = view.journal.as_ref().map(|journal| journal.epoch());
        header.took_ms = u64::try_from(fs.since(self.begun).as_millis()).unwrap_or(u64::MAX);
        let bytes = header.to_bytes_of(HEADER_BYTES);
        // Both before the journal gets its name, and at once: others wait for it.
        let (named, synced) = thread::scope(|scope| {
            let named = scope.spawn(|| sync_name(fs, &place.snapshot));
            let written = fs.write_at(self.journal.as_file(), 0, &bytes);
            let synced = written.and_then(|()| fs.sync(&self.journal));
            (named.join().unwrap_or_else(|_| Err(io::Error::other("the sync panicked"))), synced)
        });
        named.map_err(failed)?;
        let failed = |source| Interrupted::from(refused(&place.journal, &source));
        synced.map_err(failed)?;
        let old = view.journal.as_ref().ok_or(Interrupted::Overtaken)?;
        if !fs.is_at(&old.open.file, &place.journal).map_err(failed)? {
            return Err(Interrupted::Overtaken);
        }
        let file = fs.replace(self.journal, &place.journal).map_err(failed)?;
        // Until its name is durable, the old one with its intent says the same; and the name of a journal is
        // durable before a change in it is answered.
        let open = OpenFile { file, is_writable: true };
        let journal = Journal::found(open, header, HEADER_BYTES as u64);
        journal.is_durable_to(self.end);
        let snapshot = Some(Snapshot { stamp, content });
        let mut saved = View { snapshot, ..view.clone() };
        saved.begin(Arc::new(journal));
        (saved.end, saved.unsaved) = (self.end, view.seq - self.base.seq);
        Ok((saved, replaced))
    }

    /// The journal that both the state to be written and a later one stand on.
    fn old_journal<'a>(&self, view: &'a View) -> Result<&'a Journal, Interrupted> {
        let is_same = |(one, other): (&Arc<Journal>, &Arc<Journal>)| one.epoch() == other.epoch();
        let stamp = |view: &View| view.snapshot.map(|snapshot| snapshot.stamp);
        let follows = view.standing == Standing::Settled
            && *view.place == self.place
            && stamp(view) == stamp(&self.base)
            && view.journal.iter().zip(&self.base.journal).all(is_same)
            && view.end >= self.copied_to;
        view.journal.as_deref().filter(|_| follows).ok_or(Interrupted::Overtaken)
    }

    /// Copies what was appended up to a later state.
    fn copy(&mut self, replica: &Replica, view: &View) -> Result<(), Interrupted> {
        let old = self.old_journal(view)?;
        let (fs, path) = (&*replica.fs, &self.place.journal);
        let failed = |source| Interrupted::from(refused(path, &source));
        let mut bytes = fs.read_at(&old.open.file, self.copied_to).map_err(failed)?;
        bytes.truncate(usize::try_from(view.end - self.copied_to).unwrap_or(usize::MAX));
        let scan = journal::scan(old.epoch(), self.copied_to, self.copied_seq, &bytes);
        let mut frames = Vec::with_capacity(bytes.len());
        for entry in &scan.entries {
            // An intent was announced by a checkpoint that did not come to its end.
            let Entry::Change { seq, event } = entry else { continue };
            let offset = self.end + frames.len() as u64;
            // Each for itself, so that others can go on behind any of them. All that stands before it is
            // durable when the file has its name.
            let event = [Arc::clone(event)];
            frames.extend(journal::batch(self.epoch, offset, *seq, offset, &event));
            self.copied_seq = *seq;
        }
        if scan.end != view.end || self.copied_seq != view.seq {
            return Err(Interrupted::Overtaken);
        }
        self.copied_to = view.end;
        fs.write(&mut self.journal, &frames).map_err(failed)?;
        self.end += frames.len() as u64;
        Ok(())
    }
}

/// Gives back the room of an `issues.json` that was replaced, piece by piece: a disk that is told which blocks are free
/// by now (ext4 that is mounted with `discard`) does nothing else until it is done with them. Nothing is taken
/// from whoever is still reading it: then all of it is given back when the last of them closes it.
fn give_back(fs: &dyn FileSystem, replaced: &OpenFile) {
    let Ok(stamp) = fs.stamp_open(&replaced.file) else { return };
    if !replaced.is_writable || !fs.is_unreachable(&replaced.file) {
        return;
    }
    let mut left = stamp.length_bytes();
    while let Some(length) = left.checked_sub(GIVE_BACK_BYTES) {
        let cut = fs.truncate(&replaced.file, length);
        // The system frees what it has synced.
        if cut.and_then(|()| fs.sync_data(&replaced.file)).is_err() {
            return;
        }
        left = length;
    }
}
