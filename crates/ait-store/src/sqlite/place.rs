//! The files of a database that processes share, as a connection found them.
//!
//! SQLite finds its log and the index of it by their names, once for each connection, and shares the index among the
//! connections of a process. If some of these files are removed while others stay, processes would write to different
//! logs, or to one log by different indexes. So each process notes which files its connections have, and uses none of
//! them any more once others are in their places.

use std::io;
use std::ops::Deref;
use std::sync::{Arc, Mutex, Weak};

use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::error::Failure;
use crate::StoreError;
use crate::files::fs::{FileFingerprint, FileLock, FileSystem, remove_if_exists};
use crate::files::paths::StorePaths;
use crate::files::support::lock;

/// The database, its log, and the index of the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub file: FileFingerprint,
    pub log: Option<FileFingerprint>,
    index: Option<FileFingerprint>,
}

impl Place {
    /// Looks which files there are. Returns `None` if there is no database.
    pub fn find(fs: &dyn FileSystem, paths: &StorePaths) -> io::Result<Option<Self>> {
        let Some(file) = fs.fingerprint(&paths.database())? else { return Ok(None) };
        let log = fs.fingerprint(&paths.database_log())?;
        let index = fs.fingerprint(&paths.database_shared())?;
        Ok(Some(Self { file, log, index }))
    }

    /// Returns true if all of the files are the same, whatever they contain.
    pub fn is_same(&self, other: &Self) -> bool {
        let same = |a: Option<FileFingerprint>, b: Option<FileFingerprint>| match (a, b) {
            (Some(a), Some(b)) => a.is_same_file(&b),
            (a, b) => a.is_none() && b.is_none(),
        };
        self.file.is_same_file(&other.file)
            && same(self.log, other.log)
            && same(self.index, other.index)
    }
}

/// A connection, with the files that it has. Its end leaves alone files that are not its own: SQLite would write what
/// its log had into the database, and remove the log.
pub(super) struct PlacedConnection {
    connection: Connection,
    pub place: Arc<Place>,
    fs: Arc<dyn FileSystem>,
    paths: StorePaths,
}

impl PlacedConnection {
    /// Returns true if its files are those in their places.
    pub fn is_in_place(&self) -> bool {
        let now = Place::find(&*self.fs, &self.paths);
        now.is_ok_and(|now| now.is_some_and(|now| self.place.is_same(&now)))
    }
}

impl Deref for PlacedConnection {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        &self.connection
    }
}

impl Drop for PlacedConnection {
    fn drop(&mut self) {
        if !self.is_in_place() {
            leave_files(&self.connection);
        }
    }
}

/// The place of the connections that a process has now.
#[derive(Default)]
pub(super) struct Places(Mutex<Weak<Place>>);

impl Places {
    /// Opens a connection. `connect` reads from the database, so that SQLite opens its other files. `turn` takes the
    /// turn among processes; without it no files are made, and `connect` must not either.
    ///
    /// # Errors
    ///
    /// Files were removed or replaced meanwhile, or those of another connection of this process were.
    pub fn connect(
        &self,
        fs: &Arc<dyn FileSystem>,
        paths: &StorePaths,
        turn: impl FnOnce() -> Result<Option<FileLock>, Failure>,
        connect: impl FnOnce(&Place) -> Result<Connection, Failure>,
    ) -> Result<PlacedConnection, Failure> {
        let find = || Place::find(&**fs, paths);
        let is_whole = |found: Place| found.log.is_some() && found.index.is_some();
        let turn = if find()?.is_some_and(is_whole) { None } else { turn()? };
        let mut used = lock(&self.0);
        // If SQLite made them, another process could replace them before they are looked at. In the turn, no process
        // writes to the log by an older index.
        if let Some(_turn) = turn {
            if fs.create(&paths.database_log(), &paths.database()).is_ok() {
                // An index that is there nevertheless is of another log.
                let _ = remove_if_exists(&**fs, &paths.database_shared());
            }
            let _ = fs.create(&paths.database_shared(), &paths.database());
        }
        let before = find()?.ok_or_else(replaced)?;
        let shared = used.upgrade().filter(|used| used.file.is_same_file(&before.file));
        if shared.as_ref().is_some_and(|used| !used.is_same(&before)) {
            return Err(replaced());
        }
        let connection = connect(&before)?;
        let place = shared.unwrap_or_else(|| Arc::new(before));
        let fs = Arc::clone(fs);
        let placed = PlacedConnection { connection, place, fs, paths: paths.clone() };
        if !placed.is_in_place() {
            return Err(replaced());
        }
        *used = Arc::downgrade(&placed.place);
        Ok(placed)
    }

    /// Returns true if connections of this process have other files than those that there are now.
    pub fn are_replaced(&self, now: Option<&Place>) -> bool {
        let used = lock(&self.0).upgrade();
        used.is_some_and(|used| now.is_none_or(|now| !used.is_same(now)))
    }
}

/// The reason why files cannot be used that are being removed or replaced.
pub(super) fn replaced() -> Failure {
    Failure::Store(StoreError::Busy("the files of the store are being replaced".to_owned()))
}

/// Lets the end of a connection leave the files alone. SQLite would remove those that have the names of its own.
fn leave_files(connection: &Connection) {
    let _ = connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true);
}
