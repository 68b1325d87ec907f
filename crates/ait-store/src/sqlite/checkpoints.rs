//! Moves what the log of SQLite has into the database, on a thread of its own: no change waits for that.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use rusqlite::Connection;

use super::database::{Database, Opened};

/// How many pages of the log of SQLite are kept before they are moved into the database.
const CHECKPOINT_PAGES: i64 = 1000;
/// How long the log of SQLite is that has so many pages, in bytes.
const LONG_BYTES: u64 = 4096 * CHECKPOINT_PAGES.unsigned_abs();

/// Starts the thread. It looks when it is sent something, and ends with the sender.
pub(super) fn start(database: &Arc<Database>) -> SyncSender<()> {
    let (wake, woken) = sync_channel(1);
    let database = Arc::clone(database);
    let thread = thread::Builder::new().name("ait-checkpoints".to_owned());
    let spawned = thread.spawn(move || {
        while let Ok(()) = woken.recv() {
            // A connection that is kept would hinder the writer when the files are replaced.
            if let Ok(Opened { connection, .. }) = database.open() {
                run(&database, &connection);
            }
        }
    });
    if let Err(error) = spawned {
        tracing::warn!("the log of the database grows: failed to start a thread: {error}");
    }
    wake
}

/// Returns true if the log has much that is not in the database yet.
pub(super) fn is_due(connection: &Connection) -> bool {
    let pages = |row: &rusqlite::Row<'_>| Ok((row.get::<_, i64>(1)?, row.get::<_, i64>(2)?));
    let found = connection.query_row("PRAGMA wal_checkpoint(NOOP)", [], pages);
    found.is_ok_and(|(all, moved)| all - moved > CHECKPOINT_PAGES)
}

/// Moves what the log of SQLite has into the database, if there is much of it. Reads and writers go on.
pub(super) fn run(database: &Database, connection: &Connection) {
    if is_due(connection) {
        move_all(database, connection, "PASSIVE");
    }
}

/// Empties a long log of SQLite: the next process would read all of it. While another process has the turn, or reads,
/// it does less, so that none waits for it.
pub(super) fn empty(database: &Database, opened: &Opened) {
    if !is_long(opened) {
        return;
    }
    match database.free_turn(&opened.paths) {
        Ok(Some(_turn)) if opened.connection.busy_timeout(Duration::ZERO).is_ok() => {
            move_all(database, &opened.connection, "TRUNCATE");
        }
        _ => run(database, &opened.connection),
    }
}

/// Returns true if the log of SQLite is long.
pub(super) fn is_long(opened: &Opened) -> bool {
    opened.log.metadata().is_ok_and(|log| log.len() >= LONG_BYTES)
}

fn move_all(database: &Database, connection: &Connection, mode: &str) {
    let moved = connection.query_row(&format!("PRAGMA wal_checkpoint({mode})"), [], |_| Ok(()));
    let code = moved.err().and_then(|error| error.sqlite_error_code());
    if code == Some(rusqlite::ErrorCode::SystemIoFailure) {
        database.has_failed_to_sync.store(true, Ordering::Relaxed);
    }
}
