//! Follows the log and publishes an immutable view of the store for readers.
//!
//! Readers take no file lock and never wait for the fsync of a change. To learn whether a view is the newest, they
//! compare the fingerprints of the newest segment and of the next one. Following the log continues where the last read
//! ended.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use prometheus_client::metrics::histogram::Histogram;
use tokio::sync::watch;

use super::fs::{FileFingerprint, FileSystem};
use super::lock_check::LockCheck;
use super::log::mark::MarkFile;
use super::log::segment::{SegmentError, ordinals, path_of};
use super::log::{BatchEnd, DurableMark, Segment};
use super::open::{self, Damage, OpenError, Opened};
use super::options::JsonStoreOptions;
use super::paths::StorePaths;
use super::published_note::KnownFile;
use super::recent_events::RecentEvents;
use super::seek_index::SeekIndex;
use super::standby::StandbyState;
use super::support::{lock, now};
use super::view::{LogEnd, Source, View};
use crate::domain::Timestamp;
use crate::store::{DURATION_BUCKETS_S, EventPosition, NumberedEvent, State, StoreError};

/// The state that all parts of a store share in this process.
pub(super) struct Shared {
    pub fs: Arc<dyn FileSystem>,
    /// The path of `issues.json` as the caller gave it.
    pub path: PathBuf,
    pub options: JsonStoreOptions,
    pub lock_check: LockCheck,
    /// The newest view, readable without waiting.
    view: RwLock<Option<Arc<View>>>,
    follower: Mutex<Follower>,
    /// The position of the newest durable event.
    pub newest: watch::Sender<EventPosition>,
    /// The newest events.
    pub recent: RecentEvents,
    /// What this process knows of `issues.json`.
    pub known: Mutex<KnownFile>,
    /// Why the last attempt to write `issues.json` failed.
    pub unpublished: Mutex<Option<String>>,
    /// Positions in the log that were read before.
    pub seek_index: Mutex<SeekIndex>,
    /// The durations of fsyncs, in seconds.
    pub syncs: Histogram,
    /// When this process last made a change durable, in milliseconds since 1970.
    last_write_ms: AtomicU64,
    /// The disk error of the last failed fsync or append.
    pub failure: Mutex<Option<StoreError>>,
}

/// The state for following the log, under one lock.
pub(super) struct Follower {
    pub view: Option<Arc<View>>,
    pub mark: MarkFile,
    /// The ends of the batches that are not known to be durable, oldest first.
    pub pending: VecDeque<BatchEnd>,
    /// The events after the last durable batch.
    pub undurable: Vec<NumberedEvent>,
    /// The state before the newest one, for reuse.
    pub standby: Option<StandbyState>,
    /// The states of replaced logs. They have to be merged into the current log.
    pub replaced_logs: VecDeque<ReplacedLog>,
}

/// The last state of a replaced log.
#[derive(Clone)]
pub(super) struct ReplacedLog {
    /// The store id of that log.
    pub store: String,
    /// The state at its end.
    pub state: Arc<State>,
}

impl Follower {
    /// Returns true if this process knows what a missing segment had, and merges it.
    fn can_merge(&self, damage: &Damage) -> bool {
        matches!(damage, Damage::Missing { .. }) && !self.replaced_logs.is_empty()
    }

    /// Returns a copy of the newest state to change.
    pub fn state_to_change(&mut self, newest: &State) -> State {
        let standby = self.standby.take().and_then(|standby| standby.catch_up(newest));
        standby.unwrap_or_else(|| newest.clone())
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
            standby: None,
            replaced_logs: VecDeque::new(),
        };
        Self {
            fs,
            path,
            options,
            lock_check: LockCheck::default(),
            view: RwLock::default(),
            follower: Mutex::new(follower),
            newest: watch::Sender::default(),
            recent: RecentEvents::default(),
            known: Mutex::default(),
            unpublished: Mutex::default(),
            seek_index: Mutex::default(),
            syncs: Histogram::new(DURATION_BUCKETS_S),
            last_write_ms: AtomicU64::new(0),
            failure: Mutex::default(),
        }
    }

    /// Resolves the paths of the files. Follows symbolic links.
    pub fn paths(&self) -> Result<StorePaths, OpenError> {
        open::paths_of(&*self.fs, &self.path)
    }

    /// Returns the last view without checking whether it is current.
    pub fn latest(&self) -> Option<Arc<View>> {
        self.view.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Drops the view, so that the next read opens the files again.
    pub fn forget(&self) {
        let mut follower = self.follower();
        follower.view = None;
        *self.view.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    pub fn follower(&self) -> MutexGuard<'_, Follower> {
        lock(&self.follower)
    }

    /// Returns the newest view.
    pub fn fresh(&self) -> Result<Arc<View>, StoreError> {
        if let Some(view) = self.latest()
            && self.is_newest(&view)
        {
            return Ok(view);
        }
        self.refresh(&mut self.follower())
    }

    /// Returns the newest view, including what other processes made durable.
    pub fn fresh_durable(&self) -> Result<Arc<View>, StoreError> {
        let mut follower = self.follower();
        let view = self.refresh(&mut follower)?;
        Ok(self.up_to_mark(&mut follower, view))
    }

    /// Returns the newest view and the state at its newest durable event.
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

    /// Returns true if an event is known to be part of the newest view. Only recent events are checked.
    pub fn contains(&self, newest: &View, position: EventPosition) -> bool {
        position == newest.state.position || self.recent.contains(position)
    }

    fn is_newest(&self, view: &View) -> bool {
        let named = |path: &Path| self.fs.fingerprint(path).ok().flatten();
        match &view.source {
            // A damaged log is not followed. A repair shows in its segments.
            Source::Log(LogEnd { segment, length, segments, .. }) if view.damage.is_some() => {
                let is_same = |found: FileFingerprint| {
                    found.length_bytes() == *length && segment.opened == found
                };
                named(&segment.path).is_some_and(is_same)
                    && ordinals(&*self.fs, &view.paths.log)
                        .is_ok_and(|found| found.len() == *segments)
            }
            Source::Log(LogEnd { segment, length, .. }) => {
                let is_same = |found: FileFingerprint| {
                    found.length_bytes() == *length && segment.opened.is_same_file(&found)
                };
                named(&segment.path).is_some_and(is_same)
                    && named(&path_of(&view.paths.log, segment.ordinal + 1)).is_none()
            }
            Source::File(fingerprint) => {
                named(&view.paths.issues) == *fingerprint
                    && self.fs.list(&view.paths.log).is_ok_and(|names| names.is_empty())
            }
        }
    }

    /// Reads what changed since the last call.
    pub fn refresh(&self, follower: &mut Follower) -> Result<Arc<View>, StoreError> {
        /// How often the newest segment may be replaced during one call.
        const MAX_SEGMENTS: usize = 100;
        let Some(known) = follower.view.clone() else { return self.open(follower) };
        if self.is_newest(&known) {
            return Ok(known);
        }
        let Source::Log(log_end) = &known.source else { return self.open(follower) };
        if known.damage.is_some() {
            return self.open(follower);
        }
        let (mut view, mut log_end) = (View::clone(&known), log_end.clone());
        let before = (follower.pending.clone(), follower.undurable.clone());
        for _ in 0..MAX_SEGMENTS {
            match self.follow(follower, &mut view, &mut log_end) {
                Ok(true) => {}
                Ok(false) => {
                    view.source = Source::Log(log_end);
                    self.read_mark_into(follower, &mut view);
                    return Ok(self.show_view(follower, view));
                }
                Err(LogDiverged) => break,
            }
        }
        // The log was removed, truncated or replaced.
        (follower.pending, follower.undurable) = before;
        tracing::debug!("{}: the log was replaced", known.paths.log.display());
        let state = Arc::new(self.last_state(&known));
        if follower.replaced_logs.back().is_none_or(|other| other.state.position != state.position)
        {
            let store = known.log_end().map(|log_end| log_end.segment.header.store.clone());
            follower
                .replaced_logs
                .push_back(ReplacedLog { store: store.unwrap_or_default(), state });
        }
        self.open(follower)
    }

    /// Returns the state at the end of a replaced segment, which this process still has open. Other processes may
    /// have answered changes that this process has not read yet.
    fn last_state(&self, known: &View) -> State {
        let mut state = State::clone(&known.state);
        let Some(log_end) = known.log_end() else { return state };
        let rest = log_end.segment.scan(&*self.fs, log_end.last_batch, None, 0);
        let batches = rest.map(|scan| scan.batches).unwrap_or_default();
        for event in batches.iter().flat_map(|batch| &batch.events) {
            if state.apply(&event.event, event.position).is_err() {
                break;
            }
        }
        state
    }

    /// Reads what changed, under the lock of the segment. Also reads again after a batch that was incomplete at the
    /// last read.
    pub fn refresh_under_lock(&self, follower: &mut Follower) -> Result<Arc<View>, StoreError> {
        if let Some(known) = &follower.view
            && let Source::Log(log_end) = &known.source
            && log_end.length != log_end.last_batch.offset
        {
            let log_end = LogEnd { length: log_end.last_batch.offset, ..log_end.clone() };
            let view = View { source: Source::Log(log_end), ..View::clone(known) };
            follower.view = Some(Arc::new(view));
        }
        self.refresh(follower)
    }

    /// Reads the rest of a segment and moves on to the next one. Returns false if there is no next one.
    fn follow(
        &self,
        follower: &mut Follower,
        view: &mut View,
        log_end: &mut LogEnd,
    ) -> Result<bool, LogDiverged> {
        let fs = &*self.fs;
        let found = fs.fingerprint(&log_end.segment.path).ok().flatten().ok_or(LogDiverged)?;
        if !log_end.segment.opened.is_same_file(&found)
            || found.length_bytes() < log_end.last_batch.offset
        {
            return Err(LogDiverged);
        }
        let next = match Segment::open(fs, &view.paths.log, log_end.segment.ordinal + 1) {
            Ok(next) => next,
            Err(SegmentError::Io(_)) => return Err(LogDiverged),
            Err(SegmentError::Newer | SegmentError::Damaged) => return Err(LogDiverged),
        };
        let cut = next.as_ref().and_then(|next| next.header.previous).map(|cut| cut.offset);
        // The next segment repeats the batches after the cut.
        let to_read = cut.is_none_or(|cut| cut > log_end.last_batch.offset);
        if to_read && (found.length_bytes() > log_end.length || cut.is_some()) {
            let (segment, last_batch) = (Arc::clone(&log_end.segment), log_end.last_batch);
            let scan = segment
                .scan(fs, last_batch, cut, log_end.durable.offset)
                .map_err(|_| LogDiverged)?;
            log_end.length = scan.length;
            log_end.replayed_bytes +=
                scan.batches.last().map_or(0, |batch| batch.end.offset - last_batch.offset);
            for batch in scan.batches {
                self.apply(follower, view, log_end, &batch.events, batch.end)?;
            }
            self.mark_durable_up_to(follower, view, log_end, scan.durable);
            view.damage = Damage::of(&scan.rest, &segment.path);
        }
        let Some(next) = next else { return Ok(false) };
        let base = next.begin.position;
        if next.header.store != log_end.segment.header.store
            || base.number > view.state.position.number
        {
            return Err(LogDiverged);
        }
        if base.number < view.state.position.number {
            // The next segment has to repeat these events with the same hashes.
            let last = view.state.position;
            let scan = next.scan(fs, next.begin, None, 0).map_err(|_| LogDiverged)?;
            let mut events = scan.batches.iter().flat_map(|batch| &batch.events);
            if !events.any(|event| event.position == last) {
                return Err(LogDiverged);
            }
        } else if base != view.state.position {
            return Err(LogDiverged);
        }
        let begin = next.begin;
        log_end.segment = Arc::new(next);
        (log_end.last_batch, log_end.durable, log_end.length) = (begin, begin, 0);
        follower.pending.clear();
        // Everything before the first event of a segment is durable, and the segment repeats the rest.
        if base.number > view.durable.number {
            view.durable = base;
        }
        follower.undurable.clear();
        Ok(true)
    }

    /// Applies a batch. The view may already contain a part of it.
    pub fn apply(
        &self,
        follower: &mut Follower,
        view: &mut View,
        log_end: &mut LogEnd,
        events: &[NumberedEvent],
        end: BatchEnd,
    ) -> Result<(), LogDiverged> {
        if Arc::get_mut(&mut view.state).is_none() {
            let next = Arc::new(follower.state_to_change(&view.state));
            follower.standby = Some(StandbyState::of(std::mem::replace(&mut view.state, next)));
        }
        let state = Arc::make_mut(&mut view.state);
        for event in events {
            follower.undurable.push(event.clone());
            if event.position.number <= state.position.number {
                continue;
            }
            state.apply(&event.event, event.position).map_err(|_| LogDiverged)?;
            self.recent.push(event.clone());
            if let Some(standby) = &mut follower.standby {
                standby.push_missing(&event.event);
            }
        }
        log_end.last_batch = end;
        follower.pending.push_back(end);
        Ok(())
    }

    /// Records that a segment is durable up to an offset.
    pub fn mark_durable_up_to(
        &self,
        follower: &mut Follower,
        view: &mut View,
        log_end: &mut LogEnd,
        offset: u64,
    ) {
        while let Some(&last_batch) =
            follower.pending.front().filter(|last_batch| last_batch.offset <= offset)
        {
            follower.pending.pop_front();
            log_end.durable = last_batch;
            // The repeated start of a segment may end before the newest known durable event.
            if last_batch.position.number >= view.durable.number {
                view.durable = last_batch.position;
            }
        }
        let number = log_end.durable.position.number;
        follower.undurable.retain(|event| event.position.number > number);
    }

    fn read_mark_into(&self, follower: &mut Follower, view: &mut View) {
        let Source::Log(mut log_end) = view.source.clone() else { return };
        if let Some(mark) = follower.mark.read(&*self.fs)
            && (mark.ordinal, mark.salt) == (log_end.segment.ordinal, log_end.segment.header.salt)
        {
            self.mark_durable_up_to(follower, view, &mut log_end, mark.offset);
            view.source = Source::Log(log_end);
        }
    }

    /// Returns a view that includes what the mark says now.
    fn up_to_mark(&self, follower: &mut Follower, view: Arc<View>) -> Arc<View> {
        if view.durable == view.state.position {
            return view;
        }
        let mut view = View::clone(&view);
        self.read_mark_into(follower, &mut view);
        self.show_view(follower, view)
    }

    /// Tells other processes how much of the segment is durable.
    pub fn write_mark(&self, follower: &mut Follower, log_end: &LogEnd, model: &Path) {
        let (ordinal, salt) = (log_end.segment.ordinal, log_end.segment.header.salt);
        let mark = DurableMark { ordinal, salt, offset: log_end.durable.offset };
        // Another process may have synced more in the meantime.
        let is_more = |known: DurableMark| {
            (known.ordinal, known.salt) == (ordinal, salt) && known.offset >= mark.offset
        };
        if !follower.mark.read(&*self.fs).is_some_and(is_more) {
            follower.mark.write(&*self.fs, model, mark);
        }
    }

    /// Opens the store from its files.
    fn open(&self, follower: &mut Follower) -> Result<Arc<View>, StoreError> {
        /// How often to retry if the files change while they are opened.
        const MAX_ATTEMPTS: usize = 5;
        let mut opened = self.open_once(follower);
        for _ in 1..MAX_ATTEMPTS {
            match &opened {
                // Another process may have just rolled, pruned or created the log.
                Err(OpenError::Segment { .. } | OpenError::NoSnapshot { .. }) => {
                    std::thread::sleep(self.options.reread_after);
                    opened = self.open_once(follower);
                }
                _ => break,
            }
        }
        if let Ok(view) = &opened
            && let Some(log_end) = view.log_end()
        {
            follower.replaced_logs.retain(|replaced| !self.is_followed_by(replaced, view, log_end));
        }
        let view = opened.inspect_err(|_| {
            *self.view.write().unwrap_or_else(PoisonError::into_inner) = None;
        })?;
        Ok(self.show_view(follower, view))
    }

    /// Returns true if the log contains the state of a replaced log, or replaced it on purpose. Then there is nothing
    /// to merge.
    fn is_followed_by(&self, replaced: &ReplacedLog, view: &View, log_end: &LogEnd) -> bool {
        let header = &log_end.segment.header;
        // A restore from a backup replaced it.
        if header.replaces.as_ref() == Some(&replaced.store) {
            return true;
        }
        // This process had only fallen behind. An older copy of the log would lack the position.
        header.store == replaced.store
            && open::has_passed(&*self.fs, &view.paths, replaced.state.position).unwrap_or(false)
    }

    fn open_once(&self, follower: &mut Follower) -> Result<View, OpenError> {
        let (fs, paths) = (&*self.fs, self.paths()?);
        follower.mark = MarkFile::new(paths.mark());
        let mark = follower.mark.read(fs);
        *lock(&self.seek_index) = SeekIndex::default();
        let opened = open::open(fs, &paths, mark)?;
        follower.pending.clear();
        follower.undurable.clear();
        follower.standby = None;
        self.recent.reset(&[]);
        if let Some(opened) = opened {
            let Opened { state, segment, last_batch, length, durable, undurable, damage, .. } =
                opened;
            let (replayed_bytes, snapshot_bytes) = (opened.replayed_bytes, opened.snapshot_bytes);
            let (durable, durable_position) = durable;
            if !undurable.is_empty() {
                follower.pending.push_back(last_batch);
            }
            self.recent.reset(&undurable);
            follower.undurable = undurable;
            let segments = opened.segments;
            let log_end = LogEnd {
                segment,
                last_batch,
                durable,
                length,
                replayed_bytes,
                snapshot_bytes,
                segments,
            };
            return Ok(View {
                paths: Arc::new(paths),
                state: Arc::new(state),
                durable: durable_position,
                damage: damage.filter(|damage| !follower.can_merge(damage)),
                source: Source::Log(log_end),
            });
        }
        if follower.view.as_ref().is_some_and(|view| view.log_end().is_some()) {
            tracing::warn!("{} is missing and will be created again", paths.directory.display());
        }
        let (state, fingerprint) = match open::read_issues(fs, &paths.issues)? {
            Some(file) => {
                // No event identifies the content, so its hash does.
                let position = EventPosition { number: 0, hash: file.hash as u64 };
                (State { position, ..file.state }, Some(file.fingerprint))
            }
            None if follower.view.as_ref().is_some_and(|view| !view.state.issues.is_empty())
                && follower.replaced_logs.is_empty() =>
            {
                return Err(OpenError::Io {
                    path: paths.issues.clone(),
                    source: Arc::new(std::io::Error::new(
                        std::io::ErrorKind::NotFound,
                        "the file existed before and is gone",
                    )),
                });
            }
            None => (State::default(), None),
        };
        Ok(View {
            paths: Arc::new(paths),
            durable: state.position,
            state: Arc::new(state),
            damage: None,
            source: Source::File(fingerprint),
        })
    }

    /// Makes a view visible to readers.
    pub fn show_view(&self, follower: &mut Follower, view: View) -> Arc<View> {
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

    /// Returns why the last change could not be made durable.
    pub fn failure(&self) -> Option<StoreError> {
        lock(&self.failure).clone()
    }

    /// Records that this process has just made a change durable.
    pub fn wrote(&self) {
        let ms = u64::try_from(now().unix_millis()).unwrap_or(0);
        self.last_write_ms.fetch_max(ms, Ordering::Relaxed);
    }

    /// Returns when this process last made a change durable.
    pub fn last_write(&self) -> Option<Timestamp> {
        let ms = self.last_write_ms.load(Ordering::Relaxed);
        (ms > 0).then(|| Timestamp::from_unix_millis(i64::try_from(ms).unwrap_or(i64::MAX)))
    }
}

/// The log does not continue what is known of it.
#[derive(Debug)]
pub(super) struct LogDiverged;
