//! Making changes: decide under the lock of the newest segment, append, unlock, sync, answer.
//!
//! Whatever is wrong with the end of a segment has one solution: a new segment that repeats every whole batch which
//! is not known to be durable ([`Committer::roll`]).

use std::io;
use std::path::Path;
use std::sync::{Arc, MutexGuard};
use std::time::Instant;

use uuid::Uuid;

use super::cancellation::WriterTicket;
use super::fs::{FileSystem, directory_of, lock_at};
use super::ground::{must_exclude, refused};
use super::log::frame::{self, MAX_JSON_BYTES};
use super::log::segment::{self, ordinals};
use super::log::{Cut, Segment, Tail, record};
use super::place::{Place, trial};
use super::published::Published;
use super::spare::Spare;
use super::support::{lock, now};
use super::view::{Follower, Head, Shared, Source, View};
use super::{recovery, snapshot};
use crate::domain::{Command, DomainError, Event, Issue, Timestamp};
use crate::store::{NumberedEvent, Outcome, Position, State, StoreError};

/// How often the newest segment may be another one when it is locked.
const MAX_ROUNDS: usize = 100;
/// From which size on a segment is not appended to any more.
const MAX_SEGMENT_BYTES: u64 = 8 * 1024 * 1024;

/// Changes the store. There is one for each process and store, on a thread of its own, since no other may sync a
/// segment: a kernel tells of a failed sync once for each opening.
pub(super) struct Committer {
    pub shared: Arc<Shared>,
    /// The segment of which a sync has failed.
    failed: Option<SegmentId>,
    /// The segment whose name was made durable.
    named: Option<SegmentId>,
    /// Whether it is just merging what was known of a log that is gone.
    pub merges: bool,
    /// What lets somebody withdraw the work that is under way, until a change is decided under the lock.
    pub ticket: Option<WriterTicket>,
}

type SegmentId = (u64, u32);

fn id_of(segment: &Segment) -> SegmentId {
    (segment.ordinal, segment.header.salt)
}

/// What became of changes that were made.
pub(super) enum Kept {
    /// They are durable, in the log as everybody reads it.
    Durable,
    /// Another log took the place of the one that they were made in, with the issues as the changes left them.
    Lost(Vec<Arc<Issue>>),
}

/// Changes that are being decided, each on the state that the one before has left.
pub(super) struct Draft {
    /// The state with the changes so far.
    pub state: State,
    events: Vec<NumberedEvent>,
    texts: Vec<Vec<u8>>,
}

impl Draft {
    fn new(state: State) -> Self {
        Self { state, events: Vec::new(), texts: Vec::new() }
    }

    /// Decides a command.
    pub fn run(&mut self, command: &Command, now: Timestamp) -> Outcome {
        match self.state.decide(command, now)? {
            Some(event) => self.push(event),
            None => Ok(None),
        }
    }

    /// Takes all changes back, to the state that it began with.
    pub fn reset(&mut self, state: State) {
        *self = Self::new(state);
    }

    fn push(&mut self, event: Event) -> Outcome {
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

    /// The lines of one batch.
    fn lines(&self, salt: u32, durable: u64) -> Vec<u8> {
        let mut lines = Vec::new();
        for (number, (event, text)) in self.events.iter().zip(&self.texts).enumerate() {
            let is_end = number + 1 == self.events.len();
            frame::write(salt, &record::line(text, event.position, durable, is_end), &mut lines);
        }
        lines
    }
}

/// A batch that was appended.
struct Appended {
    segment: Arc<Segment>,
    place: Arc<Place>,
    end: Tail,
    /// The issues as it left them.
    issues: Vec<Arc<Issue>>,
}

impl Committer {
    pub fn new(shared: Arc<Shared>) -> Self {
        Self { shared, failed: None, named: None, merges: false, ticket: None }
    }

    fn fs(&self) -> &dyn FileSystem {
        &*self.shared.fs
    }

    /// From here on the work cannot be withdrawn any more.
    ///
    /// # Errors
    ///
    /// It was withdrawn.
    pub fn begin(&self) -> Result<(), StoreError> {
        if self.ticket.as_ref().is_some_and(|ticket| !ticket.take()) {
            return Err(StoreError::Busy("nobody waits for it any more".to_owned()));
        }
        Ok(())
    }

    /// Lets `decide` make changes on the newest state, as one batch, and makes them durable.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`]; `decide` was not called, or its changes did not happen, except for
    /// [`StoreError::Uncertain`].
    pub fn transact<T>(
        &mut self,
        decide: impl FnOnce(&mut Draft) -> T,
    ) -> Result<(T, Kept), StoreError> {
        let (result, appended) = self.append(decide)?;
        let Some(appended) = appended else { return Ok((result, Kept::Durable)) };
        let durable = self.make_durable(&appended);
        *lock(&self.shared.failure) = durable.as_ref().err().cloned();
        Ok((result, durable?))
    }

    fn append<T>(
        &mut self,
        decide: impl FnOnce(&mut Draft) -> T,
    ) -> Result<(T, Option<Appended>), StoreError> {
        let shared = Arc::clone(&self.shared);
        for _ in 0..MAX_ROUNDS {
            // Whether its segment is still the newest one, shows under the lock.
            let is_usable = |view: &Arc<View>| view.head().is_some() && view.damage.is_none();
            let latest = shared.latest().filter(is_usable);
            let view = latest.map_or_else(|| shared.fresh(), Ok)?;
            if let Some(damage) = &view.damage {
                return Err(StoreError::Damaged(damage.to_string()));
            }
            let Some(head) = view.head() else {
                self.create_log(&view)?;
                continue;
            };
            let segment = Arc::clone(&head.segment);
            if !segment.is_writable {
                // Somebody may have permitted it meanwhile.
                let open = self.fs().open(&segment.path).ok().flatten();
                if open.is_none_or(|open| !open.is_writable) {
                    let denied = io::ErrorKind::PermissionDenied.into();
                    return Err(refused(&segment.path, &denied));
                }
                shared.forget();
                continue;
            }
            let _lock = shared.ground.lock(self.fs(), &view.place, &segment.path, &segment.file)?;
            let mut follower = shared.follower();
            let view = shared.refresh_under_lock(&mut follower)?;
            if !self.merges && !follower.orphaned.is_empty() {
                let path = shared.path.display();
                return Err(StoreError::Busy(format!("the log of {path} was just replaced")));
            }
            let Source::Log(head) = &view.source else { continue };
            if view.damage.is_some() || id_of(&head.segment) != id_of(&segment) {
                continue;
            }
            let is_torn = head.length > head.tail.offset;
            let is_full = head.tail.offset >= MAX_SEGMENT_BYTES;
            if is_torn || is_full || self.failed == Some(id_of(&segment)) {
                let undurable = follower.undurable.clone();
                // Nobody else appends meanwhile, and readers do not wait for the disk.
                drop(follower);
                self.roll(&view, head, &undurable)?;
                continue;
            }
            if !self.rewrite(head).map_err(|source| refused(&segment.path, &source))? {
                let undurable = follower.undurable.clone();
                drop(follower);
                self.roll(&view, head, &undurable)?;
                continue;
            }
            self.begin()?;
            return self.append_under_lock(follower, &view, head.clone(), decide);
        }
        Err(StoreError::Busy(format!(
            "{} is being replaced again and again",
            shared.path.display()
        )))
    }

    fn append_under_lock<T>(
        &mut self,
        mut follower: MutexGuard<'_, Follower>,
        view: &View,
        mut head: Head,
        decide: impl FnOnce(&mut Draft) -> T,
    ) -> Result<(T, Option<Appended>), StoreError> {
        let shared = Arc::clone(&self.shared);
        let (fs, segment) = (&*shared.fs, Arc::clone(&head.segment));
        let failed = |source: io::Error| refused(&segment.path, &source);
        let mut draft = Draft::new(follower.state_to_change(&view.state));
        let result = decide(&mut draft);
        if draft.events.is_empty() {
            follower.spare = Some(Spare::of(Arc::new(draft.state)));
            let is_behind = head.durable.offset < head.tail.offset;
            let (place, end) = (view.place.clone(), head.tail);
            let (segment, issues) = (Arc::clone(&segment), Vec::new());
            let appended = is_behind.then(|| Appended { segment, place, end, issues });
            return Ok((result, appended));
        }
        let lines = draft.lines(segment.header.salt, head.durable.offset);
        if let Err(source) = fs.write_at(&segment.file, head.tail.offset, &lines) {
            // A part of it may be there, which nobody may take for whole. A segment without it follows.
            let error = failed(source);
            let undurable = follower.undurable.clone();
            drop(follower);
            return match self.roll(view, &head, &undurable) {
                Ok(()) => Err(error),
                Err(rolled) if self.is_longer(&head) => Err(StoreError::Uncertain(format!(
                    "{error}, and what was written of it could not be left behind ({rolled})"
                ))),
                Err(_) => Err(error),
            };
        }
        let end =
            Tail { offset: head.tail.offset + lines.len() as u64, position: draft.state.position };
        let mut view = view.clone();
        let changed = draft.events.iter().map(|event| event.event.issue);
        let issues = changed.filter_map(|id| draft.state.issues.get(id)).collect();
        let mut spare = Spare::of(std::mem::replace(&mut view.state, Arc::new(draft.state)));
        for event in draft.events {
            spare.lacks(&event.event);
            shared.recent.push(event.clone());
            follower.undurable.push(event);
        }
        follower.spare = Some(spare);
        follower.pending.push_back(end);
        (head.tail, head.length) = (end, end.offset);
        head.replayed_bytes += lines.len() as u64;
        view.source = Source::Log(head);
        let place = view.place.clone();
        shared.publish_view(&mut follower, view);
        Ok((result, Some(Appended { segment, place, end, issues })))
    }

    /// Whether more stands in the file than the last whole batch.
    fn is_longer(&self, head: &Head) -> bool {
        let found = self.fs().fingerprint_of(&head.segment.file);
        found.is_ok_and(|found| found.length_bytes() > head.tail.offset)
    }

    /// Writes again what is not known to be durable: a kernel that failed to save what a dead process has written
    /// tells nobody who opens the file later, and calls a sync of it a success. False if it has forgotten that, too,
    /// and the file does not hold it any more.
    fn rewrite(&self, head: &Head) -> io::Result<bool> {
        let (begin, end) = (head.durable.offset, head.tail.offset);
        if begin == end {
            return Ok(true);
        }
        let found = head.segment.scan(self.fs(), head.durable, None, 0)?;
        if found.batches.last().is_none_or(|batch| batch.end != head.tail) {
            return Ok(false);
        }
        let length = usize::try_from(end - begin).unwrap_or(usize::MAX);
        let bytes = self.fs().read_at(&head.segment.file, begin, length)?;
        self.fs().write_at(&head.segment.file, begin, &bytes)?;
        Ok(true)
    }

    /// Begins the next segment, which repeats every whole batch that is not known to be durable.
    fn roll(
        &mut self,
        view: &View,
        head: &Head,
        undurable: &[NumberedEvent],
    ) -> Result<(), StoreError> {
        let (segment, base) = (&head.segment, head.durable);
        let cut = Cut { ordinal: segment.ordinal, offset: base.offset };
        let header = segment::header(segment.header.store.clone(), base.position, Some(cut), now());
        let mut draft = Draft::new(State { position: base.position, ..State::default() });
        for event in undurable {
            let (text, position) = record::encode(&event.event, draft.state.position);
            draft.state.position = position;
            draft.events.push(event.clone());
            draft.texts.push(text);
        }
        if draft.state.position != view.state.position {
            return Err(StoreError::NotSaved(format!(
                "{}: what is not durable of it cannot be repeated elsewhere",
                segment.path.display()
            )));
        }
        let lines = draft.lines(header.salt, 0);
        let (directory, ordinal) = (&view.place.log, segment.ordinal + 1);
        let model = &view.place.issues;
        match segment::create(self.fs(), directory, ordinal, &header, &lines, model) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
            Err(error) => return Err(refused(&segment::path_of(directory, ordinal), &error)),
        }
        self.remove_temps(directory);
        let shared = Arc::clone(&self.shared);
        let mut follower = shared.follower();
        let view = shared.refresh(&mut follower)?;
        if let Some(head) = view.head()
            && head.segment.header.salt == header.salt
        {
            // All of it was durable before it had its name.
            self.named = Some(id_of(&head.segment));
            self.durable_to(&mut follower, &view, head.clone(), head.tail.offset);
        }
        Ok(())
    }

    /// Removes what processes left that died while they made a segment. Only under the lock.
    fn remove_temps(&self, directory: &Path) {
        for name in self.fs().list(directory).unwrap_or_default() {
            if Place::is_unfinished(&name) {
                // What cannot be removed is in nobody's way.
                let _ = self.fs().remove(&directory.join(name));
            }
        }
    }

    fn durable_to(&self, follower: &mut Follower, view: &View, mut head: Head, offset: u64) {
        let mut view = view.clone();
        self.shared.is_durable_to(follower, &mut view, &mut head, offset);
        self.shared.write_mark(follower, &head, &view.place.issues);
        view.source = Source::Log(head);
        self.shared.publish_view(follower, view);
    }

    /// Makes durable what was appended, here or in another segment.
    fn make_durable(&mut self, appended: &Appended) -> Result<Kept, StoreError> {
        let (shared, Appended { segment, place, end, .. }) = (Arc::clone(&self.shared), appended);
        let begun = Instant::now();
        let synced = self.fs().sync(&segment.file).and_then(|()| self.name_durably(segment, place));
        shared.syncs.observe(begun.elapsed().as_secs_f64());
        if let Err(source) = synced {
            self.failed = Some(id_of(segment));
            return self.save_elsewhere(appended, &source).map(|()| Kept::Durable);
        }
        shared.wrote();
        {
            let mut follower = shared.follower();
            if let Some(view) = follower.view.clone()
                && let Source::Log(head) = &view.source
                && id_of(&head.segment) == id_of(segment)
            {
                self.durable_to(&mut follower, &view, head.clone(), end.offset);
            }
        }
        match segment.is_current(self.fs(), &place.log) {
            Ok(true) => Ok(Kept::Durable),
            _ => self.still_counts(appended),
        }
    }

    /// Makes the name of a segment durable, once.
    fn name_durably(&mut self, segment: &Segment, place: &Place) -> io::Result<()> {
        if self.named == Some(id_of(segment)) {
            return Ok(());
        }
        // Whoever wrote a mark of this segment had made its name durable before.
        let mark = self.shared.follower().mark.read(self.fs());
        if mark.is_none_or(|mark| (mark.ordinal, mark.salt) != id_of(segment)) {
            sync_names(self.fs(), place)?;
        }
        self.named = Some(id_of(segment));
        Ok(())
    }

    /// Makes sure that a change is part of the log as others read it now.
    fn still_counts(&self, appended: &Appended) -> Result<Kept, StoreError> {
        let shared = Arc::clone(&self.shared);
        let uncertain = |why: &dyn std::fmt::Display| {
            StoreError::Uncertain(format!(
                "{} was replaced meanwhile: {why}",
                shared.path.display()
            ))
        };
        let view = shared.fresh().map_err(|error| uncertain(&error))?;
        if shared.contains(&view, appended.end.position) {
            let named = sync_names(self.fs(), &view.place);
            return named.map(|()| Kept::Durable).map_err(|error| uncertain(&error));
        }
        Ok(Kept::Lost(appended.issues.clone()))
    }

    /// Makes durable in another segment what could not be made durable in this one.
    fn save_elsewhere(
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
        // With the segment noted as failed, this begins a new one.
        let ((), other) = self.append(|_| ()).map_err(|error| uncertain(&error))?;
        if let Some(Appended { segment, place, .. }) = &other {
            // Another process began a segment, and may not have come to its sync.
            let synced = self.fs().sync(&segment.file);
            synced
                .and_then(|()| self.name_durably(segment, place))
                .map_err(|error| uncertain(&error))?;
        }
        let view = self.shared.fresh().map_err(|error| uncertain(&error))?;
        if !self.shared.contains(&view, appended.end.position) {
            return Err(uncertain(&"it could not be read back"));
        }
        self.shared.wrote();
        Ok(())
    }

    /// Begins a log for a store that is nothing but a file of issues.
    fn create_log(&mut self, view: &View) -> Result<(), StoreError> {
        let (fs, place) = (&*self.shared.fs, &view.place);
        self.shared.ground.survey(fs, place)?;
        let failed = |source: io::Error| refused(&place.directory, &source);
        if let Some(found) = fs.fingerprint(&place.issues).map_err(failed)?
            && found.links() > 1
        {
            return Err(StoreError::ReadOnly(format!(
                "{} has {} hard links, and replacing it would part them: remove the others",
                place.issues.display(),
                found.links()
            )));
        }
        fs.create_directory(&place.log).map_err(failed)?;
        let path = place.publish_lock();
        let _lock = lock_at(fs, &path, &place.issues, true).map_err(failed)?;
        must_exclude(fs, &path)?;
        if !ordinals(fs, &place.log).map_err(failed)?.is_empty() {
            return Ok(());
        }
        let file = recovery::read_issues(fs, &place.issues)?;
        let id = Uuid::new_v4();
        if let Some(file) = &file {
            let published = Published::new(base_of(id), file.fingerprint, file.hash);
            published.write(fs, place).map_err(failed)?;
        }
        let state = file.map(|file| file.state).unwrap_or_default();
        begin_log(fs, place, state, id, None).map_err(failed)
    }
}

/// The position before the first event of a log.
fn base_of(id: Uuid) -> Position {
    Position { number: 0, hash: id.as_u64_pair().1 }
}

/// Begins a log with a state that no event tells of, durably; `replaces` is the store in whose place it comes.
pub(super) fn begin_log(
    fs: &dyn FileSystem,
    place: &Place,
    mut state: State,
    id: Uuid,
    replaces: Option<String>,
) -> io::Result<()> {
    if fs.fingerprint(&place.gitignore())?.is_none() {
        let file = fs.create(&place.gitignore(), &place.issues)?;
        fs.write_at(&file, 0, b"*\n")?;
    }
    let (base, store) = (base_of(id), id.simple().to_string());
    state.position = base;
    snapshot::write(fs, place, &state, &store)?;
    let mut header = segment::header(store, base, None, now());
    header.replaces = replaces;
    sync_names(fs, place)?;
    match segment::create(fs, &place.log, 1, &header, &[], &place.issues) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Makes the names of everything on the way to the segments durable.
pub(super) fn sync_names(fs: &dyn FileSystem, place: &Place) -> io::Result<()> {
    let above = [directory_of(&place.directory), directory_of(&place.issues)];
    for directory in [&*place.log, &*place.directory].into_iter().chain(above) {
        touch_names(fs, directory, &place.issues)?;
        fs.sync_directory(directory)?;
    }
    Ok(())
}

/// Lets the next sync of a directory write all its names: those that another sync could not save, a kernel takes for
/// written, and calls a later sync a success.
fn touch_names(fs: &dyn FileSystem, directory: &Path, model: &Path) -> io::Result<()> {
    let path = trial(directory, 0);
    match fs.create(&path, model) {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        // Who may not make names here has made none.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(()),
        Err(error) => return Err(error),
    }
    match fs.remove(&path).or_else(|_| fs.remove(&path)) {
        // Another process did the same.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}
