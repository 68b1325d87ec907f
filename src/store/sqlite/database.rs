//! The file, and connections to it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::error::Failure;
use super::read;
use super::write::add_state;
use crate::store::json::JsonStoreOptions;
use crate::store::json::commit::ignore_directory;
use crate::store::json::fs::{FileFingerprint, FileLock, FileSystem, no_follow, open_or_create};
use crate::store::json::lock_check::LockCheck;
use crate::store::json::open::{IssuesFile, paths_of, read_issues};
use crate::store::json::paths::StorePaths;
use crate::store::json::published_note::{KnownFile, PublishedNote};
use crate::store::json::support::lock;
use crate::store::{EventPosition, State, StoreError};

/// The version of the schema.
const VERSION: i64 = 1;
/// Says that a SQLite database is a queue of ait.
const APPLICATION_ID: i64 = 0x6169_7431;
/// How long a connection waits for locks of SQLite itself, which are short.
const WAIT: Duration = Duration::from_secs(5);
/// How many connections for reads are kept.
const KEPT_CONNECTIONS: usize = 4;

/// A database in the directory beside `issues.json`.
pub(super) struct Database {
    issues: PathBuf,
    pub fs: Arc<dyn FileSystem>,
    pub options: JsonStoreOptions,
    /// What this process knows of `issues.json`.
    pub known: Mutex<KnownFile>,
    /// Whether this process changed anything.
    pub has_changed: AtomicBool,
    lock_check: LockCheck,
    readers: Mutex<Readers>,
    /// What replaced databases had, until it is merged.
    pub rescued: Mutex<Vec<State>>,
    /// The content of `issues.json` while there is no database, with the fingerprint of the file.
    unsaved: Mutex<Option<(FileFingerprint, Connection)>>,
}

/// Connections for reads, and the file that they read.
#[derive(Default)]
struct Readers {
    connections: Vec<Connection>,
    file: Option<FileFingerprint>,
}

/// A database that is open for changes.
pub(super) struct Opened {
    pub connection: Connection,
    /// The file whose lock is the turn.
    turn: Arc<File>,
    /// The log of SQLite, which has what is committed.
    pub log: File,
    /// The file of the database.
    pub file: Option<FileFingerprint>,
}

impl Database {
    /// Names the database of an `issues.json`. Does no I/O.
    pub fn new(issues: PathBuf, fs: Arc<dyn FileSystem>, options: JsonStoreOptions) -> Self {
        let lock_check = LockCheck::default();
        lock_check.allow_network(options.allows_network);
        let (known, has_changed, readers, rescued, unsaved) = Default::default();
        Self { issues, fs, options, known, has_changed, lock_check, readers, rescued, unsaved }
    }

    /// Returns the path of `issues.json` as given.
    pub fn issues(&self) -> &Path {
        &self.issues
    }

    /// Returns the paths of the store, with symbolic links resolved.
    pub fn paths(&self) -> Result<StorePaths, Failure> {
        paths_of(&*self.fs, &self.issues).map_err(Failure::Open)
    }

    /// Returns the path of the database.
    pub fn path(&self) -> Result<PathBuf, Failure> {
        Ok(self.paths()?.directory.join("queue.db"))
    }

    /// Opens the database for changes. Makes it if it does not exist, with what `issues.json` has.
    pub fn open(&self) -> Result<Opened, Failure> {
        let fs = &*self.fs;
        let paths = self.paths()?;
        self.lock_check.check(fs, &paths).map_err(Failure::Store)?;
        fs.create_directory(&paths.directory)?;
        ignore_directory(fs, &paths)?;
        let turn = open_or_create(fs, &paths.directory.join("turn.lock"), &paths.issues)?;
        let path = self.path()?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let connection = connect(&path, flags)?;
        if version(&connection)? != VERSION {
            connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
            connection.execute_batch("BEGIN IMMEDIATE")?;
            // Another process may have made it meanwhile.
            let found = if version(&connection)? == 0 { self.fill(&connection)? } else { None };
            connection.execute_batch("COMMIT")?;
            if let Some(file) = found {
                let position = EventPosition::default();
                let note = PublishedNote::new(position, file.fingerprint, file.hash);
                note.write(fs, &paths)?;
            }
        }
        connection.execute_batch("PRAGMA wal_autocheckpoint = 0")?;
        // A read opens the log of SQLite.
        version(&connection)?;
        let log = no_follow().read(true).open(paths.directory.join("queue.db-wal"))?;
        let file = fs.fingerprint(&path)?;
        Ok(Opened { connection, turn, log, file })
    }

    /// Waits for the turn among processes.
    pub fn take_turn(&self, opened: &Opened) -> Result<FileLock, StoreError> {
        let paths = self.paths().map_err(Failure::of_change)?;
        let path = paths.directory.join("turn.lock");
        self.lock_check.lock(&*self.fs, &paths, &path, &opened.turn)
    }

    /// Returns true if a file is the database that is in its place now.
    pub fn is_in_place(&self, file: Option<FileFingerprint>) -> bool {
        let found = self.path().ok().and_then(|path| self.fs.fingerprint(&path).ok().flatten());
        found.zip(file).is_some_and(|(found, file)| found.is_same_file(&file))
    }

    /// Keeps what a database had that was removed or replaced, to be merged.
    pub fn rescue(&self, connection: &Connection) {
        match read::state(connection) {
            Ok(state) => lock(&self.rescued).push(state),
            Err(failure) => tracing::warn!("the removed database cannot be read: {failure:?}"),
        }
    }

    /// Makes the tables, and adds the issues of `issues.json`.
    fn fill(&self, connection: &Connection) -> Result<Option<IssuesFile>, Failure> {
        connection.execute_batch(include_str!("schema.sql"))?;
        connection.execute_batch(&format!(
            "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}"
        ))?;
        let file = read_issues(&*self.fs, &self.paths()?.issues).map_err(Failure::Open)?;
        if let Some(file) = &file {
            add_state(connection, &file.state)?;
        }
        Ok(file)
    }

    /// Runs a read in a transaction. Returns `None` if there is neither a database nor an `issues.json`.
    pub fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        let path = self.path()?;
        let found = self.fs.fingerprint(&path)?;
        let connection = match self.kept_reader(found) {
            Some(connection) => connection,
            None if found.is_none() => return self.read_file(read),
            None => {
                let connection = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
                connection.execute_batch("PRAGMA query_only = 1")?;
                if version(&connection)? == 0 {
                    return self.read_file(read);
                }
                connection
            }
        };
        let transaction = connection.unchecked_transaction()?;
        let done = read(&transaction)?;
        drop(transaction);
        let mut readers = lock(&self.readers);
        if readers.connections.len() < KEPT_CONNECTIONS {
            readers.connections.push(connection);
        }
        Ok(Some(done))
    }

    /// Returns a connection to the database with this fingerprint, if one is kept.
    fn kept_reader(&self, found: Option<FileFingerprint>) -> Option<Connection> {
        let mut readers = lock(&self.readers);
        let is_same =
            |known: FileFingerprint| found.is_some_and(|found| found.is_same_file(&known));
        if readers.file.is_some_and(|known| !is_same(known)) {
            let replaced = std::mem::take(&mut *readers);
            if let Some(connection) = replaced.connections.first() {
                self.rescue(connection);
            }
        }
        readers.file = found;
        readers.connections.pop()
    }

    /// Runs a read of what `issues.json` has, in memory. Changes nothing on the disk.
    fn read_file<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        let Some(found) = self.fs.fingerprint(&self.paths()?.issues)? else { return Ok(None) };
        let mut unsaved = lock(&self.unsaved);
        let is_known = unsaved.as_ref().is_some_and(|(known, _)| *known == found);
        if !is_known {
            let connection = Connection::open_in_memory()?;
            prepare(&connection)?;
            *unsaved = None;
            if let Some(file) = self.fill(&connection)? {
                *unsaved = Some((file.fingerprint, connection));
            }
        }
        unsaved.as_ref().map(|(_, connection)| read(connection)).transpose()
    }
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, Failure> {
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

fn version(connection: &Connection) -> Result<i64, Failure> {
    let version = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version > VERSION {
        let what = format!("the database (version {version}, this ait knows {VERSION})");
        return Err(Failure::Newer(what));
    }
    Ok(version)
}
