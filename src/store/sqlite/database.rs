//! The file, and connections to it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::error::Failure;
use crate::store::json::paths::StorePaths;

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
    readers: Mutex<Vec<Connection>>,
}

impl Database {
    /// Names the database of an `issues.json`. Does no I/O.
    pub fn new(issues: PathBuf) -> Self {
        Self { issues, readers: Mutex::default() }
    }

    /// Returns the path of `issues.json` as given.
    pub fn issues(&self) -> &Path {
        &self.issues
    }

    /// Returns the paths of the store, with symbolic links resolved above the directory of `issues.json`.
    pub fn paths(&self) -> Result<StorePaths, Failure> {
        let parent = match self.issues.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let name = self.issues.file_name().unwrap_or_default();
        Ok(StorePaths::of(fs::canonicalize(parent)?.join(name)))
    }

    /// Returns the path of the database.
    pub fn path(&self) -> Result<PathBuf, Failure> {
        Ok(self.paths()?.directory.join("queue.db"))
    }

    /// Returns the file whose lock the process holds that writes.
    pub fn turn(&self) -> Result<File, Failure> {
        let path = self.paths()?.directory.join("turn.lock");
        let mut options = crate::store::json::fs::no_follow();
        Ok(options.write(true).create(true).truncate(false).open(path)?)
    }

    /// Opens the database for changes. Makes it if it does not exist.
    pub fn open(&self) -> Result<Connection, Failure> {
        let path = self.path()?;
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE;
        let connection = connect(&path, flags)?;
        make_schema(&connection)?;
        connection.execute_batch("PRAGMA wal_autocheckpoint = 0")?;
        Ok(connection)
    }

    /// Runs a read in a transaction. Returns `None` if there is no database yet.
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
                    return Ok(None);
                }
                let connection = connect(&path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
                connection.execute_batch("PRAGMA query_only = 1")?;
                if version(&connection)? == 0 {
                    return Ok(None);
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

    fn readers(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn connect(path: &Path, flags: OpenFlags) -> Result<Connection, Failure> {
    let flags = flags | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(WAIT)?;
    connection.set_prepared_statement_cache_capacity(128);
    rusqlite::vtab::array::load_module(&connection)?;
    connection.execute_batch("PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY")?;
    Ok(connection)
}

fn version(connection: &Connection) -> Result<i64, Failure> {
    let version = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version > VERSION {
        let what = format!("the database (version {version}, this ait knows {VERSION})");
        return Err(Failure::Newer(what));
    }
    Ok(version)
}

/// Makes the tables, unless they are there. Several processes may do that at the same time.
fn make_schema(connection: &Connection) -> Result<(), Failure> {
    if version(connection)? == VERSION {
        return Ok(());
    }
    connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    connection.execute_batch("BEGIN IMMEDIATE")?;
    if version(connection)? == 0 {
        connection.execute_batch(include_str!("schema.sql"))?;
        connection.execute_batch(&format!(
            "PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {VERSION}"
        ))?;
    }
    Ok(connection.execute_batch("COMMIT")?)
}
