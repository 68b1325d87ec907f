//! What only stores in files have: their files, publishing now, going back to a backup, and how they are doing.

use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use futures::future::FutureExt;
use uuid::Uuid;
use xxhash_rust::xxh3::xxh3_128;

use super::commit::{Committer, Draft, begin_log, sync_names};
use super::edits;
use super::fs::{FileSystem, Rename, TO_THE_END, directory_of, lock_at};
use super::ground::{must_exclude, refused};
use super::kept;
use super::log::Segment;
use super::log::segment::{SegmentError, ordinals, path_of};
use super::place::{Place, trial};
use super::publish::{Publication, Publisher, Unless};
use super::published::{KnownFile, Published, random};
use super::recovery::{self, OpenError};
use super::salvage::{Salvage, salvage_with};
use super::snapshot::{self, SnapshotError};
use super::support::{lock, now, on_thread};
use super::view::Shared;
use super::writer::WriterHandle;
use crate::domain::{Command, Timestamp};
use crate::store::backup::{Consent, Difference, Holdings, Replacement, Verdict, file};
use crate::store::{Document, Position, Probe, State, StoreError, StoreFuture, StoreHealth};

/// How much a trial writes: more than any file system keeps beside the name of a file.
const TRIAL_BYTES: usize = 8 * 1024;
/// How long a trial waits for the lock, which nobody keeps for long, and how often it asks.
const LOCK_WITHIN: Duration = Duration::from_secs(2);
const ASK_EVERY: Duration = Duration::from_millis(10);
/// How long the end of a process waits for whoever is writing `issues.json`.
const LAST_PUBLISHER: Duration = Duration::from_millis(300);
/// Who is named for what going back to a backup changes.
const RESTORE_AGENT: &str = "restore";

/// The maintenance of a store in files. Clones share the store.
#[derive(Clone)]
pub struct Maintenance {
    shared: Arc<Shared>,
    writer: WriterHandle,
}

impl Maintenance {
    pub(super) fn new(shared: Arc<Shared>, writer: WriterHandle) -> Self {
        Self { shared, writer }
    }

    /// The files that the store consists of: that of the issues first, then the directory of all others. None if
    /// the place cannot be found.
    pub fn files(&self) -> Vec<PathBuf> {
        self.shared.place().map(|place| vec![place.issues, place.directory]).unwrap_or_default()
    }

    /// Brings `issues.json` up to date.
    ///
    /// # Errors
    ///
    /// What keeps it from being written; nothing is lost then.
    pub fn publish(&self) -> StoreFuture<'_, ()> {
        let itself = self.clone();
        let published = on_thread(false, move || itself.publish_now());
        async move {
            let busy = || StoreError::Busy("another process is writing issues.json".to_owned());
            match tokio::time::timeout(self.shared.options.busy_after, published).await {
                Ok(published) => published,
                Err(_) => Err(busy()),
            }
        }
        .boxed()
    }

    fn publish_now(&self) -> Result<(), StoreError> {
        let begun = Instant::now();
        loop {
            match self.publisher().publish(Unless::Rendered)? {
                Publication::UpToDate | Publication::Written => {
                    // Where only commands use the store, nobody else has the time for it.
                    if let Err(error) = self.publisher().snapshot() {
                        tracing::warn!("no snapshot could be written: {}", error.reason());
                    }
                    return Ok(());
                }
                Publication::Busy if begun.elapsed() >= self.shared.options.busy_after => {
                    return Err(StoreError::Busy(
                        "another process is writing issues.json".to_owned(),
                    ));
                }
                Publication::Busy => thread::sleep(ASK_EVERY),
            }
        }
    }

    fn publisher(&self) -> Publisher {
        Publisher { shared: Arc::clone(&self.shared), writer: self.writer.clone() }
    }

    /// Takes over what is to be taken over, and leaves `issues.json` up to date when the process ends, if that is
    /// quick; false if it is not up to date. Only when the writer has ended.
    pub(super) fn publish_last(&self) -> bool {
        if self.shared.latest().is_none() {
            return true;
        }
        let warn = |error: &StoreError| {
            let why = error.reason();
            tracing::warn!("issues.json is not up to date: {why}; every change is in the log");
            true
        };
        let publisher = self.publisher();
        let view = match publisher.settle() {
            Ok(view) => view,
            // Who may only read leaves it to others.
            Err(StoreError::ReadOnly(_)) => return true,
            Err(error) => return warn(&error),
        };
        if publisher.is_snapshot_due(&view) {
            return false;
        }
        if !publisher.is_behind(&view) {
            return true;
        }
        let found = self.shared.fs.fingerprint(&view.place.issues).ok().flatten();
        if found.is_some_and(|found| found.length_bytes() > self.shared.options.last_publish_bytes)
        {
            return false;
        }
        let begun = Instant::now();
        loop {
            match publisher.publish(Unless::Unchanged) {
                // Perhaps a thread of this process.
                Ok(Publication::Busy) if begun.elapsed() < LAST_PUBLISHER => {
                    thread::sleep(ASK_EVERY);
                }
                Ok(Publication::Busy) => return false,
                Ok(_) => return true,
                Err(error) => return warn(&error),
            }
        }
    }

    /// Goes back to a document, in one step: every process that shares the store goes on with it.
    ///
    /// What is replaced stays in the log, and is kept as a backup, too; a damaged log is moved aside as a whole.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`]. That something would be lost is none.
    pub fn restore(&self, document: Document, consent: Consent) -> StoreFuture<'_, Replacement> {
        let (writer, shared) = (self.writer.clone(), Arc::clone(&self.shared));
        on_thread(false, move || {
            writer.run(move |committer| restore(&shared, committer, &document, consent))?
        })
    }

    /// Reads what can be read of a store that is damaged, and writes nothing.
    ///
    /// # Errors
    ///
    /// There is nothing that could be read.
    pub fn salvage(&self) -> StoreFuture<'_, Salvage> {
        let shared = Arc::clone(&self.shared);
        on_thread(false, move || Ok(salvage_with(&*shared.fs, &shared.path)?))
    }

    /// Tries to write as much as a change would, where nobody sees it. Takes over no edit.
    ///
    /// # Errors
    ///
    /// What the next change would be refused with.
    pub fn try_writing(&self) -> StoreFuture<'_, ()> {
        let itself = self.clone();
        on_thread(false, move || {
            let place = itself.shared.place()?;
            itself.try_place(&place, Probe::Trial)
        })
    }

    /// Tells how the store is doing.
    pub(super) fn health(&self, probe: Probe) -> StoreHealth {
        let shared = &self.shared;
        let name = shared.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let syncs = Some(shared.syncs.clone());
        let mut health = StoreHealth { name, syncs, ..StoreHealth::default() };
        health.last_write = shared.last_write();
        let place = match shared.place() {
            Ok(place) => place,
            Err(error) => {
                health.trouble = Some(error.into());
                return health;
            }
        };
        let fs = &*shared.fs;
        if let Ok(Some(found)) = fs.fingerprint(&place.issues) {
            health.snapshot_bytes = Some(found.length_bytes());
            health.snapshot_written = Some(timestamp(found.modified()).min(now()));
        }
        let segments: Vec<_> = ordinals(fs, &place.log)
            .unwrap_or_default()
            .iter()
            .filter_map(|ordinal| fs.fingerprint(&path_of(&place.log, *ordinal)).ok().flatten())
            .collect();
        if !segments.is_empty() {
            health.journal_bytes = Some(segments.iter().map(|found| found.length_bytes()).sum());
        }
        if shared.failure().is_none() {
            let written = segments.last().map(|found| timestamp(found.modified()).min(now()));
            health.last_write = health.last_write.max(written).or(health.snapshot_written);
        }
        health.trouble = self.trouble(&place, probe).err();
        let problem = lock(&shared.known).problem.clone();
        health.warning = problem.or_else(|| lock(&shared.unpublished).clone());
        health
    }

    fn trouble(&self, place: &Place, probe: Probe) -> Result<(), StoreError> {
        let view = self.shared.fresh()?;
        // So that what is wrong with it is known.
        if edits::is_pending(&self.shared, &view) {
            self.writer.run(edits::adopt)??;
        }
        if let Some(damage) = &view.damage {
            return Err(StoreError::Damaged(damage.to_string()));
        }
        if let Some(failure) = self.shared.failure() {
            return Err(failure);
        }
        self.try_place(place, probe)
    }

    /// Tries whether this process may write to the files.
    fn try_place(&self, place: &Place, probe: Probe) -> Result<(), StoreError> {
        let fs = &*self.shared.fs;
        self.shared.ground.survey(fs, place)?;
        let newest = ordinals(fs, &place.log).unwrap_or_default().pop();
        if let Some(path) = newest.map(|ordinal| path_of(&place.log, ordinal)) {
            let open = fs.open(&path).map_err(|source| refused(&path, &source))?;
            if open.is_none_or(|open| !open.is_writable) {
                return Err(refused(&path, &io::ErrorKind::PermissionDenied.into()));
            }
        }
        if probe == Probe::Known { Ok(()) } else { try_writing(fs, place) }
    }
}

fn timestamp(time: std::time::SystemTime) -> Timestamp {
    Timestamp::from(chrono::DateTime::<chrono::Utc>::from(time))
}

/// Takes the lock of a commit for a moment, and writes beside the store as much as a change would.
fn try_writing(fs: &dyn FileSystem, place: &Place) -> Result<(), StoreError> {
    let newest = ordinals(fs, &place.log).unwrap_or_default().pop();
    if let Some(ordinal) = newest {
        try_locking(fs, &path_of(&place.log, ordinal))?;
    }
    let is_there = fs.list(&place.log).is_ok_and(|names| !names.is_empty());
    let directory = if is_there { &place.log } else { directory_of(&place.issues) };
    let temp = trial(directory, random());
    let tried = fs.create(&temp, &place.issues).and_then(|file| {
        let written = fs.write_at(&file, 0, &[b'.'; TRIAL_BYTES]);
        fs.remove(&temp)?;
        written
    });
    tried.map_err(|source| match refused(directory, &source) {
        StoreError::NotSaved(why) => StoreError::NotSaved(format!("a trial in {why}: repair that")),
        refusal => refusal,
    })
}

/// Takes a lock for a moment.
fn try_locking(fs: &dyn FileSystem, path: &Path) -> Result<(), StoreError> {
    let failed = |source| refused(path, &source);
    let Some(open) = fs.open(path).map_err(failed)? else { return Ok(()) };
    let begun = Instant::now();
    loop {
        if let Some(_lock) = fs.lock(&open.file, false).map_err(failed)? {
            return must_exclude(fs, path);
        }
        if begun.elapsed() >= LOCK_WITHIN {
            let (path, seconds) = (path.display(), LOCK_WITHIN.as_secs());
            return Err(StoreError::Busy(format!(
                "{path} has been locked for more than {seconds} s, by a process that is stopped or \
                 hangs, or waits for a slow disk: `fuser {path}` names it"
            )));
        }
        thread::sleep(ASK_EVERY);
    }
}

/// What is damaged of the store. What the system does not let this process read is not damaged: it may be read later.
fn damage_of(shared: &Shared) -> Result<Option<String>, StoreError> {
    let error = match shared.fresh() {
        Ok(view) => return Ok(view.damage.as_ref().map(ToString::to_string)),
        Err(error) => error,
    };
    let (fs, place) = (&*shared.fs, shared.place()?);
    let read = match recovery::open(fs, &place, None) {
        Ok(None) => recovery::read_issues(fs, &place.issues).map(drop),
        opened => opened.map(drop),
    };
    match read {
        Ok(()) | Err(OpenError::Io { .. } | OpenError::MissingDirectory(_)) => Err(error),
        Err(_) => Ok(Some(error.to_string())),
    }
}

/// Goes back to a document.
fn restore(
    shared: &Shared,
    committer: &mut Committer,
    document: &Document,
    consent: Consent,
) -> Result<Replacement, StoreError> {
    if let Some(damage) = damage_of(shared)? {
        if let Some(found) = Replacement::found_damaged(consent, damage.clone()) {
            return Ok(found);
        }
        committer.begin()?;
        let kept = replace_damaged(shared, document)?;
        return Ok(Replacement {
            verdict: Verdict::Done,
            difference: None,
            damage: Some(damage),
            kept,
        });
    }
    let adopted = edits::adopt(committer);
    if consent != Consent::Look {
        // Later they would bring back what is taken out.
        let (fs, place) = (&*shared.fs, shared.place()?);
        if edits::has_leftovers(fs, &place) {
            let path = place.publish_lock();
            let locked = lock_at(fs, &path, &place.issues, false);
            if let Some(_lock) = locked.map_err(|source| refused(&path, &source))? {
                edits::merge_leftovers(committer)?;
            }
        }
        adopted?;
        if shared.fresh()?.head().is_some() {
            // Without the note of the file, what is taken out would come back from that.
            sync_names(fs, &place).map_err(|source| refused(&place.directory, &source))?;
        }
    }
    let difference = Difference::between(&shared.fresh()?.state.document(), document);
    if let Some(found) = Replacement::found(consent, difference) {
        return Ok(found);
    }
    let replaced: Result<Replacement, StoreError> = edits::transact(committer, |draft| {
        let before = draft.state.clone();
        let difference = Difference::between(&before.document(), document);
        if let Some(found) = Replacement::found(consent, difference.clone()) {
            return Ok(found);
        }
        let kept = match before.issues.is_empty() {
            true => Vec::new(),
            false => vec![keep_replaced(shared, before.document())?],
        };
        if let Err(refusal) = go_back(draft, document) {
            draft.reset(before);
            return Err(refusal.into());
        }
        let (difference, damage) = (Some(difference), None);
        Ok(Replacement { verdict: Verdict::Done, difference, damage, kept })
    })?;
    let mut replacement = replaced?;
    let is_invalid = lock(&shared.known).problem.is_some();
    if replacement.verdict == Verdict::Done && is_invalid {
        // It is of no use to anybody, and would keep the restored issues from being written.
        let place = shared.place()?;
        let moved = kept::move_to(&*shared.fs, &place, &place.issues, "invalid");
        replacement.kept.push(moved.map_err(|source| refused(&place.kept, &source))?);
        *lock(&shared.known) = KnownFile::default();
    }
    Ok(replacement)
}

/// Keeps what is replaced as a backup.
fn keep_replaced(shared: &Shared, document: Document) -> Result<PathBuf, StoreError> {
    let place = shared.place()?;
    let mut bytes = Vec::new();
    file::write(&Holdings { document, damage: None }, now(), &mut bytes)
        .and_then(|_| kept::copy_to(&*shared.fs, &place, &bytes, "before-restore"))
        .map_err(|source| refused(&place.kept, &source))
}

/// Makes the state of a draft what a document says.
fn go_back(draft: &mut Draft, document: &Document) -> Result<(), crate::domain::DomainError> {
    let (now, agent) = (now(), RESTORE_AGENT.to_owned());
    let wanted: Vec<_> = document.issues.issues().collect();
    let mut ours: Vec<_> = draft.state.issues.issues().map(|issue| issue.id).collect();
    let is_wanted = |id| document.issues.get(id).is_some();
    let mut next = None;
    for id in ours.clone().into_iter().rev() {
        if !is_wanted(id) {
            let (issue, agent) = (id, agent.clone());
            draft.run(&Command::RemoveIssue { issue, ahead_of: next, agent }, now)?;
        } else {
            next = Some(id);
        }
    }
    ours.retain(|id| is_wanted(*id));
    let stays: HashSet<_> = ours.iter().copied().collect();
    let order = wanted.iter().map(|issue| issue.id).filter(|id| stays.contains(id));
    if !order.eq(ours.iter().copied()) {
        // Another order: all of them are filed anew, in that order. Each is the last one when it is taken out.
        for issue in ours.into_iter().rev() {
            let agent = agent.clone();
            draft.run(&Command::RemoveIssue { issue, ahead_of: None, agent }, now)?;
        }
    }
    let mut ahead_of = None;
    for issue in wanted.into_iter().rev() {
        let (id, agent) = (issue.id, agent.clone());
        let command = match draft.state.issues.get(id) {
            Some(_) => Command::ReplaceIssue { issue, agent },
            None => Command::PlaceIssue { issue, ahead_of, agent },
        };
        draft.run(&command, now)?;
        ahead_of = Some(id);
    }
    draft.run(&Command::SetUnknownKeys { keys: document.extra.clone(), agent }, now)?;
    Ok(())
}

/// Begins a new log for a document in the place of one that is damaged, which is kept as a whole.
fn replace_damaged(shared: &Shared, document: &Document) -> Result<Vec<PathBuf>, StoreError> {
    let (fs, place) = (&*shared.fs, shared.place()?);
    shared.ground.survey(fs, &place)?;
    let failed = |source: io::Error| refused(&place.directory, &source);
    let replaced = replaced_store(fs, &place).map_err(failed)?;
    let mut kept = Vec::new();
    // An old copy of the file, which nobody may take for an edit of the new store.
    let file = fs.open(&place.issues).map_err(failed)?;
    let mut noted = None;
    if let Some(open) = file {
        let bytes = fs.read_at(&open.file, 0, TO_THE_END).map_err(failed)?;
        noted = Some((fs.fingerprint_of(&open.file).map_err(failed)?, bytes));
    }
    let name = place.directory.file_name().unwrap_or_default().to_string_lossy();
    let id = Uuid::new_v4();
    let directory = place.directory.with_file_name(format!("{name}.{}", id.simple()));
    let fresh = Place {
        log: directory.join("log"),
        kept: directory.join("kept"),
        directory,
        ..place.clone()
    };
    fs.create_directory(&fresh.log).map_err(failed)?;
    fs.create_directory(&fresh.kept).map_err(failed)?;
    if let Some((fingerprint, bytes)) = &noted {
        let path = kept::copy_to(fs, &fresh, bytes, "before-restore").map_err(failed)?;
        kept.push(place.kept.join(path.file_name().unwrap_or_default()));
        let nothing = Position::default();
        Published::new(nothing, *fingerprint, xxh3_128(bytes)).write(fs, &fresh).map_err(failed)?;
    }
    begin_log(fs, &fresh, State::of(document.clone()), id, replaced).map_err(failed)?;
    let name = format!("{}-damaged-store", now().to_string().replace(':', ""));
    let mut aside = place.kept.join(name);
    match fs.rename(&fresh.directory, &place.directory, Rename::Exchange) {
        Ok(()) => {
            if let Err(error) = fs.rename(&fresh.directory, &aside, Rename::Replace) {
                // The store is restored; only its former directory stays where the new one was made.
                tracing::warn!("{}: {error}", aside.display());
                aside = fresh.directory;
            }
            kept.push(aside);
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs.rename(&fresh.directory, &place.directory, Rename::Replace).map_err(failed)?;
        }
        Err(error) => return Err(failed(error)),
    }
    let synced = fs.sync_directory(directory_of(&place.directory));
    synced.map_err(|error| {
        StoreError::Uncertain(format!("{}: {error}", place.directory.display()))
    })?;
    shared.forget();
    Ok(kept)
}

/// The id of the store that a damaged log belongs to, as far as a segment or a snapshot tells it. Whoever knows what
/// that store held goes on with the new one by it.
fn replaced_store(fs: &dyn FileSystem, place: &Place) -> io::Result<Option<String>> {
    for ordinal in ordinals(fs, &place.log)?.into_iter().rev() {
        match Segment::open(fs, &place.log, ordinal) {
            Ok(Some(segment)) => return Ok(Some(segment.header.store)),
            Err(SegmentError::Io(error)) => return Err(error),
            Ok(None) | Err(_) => {}
        }
    }
    for (_, path) in snapshot::list(fs, place)? {
        match snapshot::read(fs, &path) {
            Ok(snapshot) => return Ok(Some(snapshot.store)),
            Err(SnapshotError::Io(error)) => return Err(error),
            Err(_) => {}
        }
    }
    Ok(None)
}
