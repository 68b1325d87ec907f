//! The file, and connections to it.

use std::cmp::Ordering;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use prometheus_client::metrics::histogram::Histogram;
use rusqlite::{Connection, OpenFlags, OptionalExtension};
use uuid::Uuid;

use super::error::Failure;
use super::place::{PlacedConnection, Places, replaced};
use super::read;
use super::transaction::decide_all;
use super::write::{add_event, add_state, newest};
use crate::files::StoreOptions;
use crate::files::fs::{
    FileFingerprint, FileLock, FileSystem, Rename, no_follow, open_or_create, remove_if_exists,
};
use crate::files::lock_check::{LockCheck, write_error};
use crate::files::open::{IssuesFile, paths_of, read_issues};
use crate::files::paths::StorePaths;
use crate::files::publish::refuse_links;
use crate::files::published_note::{KnownFile, PublishedNote, random};
use crate::files::support::lock;
use crate::writer_queue::WriterReply;
use crate::{DURATION_BUCKETS_S, EventPosition, State, StoreError};
use ait_domain::{Command, Timestamp};

/// The version of the schema.
const VERSION: i64 = 2;
/// Says that a SQLite database is a queue of ait.
const APPLICATION_ID: i64 = 0x6169_7431;
/// How long a connection waits for locks of SQLite itself, which are short.
const WAIT: Duration = Duration::from_secs(5);
/// The size up to which a database is checked whole when a process opens it, in bytes. A larger one is checked where
/// it is read.
const CHECKED_BYTES: u64 = 1024 * 1024;
/// How large the file of the log of SQLite stays when all of it has been moved into the database.
const MAX_LOG_BYTES: u64 = 16 << 20;

/// A database in the directory beside `issues.json`.
pub(super) struct Database {
    issues: PathBuf,
    pub fs: Arc<dyn FileSystem>,
    pub options: StoreOptions,
    /// What this process knows of `issues.json`.
    pub known: Mutex<KnownFile>,
    /// Why `issues.json` lacks changes.
    pub unpublished: Mutex<Option<String>>,
    /// Whether this process changed anything.
    pub has_changed: AtomicBool,
    /// Whether a sync failed, so that what was written before may never reach the disk.
    pub has_failed_to_sync: AtomicBool,
    /// The durations of syncs, in seconds.
    pub syncs: Histogram,
    pub lock_check: LockCheck,
    pub readers: Mutex<Vec<PlacedConnection>>,
    pub places: Places,
    /// What replaced databases had, with their ids, until it is merged.
    pub rescued: Mutex<Vec<(Uuid, State)>>,
    /// The newest event when this process last wrote, or could have.
    seen: Mutex<EventPosition>,
    /// The content of `issues.json` while there is no database, with the fingerprint of the file.
    unsaved: Mutex<Option<(FileFingerprint, Connection)>>,
    /// What is damaged, and in which file that was found.
    damage: Mutex<Option<(FileFingerprint, StoreError)>>,
}

/// A database that is open for changes.
pub(super) struct Opened {
    pub connection: PlacedConnection,
    pub paths: StorePaths,
    /// The file whose lock is the turn.
    turn: Arc<File>,
    turn_file: FileFingerprint,
    /// The log of SQLite, which has what is committed.
    pub log: File,
}

impl Database {
    /// Names the database of an `issues.json`. Does no I/O.
    pub fn new(issues: PathBuf, fs: Arc<dyn FileSystem>, options: StoreOptions) -> Self {
        let lock_check = LockCheck::default();
        lock_check.allow_network(options.allows_network);
        Self {
            issues,
            fs,
            options,
            known: Mutex::default(),
            unpublished: Mutex::default(),
            has_changed: AtomicBool::new(false),
            has_failed_to_sync: AtomicBool::new(false),
            syncs: Histogram::new(DURATION_BUCKETS_S),
            lock_check,
            readers: Mutex::default(),
            places: Places::default(),
            rescued: Mutex::default(),
            seen: Mutex::default(),
            unsaved: Mutex::default(),
            damage: Mutex::default(),
        }
    }

    /// Returns the path of `issues.json` as given.
    pub fn issues(&self) -> &Path {
        &self.issues
    }

    /// Returns the paths of the store, with symbolic links resolved.
    pub fn paths(&self) -> Result<StorePaths, Failure> {
        let paths = paths_of(&*self.fs, &self.issues).map_err(Failure::Open)?;
        if has_earlier_log(&*self.fs, &paths) {
            return Err(earlier(&paths));
        }
        Ok(paths)
    }

    /// Opens the database for changes. Makes it if it does not exist, with what `issues.json` has.
    pub fn open(&self) -> Result<Opened, Failure> {
        let fs = &*self.fs;
        let paths = self.paths()?;
        self.lock_check.check(fs, &paths).map_err(Failure::Store)?;
        fs.create_directory(&paths.directory)?;
        ignore_directory(fs, &paths)?;
        let turn = open_or_create(fs, &paths.turn_lock(), &paths.issues)?;
        let is_new = !has_content(fs, &paths)?;
        if is_new && lock(&self.rescued).is_empty() {
            refuse_if_lost(fs, &paths)?;
        }
        if is_new {
            self.make(&paths, &turn)?;
        }
        let connection = self.connect_writer(&paths, &turn)?;
        let log = no_follow().read(true).open(paths.database_log())?;
        let found = fs.fingerprint_of(&log)?;
        if !connection.place.log.is_some_and(|log| log.is_same_file(&found)) {
            return Err(replaced());
        }
        self.check_if_small(&connection, &connection.place.file)?;
        let turn_file = fs.fingerprint_of(&turn)?;
        Ok(Opened { connection, paths, turn, turn_file, log })
    }

    /// Opens a connection for changes.
    fn connect_writer(
        &self,
        paths: &StorePaths,
        turn: &Arc<File>,
    ) -> Result<PlacedConnection, Failure> {
        let turn = || self.turn_in_place(paths, turn).map(Some);
        self.places.connect(&self.fs, paths, turn, |_| {
            let connection = connect(&paths.database(), OpenFlags::SQLITE_OPEN_READ_WRITE)?;
            connection.execute_batch(&format!(
                "PRAGMA wal_autocheckpoint = 0; PRAGMA journal_size_limit = {MAX_LOG_BYTES}"
            ))?;
            // A read opens the log of SQLite.
            check_version(&connection, paths)?;
            Ok(connection)
        })
    }

    /// Makes a database with what `issues.json` has, unless another process was faster.
    ///
    /// It gets its name when it is whole: SQLite would read it by the log of another one that was removed meanwhile, or
    /// by the index of that log, and would write to both.
    fn make(&self, paths: &StorePaths, turn: &Arc<File>) -> Result<(), Failure> {
        let fs = &*self.fs;
        let _turn = self.turn_in_place(paths, turn)?;
        let path = paths.database();
        let found = fs.fingerprint(&path)?;
        if found.is_some_and(|found| found.length_bytes() > 0) {
            return Ok(());
        }
        let new = paths.new_database(random());
        let file = self.create(&new, |connection| self.fill(connection))?;
        for other in [paths.database_log(), paths.database_shared()] {
            remove_if_exists(fs, &other)?;
        }
        let mode = if found.is_some() { Rename::Replace } else { Rename::KeepOther };
        fs.rename(&new, &path, mode)?;
        sync_names(fs, paths)?;
        self.note_merged(paths, file)
    }

    /// Notes that `issues.json` has no edit that the database lacks.
    fn note_merged(&self, paths: &StorePaths, file: Option<IssuesFile>) -> Result<(), Failure> {
        let Some(file) = file else { return Ok(()) };
        let position = EventPosition::default();
        let note = PublishedNote::new(position, file.fingerprint, file.hash);
        Ok(note.write(&*self.fs, paths)?)
    }

    /// Waits for the turn among processes. Fails if its file was removed.
    fn turn_in_place(&self, paths: &StorePaths, turn: &Arc<File>) -> Result<FileLock, Failure> {
        let path = paths.turn_lock();
        let taken = self.lock_check.lock(&*self.fs, paths, &path, turn).map_err(Failure::Store)?;
        let is_in_place = self.is_at(&path, Some(self.fs.fingerprint_of(turn)?))?;
        if is_in_place { Ok(taken) } else { Err(replaced()) }
    }

    /// Takes the turn among processes if it is free and was taken before.
    pub fn free_turn(&self, paths: &StorePaths) -> io::Result<Option<FileLock>> {
        let path = paths.turn_lock();
        let Some(turn) = self.fs.open(&path)? else { return Ok(None) };
        let taken = self.fs.lock(&turn, false)?;
        let is_in_place = self.is_at(&path, Some(self.fs.fingerprint_of(&turn)?))?;
        Ok(taken.filter(|_| is_in_place))
    }

    /// Waits for the turn among processes.
    pub fn take_turn(&self, opened: &Opened) -> Result<FileLock, StoreError> {
        let path = opened.paths.turn_lock();
        self.lock_check.lock(&*self.fs, &opened.paths, &path, &opened.turn)
    }

    /// Returns true if the files of an open database and its lock still are those in their places.
    pub fn is_in_place(&self, opened: &Opened) -> bool {
        let look = || {
            let paths = self.paths()?;
            Ok::<_, Failure>(
                paths == opened.paths
                    && opened.connection.is_in_place()
                    && self.is_at(&paths.turn_lock(), Some(opened.turn_file))?,
            )
        };
        look().unwrap_or(false)
    }

    fn is_at(&self, path: &Path, file: Option<FileFingerprint>) -> io::Result<bool> {
        let found = self.fs.fingerprint(path)?;
        Ok(found.zip(file).is_some_and(|(found, file)| found.is_same_file(&file)))
    }

    /// Looks whether another program wrote an older or another database over the files, as `cp` does. Then what
    /// `issues.json` has beyond is taken for an edit. The caller has the turn.
    pub fn notice_overwriting(&self, connection: &Connection) -> Result<(), Failure> {
        const NONCE: &str = "SELECT nonce FROM events WHERE number = ?1";
        let found = newest(connection)?;
        let seen = std::mem::replace(&mut *lock(&self.seen), found);
        let is_same = if found.number > seen.number {
            let mut statement = connection.prepare_cached(NONCE)?;
            let nonce = statement.query_row([seen.number.cast_signed()], |row| row.get(0));
            nonce.optional()?.is_none_or(|nonce: i64| nonce.cast_unsigned() == seen.hash)
        } else {
            found == seen
        };
        if !is_same {
            let path = self.issues.display();
            tracing::warn!(
                "another program wrote over the database of {path} while it was open: what that file has beyond is \
                 merged; a copy is put back by a restore"
            );
            *lock(&self.known) = KnownFile::default();
        }
        Ok(())
    }

    /// Keeps what a database had whose files were removed or replaced, to be merged.
    pub fn rescue(&self, connection: &Connection) {
        *lock(&self.seen) = EventPosition::default();
        let read = || Ok::<_, Failure>((read::id(connection)?, read::state(connection)?));
        match read() {
            Ok(found) => lock(&self.rescued).push(found),
            Err(failure) => {
                let why = failure.of_read();
                tracing::warn!("the database that was removed or replaced cannot be read: {why}");
            }
        }
    }

    /// Makes the tables, and adds the issues of `issues.json`.
    pub fn fill(&self, connection: &Connection) -> Result<Option<IssuesFile>, Failure> {
        make_tables(connection)?;
        let issues = self.paths()?.issues;
        refuse_links(&*self.fs, &issues).map_err(Failure::Store)?;
        let file = read_issues(&*self.fs, &issues).map_err(Failure::Open)?;
        if file.is_none() && self.fs.fingerprint(&self.issues).is_err() {
            return Err(Failure::Store(StoreError::ReadOnly(format!(
                "{} is a symbolic link to {}, which does not exist: remove the link, or write {} to that file",
                self.issues.display(),
                issues.display(),
                r#"{"issues": []}"#
            ))));
        }
        if let Some(file) = &file {
            add_state(connection, &file.state)?;
        }
        Ok(file)
    }

    /// Returns true if there is no database yet.
    pub fn is_unsaved(&self) -> bool {
        let found = self.paths().map(|paths| self.fs.fingerprint(&paths.database()));
        matches!(found, Ok(Ok(None))) && lock(&self.rescued).is_empty()
    }

    /// Decides commands on what `issues.json` has. Returns `None` if they would change something.
    pub fn try_unsaved(
        &self,
        commands: &[Command],
        now: Timestamp,
    ) -> Result<Option<WriterReply>, Failure> {
        let decide = |connection: &Connection| {
            connection.execute_batch("BEGIN")?;
            let decided = decide_all(connection, commands, now);
            connection.execute_batch("ROLLBACK")?;
            decided
        };
        let paths = self.paths()?;
        refuse_if_lost(&*self.fs, &paths)?;
        let decided = match self.read_file(&paths, decide)? {
            Some(decided) => decided,
            None => {
                let connection = Connection::open_in_memory()?;
                prepare(&connection)?;
                make_tables(&connection)?;
                decide(&connection)?
            }
        };
        let changes = decided.as_ref().is_ok_and(|committed| !committed.events.is_empty());
        Ok((!changes).then_some(decided))
    }

    /// Runs a read of what `issues.json` has, in memory. Changes nothing on the disk.
    pub fn read_file<T>(
        &self,
        paths: &StorePaths,
        read: impl FnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        let Some(found) = self.fs.fingerprint(&paths.issues)? else { return Ok(None) };
        let mut unsaved = lock(&self.unsaved);
        let is_known = unsaved.as_ref().is_some_and(|(known, _)| *known == found);
        if !is_known {
            let connection = Connection::open_in_memory()?;
            prepare(&connection)?;
            *unsaved = None;
            if let Some(file) = self.fill(&connection)? {
                // Distinguishes what this file has from what another one had.
                add_event(&connection, EventPosition { number: 0, hash: random().into() }, None)?;
                *unsaved = Some((file.fingerprint, connection));
            }
        }
        unsaved.as_ref().map(|(_, connection)| read(connection)).transpose()
    }

    /// Returns what is known to be damaged in the database that is in its place now.
    pub fn damage(&self) -> Option<StoreError> {
        let mut damage = lock(&self.damage);
        let (file, error) = damage.as_ref()?;
        let path = self.paths().ok()?.database();
        let found = self.fs.fingerprint(&path).ok().flatten();
        if found.is_some_and(|found| found.is_same_file(file)) {
            return Some(error.clone());
        }
        *damage = None;
        None
    }

    /// Remembers the damage that some work finds, so that every later answer tells of it.
    pub fn noting_damage<T>(
        &self,
        work: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        // Looked at before, because another process may put a sound database in the place of a missing one meanwhile.
        let found = self.paths().ok();
        let found = found.and_then(|paths| self.fs.fingerprint(&paths.database()).ok().flatten());
        let failure = match work() {
            Err(failure) if failure.is_damage() => failure,
            done => return done,
        };
        let Ok(path) = self.paths().map(|paths| paths.database()) else { return Err(failure) };
        let error = match failure.of_read() {
            StoreError::Corrupt(why) => StoreError::Corrupt(format!("{}: {why}", path.display())),
            error => error,
        };
        // What was found first is said of everything.
        if let Some(known) = self.damage() {
            return Err(Failure::Store(known));
        }
        if let Some(found) = found {
            *lock(&self.damage) = Some((found, error.clone()));
        }
        Err(Failure::Store(error))
    }

    /// Checks a small database whole.
    pub fn check_if_small(
        &self,
        connection: &Connection,
        file: &FileFingerprint,
    ) -> Result<(), Failure> {
        if file.length_bytes() > CHECKED_BYTES {
            return Ok(());
        }
        match self.noting_damage(|| check(connection)) {
            // What else can be read is shown with that.
            Err(failure) if failure.is_damage() => Ok(()),
            checked => checked,
        }
    }

    /// Makes a database in a new file, which must not exist, and lets `fill` make its tables.
    pub fn create<T>(
        &self,
        path: &Path,
        fill: impl FnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let connection = connect(path, flags)?;
        connection.execute_batch("PRAGMA synchronous = FULL")?;
        connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
        connection.execute_batch("BEGIN IMMEDIATE")?;
        let done = fill(&connection)?;
        connection.execute_batch("COMMIT")?;
        connection.close().map_err(|(_, error)| error)?;
        Ok(done)
    }

    /// Lets `replace` put another database in the place of a damaged one, in the turn of this process. It gets the id
    /// of the damaged one, if that can be read.
    pub fn replace_damaged<T>(
        &self,
        replace: impl FnOnce(&StorePaths, Option<Uuid>) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        let fs = &*self.fs;
        let paths = self.paths().map_err(Failure::of_change)?;
        let failed = |source| write_error(&paths.turn_lock(), &source);
        self.lock_check.check(fs, &paths)?;
        fs.create_directory(&paths.directory).map_err(failed)?;
        let turn = open_or_create(fs, &paths.turn_lock(), &paths.issues).map_err(failed)?;
        let _turn = self.lock_check.lock(fs, &paths, &paths.turn_lock(), &turn)?;
        let old = connect(&paths.database(), OpenFlags::SQLITE_OPEN_READ_WRITE);
        let id = old.and_then(|connection| read::id(&connection)).ok();
        let done = replace(&paths, id).map_err(Failure::of_change)?;
        lock(&self.readers).clear();
        *lock(&self.damage) = None;
        *lock(&self.known) = KnownFile::default();
        Ok(done)
    }
}

/// Says that an earlier version of this program made the store.
fn earlier(paths: &StorePaths) -> Failure {
    Failure::Store(StoreError::Earlier(paths.directory.display().to_string()))
}

/// Returns true if an earlier version of this program made the store, with a log of its own.
pub(super) fn has_earlier_log(fs: &dyn FileSystem, paths: &StorePaths) -> bool {
    let found = fs.fingerprint(&paths.earlier_log());
    found.is_err_and(|error| error.kind() == io::ErrorKind::IsADirectory)
}

/// Refuses to begin an empty database where there was one.
pub(super) fn refuse_if_lost(fs: &dyn FileSystem, paths: &StorePaths) -> Result<(), Failure> {
    let note = PublishedNote::read(fs, paths);
    let Some(loss) = loss(paths, note.as_ref()) else { return Ok(()) };
    // Looked at after the note: before it, another process may make the database and write the note on its changes.
    if has_content(fs, paths)? { Ok(()) } else { Err(Failure::Damaged(loss)) }
}

fn has_content(fs: &dyn FileSystem, paths: &StorePaths) -> io::Result<bool> {
    Ok(fs.fingerprint(&paths.database())?.is_some_and(|found| found.length_bytes() > 0))
}

/// Says what a missing or empty database had, as the note on `issues.json` tells; `None` if it had nothing.
pub(super) fn loss(paths: &StorePaths, note: Option<&PublishedNote>) -> Option<String> {
    let changes = note?.number;
    let path = paths.database();
    (changes > 0)
        .then(|| format!("{} is missing or empty, and had {changes} changes", path.display()))
}

/// Checks that SQLite finds the database sound, and that each issue is what was written.
pub(super) fn check(connection: &Connection) -> Result<(), Failure> {
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if found != "ok" {
        return Err(Failure::Damaged(format!("the database is damaged: {found}")));
    }
    match read::text_faults(connection)?.into_iter().next() {
        Some(fault) => Err(Failure::Damaged(fault)),
        None => Ok(()),
    }
}

pub(super) fn make_tables(connection: &Connection) -> Result<(), Failure> {
    connection.execute_batch(include_str!("schema.sql"))?;
    Ok(connection.execute_batch(&format!(
        "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}"
    ))?)
}

/// Keeps git from tracking the files of a store.
fn ignore_directory(fs: &dyn FileSystem, paths: &StorePaths) -> io::Result<()> {
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

/// Makes the directory entries on the path to the database durable.
fn sync_names(fs: &dyn FileSystem, paths: &StorePaths) -> io::Result<()> {
    let own = &*paths.directory;
    let all = own.parent().and_then(Path::parent).into_iter().chain(own.parent()).chain([own]);
    all.into_iter().try_for_each(|directory| fs.sync_directory(directory))
}

pub(super) fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, Failure> {
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags)?;
    prepare(&connection)?;
    Ok(connection)
}

fn prepare(connection: &Connection) -> Result<(), Failure> {
    connection.busy_timeout(WAIT)?;
    connection.set_prepared_statement_cache_capacity(128);
    rusqlite::vtab::array::load_module(connection)?;
    Ok(connection.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA temp_store = MEMORY")?)
}

/// Refuses a database whose tables another version made.
pub(super) fn check_version(connection: &Connection, paths: &StorePaths) -> Result<(), Failure> {
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    match version.cmp(&VERSION) {
        Ordering::Less => Err(earlier(paths)),
        Ordering::Equal => Ok(()),
        Ordering::Greater => {
            let what = format!("the database (version {version}, this ait knows {VERSION})");
            Err(Failure::Newer(what))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::fs::RealFileSystem;

    /// Another process may rescue what was in a file that is missing, between the look at the file and the refusal.
    #[test]
    fn damage_is_not_noted_for_the_file_that_replaces_a_missing_one() {
        let directory = tempfile::tempdir().unwrap();
        let issues = directory.path().join("issues.json");
        let database = Database::new(issues, Arc::new(RealFileSystem), StoreOptions::default());
        let missing = || Err::<(), _>(Failure::Damaged("it is missing".to_owned()));
        let found = database.noting_damage(|| {
            database.open()?;
            missing()
        });
        assert!(found.is_err_and(|failure| failure.is_damage()));
        assert!(database.damage().is_none());
        assert!(database.noting_damage(missing).is_err());
        assert!(database.damage().is_some());
    }
}
