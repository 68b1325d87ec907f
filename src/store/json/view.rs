//! What this process knows of the store: an immutable view for readers, and following the log.
//!
//! Readers take no lock of the store and never wait for a sync. Two looks at the names of the newest segment and
//! of the next one tell whether a view is still the newest; what other processes appended is read from where
//! the last look ended.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use prometheus_client::metrics::histogram::Histogram;
use tokio::sync::watch;

use super::fs::{FileFingerprint, FileSystem};
use super::ground::Ground;
use super::landmarks::Landmarks;
use super::log::mark::MarkFile;
use super::log::segment::{SegmentError, ordinals, path_of};
use super::log::{DurableMark, Segment, Tail};
use super::options::JsonStoreOptions;
use super::place::Place;
use super::published::KnownFile;
use super::recent::Recent;
use super::recovery::{self, Damage, OpenError, Opened};
use super::spare::Spare;
use super::support::{lock, now};
use crate::domain::Timestamp;
use crate::store::{DURATION_BUCKETS_S, NumberedEvent, Position, State, StoreError};

/// What is known of a store.
#[derive(Clone)]
pub(super) struct View {
    /// Where its files are.
    pub place: Arc<Place>,
    /// The newest state, of which others may not have been answered yet.
    pub state: Arc<State>,
    /// The position of the newest event that is durable.
    pub durable: Position,
    /// What is damaged, so that nothing may be changed.
    pub damage: Option<Damage>,
    /// The log, or the file alone.
    pub source: Source,
}

/// Where a view comes from.
#[derive(Clone)]
pub(super) enum Source {
    /// The log.
    Log(Head),
    /// The file of the issues, or nothing, as long as there is no log.
    File(Option<FileFingerprint>),
}

/// The end of the log.
#[derive(Clone)]
pub(super) struct Head {
    /// The newest segment.
    pub segment: Arc<Segment>,
    /// Where its last whole batch ends.
    pub tail: Tail,
    /// The end of the last batch that is known to be durable.
    pub durable: Tail,
    /// How much of the file was read.
    pub length: u64,
    /// How many bytes of log came after the newest snapshot, and how many that has.
    pub replayed_bytes: u64,
    pub snapshot_bytes: u64,
    /// How many segments there were when the log was opened.
    pub segments: usize,
}

impl View {
    pub fn head(&self) -> Option<&Head> {
        match &self.source {
            Source::Log(head) => Some(head),
            Source::File(_) => None,
        }
    }
}

/// What the parts of a store in this process share.
pub(super) struct Shared {
    pub fs: Arc<dyn FileSystem>,
    /// The file as it was given.
    pub path: PathBuf,
    pub options: JsonStoreOptions,
    pub ground: Ground,
    /// The newest view, to look at without waiting.
    view: RwLock<Option<Arc<View>>>,
    follower: Mutex<Follower>,
    /// The position of the newest durable event.
    pub newest: watch::Sender<Position>,
    /// The newest events.
    pub recent: Recent,
    /// What this process knows of the file of the issues.
    pub known: Mutex<KnownFile>,
    /// Why the file of the issues could not be written last, if it could not.
    pub unpublished: Mutex<Option<String>>,
    /// Where the log was read before.
    pub landmarks: Mutex<Landmarks>,
    /// How long syncs took.
    pub syncs: Histogram,
    /// When this process made something durable last, in milliseconds since 1970.
    last_write_ms: AtomicU64,
    /// What is wrong with the disk since a sync or an append failed.
    pub failure: Mutex<Option<StoreError>>,
}

/// What following the log needs, under one lock.
pub(super) struct Follower {
    pub view: Option<Arc<View>>,
    pub mark: MarkFile,
    /// The ends of the batches that are not known to be durable, oldest first.
    pub pending: VecDeque<Tail>,
    /// The events behind the last batch that is.
    pub undurable: Vec<NumberedEvent>,
    /// The state before the newest one.
    pub spare: Option<Spare>,
    /// What this process knew of a log that is gone, to be merged into the one that took its place.
    pub orphaned: VecDeque<Arc<State>>,
}

impl Follower {
    /// The newest state, to be changed.
    pub fn state_to_change(&mut self, newest: &State) -> State {
        let spare = self.spare.take().and_then(|spare| spare.catch_up(newest));
        spare.unwrap_or_else(|| newest.clone())
    }
}

impl Shared {
    pub fn new(path: PathBuf, fs: Arc<dyn FileSystem>, options: JsonStoreOptions) -> Self {
        let mark = MarkFile::new(PathBuf::new());
        let follower = Follower {
            view: None,
            mark,
            pending: VecDeque::new(),
            undurable: Vec::new(),
            spare: None,
            orphaned: VecDeque::new(),
        };
        Self {
            fs,
            path,
            options,
            ground: Ground::default(),
            view: RwLock::default(),
            follower: Mutex::new(follower),
            newest: watch::Sender::default(),
            recent: Recent::default(),
            known: Mutex::default(),
            unpublished: Mutex::default(),
            landmarks: Mutex::default(),
            syncs: Histogram::new(DURATION_BUCKETS_S),
            last_write_ms: AtomicU64::new(0),
            failure: Mutex::default(),
        }
    }

    /// Follows symbolic links to the files.
    pub fn place(&self) -> Result<Place, OpenError> {
        recovery::place_of(&*self.fs, &self.path)
    }

    /// The view that was looked at last, without a look.
    pub fn latest(&self) -> Option<Arc<View>> {
        self.view.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Forgets what is known of the files, so that the next look opens them.
    pub fn forget(&self) {
        self.follower().view = None;
        *self.view.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub fn follower(&self) -> MutexGuard<'_, Follower> {
        lock(&self.follower)
    }

    /// The newest view.
    pub fn fresh(&self) -> Result<Arc<View>, StoreError> {
        if let Some(view) = self.latest()
            && self.is_newest(&view)
        {
            return Ok(view);
        }
        self.refresh(&mut self.follower())
    }

    /// The newest view, with what other processes made durable since.
    pub fn fresh_durable(&self) -> Result<Arc<View>, StoreError> {
        let mut follower = self.follower();
        let view = self.refresh(&mut follower)?;
        Ok(self.up_to_mark(&mut follower, view))
    }

    /// The newest view and the state at its newest durable event.
    pub fn durable_state(&self) -> Result<(Arc<View>, Arc<State>), StoreError> {
        let mut follower = self.follower();
        let view = self.refresh(&mut follower)?;
        let view = self.up_to_mark(&mut follower, view);
        if view.durable == view.state.position {
            let state = Arc::clone(&view.state);
            return Ok((view, state));
        }
        let mut state = State::clone(&view.state);
        let is_behind = |event: &&NumberedEvent| event.position.number > view.durable.number;
        for event in follower.undurable.iter().rev().take_while(is_behind) {
            state.revert(&event.event, view.durable)?;
        }
        Ok((view, Arc::new(state)))
    }

    /// Whether an event is part of the newest view, as far as the newest events tell.
    pub fn contains(&self, newest: &View, position: Position) -> bool {
        position == newest.state.position || self.recent.contains(position)
    }

    fn is_newest(&self, view: &View) -> bool {
        let named = |path: &Path| self.fs.fingerprint(path).ok().flatten();
        match &view.source {
            // What is damaged is not followed. Whether somebody has repaired it shows in its segments.
            Source::Log(Head { segment, length, segments, .. }) if view.damage.is_some() => {
                let is_same = |found: FileFingerprint| {
                    found.length_bytes() == *length && segment.opened == found
                };
                named(&segment.path).is_some_and(is_same)
                    && ordinals(&*self.fs, &view.place.log)
                        .is_ok_and(|found| found.len() == *segments)
            }
            Source::Log(Head { segment, length, .. }) => {
                let is_same = |found: FileFingerprint| {
                    found.length_bytes() == *length && segment.opened.is_same_file(&found)
                };
                named(&segment.path).is_some_and(is_same)
                    && named(&path_of(&view.place.log, segment.ordinal + 1)).is_none()
            }
            Source::File(fingerprint) => {
                named(&view.place.issues) == *fingerprint
                    && self.fs.list(&view.place.log).is_ok_and(|names| names.is_empty())
            }
        }
    }

    /// Reads what changed since the last look.
    pub fn refresh(&self, follower: &mut Follower) -> Result<Arc<View>, StoreError> {
        /// How often the newest segment may be replaced while it is looked for.
        const MAX_SEGMENTS: usize = 100;
        let Some(known) = follower.view.clone() else { return self.open(follower) };
        if self.is_newest(&known) {
            return Ok(known);
        }
        let Source::Log(head) = &known.source else { return self.open(follower) };
        if known.damage.is_some() {
            return self.open(follower);
        }
        let (mut view, mut head) = (View::clone(&known), head.clone());
        let before = (follower.pending.clone(), follower.undurable.clone());
        for _ in 0..MAX_SEGMENTS {
            match self.follow(follower, &mut view, &mut head) {
                Ok(true) => {}
                Ok(false) => {
                    view.source = Source::Log(head);
                    self.read_mark_into(follower, &mut view);
                    return Ok(self.publish_view(follower, view));
                }
                Err(Lost) => break,
            }
        }
        // The log is gone, shorter than it was, or another one.
        (follower.pending, follower.undurable) = before;
        tracing::debug!("{}: the log was replaced", known.place.log.display());
        let last = Arc::new(self.last_state(&known));
        if follower.orphaned.back().is_none_or(|other| other.position != last.position) {
            follower.orphaned.push_back(last);
        }
        self.open(follower)
    }

    /// The state at the end of a segment that is gone, which this process has open still: others may have been
    /// answered what this process has not read yet.
    fn last_state(&self, known: &View) -> State {
        let mut state = State::clone(&known.state);
        let Some(head) = known.head() else { return state };
        let rest = head.segment.scan(&*self.fs, head.tail, None, 0);
        let batches = rest.map(|scan| scan.batches).unwrap_or_default();
        for event in batches.iter().flat_map(|batch| &batch.events) {
            if state.apply(&event.event, event.position).is_err() {
                break;
            }
        }
        state
    }

    /// The same under the lock of the segment, also where the look before saw a batch that was being written.
    pub fn refresh_under_lock(&self, follower: &mut Follower) -> Result<Arc<View>, StoreError> {
        if let Some(known) = &follower.view
            && let Source::Log(head) = &known.source
            && head.length != head.tail.offset
        {
            let head = Head { length: head.tail.offset, ..head.clone() };
            let view = View { source: Source::Log(head), ..View::clone(known) };
            follower.view = Some(Arc::new(view));
        }
        self.refresh(follower)
    }

    /// Reads the rest of a segment, and goes on to the next one; false when there is none.
    fn follow(
        &self,
        follower: &mut Follower,
        view: &mut View,
        head: &mut Head,
    ) -> Result<bool, Lost> {
        let fs = &*self.fs;
        let found = fs.fingerprint(&head.segment.path).ok().flatten().ok_or(Lost)?;
        if !head.segment.opened.is_same_file(&found) || found.length_bytes() < head.tail.offset {
            return Err(Lost);
        }
        let next = match Segment::open(fs, &view.place.log, head.segment.ordinal + 1) {
            Ok(next) => next,
            Err(SegmentError::Io(_)) => return Err(Lost),
            Err(SegmentError::Newer | SegmentError::Damaged) => return Err(Lost),
        };
        let cut = next.as_ref().and_then(|next| next.header.previous).map(|cut| cut.offset);
        // What is behind the cut is repeated there.
        let to_read = cut.is_none_or(|cut| cut > head.tail.offset);
        if to_read && (found.length_bytes() > head.length || cut.is_some()) {
            let (segment, tail) = (Arc::clone(&head.segment), head.tail);
            let scan = segment.scan(fs, tail, cut, head.durable.offset).map_err(|_| Lost)?;
            head.length = scan.length;
            head.replayed_bytes +=
                scan.batches.last().map_or(0, |batch| batch.end.offset - tail.offset);
            for batch in scan.batches {
                self.apply(follower, view, head, &batch.events, batch.end)?;
            }
            self.is_durable_to(follower, view, head, scan.durable);
            view.damage = Damage::of(&scan.rest, &segment.path);
        }
        let Some(next) = next else { return Ok(false) };
        let base = next.begin.position;
        if next.header.store != head.segment.header.store
            || base.number > view.state.position.number
        {
            return Err(Lost);
        }
        if base.number < view.state.position.number {
            // They have to be repeated with the same hash.
            let last = view.state.position;
            let scan = next.scan(fs, next.begin, None, 0).map_err(|_| Lost)?;
            let mut events = scan.batches.iter().flat_map(|batch| &batch.events);
            if !events.any(|event| event.position == last) {
                return Err(Lost);
            }
        } else if base != view.state.position {
            return Err(Lost);
        }
        let begin = next.begin;
        head.segment = Arc::new(next);
        (head.tail, head.durable, head.length) = (begin, begin, 0);
        follower.pending.clear();
        // Whoever began it knew everything before it to be durable, and it repeats the rest.
        if base.number > view.durable.number {
            view.durable = base;
        }
        follower.undurable.clear();
        Ok(true)
    }

    /// Applies a batch, of which the view may have a part already.
    pub fn apply(
        &self,
        follower: &mut Follower,
        view: &mut View,
        head: &mut Head,
        events: &[NumberedEvent],
        end: Tail,
    ) -> Result<(), Lost> {
        if Arc::get_mut(&mut view.state).is_none() {
            let next = Arc::new(follower.state_to_change(&view.state));
            follower.spare = Some(Spare::of(std::mem::replace(&mut view.state, next)));
        }
        let state = Arc::make_mut(&mut view.state);
        for event in events {
            follower.undurable.push(event.clone());
            if event.position.number <= state.position.number {
                continue;
            }
            state.apply(&event.event, event.position).map_err(|_| Lost)?;
            self.recent.push(event.clone());
            if let Some(spare) = &mut follower.spare {
                spare.lacks(&event.event);
            }
        }
        head.tail = end;
        follower.pending.push_back(end);
        Ok(())
    }

    /// Takes note that a segment is durable up to an offset.
    pub fn is_durable_to(
        &self,
        follower: &mut Follower,
        view: &mut View,
        head: &mut Head,
        offset: u64,
    ) {
        while let Some(&tail) = follower.pending.front().filter(|tail| tail.offset <= offset) {
            follower.pending.pop_front();
            head.durable = tail;
            // The repeated beginning of a segment may end before what is known to be durable.
            if tail.position.number >= view.durable.number {
                view.durable = tail.position;
            }
        }
        let number = head.durable.position.number;
        follower.undurable.retain(|event| event.position.number > number);
    }

    fn read_mark_into(&self, follower: &mut Follower, view: &mut View) {
        let Source::Log(mut head) = view.source.clone() else { return };
        if let Some(mark) = follower.mark.read(&*self.fs)
            && (mark.ordinal, mark.salt) == (head.segment.ordinal, head.segment.header.salt)
        {
            self.is_durable_to(follower, view, &mut head, mark.offset);
            view.source = Source::Log(head);
        }
    }

    /// A view with what is known of its mark by now.
    fn up_to_mark(&self, follower: &mut Follower, view: Arc<View>) -> Arc<View> {
        if view.durable == view.state.position {
            return view;
        }
        let mut view = View::clone(&view);
        self.read_mark_into(follower, &mut view);
        self.publish_view(follower, view)
    }

    /// Tells other processes how much is durable.
    pub fn write_mark(&self, follower: &mut Follower, head: &Head, model: &Path) {
        let (ordinal, salt) = (head.segment.ordinal, head.segment.header.salt);
        let mark = DurableMark { ordinal, salt, offset: head.durable.offset };
        // Another process may have synced more since this one looked.
        let is_more = |known: DurableMark| {
            (known.ordinal, known.salt) == (ordinal, salt) && known.offset >= mark.offset
        };
        if !follower.mark.read(&*self.fs).is_some_and(is_more) {
            follower.mark.write(&*self.fs, model, mark);
        }
    }

    /// Opens the store as its files are now.
    fn open(&self, follower: &mut Follower) -> Result<Arc<View>, StoreError> {
        /// How often the files may change while they are opened.
        const MAX_TRIALS: usize = 5;
        let mut opened = self.open_once(follower);
        for _ in 1..MAX_TRIALS {
            match &opened {
                // Another process may just have rolled, pruned or made the log.
                Err(OpenError::Segment { .. } | OpenError::NoSnapshot { .. }) => {
                    std::thread::sleep(self.options.second_look_after);
                    opened = self.open_once(follower);
                }
                _ => break,
            }
        }
        if let Ok(view) = &opened
            && let Some(head) = view.head()
            && let Some(known) = follower.view.as_ref().and_then(|view| view.head())
            && head.segment.header.replaces.as_ref() == Some(&known.segment.header.store)
        {
            // Somebody went back to a backup.
            follower.orphaned.clear();
        }
        let view = opened.inspect_err(|_| {
            *self.view.write().unwrap_or_else(PoisonError::into_inner) = None;
        })?;
        Ok(self.publish_view(follower, view))
    }

    fn open_once(&self, follower: &mut Follower) -> Result<View, OpenError> {
        let (fs, place) = (&*self.fs, self.place()?);
        follower.mark = MarkFile::new(place.mark());
        let mark = follower.mark.read(fs);
        *lock(&self.landmarks) = Landmarks::default();
        let opened = recovery::open(fs, &place, mark)?;
        follower.pending.clear();
        follower.undurable.clear();
        follower.spare = None;
        self.recent.reset(&[]);
        if let Some(opened) = opened {
            let Opened { state, segment, tail, length, durable, undurable, damage, .. } = opened;
            let (replayed_bytes, snapshot_bytes) = (opened.replayed_bytes, opened.snapshot_bytes);
            let (durable, durable_position) = durable;
            if !undurable.is_empty() {
                follower.pending.push_back(tail);
            }
            self.recent.reset(&undurable);
            follower.undurable = undurable;
            let segments = opened.segments;
            let head =
                Head { segment, tail, durable, length, replayed_bytes, snapshot_bytes, segments };
            return Ok(View {
                place: Arc::new(place),
                state: Arc::new(state),
                durable: durable_position,
                damage,
                source: Source::Log(head),
            });
        }
        if follower.view.as_ref().is_some_and(|view| view.head().is_some()) {
            tracing::warn!("{} is gone; it is made anew", place.directory.display());
        }
        let (state, fingerprint) = match recovery::read_issues(fs, &place.issues)? {
            Some(file) => {
                // No event tells one content from another.
                let position = Position { number: 0, hash: file.hash as u64 };
                (State { position, ..file.state }, Some(file.fingerprint))
            }
            None if follower.view.as_ref().is_some_and(|view| !view.state.issues.is_empty())
                && follower.orphaned.is_empty() =>
            {
                return Err(OpenError::Io {
                    path: place.issues.clone(),
                    source: Arc::new(std::io::Error::new(
                        std::io::ErrorKind::NotFound,
                        "it is gone, though it was there",
                    )),
                });
            }
            None => (State::default(), None),
        };
        Ok(View {
            place: Arc::new(place),
            durable: state.position,
            state: Arc::new(state),
            damage: None,
            source: Source::File(fingerprint),
        })
    }

    /// Lets readers see a view.
    pub fn publish_view(&self, follower: &mut Follower, view: View) -> Arc<View> {
        let newest = view.durable;
        let view = Arc::new(view);
        follower.view = Some(Arc::clone(&view));
        *self.view.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&view));
        self.newest.send_if_modified(|known| {
            let is_other = *known != newest;
            *known = newest;
            is_other
        });
        view
    }

    /// Why the last change could not be made durable, if it could not.
    pub fn failure(&self) -> Option<StoreError> {
        lock(&self.failure).clone()
    }

    /// Takes note that this process made something durable just now.
    pub fn wrote(&self) {
        let ms = u64::try_from(now().unix_millis()).unwrap_or(0);
        self.last_write_ms.fetch_max(ms, Ordering::Relaxed);
    }

    /// When this process made something durable last.
    pub fn last_write(&self) -> Option<Timestamp> {
        let ms = self.last_write_ms.load(Ordering::Relaxed);
        (ms > 0).then(|| Timestamp::from_unix_millis(i64::try_from(ms).unwrap_or(i64::MAX)))
    }
}

/// The log does not go on from what is known of it.
#[derive(Debug)]
pub(super) struct Lost;
