//! The newest state that this process knows, and how it keeps up with the files.
//!
//! Every read and every commit begins with a look: is `issues.json` the one that was last seen, does
//! the path of the journal still lead to the open file, and does anything stand behind the last batch
//! that was read? Nearly always that is all. What others appended is read from there on; when a
//! checkpoint has begun a new journal, the old one, which is still open, is read to its end first;
//! only when that is not enough, everything is loaded anew. None of it needs the lock.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::frame::Hex128;
use super::fs::{FileSystem, Stamp, Unresolved};
use super::journal::{self, Rest};
use super::load::{self, Bad, LoadError, unreadable};
use super::view::{Journal, Place, Standing, View};

/// How often files that are bad or edited are looked at again before that is believed.
const SECOND_LOOKS: u32 = 5;

/// What this process appended and has not synced yet: its own readers do not see it before.
struct Pending {
    epoch: Hex128,
    end: u64,
}

pub(super) struct Replica {
    path: PathBuf,
    pub fs: Arc<dyn FileSystem>,
    /// Held for moments, never while the disk is waited for.
    published: Mutex<Option<Arc<View>>>,
    /// Held while a newer state is read and published, so that callers who need the same one read it
    /// once. Holds what was last found to be bad, so that it is read once too.
    catching_up: Mutex<Option<Bad>>,
    pending: Mutex<Option<Pending>>,
    second_look_after: Duration,
}

impl Replica {
    pub fn new(path: PathBuf, fs: Arc<dyn FileSystem>, second_look_after: Duration) -> Self {
        let (published, catching_up) = (Mutex::default(), Mutex::default());
        Self { path, fs, published, catching_up, pending: Mutex::default(), second_look_after }
    }

    /// The file as it was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the files really are. Asked for anew each time: directories are removed and symbolic
    /// links changed while processes run, and all of them must mean the same files.
    pub fn place(&self) -> Result<Place, LoadError> {
        self.fs.resolve(&self.path).map(Place::of).map_err(|Unresolved { directory, source }| {
            if source.kind() == io::ErrorKind::NotFound {
                LoadError::MissingDirectory(directory)
            } else {
                unreadable(&self.path, source)
            }
        })
    }

    /// The state of the files at some moment after the call began.
    pub fn fresh(&self) -> Result<Arc<View>, LoadError> {
        self.fresh_at(&self.place()?, Reader)
    }

    /// The same, with an `issues.json` that a checkpoint has left half way.
    pub fn fresh_to_write(&self) -> Result<Arc<View>, LoadError> {
        self.fresh_at(&self.place()?, Writer)
    }

    fn fresh_at(&self, place: &Place, who: Who) -> Result<Arc<View>, LoadError> {
        if let Some(view) = self.unchanged(place, who)? {
            return Ok(view);
        }
        let mut bad = lock(&self.catching_up);
        let mut looks = 0;
        loop {
            if let Some(view) = self.keep_up(place, who)? {
                *bad = None;
                return Ok(view);
            }
            if let Some(known) = &*bad
                && known.stamp == self.stamp(&place.snapshot)?
            {
                return Err(known.error.clone());
            }
            let before = lock(&self.published).clone();
            match load::load(&*self.fs, place, before.as_deref()) {
                Ok(view) if looks == SECOND_LOOKS || is_sound(&view) => {
                    *bad = None;
                    return Ok(self.put(view));
                }
                Ok(_) => {}
                Err(found) => match found.error {
                    // Not a property of the content: another try may go well.
                    LoadError::Io { .. } => return Err(found.error),
                    LoadError::Moving(_) if looks == SECOND_LOOKS => return Err(found.error),
                    _ if looks == SECOND_LOOKS => return Err(bad.insert(*found).error.clone()),
                    _ => {}
                },
            }
            looks += 1;
            thread::sleep(self.second_look_after);
        }
    }

    /// The state of the files under the lock of a commit, if it can be had without loading them anew.
    pub fn quick_at(&self, place: &Place) -> Result<Option<Arc<View>>, LoadError> {
        if let Some(view) = self.unchanged(place, Writer)? {
            return Ok(Some(view));
        }
        let _catching_up = lock(&self.catching_up);
        self.keep_up(place, Writer)
    }

    /// Publishes a state that was made under the lock of a commit and follows the newest one.
    pub fn publish(&self, view: View) -> Arc<View> {
        let _catching_up = lock(&self.catching_up);
        self.put(view)
    }

    /// Publishes `next` if the state is still the one that it was made from; else whoever came between
    /// has read what it contains from the journal.
    pub fn publish_after(&self, seq: u64, journal: &Arc<Journal>, next: View) {
        let _catching_up = lock(&self.catching_up);
        let is_next = lock(&self.published).as_ref().is_some_and(|view| {
            view.seq == seq && view.journal.as_ref().is_some_and(|it| Arc::ptr_eq(it, journal))
        });
        if is_next {
            self.put(next);
        }
        *lock(&self.pending) = None;
    }

    /// Keeps this process's readers from what it is about to append, until it is published.
    pub fn expect(&self, journal: &Journal, end: u64) {
        *lock(&self.pending) = Some(Pending { epoch: journal.epoch(), end });
    }

    /// Forgets what was expected, since it was not appended.
    pub fn expect_nothing(&self) {
        *lock(&self.pending) = None;
    }

    /// The state that was last published, however old.
    pub fn latest(&self) -> Option<Arc<View>> {
        lock(&self.published).clone()
    }

    fn put(&self, view: View) -> Arc<View> {
        let view = Arc::new(view);
        *lock(&self.published) = Some(Arc::clone(&view));
        view
    }

    fn stamp(&self, path: &Path) -> Result<Option<Stamp>, LoadError> {
        self.fs.stamp(path).map_err(|source| unreadable(path, source))
    }

    /// The known state, if it is still that of the files.
    fn unchanged(&self, place: &Place, who: Who) -> Result<Option<Arc<View>>, LoadError> {
        let Some(view) = self.latest() else { return Ok(None) };
        if !is_known(&view, self.stamp(&place.snapshot)?, who) {
            return Ok(None);
        }
        let unchanged = match (&view.standing, &view.journal) {
            (Standing::Settled, Some(journal)) => {
                self.is_at(journal, place)? && !self.has_news(journal, &view, place)?
            }
            (Standing::Settled, None) => self.stamp(&place.journal)?.is_none(),
            (Standing::Unsettled { journal, .. } | Standing::Damaged { journal, .. }, _) => {
                self.stamp(&place.journal)? == *journal
            }
        };
        Ok(unchanged.then_some(view))
    }

    /// The known state, or one that follows it by what others appended.
    fn keep_up(&self, place: &Place, who: Who) -> Result<Option<Arc<View>>, LoadError> {
        if let Some(view) = self.unchanged(place, who)? {
            return Ok(Some(view));
        }
        let Some(view) = self.latest() else { return Ok(None) };
        let Some(journal) = view.journal.as_ref().filter(|_| view.standing == Standing::Settled)
        else {
            return Ok(None);
        };
        let mut next = View::clone(&view);
        // Looked at before the old journal is read: nothing is appended to it afterwards.
        let is_current = self.is_at(journal, place)?;
        if !self.read_on(&mut next, journal, place)? {
            return Ok(None);
        }
        if !is_current {
            let begun = load::open_journal(&*self.fs, place);
            let Some(begun) = begun.map_err(|source| unreadable(&place.journal, source))? else {
                return Ok(None);
            };
            if !continues(&begun, journal, &next) {
                return Ok(None);
            }
            next.begin(Arc::clone(&begun));
            if !self.read_on(&mut next, &begun, place)? || !self.is_at(&begun, place)? {
                return Ok(None);
            }
        }
        let known = is_known(&next, self.stamp(&place.snapshot)?, who);
        Ok(known.then(|| self.put(next)))
    }

    /// Follows a journal to its end; false when it cannot be followed.
    fn read_on(
        &self,
        view: &mut View,
        journal: &Journal,
        place: &Place,
    ) -> Result<bool, LoadError> {
        let bytes = self.fs.read_at(&journal.open.file, view.end);
        let bytes = bytes.map_err(|source| unreadable(&place.journal, source))?;
        let scan = journal::scan(journal.epoch(), view.end, view.seq, &bytes);
        Ok(!matches!(scan.rest, Rest::Unreadable(_)) && view.follow(&scan).is_ok())
    }

    /// Tells whether whole batches stand behind what is known, other than this process's own that is
    /// not durable yet.
    fn has_news(&self, journal: &Journal, view: &View, place: &Place) -> Result<bool, LoadError> {
        let bytes = self.fs.read_at(&journal.open.file, view.end);
        let bytes = bytes.map_err(|source| unreadable(&place.journal, source))?;
        let is_own = lock(&self.pending).as_ref().is_some_and(|pending| {
            pending.epoch == journal.epoch() && view.end + bytes.len() as u64 <= pending.end
        });
        if bytes.is_empty() || is_own {
            return Ok(false);
        }
        let scan = journal::scan(journal.epoch(), view.end, view.seq, &bytes);
        Ok(!scan.entries.is_empty() || scan.rest != Rest::Torn)
    }

    fn is_at(&self, journal: &Journal, place: &Place) -> Result<bool, LoadError> {
        let is_at = self.fs.is_at(&journal.open.file, &place.journal);
        is_at.map_err(|source| unreadable(&place.journal, source))
    }
}

/// Who asks for the newest state.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    Reader,
    /// Whoever holds the lock, and must know exactly which file it replaces.
    Writer,
}
use Who::{Reader, Writer};

/// Tells whether `issues.json` is the one that a state was made from.
///
/// For a reader, also the one that a checkpoint has announced and is just putting into its place: that
/// changes nothing but the files.
fn is_known(view: &View, stamp: Option<Stamp>, who: Who) -> bool {
    let announced = |stamp: Stamp| view.announced_bytes == Some(stamp.length_bytes());
    view.snapshot.map(|snapshot| snapshot.stamp) == stamp
        || who == Reader && stamp.is_some_and(announced)
}

/// Tells whether a journal begins with the state in which an older one has ended.
fn continues(begun: &Journal, ended: &Journal, view: &View) -> bool {
    let header = &begun.header;
    header.follows == Some(ended.epoch()) && !header.edited && header.base_seq == view.seq
}

/// Tells whether a state needs no second look: what is half written looks damaged or edited.
fn is_sound(view: &View) -> bool {
    match &view.standing {
        Standing::Settled => true,
        Standing::Unsettled { edited, .. } => !edited,
        Standing::Damaged { .. } => false,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Only whole values are put behind these mutexes, so a panic elsewhere cannot spoil them.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
