//! One state of the store, as this process knows it from the files.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::edits::Edit;
use super::format::Document;
use super::frame::Hex128;
use super::fs::{OpenFile, Stamp};
use super::journal::{self, Content, Entry, Header, Rest, Scan, Unreadable};
use super::schedule;
use crate::domain::{DomainError, Event, Extra};
use crate::store::changes::Recent;
use crate::store::memory::IssueStore;

/// The names of the files of a store.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Place {
    /// `issues.json`, symbolic links resolved.
    pub snapshot: PathBuf,
    pub journal: PathBuf,
    pub lock: PathBuf,
    /// The lock of whoever writes `issues.json` while others commit.
    pub checkpoint: PathBuf,
    pub sessions: PathBuf,
}

impl Place {
    pub fn of(snapshot: PathBuf) -> Self {
        let sibling = |suffix: &str| with_suffix(&snapshot, suffix);
        let (journal, lock) = (sibling(".journal"), sibling(".lock"));
        let (checkpoint, sessions) = (sibling(".checkpoint"), sibling(".sessions"));
        Self { snapshot, journal, lock, checkpoint, sessions }
    }

    /// Where a state is kept that a restore has replaced.
    pub fn before_restore(&self, time: &str) -> PathBuf {
        with_suffix(&self.snapshot, &format!(".before-restore-{}", time.replace(':', "")))
    }

    /// Where an `issues.json` is kept that somebody edited, and that something else took the place of.
    pub fn by_hand(&self, time: &str) -> PathBuf {
        with_suffix(&self.snapshot, &format!(".hand-{}", time.replace(':', "")))
    }

    /// Where a copy of a damaged file is kept.
    pub fn damaged(path: &Path, time: &str) -> PathBuf {
        with_suffix(path, &format!(".damaged-{}", time.replace(':', "")))
    }

    /// Where a journal is kept for people that a disk failed to save, and that cannot be read back.
    pub fn suspect(&self, time: &str) -> PathBuf {
        with_suffix(&self.journal, &format!(".suspect-{}", time.replace(':', "")))
    }

    /// Where a torn tail is kept for people.
    pub fn torn(&self, time: &str, offset: u64) -> PathBuf {
        with_suffix(&self.journal, &format!(".torn-{}-{offset}", time.replace(':', "")))
    }
}

/// The path whose name has `suffix` added.
fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// A journal that this process has open.
#[derive(Debug)]
pub(super) struct Journal {
    pub open: OpenFile,
    pub header: Header,
    /// Where the first frame behind the header begins.
    pub begin: u64,
    /// How many of its bytes this process knows to be durable, because it or another one has synced them.
    durable: AtomicU64,
    /// Whether this process has made sure that its name is durable.
    is_adopted: AtomicBool,
}

impl Journal {
    /// A journal that was found at its path, where its header is durable. Its name need not be: the
    /// process that gave it may have died just then.
    pub fn found(open: OpenFile, header: Header, begin: u64) -> Self {
        Self { open, header, begin, durable: AtomicU64::new(begin), is_adopted: false.into() }
    }

    /// Tells whether this process has made sure that everything it found of the journal is durable.
    pub fn is_adopted(&self) -> bool {
        self.is_adopted.load(Ordering::Relaxed)
    }

    pub fn adopt(&self) {
        self.is_adopted.store(true, Ordering::Relaxed);
    }

    pub fn durable(&self) -> u64 {
        self.durable.load(Ordering::Relaxed)
    }

    /// Takes note of a sync of everything before `end`.
    pub fn is_durable_to(&self, end: u64) {
        self.durable.fetch_max(end, Ordering::Relaxed);
    }

    pub fn epoch(&self) -> Hex128 {
        self.header.epoch
    }
}

/// An `issues.json` as it was found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Snapshot {
    pub stamp: Stamp,
    pub content: Content,
}

/// How the files of a state stand to each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Standing {
    /// The journal, where there is one, follows `issues.json`.
    Settled,
    /// The next commit has to write something first; `edited` when issues changed without an event.
    Unsettled { edited: bool, journal: Option<Stamp> },
    /// The journal cannot be followed to its end, and why. Nothing may be written.
    Damaged { why: String, journal: Option<Stamp> },
}

impl Standing {
    /// Tells whether it needs no second look: what is half written looks damaged or edited.
    pub fn is_sound(&self) -> bool {
        !matches!(self, Self::Damaged { .. }) && !self.is_edited()
    }

    pub fn is_edited(&self) -> bool {
        matches!(self, Self::Unsettled { edited: true, .. })
    }
}

/// One state. Never changes; a clone is cheap, and a newer one takes its place.
#[derive(Clone, Debug)]
pub(super) struct View {
    pub place: Arc<Place>,
    pub issues: IssueStore,
    /// The keys of the document in `issues.json` that this version does not know.
    pub extra: Arc<Extra>,
    /// The number of the last change.
    pub seq: u64,
    pub snapshot: Option<Snapshot>,
    pub journal: Option<Arc<Journal>>,
    /// Where the last whole batch of the journal ends.
    pub end: u64,
    /// How many of the changes are not in `issues.json`.
    pub unsaved: u64,
    /// The size of the `issues.json` that the last entry of the journal announces, and that is this state
    /// together with the journal.
    pub announced_bytes: Option<u64>,
    pub standing: Standing,
    /// The edit of `issues.json` that is part of it and was not taken over yet.
    pub edit: Option<Arc<Edit>>,
    pub recent: Recent,
}

impl View {
    /// What `issues.json` is to hold.
    pub fn document(&self) -> Document {
        Document { issues: self.issues.clone(), extra: Extra::clone(&self.extra) }
    }

    /// The state after one more change.
    pub fn advance(&mut self, seq: u64, event: &Arc<Event>) -> Result<(), DomainError> {
        self.issues.apply(event)?;
        self.note(seq, event);
        Ok(())
    }

    /// Takes note of a change that the issues contain already.
    pub fn note(&mut self, seq: u64, event: &Arc<Event>) {
        self.seq = seq;
        self.unsaved += 1;
        self.announced_bytes = None;
        self.recent.push(Arc::clone(event));
    }

    /// Follows the journal as far as `scan` has read it.
    ///
    /// # Errors
    ///
    /// Why it cannot be followed to its end; as much as possible is followed all the same.
    pub fn follow(&mut self, scan: &Scan) -> Result<(), String> {
        let mut misfits = None;
        for entry in &scan.entries {
            match entry {
                Entry::Change { seq, event } => {
                    if let Err(error) = self.advance(*seq, event) {
                        let text = || format!("change {seq} does not fit: {error}");
                        misfits = misfits.or_else(|| Some(text()));
                    }
                }
                Entry::Intent { seq, content, edited } => {
                    // With the changes behind it that the journal has, it is this state.
                    let is_part = *seq <= self.seq && !edited;
                    self.announced_bytes = is_part.then_some(content.length_bytes);
                }
            }
        }
        self.end = scan.end;
        match (misfits, scan.rest) {
            (Some(why), _) => Err(why),
            (None, Rest::Unreadable(why)) => Err(explained(why)),
            (None, Rest::Nothing | Rest::Torn) => Ok(()),
        }
    }

    /// How long `issues.json` is to be left alone, after it was last brought up to date by whichever
    /// process.
    pub fn rest(&self, now: SystemTime) -> Duration {
        let Some(header) = self.journal.as_ref().map(|journal| &journal.header) else {
            return Duration::ZERO;
        };
        let whole = schedule::rest_after(Duration::from_millis(header.took_ms));
        let written = header.base_stamp.map_or(UNIX_EPOCH, |stamp| stamp.changed());
        // When the clock went back, nobody can tell; each process keeps to its own rest in any case.
        now.duration_since(written).map_or(Duration::ZERO, |age| whole.saturating_sub(age))
    }

    /// Turns to a journal that begins with this state.
    pub fn begin(&mut self, journal: Arc<Journal>) {
        let base = journal.header.base().zip(journal.header.base_stamp);
        self.snapshot = base.map(|(content, stamp)| Snapshot { stamp, content });
        self.end = journal.begin;
        self.unsaved = 0;
        self.announced_bytes = None;
        self.standing = Standing::Settled;
        self.edit = None;
        self.journal = Some(journal);
    }

    /// Turns to a journal that follows an `issues.json` of before this state, and begins with the changes
    /// up to it; follows what stands behind them in `bytes`, which begin behind the header. False when it
    /// cannot be followed.
    pub fn go_on(&mut self, journal: &Arc<Journal>, bytes: &[u8]) -> bool {
        let (epoch, repeated) = (journal.epoch(), self.seq - journal.header.base_seq);
        // They are known: that they are whole is enough.
        let Some(known) = journal::length_of(epoch, journal.begin, repeated, bytes) else {
            return false;
        };
        let at = journal.begin + known as u64;
        let scan = journal::scan(epoch, at, self.seq, &bytes[known..]);
        journal.is_durable_to(scan.durable);
        self.begin(Arc::clone(journal));
        self.unsaved = repeated;
        self.follow(&scan).is_ok()
    }
}

/// What is wrong with a journal, in words, and the way out.
pub(super) fn explained(why: Unreadable) -> String {
    match why {
        Unreadable::Damaged { offset: 0 } => {
            "it is damaged at byte 0, so that nothing in it can be \
             told from the rest. Keep a copy of it; to go on with issues.json alone, end all ait \
             processes and move it away"
                .to_owned()
        }
        Unreadable::Damaged { offset } => format!(
            "it is damaged at byte {offset}, and what stood there was saved once. Keep a copy of it; \
             to go on without what it holds from there on, end all ait processes and cut it there \
             (truncate -s {offset})"
        ),
        Unreadable::Newer { offset } => {
            format!("a newer version of ait wrote what begins at byte {offset}: update this one")
        }
    }
}
