//! Commits changes: decides them under the lock of the newest segment, appends, unlocks, syncs and answers.
//!
//! Every problem at the end of a segment has one solution: a new segment that repeats every whole batch that is not
//! known to be durable ([`Committer::roll`]).

use std::io;
use std::path::Path;
use std::sync::{Arc, MutexGuard};
use std::time::Instant;

use uuid::Uuid;

use super::cancellation::WriterTicket;
use super::fs::{FileSystem, directory_of, lock_at};
use super::lock_check::{ensure_lock_is_exclusive, not_writable, write_error};
use super::log::frame::{self, MAX_JSON_BYTES};
use super::log::segment::{self, ordinals};
use super::log::{BatchEnd, Cut, Segment, record};
use super::paths::{StorePaths, trial};
use super::published_note::PublishedNote;
use super::shared::{Follower, Shared};
use super::standby::StandbyState;
use super::support::{lock, now};
use super::view::{LogEnd, Source, View};
use super::{open, snapshot};
use crate::domain::{Command, DomainError, Event, Issue, Timestamp};
use crate::store::{Committed, EventPosition, NumberedEvent, Outcome, State, StoreError};

/// How often another segment may turn out to be the newest one after locking.
const MAX_ROUNDS: usize = 100;
/// The size from which on a segment gets no more batches, in bytes.
pub(super) const MAX_SEGMENT_BYTES: u64 = 8 * 1024 * 1024;

/// Changes the store. Each process has one per store, on a thread of its own. Only this thread syncs a segment,
/// because a kernel reports a failed fsync only once per open file.
pub(super) struct Committer {
    pub shared: Arc<Shared>,
    /// The segment whose fsync failed.
    failed: Option<SegmentId>,
    /// The segment whose directory entry is durable.
    name_synced: Option<SegmentId>,
    /// True while the state of a replaced log is being merged.
    pub merges_replaced_log: bool,
    /// Lets the caller withdraw the current work until a change is decided under the lock.
    pub ticket: Option<WriterTicket>,
}

type SegmentId = (u64, u32);

fn id_of(segment: &Segment) -> SegmentId {
    (segment.ordinal, segment.header.salt)
}

/// The result of making changes durable.
pub(super) enum CommitResult {
    /// The changes are durable in the current log.
    Durable,
    /// The log was replaced after the changes were made. Contains the issues after the changes.
    LogReplaced(Vec<Arc<Issue>>),
}

/// Changes that are being decided, each on the state that the previous one left.
pub(super) struct Draft {
    /// The state with the changes so far.
    pub state: State,
    events: Vec<NumberedEvent>,
    texts: Vec<Vec<u8>>,
}

impl Draft {
    /// Begins with a state.
    pub fn new(state: State) -> Self {
        Self { state, events: Vec::new(), texts: Vec::new() }
    }

    /// Decides commands and applies their events. Applies none if one of them is refused.
    pub fn decide_all(
        &mut self,
        commands: &[Command],
        now: Timestamp,
    ) -> Result<Committed, DomainError> {
        let length = self.events.len();
        let before = (commands.len() > 1).then(|| self.state.clone());
        let outcomes: Result<Vec<_>, _> =
            commands.iter().map(|command| self.decide(command, now)).collect();
        if let (Err(_), Some(before)) = (&outcomes, before) {
            self.state = before;
            self.events.truncate(length);
            self.texts.truncate(length);
        }
        let events = self.events[length..].iter().map(|event| event.position).collect();
        Ok(Committed { outcomes: outcomes?, events })
    }

    /// Decides a command and applies its event.
    pub fn decide(&mut self, command: &Command, now: Timestamp) -> Result<Outcome, DomainError> {
        match self.state.decide(command, now)? {
            Some(event) => self.push(event),
            None => Ok(self.state.unchanged_outcome(command)),
        }
    }

    /// Discards all changes and starts again from a state.
    pub fn reset(&mut self, state: State) {
        *self = Self::new(state);
    }

    fn push(&mut self, event: Event) -> Result<Outcome, DomainError> {
        let (text, position) = record::encode(&event, self.state.position);
        if text.len() > MAX_JSON_BYTES - 1024 {
            return Err(DomainError::IssueTooLarge {
                bytes: text.len(),
                limit: MAX_JSON_BYTES - 1024,
            });
        }
        let issue = self.state.apply(&event, position)?;
        self.events.push(NumberedEvent { position, event: Arc::new(event) });
        self.texts.push(text);
        Ok(issue)
    }

    /// Returns the lines of the batch.
    fn lines(&self, salt: u32, durable: u64) -> Vec<u8> {
        let mut lines = Vec::new();
        for (number, (event, text)) in self.events.iter().zip(&self.texts).enumerate() {
            let is_end = number + 1 == self.events.len();
            frame::write(salt, &record::line(text, event.position, durable, is_end), &mut lines);
        }
        lines
    }
}

/// An appended batch.
struct Appended {
    segment: Arc<Segment>,
    paths: Arc<StorePaths>,
    end: BatchEnd,
    /// The issues after the batch.
    issues: Vec<Arc<Issue>>,
}

impl Committer {
    pub fn new(shared: Arc<Shared>) -> Self {
        Self { shared, failed: None, name_synced: None, merges_replaced_log: false, ticket: None }
    }

    fn fs(&self) -> &dyn FileSystem {
        &*self.shared.fs
    }

    /// Takes the ticket of the current work. It cannot be withdrawn from now on.
    ///
    /// # Errors
    ///
    /// [`StoreError::Busy`] if the caller has withdrawn it.
    pub fn take_ticket(&self) -> Result<(), StoreError> {
        if self.ticket.as_ref().is_some_and(|ticket| !ticket.take()) {
            return Err(StoreError::Busy("the caller no longer waits for it".to_owned()));
        }
        Ok(())
    }

    /// Decides changes on the newest state and makes them durable as one batch.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`]. Except for [`StoreError::Uncertain`], `decide` was not called or its changes were not
    /// made.
    pub fn transact<T>(
        &mut self,
        decide: impl FnOnce(&mut Draft) -> T,
    ) -> Result<(T, CommitResult), StoreError> {
        let (result, appended) = self.append(decide)?;
        let Some(appended) = appended else { return Ok((result, CommitResult::Durable)) };
        let durable = self.make_durable(&appended);
        *lock(&self.shared.failure) = durable.as_ref().err().cloned();
        Ok((result, durable?))
    }

    /// Appends the events of `decide`. Each round meets one obstacle (no log yet, a segment that was opened read-only,
    /// a log that was replaced, a torn or full segment), removes it and starts again.
    fn append<T>(
        &mut self,
        decide: impl FnOnce(&mut Draft) -> T,
    ) -> Result<(T, Option<Appended>), StoreError> {
        let shared = Arc::clone(&self.shared);
        for _ in 0..MAX_ROUNDS {
            // Whether this segment is still the newest one is checked under the lock.
            let is_usable = |view: &Arc<View>| view.log_end().is_some() && view.damage.is_none();
            let latest = shared.latest().filter(is_usable);
            let view = latest.map_or_else(|| shared.fresh(), Ok)?;
            if let Some(damage) = &view.damage {
                return Err(damage.into());
            }
            let Some(log_end) = view.log_end() else {
                self.create_log(&view)?;
                continue;
            };
            let segment = Arc::clone(&log_end.segment);
            if !segment.is_writable {
                // The permissions may have changed since it was opened.
                let open = self.fs().open(&segment.path).ok().flatten();
                if open.is_none_or(|open| !open.is_writable) {
                    return Err(not_writable(&segment.path));
                }
                shared.forget();
                continue;
            }
            let _lock =
                shared.lock_check.lock(self.fs(), &view.paths, &segment.path, &segment.file)?;
            let mut follower = shared.follower();
            let view = shared.refresh_under_lock(&mut follower)?;
            if !self.merges_replaced_log && !follower.replaced_logs.is_empty() {
                let path = shared.path.display();
                return Err(StoreError::Busy(format!(
                    "another process has just replaced the log of {path}"
                )));
            }
            let Source::Log(log_end) = &view.source else { continue };
            // A copied log has the same ids, but our lock is on the original.
            if view.damage.is_some() || !Arc::ptr_eq(&log_end.segment, &segment) {
                continue;
            }
            let is_torn = log_end.length > log_end.last_batch.offset;
            let is_full = log_end.last_batch.offset >= MAX_SEGMENT_BYTES;
            if is_torn || is_full || self.failed == Some(id_of(&segment)) {
                let undurable = follower.undurable.clone();
                // The lock keeps other processes from appending. Readers must not wait for the disk.
                drop(follower);
                self.roll(&view, log_end, &undurable)?;
                continue;
            }
            if !self.rewrite(log_end).map_err(|source| write_error(&segment.path, &source))? {
                let undurable = follower.undurable.clone();
                drop(follower);
                self.roll(&view, log_end, &undurable)?;
                continue;
            }
            self.take_ticket()?;
            return self.append_under_lock(follower, &view, log_end.clone(), decide);
        }
        Err(StoreError::Busy(format!("other processes keep replacing {}", shared.path.display())))
    }

    fn append_under_lock<T>(
        &mut self,
        mut follower: MutexGuard<'_, Follower>,
        view: &View,
        mut log_end: LogEnd,
        decide: impl FnOnce(&mut Draft) -> T,
    ) -> Result<(T, Option<Appended>), StoreError> {
        let shared = Arc::clone(&self.shared);
        let (fs, segment) = (&*shared.fs, Arc::clone(&log_end.segment));
        let failed = |source: io::Error| write_error(&segment.path, &source);
        let mut draft = Draft::new(follower.state_to_change(&view.state));
        let result = decide(&mut draft);
        if draft.events.is_empty() {
            follower.standby = Some(StandbyState::of(Arc::new(draft.state)));
            // Nothing changes, but the answer depends on earlier events: sync them first.
            let is_behind = log_end.durable.offset < log_end.last_batch.offset;
            let (paths, end) = (view.paths.clone(), log_end.last_batch);
            let (segment, issues) = (Arc::clone(&segment), Vec::new());
            let appended = is_behind.then(|| Appended { segment, paths, end, issues });
            return Ok((result, appended));
        }
        let lines = draft.lines(segment.header.salt, log_end.durable.offset);
        if let Err(source) = fs.write_at(&segment.file, log_end.last_batch.offset, &lines) {
            // A part of the batch may be in the file, and must not be read as a whole batch. The next segment
            // excludes it.
            let error = failed(source);
            let undurable = follower.undurable.clone();
            drop(follower);
            return match self.roll(view, &log_end, &undurable) {
                Ok(()) => Err(error),
                Err(rolled) if self.is_longer(&log_end) => Err(StoreError::Uncertain(format!(
                    "{}, and the part that was written could not be discarded: {}",
                    error.reason(),
                    rolled.reason()
                ))),
                Err(_) => Err(error),
            };
        }
        let end = BatchEnd {
            offset: log_end.last_batch.offset + lines.len() as u64,
            position: draft.state.position,
        };
        let mut view = view.clone();
        let changed = draft.events.iter().map(|event| event.event.issue);
        let issues = changed.filter_map(|id| draft.state.issues.get(id)).collect();
        let mut standby =
            StandbyState::of(std::mem::replace(&mut view.state, Arc::new(draft.state)));
        for event in draft.events {
            standby.push_missing(&event.event);
            shared.recent.push(event.clone());
            follower.undurable.push(event);
        }
        follower.standby = Some(standby);
        follower.pending.push_back(end);
        (log_end.last_batch, log_end.length) = (end, end.offset);
        log_end.replayed_bytes += lines.len() as u64;
        view.source = Source::Log(log_end);
        let paths = view.paths.clone();
        shared.show_view(&mut follower, view);
        Ok((result, Some(Appended { segment, paths, end, issues })))
    }

    /// Returns true if the file has bytes after the last whole batch.
    fn is_longer(&self, log_end: &LogEnd) -> bool {
        let found = self.fs().fingerprint_of(&log_end.segment.file);
        found.is_ok_and(|found| found.length_bytes() > log_end.last_batch.offset)
    }

    /// Writes the batches that are not known to be durable again. After a failed writeback of data that a dead
    /// process wrote, a kernel may report a later fsync of a newly opened file as a success. Returns false if the
    /// file no longer holds these batches.
    fn rewrite(&self, log_end: &LogEnd) -> io::Result<bool> {
        let (begin, end) = (log_end.durable.offset, log_end.last_batch.offset);
        if begin == end {
            return Ok(true);
        }
        let found = log_end.segment.scan(self.fs(), log_end.durable, None, 0)?;
        if found.batches.last().is_none_or(|batch| batch.end != log_end.last_batch) {
            return Ok(false);
        }
        let length = usize::try_from(end - begin).unwrap_or(usize::MAX);
        let bytes = self.fs().read_at(&log_end.segment.file, begin, length)?;
        self.fs().write_at(&log_end.segment.file, begin, &bytes)?;
        Ok(true)
    }

    /// Begins the next segment, which repeats every whole batch that is not known to be durable.
    fn roll(
        &mut self,
        view: &View,
        log_end: &LogEnd,
        undurable: &[NumberedEvent],
    ) -> Result<(), StoreError> {
        let (segment, base) = (&log_end.segment, log_end.durable);
        let cut = Cut { ordinal: segment.ordinal, offset: base.offset };
        let mut header =
            segment::header(segment.header.store.clone(), base.position, Some(cut), now());
        // A process that was suspended during a restore may read this segment alone, so it has to repeat `replaces`.
        header.replaces.clone_from(&segment.header.replaces);
        let mut draft = Draft::new(State { position: base.position, ..State::default() });
        for event in undurable {
            let (text, position) = record::encode(&event.event, draft.state.position);
            draft.state.position = position;
            draft.events.push(event.clone());
            draft.texts.push(text);
        }
        if draft.state.position != view.state.position {
            return Err(StoreError::NotSaved(format!(
                "the batches of {} that are not durable cannot be repeated in a new segment",
                segment.path.display()
            )));
        }
        let lines = draft.lines(header.salt, 0);
        let (directory, ordinal) = (&view.paths.log, segment.ordinal + 1);
        let model = &view.paths.issues;
        match segment::create(self.fs(), directory, ordinal, &header, &lines, model) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
            Err(error) => return Err(write_error(&segment::path_of(directory, ordinal), &error)),
        }
        self.remove_temps(directory);
        let shared = Arc::clone(&self.shared);
        let mut follower = shared.follower();
        let view = shared.refresh(&mut follower)?;
        if let Some(log_end) = view.log_end()
            && log_end.segment.header.salt == header.salt
        {
            // The whole segment was durable before it got its name.
            self.name_synced = Some(id_of(&log_end.segment));
            self.durable_to(&mut follower, &view, log_end.clone(), log_end.last_batch.offset);
        }
        Ok(())
    }

    /// Removes the temporary files of processes that died while creating a segment. The caller holds the lock.
    fn remove_temps(&self, directory: &Path) {
        for name in self.fs().list(directory).unwrap_or_default() {
            if StorePaths::is_unfinished(&name) {
                // A leftover temporary file does no harm.
                let _ = self.fs().remove(&directory.join(name));
            }
        }
    }

    fn durable_to(&self, follower: &mut Follower, view: &View, mut log_end: LogEnd, offset: u64) {
        let mut view = view.clone();
        self.shared.mark_durable_up_to(follower, &mut view, &mut log_end, offset);
        self.shared.write_mark(follower, &log_end, &view.paths.issues);
        view.source = Source::Log(log_end);
        self.shared.show_view(follower, view);
    }

    /// Makes an appended batch durable, in its segment or in another one.
    fn make_durable(&mut self, appended: &Appended) -> Result<CommitResult, StoreError> {
        let (shared, Appended { segment, paths, end, .. }) = (Arc::clone(&self.shared), appended);
        let begun = Instant::now();
        let synced = self.fs().sync(&segment.file).and_then(|()| self.sync_name(segment, paths));
        shared.syncs.observe(begun.elapsed().as_secs_f64());
        if let Err(source) = synced {
            self.failed = Some(id_of(segment));
            return self.resave_in_new_segment(appended, &source).map(|()| CommitResult::Durable);
        }
        shared.wrote();
        {
            let mut follower = shared.follower();
            if let Some(view) = follower.view.clone()
                && let Source::Log(log_end) = &view.source
                && id_of(&log_end.segment) == id_of(segment)
            {
                self.durable_to(&mut follower, &view, log_end.clone(), end.offset);
            }
        }
        match segment.is_current(self.fs(), &paths.log) {
            Ok(true) => Ok(CommitResult::Durable),
            _ => self.check_still_current(appended),
        }
    }

    /// Makes the directory entry of a segment durable, once.
    fn sync_name(&mut self, segment: &Segment, paths: &StorePaths) -> io::Result<()> {
        if self.name_synced == Some(id_of(segment)) {
            return Ok(());
        }
        // A process writes a mark of a segment only after it made the directory entry durable.
        let mark = self.shared.follower().mark.read(self.fs());
        if mark.is_none_or(|mark| (mark.ordinal, mark.salt) != id_of(segment)) {
            sync_names(self.fs(), paths)?;
        }
        self.name_synced = Some(id_of(segment));
        Ok(())
    }

    /// Checks that a change is part of the log that other processes read now.
    fn check_still_current(&self, appended: &Appended) -> Result<CommitResult, StoreError> {
        let shared = Arc::clone(&self.shared);
        let uncertain = |why: &dyn std::fmt::Display| {
            StoreError::Uncertain(format!(
                "{} was replaced meanwhile: {why}",
                shared.path.display()
            ))
        };
        let view = shared.fresh().map_err(|error| uncertain(&error))?;
        if shared.contains(&view, appended.end.position) {
            let synced = sync_names(self.fs(), &view.paths);
            return synced.map(|()| CommitResult::Durable).map_err(|error| uncertain(&error));
        }
        Ok(CommitResult::LogReplaced(appended.issues.clone()))
    }

    /// Makes a batch durable in another segment after an fsync of its own segment failed.
    fn resave_in_new_segment(
        &mut self,
        appended: &Appended,
        source: &io::Error,
    ) -> Result<(), StoreError> {
        let path = appended.segment.path.display();
        let failed = format!("{path} could not be saved: {source}");
        tracing::error!("{failed}");
        let uncertain = |why: &dyn std::fmt::Display| {
            StoreError::Uncertain(format!("{failed}, and no other file took it ({why})"))
        };
        // Because the segment is marked as failed, this begins a new one.
        let ((), other) = self.append(|_| ()).map_err(|error| uncertain(&error))?;
        if let Some(Appended { segment, paths, .. }) = &other {
            // Another process began the segment and may not have synced it yet.
            let synced = self.fs().sync(&segment.file);
            synced
                .and_then(|()| self.sync_name(segment, paths))
                .map_err(|error| uncertain(&error))?;
        }
        let view = self.shared.fresh().map_err(|error| uncertain(&error))?;
        if !self.shared.contains(&view, appended.end.position) {
            return Err(uncertain(&"the change could not be read back"));
        }
        self.shared.wrote();
        Ok(())
    }

    /// Creates the log of a store that consists of `issues.json` only.
    fn create_log(&mut self, view: &View) -> Result<(), StoreError> {
        let (fs, paths) = (&*self.shared.fs, &view.paths);
        self.shared.lock_check.check(fs, paths)?;
        let failed = |source: io::Error| write_error(&paths.directory, &source);
        if let Some(found) = fs.fingerprint(&paths.issues).map_err(failed)?
            && found.links() > 1
        {
            return Err(StoreError::ReadOnly(format!(
                "{} has {} hard links, and replacing it would separate them: remove the others",
                paths.issues.display(),
                found.links()
            )));
        }
        fs.create_directory(&paths.log).map_err(failed)?;
        let path = paths.publish_lock();
        let _lock = lock_at(fs, &path, &paths.issues, true).map_err(failed)?;
        ensure_lock_is_exclusive(fs, &path)?;
        if !ordinals(fs, &paths.log).map_err(failed)?.is_empty() {
            return Ok(());
        }
        let file = open::read_issues(fs, &paths.issues)?;
        if file.is_none() && fs.fingerprint(&self.shared.path).is_err() {
            return Err(StoreError::ReadOnly(format!(
                "{} is a symbolic link to {}, which does not exist: remove the link, or write {} to that file",
                self.shared.path.display(),
                paths.issues.display(),
                r#"{"issues": []}"#
            )));
        }
        let id = Uuid::new_v4();
        if let Some(file) = &file {
            let published = PublishedNote::new(base_of(id), file.fingerprint, file.hash);
            published.write(fs, paths).map_err(failed)?;
        }
        let state = file.map(|file| file.state).unwrap_or_default();
        begin_log(fs, paths, state, id, None).map_err(failed)
    }
}

/// Returns the position before the first event of a log.
pub(super) fn base_of(id: Uuid) -> EventPosition {
    EventPosition { number: 0, hash: id.as_u64_pair().1 }
}

/// Creates a durable log that starts from a state. `replaces` is the id of the store that it replaces.
pub(super) fn begin_log(
    fs: &dyn FileSystem,
    paths: &StorePaths,
    mut state: State,
    id: Uuid,
    replaces: Option<String>,
) -> io::Result<()> {
    ignore_directory(fs, paths)?;
    let (base, store) = (base_of(id), id.simple().to_string());
    state.position = base;
    snapshot::write(fs, paths, &state, &store)?;
    let mut header = segment::header(store, base, None, now());
    header.replaces = replaces;
    remove_mark(fs, paths)?;
    sync_names(fs, paths)?;
    match segment::create(fs, &paths.log, 1, &header, &[], &paths.issues) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Removes the durable mark of a log that was here before. It may name a segment that the new log does not have yet.
pub(super) fn remove_mark(fs: &dyn FileSystem, paths: &StorePaths) -> io::Result<()> {
    match fs.remove(&paths.mark()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Keeps git from tracking the files of a store.
pub(in crate::store) fn ignore_directory(
    fs: &dyn FileSystem,
    paths: &StorePaths,
) -> io::Result<()> {
    if fs.fingerprint(&paths.gitignore())?.is_some() {
        return Ok(());
    }
    match fs.create(&paths.gitignore(), &paths.issues) {
        Ok(file) => fs.write_at(&file, 0, b"*\n"),
        // Another process, or another part of this one, was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Makes the directory entries on the path to the segments durable.
pub(super) fn sync_names(fs: &dyn FileSystem, paths: &StorePaths) -> io::Result<()> {
    let above = [directory_of(&paths.directory), directory_of(&paths.issues)];
    for directory in [&*paths.log, &*paths.directory].into_iter().chain(above) {
        force_directory_write(fs, directory, &paths.issues)?;
        fs.sync_directory(directory)?;
    }
    Ok(())
}

/// Forces the next sync of a directory to write all its entries. After a failed sync a kernel may consider the
/// entries written, and report a later sync as a success.
fn force_directory_write(fs: &dyn FileSystem, directory: &Path, model: &Path) -> io::Result<()> {
    let path = trial(directory, 0);
    match fs.create(&path, model) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        // Without permission to create files here, this process has created none.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
        Err(error) => return Err(error),
    }
    match fs.remove(&path).or_else(|_| fs.remove(&path)) {
        // Another process removed it first.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
