//! The file, and connections to it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::error::Failure;
use super::write::add_state;
use crate::store::EventPosition;
use crate::store::json::JsonStoreOptions;
use crate::store::json::fs::{FileFingerprint, FileSystem, no_follow};
use crate::store::json::open::{IssuesFile, read_issues};
use crate::store::json::paths::StorePaths;
use crate::store::json::published_note::{KnownFile, PublishedNote};

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
    readers: Mutex<Vec<Connection>>,
    /// The content of `issues.json` while there is no database, with the fingerprint of the file.
    unsaved: Mutex<Option<(FileFingerprint, Connection)>>,
}

impl Database {
    /// Names the database of an `issues.json`. Does no I/O.
    pub fn new(issues: PathBuf, fs: Arc<dyn FileSystem>, options: JsonStoreOptions) -> Self {
        let (known, has_changed, readers, unsaved) = Default::default();
        Self { issues, fs, options, known, has_changed, readers, unsaved }
    }

    /// Returns the path of `issues.json` as given.
    pub fn issues(&self) -> &Path {
        &self.issues
    }

    /// Returns the paths of the store, with symbolic links resolved.
    pub fn paths(&self) -> Result<StorePaths, Failure> {
        let resolved = self.fs.resolve(&self.issues);
        resolved.map(StorePaths::of).map_err(|error| Failure::File(error.source))
    }

    /// Returns the path of the database.
    pub fn path(&self) -> Result<PathBuf, Failure> {
        Ok(self.paths()?.directory.join("queue.db"))
    }

    /// Returns the file whose lock the process holds that writes.
    pub fn turn(&self) -> Result<File, Failure> {
        let path = self.paths()?.directory.join("turn.lock");
        let mut options = no_follow();
        Ok(options.write(true).create(true).truncate(false).open(path)?)
    }

    /// Returns the log of SQLite, which there is while a connection is open.
    pub fn log(&self) -> Result<File, Failure> {
        let path = self.paths()?.directory.join("queue.db-wal");
        Ok(no_follow().read(true).open(path)?)
    }

    /// Opens the database for changes. Makes it if it does not exist, with what `issues.json` has.
    pub fn open(&self) -> Result<Connection, Failure> {
        let paths = self.paths()?;
        for directory in [&paths.directory, &paths.kept] {
            fs::create_dir_all(directory)?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let connection = connect(&self.path()?, flags)?;
        if version(&connection)? != VERSION {
            connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
            connection.execute_batch("BEGIN IMMEDIATE")?;
            // Another process may have made it meanwhile.
            let found = if version(&connection)? == 0 { self.fill(&connection)? } else { None };
            connection.execute_batch("COMMIT")?;
            if let Some(file) = found {
                let position = EventPosition::default();
                let note = PublishedNote::new(position, file.fingerprint, file.hash);
                note.write(&*self.fs, &paths)?;
            }
        }
        connection.execute_batch("PRAGMA wal_autocheckpoint = 0")?;
        Ok(connection)
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
        let kept = self.readers().pop();
        let connection = match kept {
            Some(connection) => connection,
            None => {
                let path = self.path()?;
                if !path.exists() {
                    return self.read_file(read);
                }
                let connection = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
                connection.execute_batch("PRAGMA query_only = 1")?;
                if version(&connection)? == 0 {
                    return self.read_file(read);
                }
                connection
            }
        };
        let transaction = connection.unchecked_transaction()?;
        let found = read(&transaction)?;
        drop(transaction);
        let mut readers = self.readers();
        if readers.len() < KEPT_CONNECTIONS {
            readers.push(connection);
        }
        Ok(Some(found))
    }

    /// Runs a read of what `issues.json` has, in memory. Changes nothing on the disk.
    fn read_file<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        let Some(found) = self.fs.fingerprint(&self.paths()?.issues)? else { return Ok(None) };
        let mut unsaved = self.unsaved.lock().unwrap_or_else(PoisonError::into_inner);
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

    fn readers(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
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
