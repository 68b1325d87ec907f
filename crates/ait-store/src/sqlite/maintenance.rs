//! Operations that only a store in files has: publishing on demand, restore, salvage, and tests of the files.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::database::Database;
use super::disk_errors::write_trial;
use super::error::Failure;
use super::publish::{self, Publication};
use super::salvage::{Salvage, salvage};
use super::writer::WriterHandle;
use super::{edits, restore};
use crate::backup::{OverwritePolicy, RestoreOutcome};
use crate::files::fs::{FileSystem, directory_of, may_write};
use crate::files::lock_check::{ensure_lock_is_exclusive, not_writable, write_error};
use crate::files::paths::StorePaths;
use crate::files::support::{lock, now, on_thread};
use crate::{Document, Probe, StoreError, StoreHealth};
use ait_domain::Timestamp;

/// The size of a test write, in bytes: more than any file system stores inside an inode.
const TRIAL_BYTES: usize = 8 * 1024;
/// How long a test waits for the lock, and how often it retries.
const LOCK_WITHIN: Duration = Duration::from_secs(2);
const ASK_EVERY: Duration = Duration::from_millis(10);

/// Maintenance operations of a store in files. Clones share the store.
#[derive(Clone)]
pub struct Maintenance {
    database: Arc<Database>,
    writer: WriterHandle,
}

impl Maintenance {
    pub(super) fn new(database: Arc<Database>, writer: WriterHandle) -> Self {
        Self { database, writer }
    }

    /// Returns the paths of the store: `issues.json` first, then the directory of everything else. Returns nothing if
    /// they cannot be resolved.
    pub fn files(&self) -> Vec<PathBuf> {
        self.database.paths().map(|paths| vec![paths.issues, paths.directory]).unwrap_or_default()
    }

    /// Publishes `issues.json`.
    ///
    /// # Errors
    ///
    /// The reason why the file cannot be written. Nothing is lost then.
    pub async fn publish(&self) -> Result<(), StoreError> {
        let database = Arc::clone(&self.database);
        let writer = self.writer.clone();
        let limit = database.options.busy_after;
        let busy = || StoreError::Busy("another process is writing issues.json".to_owned());
        let published = on_thread(false, move || {
            let begun = Instant::now();
            while publish::publish(&database, &writer, limit)? == Publication::Busy {
                if begun.elapsed() >= limit {
                    return Err(busy());
                }
                thread::sleep(ASK_EVERY);
            }
            Ok(())
        });
        tokio::time::timeout(limit, published).await.unwrap_or_else(|_| Err(busy()))
    }

    /// Restores a document in one step. Every process that shares the store continues with it.
    ///
    /// The replaced issues stay in the events and are also kept as a backup. A damaged database moves to quarantine.
    ///
    /// # Errors
    ///
    /// Any [`StoreError`]. A restore that would lose something is no error; the result says so.
    pub async fn restore(
        &self,
        document: Document,
        policy: OverwritePolicy,
    ) -> Result<RestoreOutcome, StoreError> {
        let database = Arc::clone(&self.database);
        let writer = self.writer.clone();
        on_thread(false, move || restore::restore(&database, &writer, document, policy)).await
    }

    /// Reads what can be read of a damaged store. Writes nothing.
    ///
    /// # Errors
    ///
    /// Nothing can be read.
    pub async fn salvage(&self) -> Result<Salvage, StoreError> {
        let path = self.database.issues().to_owned();
        on_thread(false, move || Ok(salvage(&path)?)).await
    }

    /// Tests whether changes can be written, with a temporary file that other processes ignore. Merges no edit.
    ///
    /// # Errors
    ///
    /// The error that the next change would return.
    pub async fn try_writing(&self) -> Result<(), StoreError> {
        let database = Arc::clone(&self.database);
        on_thread(false, move || {
            let paths = database.paths().map_err(Failure::of_read)?;
            check_writable(&database, &paths, Probe::Trial)
        })
        .await
    }

    /// Returns the health of the store.
    pub(super) fn health(&self, probe: Probe) -> StoreHealth {
        let database = &self.database;
        let name = database.issues().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let syncs = Some(database.syncs.clone());
        let mut health = StoreHealth { name, syncs, ..StoreHealth::default() };
        let paths = match database.paths() {
            Ok(paths) => paths,
            Err(failure) => {
                health.trouble = Some(failure.of_read());
                return health;
            }
        };
        let fs = &*database.fs;
        if let Ok(Some(found)) = fs.fingerprint(&paths.issues) {
            health.published_bytes = Some(found.length_bytes());
            health.published_at = Some(timestamp(found.modified()).min(now()));
        }
        let files: Vec<_> = [paths.database(), paths.database_log()]
            .iter()
            .filter_map(|path| fs.fingerprint(path).ok().flatten())
            .collect();
        if !files.is_empty() {
            health.log_bytes = Some(files.iter().map(|found| found.length_bytes()).sum());
        }
        let written = files.iter().map(|found| timestamp(found.modified()).min(now())).max();
        health.last_write = written.or(health.published_at);
        health.trouble = self.trouble(&paths, probe).err();
        let problem = lock(&database.known).problem.clone();
        health.warning = problem.or_else(|| lock(&database.unpublished).clone());
        health
    }

    fn trouble(&self, paths: &StorePaths, probe: Probe) -> Result<(), StoreError> {
        let database = &self.database;
        // Merging reveals problems of the file.
        if edits::needs_merge(database, self.writer.is_running()) {
            match self.writer.run_within(LOCK_WITHIN, edits::adopt) {
                // At the end of the store, the edit stays for the next process.
                Ok(()) | Err(StoreError::Closed) => {}
                Err(error) => return Err(error),
            }
        }
        database.read(super::read::counts).map_err(Failure::of_read)?;
        if let Some(damage) = database.damage() {
            return Err(damage);
        }
        if database.has_failed_to_sync.load(Ordering::Relaxed) {
            let why = "the disk failed to save the last change; the next one tries again";
            return Err(StoreError::Uncertain(why.to_owned()));
        }
        check_writable(database, paths, probe)
    }
}

fn timestamp(time: SystemTime) -> Timestamp {
    Timestamp::from(chrono::DateTime::<chrono::Utc>::from(time))
}

/// Tests whether this process may write to the files.
fn check_writable(database: &Database, paths: &StorePaths, probe: Probe) -> Result<(), StoreError> {
    let fs = &*database.fs;
    database.lock_check.check(fs, paths)?;
    for path in [paths.database(), paths.turn_lock()] {
        let may_write = may_write(fs, &path).map_err(|source| match source.kind() {
            io::ErrorKind::IsADirectory => {
                StoreError::Unreadable(format!("{} is {source}: move it away", path.display()))
            }
            _ => write_error(&path, &source),
        })?;
        if !may_write {
            return Err(not_writable(&path));
        }
    }
    if probe == Probe::Known { Ok(()) } else { try_writing(fs, paths) }
}

/// Takes the turn for a moment, and writes as much as a change would to a temporary file.
fn try_writing(fs: &dyn FileSystem, paths: &StorePaths) -> Result<(), StoreError> {
    try_locking(fs, &paths.turn_lock())?;
    let is_there = fs.fingerprint(&paths.database()).is_ok_and(|found| found.is_some());
    let directory = if is_there { &paths.directory } else { directory_of(&paths.issues) };
    let tried = write_trial(fs, paths, directory, TRIAL_BYTES, |_| Ok(()));
    tried.map_err(|source| match write_error(directory, &source) {
        StoreError::NotSaved(why) => StoreError::NotSaved(format!("test write in {why}: fix that")),
        refusal => refusal,
    })
}

/// Takes the lock on a file for a moment.
fn try_locking(fs: &dyn FileSystem, path: &Path) -> Result<(), StoreError> {
    let failed = |source| write_error(path, &source);
    let Some(file) = fs.open(path).map_err(failed)? else { return Ok(()) };
    let begun = Instant::now();
    loop {
        if let Some(_lock) = fs.lock(&file, false).map_err(failed)? {
            return ensure_lock_is_exclusive(fs, path);
        }
        if begun.elapsed() >= LOCK_WITHIN {
            let path = path.display();
            let seconds = LOCK_WITHIN.as_secs();
            return Err(StoreError::Busy(format!(
                "{path} has been locked for more than {seconds} s, by a process that is stopped, hangs or waits \
                 for a slow disk: `fuser {path}` shows its id"
            )));
        }
        thread::sleep(ASK_EVERY);
    }
}
