//! The newest state that this process knows, and how it keeps up with the files.
//!
//! Every read and every commit begins with a look: is `issues.json` the one that was last seen, does
//! the path of the journal still lead to the open file, and does anything stand behind the last batch
//! that was read? Nearly always that is all. What others appended is read from there on; when a
//! checkpoint has begun a new journal, the old one, which is still open, is read to its end first;
//! only when that is not enough, everything is loaded anew. None of it needs the lock.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::thread;
use std::time::Duration;

use prometheus_client::metrics::histogram::Histogram;

use super::JsonStoreOptions;
use super::frame::Hex128;
use super::fs::{FileSystem, Stamp, Unresolved};
use super::ground::Ground;
use super::journal::{self, Rest};
use super::load::{self, LoadError, unreadable};
use super::others::Others;
use super::probe::LastSync;
use super::suspect::Suspects;
use super::view::{Journal, Place, Standing, View};
use crate::store::DURATION_BUCKETS_S;

/// How often files that are bad or edited are looked at again before that is believed.
const SECOND_LOOKS: u32 = 5;

/// What this process appended and has not synced yet: its own readers do not see it before.
struct Pending {
    epoch: Hex128,
    begin: u64,
    end: u64,
}

/// What identifies the two files as they were found.
type Stamps = (Option<Stamp>, Option<Stamp>);

/// Files that describe no state.
struct Bad {
    place: Place,
    stamps: Stamps,
    error: LoadError,
}

pub(super) struct Replica {
    path: PathBuf,
    pub fs: Arc<dyn FileSystem>,
    /// How long the syncs of the journal took, in seconds.
    pub syncs: Histogram,
    /// How the last of them ended.
    pub last_sync: Mutex<LastSync>,
    /// The journals that are not to be relied on any more.
    pub suspects: Suspects,
    /// Whether its locks can be relied on.
    pub ground: Ground,
    /// Held for moments, never while the disk is waited for.
    published: Mutex<Option<Arc<View>>>,
    /// Held while a newer state is read, so that callers who need the same one read it once. Holds
    /// what was last found to be bad, so that it is read once too.
    catching_up: Mutex<Option<Bad>>,
    pending: Mutex<Option<Pending>>,
    /// Held while the name of a journal is made durable, until it is noted what has become of that.
    pub naming: Mutex<()>,
    /// Whether what dead processes left was removed, and nothing was left since.
    pub is_clean: AtomicBool,
    second_look_after: Duration,
    /// From which size on `issues.json` is written while others commit.
    pub aside_from_bytes: u64,
    /// The other processes on the store, where somebody knows them.
    pub others: OnceLock<Arc<dyn Others>>,
}

/// Keeps this process's readers from what it appends, until it is dropped.
pub(super) struct Expectation<'a>(&'a Replica);

impl Drop for Expectation<'_> {
    fn drop(&mut self) {
        *lock(&self.0.pending) = None;
    }
}

impl Replica {
    pub fn new(path: PathBuf, fs: Arc<dyn FileSystem>, options: &JsonStoreOptions) -> Self {
        Self {
            path,
            fs,
            syncs: Histogram::new(DURATION_BUCKETS_S),
            last_sync: Mutex::default(),
            suspects: Suspects::default(),
            ground: Ground::default(),
            published: Mutex::default(),
            catching_up: Mutex::default(),
            pending: Mutex::default(),
            naming: Mutex::default(),
            is_clean: AtomicBool::default(),
            second_look_after: options.second_look_after,
            aside_from_bytes: options.aside_from_bytes,
            others: OnceLock::new(),
        }
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
        self.fresh_to_read(&self.place()?)
    }

    pub fn fresh_to_read(&self, place: &Place) -> Result<Arc<View>, LoadError> {
        self.fresh_at(place, Reader)
    }

    /// The same for whoever is going to write, and must know exactly which `issues.json` it follows.
    pub fn fresh_to_write(&self, place: &Place) -> Result<Arc<View>, LoadError> {
        self.fresh_at(place, Writer)
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
            let stamps = self.stamps(place)?;
            if let Some(known) = bad.as_ref().filter(|it| it.stamps == stamps && it.place == *place)
            {
                return Err(known.error.clone());
            }
            let found = load::load(&*self.fs, place, self.latest_at(place).as_deref());
            let is_last = looks == SECOND_LOOKS;
            match found {
                Ok(view) if is_last || view.standing.is_sound() => {
                    *bad = None;
                    return Ok(self.publish(view));
                }
                // Not a property of the content: another try may go well.
                Err(error @ LoadError::Io { .. }) => return Err(error),
                Err(error @ LoadError::Moving(_)) if is_last => return Err(error),
                Err(error) if is_last => {
                    return Err(bad
                        .insert(Bad { place: place.clone(), stamps, error })
                        .error
                        .clone());
                }
                found => {
                    thread::sleep(self.second_look_after);
                    // An edit that is still the same is complete.
                    if let Ok(view) = found
                        && view.standing.is_edited()
                        && self.stamps(place)? == stamps
                    {
                        *bad = None;
                        return Ok(self.publish(view));
                    }
                }
            }
            looks += 1;
        }
    }

    /// The state of the files under the lock of a commit, if it can be had without loading them anew
    /// and without waiting for readers of this process that do.
    pub fn quick_at(&self, place: &Place) -> Result<Option<Arc<View>>, LoadError> {
        if let Some(view) = self.unchanged(place, Writer)? {
            return Ok(Some(view));
        }
        let _catching_up = match self.catching_up.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Ok(locked) => locked,
        };
        self.keep_up(place, Writer)
    }

    /// Publishes what became of `before`, unless somebody who read it from the journal was faster.
    pub fn publish_after(&self, before: &View, after: View) {
        let mut published = lock(&self.published);
        let is_next = published.as_ref().is_some_and(|view| {
            let same = |(one, other)| Arc::ptr_eq(one, other);
            view.seq == before.seq && view.journal.iter().zip(&before.journal).all(same)
        });
        if is_next {
            *published = Some(Arc::new(after));
        }
    }

    /// Keeps this process's readers from what it is about to append between `begin` and `end`.
    pub fn expect(&self, journal: &Journal, begin: u64, end: u64) -> Expectation<'_> {
        *lock(&self.pending) = Some(Pending { epoch: journal.epoch(), begin, end });
        Expectation(self)
    }

    /// The state that was last published, however old.
    pub fn latest(&self) -> Option<Arc<View>> {
        lock(&self.published).clone()
    }

    /// The same, if it is of these files.
    fn latest_at(&self, place: &Place) -> Option<Arc<View>> {
        self.latest().filter(|view| *view.place == *place)
    }

    /// Publishes a state that was read on from a known one, unless there is a newer one by now.
    fn publish_if_newer(&self, view: View) -> Arc<View> {
        let view = Arc::new(view);
        let mut published = lock(&self.published);
        let is_older = published.as_ref().is_some_and(|known| {
            let epoch = |view: &View| view.journal.as_ref().map(|journal| journal.epoch());
            epoch(known) == epoch(&view) && (view.seq, view.end) < (known.seq, known.end)
        });
        if !is_older {
            *published = Some(Arc::clone(&view));
        }
        view
    }

    /// Publishes a state. Every use of it begins with a look at the files.
    pub fn publish(&self, view: View) -> Arc<View> {
        let view = Arc::new(view);
        *lock(&self.published) = Some(Arc::clone(&view));
        view
    }

    fn stamp(&self, path: &Path) -> Result<Option<Stamp>, LoadError> {
        self.fs.stamp(path).map_err(|source| unreadable(path, source))
    }

    fn stamps(&self, place: &Place) -> Result<Stamps, LoadError> {
        Ok((self.stamp(&place.snapshot)?, self.stamp(&place.journal)?))
    }

    /// The known state, if it is still that of the files.
    fn unchanged(&self, place: &Place, who: Who) -> Result<Option<Arc<View>>, LoadError> {
        let Some(view) = self.latest_at(place) else { return Ok(None) };
        if !is_known(&view, self.stamp(&place.snapshot)?, who) {
            return Ok(None);
        }
        let unchanged = match (&view.standing, &view.journal) {
            (Standing::Settled, Some(journal)) => {
                self.is_at(journal, place)? && !self.has_news(journal, &view, who)?
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
        let Some(view) = self.latest_at(place) else { return Ok(None) };
        let Some(journal) = view.journal.as_ref().filter(|_| view.standing == Standing::Settled)
        else {
            return Ok(None);
        };
        if who == Writer && self.is_cut(journal, &view)? {
            return Ok(None);
        }
        let mut next = View::clone(&view);
        // Looked at before the old journal is read: nothing is appended to it afterwards.
        let is_current = self.is_at(journal, place)?;
        if !follow(&mut next, journal, &self.read_behind(journal, &view)?) {
            return Ok(None);
        }
        if !is_current {
            let begun = load::open_journal(&*self.fs, place);
            let begun = begun.map_err(|source| unreadable(&place.journal, source))?;
            let Some((begun, bytes)) = begun.filter(|(it, _)| continues(it, journal, &next)) else {
                return Ok(None);
            };
            if !next.go_on(&begun, &bytes) || !self.is_at(&begun, place)? {
                return Ok(None);
            }
        }
        let known = is_known(&next, self.stamp(&place.snapshot)?, who);
        Ok(known.then(|| self.publish_if_newer(next)))
    }

    /// Tells whether whole batches stand behind what is known; for a reader, other than this process's
    /// own that is not durable yet.
    fn has_news(&self, journal: &Journal, view: &View, who: Who) -> Result<bool, LoadError> {
        let bytes = self.read_behind(journal, view)?;
        if bytes.is_empty() {
            // Somebody may have cut what was known, which must not be appended to.
            return Ok(who == Writer && self.is_cut(journal, view)?);
        }
        let is_own = lock(&self.pending).as_ref().is_some_and(|pending| {
            let is_next = (pending.epoch, pending.begin) == (journal.epoch(), view.end);
            is_next && view.end + bytes.len() as u64 <= pending.end
        });
        if who == Reader && is_own {
            return Ok(false);
        }
        let scan = journal::scan(journal.epoch(), view.end, view.seq, &bytes);
        Ok(!scan.entries.is_empty() || scan.rest != Rest::Torn)
    }

    fn read_behind(&self, journal: &Journal, view: &View) -> Result<Vec<u8>, LoadError> {
        let bytes = self.fs.read_at(&journal.open.file, view.end);
        bytes.map_err(|source| unreadable(&view.place.journal, source))
    }

    /// Tells whether a journal is shorter than it was.
    fn is_cut(&self, journal: &Journal, view: &View) -> Result<bool, LoadError> {
        let stamp = self.fs.stamp_open(&journal.open.file);
        let stamp = stamp.map_err(|source| unreadable(&view.place.journal, source))?;
        Ok(stamp.length_bytes() < view.end)
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
/// For a reader, also the one that a checkpoint has announced and is just putting into its place: its
/// issues are those of this state.
fn is_known(view: &View, stamp: Option<Stamp>, who: Who) -> bool {
    let announced = |stamp: Stamp| view.announced_bytes == Some(stamp.length_bytes());
    view.snapshot.map(|snapshot| snapshot.stamp) == stamp
        || who == Reader && stamp.is_some_and(announced)
}

/// Follows a journal by the bytes behind what is known; false when it cannot be followed.
pub(super) fn follow(view: &mut View, journal: &Journal, bytes: &[u8]) -> bool {
    let scan = journal::scan(journal.epoch(), view.end, view.seq, bytes);
    journal.is_durable_to(scan.durable);
    view.follow(&scan).is_ok()
}

/// Tells whether a journal begins with the state in which an older one has ended, or repeats what it lacks of
/// that.
pub(super) fn continues(begun: &Journal, ended: &Journal, view: &View) -> bool {
    let header = &begun.header;
    header.follows == Some(ended.epoch()) && !header.edited && header.base_seq <= view.seq
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Only whole values are put behind these mutexes, so a panic elsewhere cannot spoil them.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
