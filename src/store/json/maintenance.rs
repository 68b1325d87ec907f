//! Maintenance of a store in files: publishing on demand, restore, salvage and health.

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
use super::fs::{FileLock, FileSystem, Rename, TO_THE_END, directory_of, lock_at};
use super::lock_check::{ensure_lock_is_exclusive, not_writable, write_error};
use super::log::Segment;
use super::log::segment::{SegmentError, newest_path, ordinals, path_of};
use super::open::{self, OpenError};
use super::paths::{StorePaths, trial};
use super::publish::{Publication, Publisher, SkipPublish, refuse_links};
use super::published_note::{KnownFile, PublishedNote, random};
use super::quarantine;
use super::replaced_logs::commit_after_merges;
use super::salvage::{Salvage, salvage_with};
use super::shared::Shared;
use super::snapshot::{self, SnapshotError};
use super::support::{lock, now, on_thread};
use super::writer::WriterHandle;
use crate::domain::Timestamp;
use crate::store::backup::{
    BackupContent, Difference, OverwritePolicy, RestoreOutcome, RestoreResult, file, restoring,
};
use crate::store::{Document, EventPosition, Probe, State, StoreError, StoreFuture, StoreHealth};

/// The size of a test write, in bytes: more than any file system stores inside an inode.
const TRIAL_BYTES: usize = 8 * 1024;
/// How long a test waits for the lock, and how often it retries.
const LOCK_WITHIN: Duration = Duration::from_secs(2);
const ASK_EVERY: Duration = Duration::from_millis(10);
/// How long shutdown waits for another process that writes `issues.json`.
const SHUTDOWN_PUBLISHER: Duration = Duration::from_millis(300);

/// Maintenance operations of a store in files. Clones share the store.
#[derive(Clone)]
pub struct Maintenance {
    shared: Arc<Shared>,
    writer: WriterHandle,
}

impl Maintenance {
    pub(super) fn new(shared: Arc<Shared>, writer: WriterHandle) -> Self {
        Self { shared, writer }
    }

    /// Returns the paths of the store: `issues.json` first, then the directory of everything else. Returns nothing if
    /// they cannot be resolved.
    pub fn files(&self) -> Vec<PathBuf> {
        self.shared.paths().map(|paths| vec![paths.issues, paths.directory]).unwrap_or_default()
    }

    /// Publishes `issues.json`.
    ///
    /// # Errors
    ///
    /// The reason why the file cannot be written. Nothing is lost then.
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
        let published = loop {
            match self.publisher().publish(SkipPublish::Rendered) {
                Ok(Publication::Busy) if begun.elapsed() < self.shared.options.busy_after => {
                    thread::sleep(ASK_EVERY);
                }
                Ok(Publication::Busy) => {
                    let why = "another process is writing issues.json".to_owned();
                    break Err(StoreError::Busy(why));
                }
                published => break published.map(drop),
            }
        };
        // If only commands use the store, no other process has time to write snapshots. They do not need the file.
        if let Err(error) = self.publisher().write_snapshot() {
            tracing::warn!("failed to write a snapshot: {}", error.reason());
        }
        published
    }

    /// Takes the lock of the process that publishes for commands that have ended. Returns `None` if another process
    /// has it, or if it cannot be taken.
    pub fn lock_as_saver(&self) -> Option<FileLock> {
        let paths = self.shared.paths().ok()?;
        lock_at(&*self.shared.fs, &paths.saver_lock(), &paths.issues, false).ok().flatten()
    }

    /// Returns true if `issues.json` lacks durable changes. Reads the files on the calling thread.
    pub fn is_behind(&self) -> bool {
        self.shared.fresh_durable().is_ok_and(|view| self.publisher().is_behind(&view))
    }

    fn publisher(&self) -> Publisher {
        Publisher { shared: Arc::clone(&self.shared), writer: self.writer.clone() }
    }

    /// Merges pending edits and publishes `issues.json` at shutdown, if that is quick. Returns false if the file is
    /// left outdated. The writer thread has to be ended.
    pub(super) fn publish_last(&self) -> bool {
        if self.shared.latest().is_none() {
            return true;
        }
        let warn = |error: &StoreError| {
            let why = error.reason();
            match error.is_damage() {
                true => tracing::warn!(
                    "issues.json was not written, and may be newer than what can be read: {why}"
                ),
                false => {
                    tracing::warn!(
                        "issues.json is not up to date: {why}; every change is in the log"
                    );
                }
            }
            true
        };
        let publisher = self.publisher();
        let view = match publisher.settle() {
            Ok(view) => view,
            // A read-only process leaves it to others.
            Err(StoreError::ReadOnly(_) | StoreError::NetworkFileSystem(_)) => return true,
            Err(error) => return warn(&error),
        };
        if publisher.is_snapshot_due(&view) {
            return false;
        }
        if !publisher.is_behind(&view) {
            return true;
        }
        // Another process cannot publish this, either.
        if let Err(error) = refuse_links(&*self.shared.fs, &view.paths.issues) {
            return warn(&error);
        }
        let found = self.shared.fs.fingerprint(&view.paths.issues).ok().flatten();
        if found.is_some_and(|found| found.length_bytes() > self.shared.options.last_publish_bytes)
        {
            return false;
        }
        let begun = Instant::now();
        loop {
            match publisher.publish(SkipPublish::Unchanged) {
                // It may be another thread of this process.
                Ok(Publication::Busy) if begun.elapsed() < SHUTDOWN_PUBLISHER => {
                    thread::sleep(ASK_EVERY);
                }
                Ok(Publication::Busy) => return false,
                Ok(_) => return true,
                Err(error) => return warn(&error),
            }
        }
    }

    /// Restores a document in one step. Every process that shares the store continues with it.
    ///
    /// The replaced issues stay in the log and are also kept as a backup. A damaged log moves to quarantine as a
    /// whole.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`]. A restore that would lose something is no error; the result says so.
    pub fn restore(
        &self,
        document: Document,
        policy: OverwritePolicy,
    ) -> StoreFuture<'_, RestoreOutcome> {
        let (writer, shared) = (self.writer.clone(), Arc::clone(&self.shared));
        on_thread(false, move || {
            writer.run(move |committer| restore(&shared, committer, &document, policy))?
        })
    }

    /// Reads what can be read of a damaged store. Writes nothing.
    ///
    /// # Errors
    ///
    /// Nothing can be read.
    pub fn salvage(&self) -> StoreFuture<'_, Salvage> {
        let shared = Arc::clone(&self.shared);
        on_thread(false, move || Ok(salvage_with(&*shared.fs, &shared.path)?))
    }

    /// Tests whether changes can be written, with a temporary file that other processes ignore. Merges no edit.
    ///
    /// # Errors
    ///
    /// The error that the next change would return.
    pub fn try_writing(&self) -> StoreFuture<'_, ()> {
        let itself = self.clone();
        on_thread(false, move || {
            let paths = itself.shared.paths()?;
            itself.check_writable(&paths, Probe::Trial)
        })
    }

    /// Returns the health of the store.
    pub(super) fn health(&self, probe: Probe) -> StoreHealth {
        let shared = &self.shared;
        let name = shared.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let syncs = Some(shared.syncs.clone());
        let mut health = StoreHealth { name, syncs, ..StoreHealth::default() };
        health.last_write = shared.last_write();
        let paths = match shared.paths() {
            Ok(paths) => paths,
            Err(error) => {
                health.trouble = Some(error.into());
                return health;
            }
        };
        let fs = &*shared.fs;
        if let Ok(Some(found)) = fs.fingerprint(&paths.issues) {
            health.published_bytes = Some(found.length_bytes());
            health.published_at = Some(timestamp(found.modified()).min(now()));
        }
        let segments: Vec<_> = ordinals(fs, &paths.log)
            .unwrap_or_default()
            .iter()
            .filter_map(|ordinal| fs.fingerprint(&path_of(&paths.log, *ordinal)).ok().flatten())
            .collect();
        if !segments.is_empty() {
            health.log_bytes = Some(segments.iter().map(|found| found.length_bytes()).sum());
        }
        if shared.failure().is_none() {
            let written = segments.last().map(|found| timestamp(found.modified()).min(now()));
            health.last_write = health.last_write.max(written).or(health.published_at);
        }
        health.trouble = self.trouble(&paths, probe).err();
        let problem = lock(&shared.known).problem.clone();
        health.warning = problem.or_else(|| lock(&shared.unpublished).clone());
        health
    }

    fn trouble(&self, paths: &StorePaths, probe: Probe) -> Result<(), StoreError> {
        let view = self.shared.fresh()?;
        // Merging reveals problems of the file.
        if edits::needs_merge(&self.shared, &view) {
            self.writer.run(edits::adopt_external_edit)??;
        }
        if let Some(damage) = &view.damage {
            return Err(damage.into());
        }
        if let Some(failure) = self.shared.failure() {
            return Err(failure);
        }
        self.check_writable(paths, probe)
    }

    /// Tests whether this process may write to the files.
    fn check_writable(&self, paths: &StorePaths, probe: Probe) -> Result<(), StoreError> {
        let fs = &*self.shared.fs;
        self.shared.lock_check.check(fs, paths)?;
        if let Some(path) = newest_path(fs, &paths.log) {
            let open = fs.open(&path).map_err(|source| match source.kind() {
                io::ErrorKind::IsADirectory => {
                    StoreError::Unreadable(format!("{} is {source}: move it away", path.display()))
                }
                _ => write_error(&path, &source),
            })?;
            if open.is_none_or(|open| !open.is_writable) {
                return Err(not_writable(&path));
            }
        }
        if probe == Probe::Known { Ok(()) } else { try_writing(fs, paths) }
    }
}

fn timestamp(time: std::time::SystemTime) -> Timestamp {
    Timestamp::from(chrono::DateTime::<chrono::Utc>::from(time))
}

/// Takes the commit lock for a moment, and writes as much as a change would to a temporary file.
fn try_writing(fs: &dyn FileSystem, paths: &StorePaths) -> Result<(), StoreError> {
    if let Some(path) = newest_path(fs, &paths.log) {
        try_locking(fs, &path)?;
    }
    let is_there = fs.list(&paths.log).is_ok_and(|names| !names.is_empty());
    let directory = if is_there { &paths.log } else { directory_of(&paths.issues) };
    let temp = trial(directory, random());
    let tried = fs.create(&temp, &paths.issues).and_then(|file| {
        let written = fs.write_at(&file, 0, &[b'.'; TRIAL_BYTES]);
        match fs.remove(&temp) {
            // Another process removed it as a leftover.
            Err(error) if error.kind() == io::ErrorKind::NotFound => written,
            removed => removed.and(written),
        }
    });
    tried.map_err(|source| match write_error(directory, &source) {
        StoreError::NotSaved(why) => StoreError::NotSaved(format!("test write in {why}: fix that")),
        refusal => refusal,
    })
}

/// Takes the lock on a file for a moment.
fn try_locking(fs: &dyn FileSystem, path: &Path) -> Result<(), StoreError> {
    let failed = |source| write_error(path, &source);
    let Some(open) = fs.open(path).map_err(failed)? else { return Ok(()) };
    let begun = Instant::now();
    loop {
        if let Some(_lock) = fs.lock(&open.file, false).map_err(failed)? {
            return ensure_lock_is_exclusive(fs, path);
        }
        if begun.elapsed() >= LOCK_WITHIN {
            let (path, seconds) = (path.display(), LOCK_WITHIN.as_secs());
            return Err(StoreError::Busy(format!(
                "{path} has been locked for more than {seconds} s, by a process that is stopped, hangs or waits \
                 for a slow disk: `fuser {path}` shows its id"
            )));
        }
        thread::sleep(ASK_EVERY);
    }
}

/// Returns the damage of the store, if any. A file that is not readable for now does not count as damage.
fn damage_of(shared: &Shared) -> Result<Option<String>, StoreError> {
    let error = match shared.fresh() {
        Ok(view) => return Ok(view.damage.as_ref().map(ToString::to_string)),
        Err(error) => error,
    };
    let (fs, paths) = (&*shared.fs, shared.paths()?);
    let read = match open::open(fs, &paths, None) {
        Ok(None) => open::read_issues(fs, &paths.issues).map(drop),
        opened => opened.map(drop),
    };
    match read {
        Ok(()) | Err(OpenError::Io { .. } | OpenError::MissingDirectory(_)) => Err(error),
        Err(_) => Ok(Some(error.to_string())),
    }
}

/// Restores a document.
fn restore(
    shared: &Shared,
    committer: &mut Committer,
    document: &Document,
    policy: OverwritePolicy,
) -> Result<RestoreOutcome, StoreError> {
    if let Some(damage) = damage_of(shared)? {
        if let Some(found) = RestoreOutcome::found_damaged(policy, damage.clone()) {
            return Ok(found);
        }
        committer.take_ticket()?;
        let kept = replace_damaged(shared, document)?;
        return Ok(RestoreOutcome {
            result: RestoreResult::Done,
            difference: None,
            damage: Some(damage),
            kept,
        });
    }
    let paths = shared.paths()?;
    let adopted = edits::adopt_external_edit(committer);
    if policy != OverwritePolicy::DryRun {
        // Merged later, leftovers would bring back what the restore removes.
        let fs = &*shared.fs;
        if edits::has_leftovers(fs, &paths) {
            let path = paths.publish_lock();
            let locked = lock_at(fs, &path, &paths.issues, false);
            if let Some(_lock) = locked.map_err(|source| write_error(&path, &source))? {
                edits::merge_leftovers(committer)?;
            }
        }
        adopted?;
        if shared.fresh()?.log_end().is_some() {
            // If a power failure lost the note, `issues.json` would bring back what the restore removes.
            sync_names(fs, &paths).map_err(|source| write_error(&paths.directory, &source))?;
        }
    }
    let difference = Difference::between(&shared.fresh()?.state.document(), document);
    if let Some(found) = RestoreOutcome::found(policy, difference) {
        return Ok(found);
    }
    let (replaced, _) = commit_after_merges(committer, |draft| {
        let before = draft.state.clone();
        let difference = Difference::between(&before.document(), document);
        if let Some(found) = RestoreOutcome::found(policy, difference.clone()) {
            return Ok(found);
        }
        let kept = match before.issues.is_empty() {
            true => Vec::new(),
            false => vec![keep_replaced(shared, before.document())?],
        };
        if let Err(refusal) = go_back(draft, document) {
            draft.reset(before);
            return Err(StoreError::from(refusal));
        }
        let (difference, damage) = (Some(difference), None);
        Ok(RestoreOutcome { result: RestoreResult::Done, difference, damage, kept })
    })?;
    let mut replacement: RestoreOutcome = replaced?;
    let is_invalid = lock(&shared.known).problem.is_some();
    if replacement.result == RestoreResult::Done && is_invalid {
        // An invalid file would keep the restored issues from being published.
        replacement.kept.extend(move_invalid(shared, &paths));
    }
    Ok(replacement)
}

/// Moves an invalid `issues.json` to the quarantine. The restore is done, so a failure is only logged.
fn move_invalid(shared: &Shared, paths: &StorePaths) -> Option<PathBuf> {
    match quarantine::move_to(&*shared.fs, paths, &paths.issues, "invalid") {
        Ok(moved) => {
            *lock(&shared.known) = KnownFile::default();
            Some(moved)
        }
        Err(error) => {
            let path = paths.issues.display();
            let error = write_error(&paths.kept, &error);
            tracing::warn!("the issues are restored, and {path} stays invalid: {}", error.reason());
            None
        }
    }
}

/// Keeps the replaced issues as a backup, in quarantine.
fn keep_replaced(shared: &Shared, document: Document) -> Result<PathBuf, StoreError> {
    let paths = shared.paths()?;
    let mut bytes = Vec::new();
    file::write(&BackupContent { document, damage: None }, now(), &mut bytes)
        .and_then(|_| quarantine::copy_to(&*shared.fs, &paths, &bytes, "before-restore"))
        .map_err(|source| write_error(&paths.kept, &source))
}

/// Changes the state of a draft into that of a document.
fn go_back(draft: &mut Draft, document: &Document) -> Result<(), crate::domain::DomainError> {
    let now = now();
    for command in restoring(&draft.state.issues.clone(), document) {
        draft.decide(&command, now)?;
    }
    Ok(())
}

/// Replaces a damaged log with a new one for a document. Keeps the damaged log as a whole.
fn replace_damaged(shared: &Shared, document: &Document) -> Result<Vec<PathBuf>, StoreError> {
    let (fs, paths) = (&*shared.fs, shared.paths()?);
    shared.lock_check.check(fs, &paths)?;
    let failed = |source: io::Error| write_error(&paths.directory, &source);
    let replaced = replaced_store(fs, &paths).map_err(failed)?;
    let mut kept = Vec::new();
    // An old copy of `issues.json` must not be merged into the new store as an edit.
    let file = fs.open(&paths.issues).map_err(failed)?;
    let mut noted = None;
    if let Some(open) = file {
        let bytes = fs.read_at(&open.file, 0, TO_THE_END).map_err(failed)?;
        noted = Some((fs.fingerprint_of(&open.file).map_err(failed)?, bytes));
    }
    let name = paths.directory.file_name().unwrap_or_default().to_string_lossy();
    let id = Uuid::new_v4();
    let directory = paths.directory.with_file_name(format!("{name}.{}", id.simple()));
    let fresh = StorePaths {
        log: directory.join("log"),
        kept: directory.join("kept"),
        directory,
        ..paths.clone()
    };
    fs.create_directory(&fresh.log).map_err(failed)?;
    fs.create_directory(&fresh.kept).map_err(failed)?;
    if let Some((fingerprint, bytes)) = &noted {
        let path = quarantine::copy_to(fs, &fresh, bytes, "before-restore").map_err(failed)?;
        kept.push(paths.kept.join(path.file_name().unwrap_or_default()));
        let nothing = EventPosition::default();
        PublishedNote::new(nothing, *fingerprint, xxh3_128(bytes))
            .write(fs, &fresh)
            .map_err(failed)?;
    }
    begin_log(fs, &fresh, State::of(document.clone()), id, replaced).map_err(failed)?;
    let name = format!("{}-damaged-store", now().to_string().replace(':', ""));
    let mut aside = paths.kept.join(name);
    match fs.rename(&fresh.directory, &paths.directory, Rename::Exchange) {
        Ok(()) => {
            if let Err(error) = fs.rename(&fresh.directory, &aside, Rename::Replace) {
                // The restore is complete. Only the replaced directory keeps its temporary name.
                tracing::warn!("{}: {error}", aside.display());
                aside = fresh.directory;
            }
            kept.push(aside);
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs.rename(&fresh.directory, &paths.directory, Rename::Replace).map_err(failed)?;
        }
        Err(error) => return Err(failed(error)),
    }
    let synced = fs.sync_directory(directory_of(&paths.directory));
    synced.map_err(|error| {
        StoreError::Uncertain(format!("{}: {error}", paths.directory.display()))
    })?;
    shared.forget();
    Ok(kept)
}

/// Returns the id of the store that a damaged log belongs to, if a segment or a snapshot still names it. The new log
/// names this id, so that processes do not merge their state of the old store into it.
fn replaced_store(fs: &dyn FileSystem, paths: &StorePaths) -> io::Result<Option<String>> {
    for ordinal in ordinals(fs, &paths.log)?.into_iter().rev() {
        match Segment::open(fs, &paths.log, ordinal) {
            Ok(Some(segment)) => return Ok(Some(segment.header.store)),
            Err(SegmentError::Io(error)) => return Err(error),
            Ok(None) | Err(_) => {}
        }
    }
    for (_, path) in snapshot::list(fs, paths)? {
        match snapshot::read(fs, &path) {
            Ok(snapshot) => return Ok(Some(snapshot.store)),
            Err(SnapshotError::Io(error)) => return Err(error),
            Err(_) => {}
        }
    }
    Ok(None)
}
