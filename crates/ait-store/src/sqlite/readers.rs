//! Reads, on connections of their own.

use std::path::Path;
use std::thread;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::database::{Database, check_version, connect, refuse_if_lost};
use super::error::Failure;
use super::place::{Place, PlacedConnection, replaced};
use crate::files::paths::StorePaths;
use crate::files::support::lock;

/// How many connections for reads are kept.
const KEPT_CONNECTIONS: usize = 4;

impl Database {
    /// Runs a read in a transaction. Returns `None` if there is neither a database nor an `issues.json`.
    ///
    /// While the files are being removed or replaced, it tries again.
    pub fn read<T>(
        &self,
        read: impl Fn(&Connection) -> Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        const PAUSES_MS: [u64; 5] = [5, 10, 20, 40, 80];
        for pause_ms in PAUSES_MS {
            match self.read_once(&read) {
                Err(failure) if failure.may_pass() => {
                    thread::sleep(Duration::from_millis(pause_ms));
                }
                done => return done,
            }
        }
        self.read_once(read)
    }

    /// Runs a read in a transaction, once; see [`read`](Self::read).
    pub fn read_once<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        self.noting_damage(|| self.read_unnoted(read))
    }

    fn read_unnoted<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        let paths = self.paths()?;
        let path = paths.database();
        let found = self.fs.fingerprint(&path)?;
        let reader = match self.kept_reader(&paths)? {
            Some(reader) => reader,
            None if found.is_none_or(|found| found.length_bytes() == 0) => {
                if lock(&self.rescued).is_empty() {
                    refuse_if_lost(&*self.fs, &paths)?;
                }
                return self.read_file(&paths, read);
            }
            None => {
                let reader = self.connect_reader(&paths)?;
                self.check_if_small(&reader, &reader.place.file)?;
                reader
            }
        };
        let done = reader.unchecked_transaction().map_err(Failure::from);
        let done = done.and_then(|transaction| read(&transaction));
        if done.as_ref().err().is_none_or(Failure::may_pass) {
            self.keep_reader(reader)?;
        }
        done.map(Some)
    }

    /// Opens a connection for reads.
    fn connect_reader(&self, paths: &StorePaths) -> Result<PlacedConnection, Failure> {
        let open = |path: &Path, flags| -> Result<_, Failure> {
            let connection = connect(path, flags)?;
            connection.execute_batch("PRAGMA query_only = 1")?;
            check_version(&connection, paths)?;
            Ok(connection)
        };
        let path = paths.database();
        let connect = |found: &Place| {
            if found.log.is_some() {
                return open(&path, OpenFlags::SQLITE_OPEN_READ_WRITE);
            }
            // This user may not create the files that processes share, or no process changed anything here, or one is
            // about to. Without a log, none changes the database.
            let uri = format!("file:{}?immutable=1", escaped(&path));
            let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
            open(Path::new(&uri), flags)
        };
        // A lock that cannot be taken is no reason not to read.
        let turn = || Ok(self.free_turn(paths).unwrap_or(None));
        self.places.connect(&self.fs, paths, turn, connect)
    }

    /// Keeps a connection for the next read, or what its database had if its files are not in their places any more.
    fn keep_reader(&self, reader: PlacedConnection) -> Result<(), Failure> {
        // One that takes the file for immutable sees no later change, and saw something else if there was one.
        if reader.is_readonly("main")? {
            return if reader.is_in_place() { Ok(()) } else { Err(replaced()) };
        }
        if !reader.is_in_place() {
            self.rescue(&reader);
            return Ok(());
        }
        let mut readers = lock(&self.readers);
        if readers.len() < KEPT_CONNECTIONS {
            readers.push(reader);
        }
        Ok(())
    }

    /// Returns a kept connection, if the files that it reads are in their places.
    ///
    /// # Errors
    ///
    /// They were in their places until now. Others may be about to be removed, and opening them makes new ones.
    fn kept_reader(&self, paths: &StorePaths) -> Result<Option<PlacedConnection>, Failure> {
        let now = Place::find(&*self.fs, paths)?;
        if self.look_for_replacement(now.as_ref()) && now.is_some() {
            return Err(replaced());
        }
        Ok(lock(&self.readers).pop())
    }

    /// Keeps what the database had that was read until now, if its files are not in their places any more. Returns true
    /// if that is so.
    pub fn look_for_replacement(&self, now: Option<&Place>) -> bool {
        let mut readers = lock(&self.readers);
        let before = readers.len();
        readers.retain(|reader| {
            let is_in_place = now.is_some_and(|now| reader.place.is_same(now));
            if !is_in_place {
                self.rescue(reader);
            }
            is_in_place
        });
        readers.len() < before
    }
}

/// Returns a path in the form of URIs.
fn escaped(path: &Path) -> String {
    let bytes = path.as_os_str().as_encoded_bytes().iter();
    bytes
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                char::from(*byte).to_string()
            }
            other => format!("%{other:02X}"),
        })
        .collect()
}
