//! The index of searches. It lags behind, so that a change does not wait for it.

use rusqlite::{Connection, OptionalExtension, params};

use super::database::{Database, Opened};
use super::error::Failure;
use super::transaction::transact;
use super::write::forget_events;

/// How many issues are indexed at once.
pub(super) const FEW: usize = 32;

/// Indexes some issues that the index lacks. Returns true if none is left.
pub(super) fn extend(connection: &Connection, most: usize) -> Result<bool, Failure> {
    let mut pending = connection.prepare_cached("SELECT key FROM unindexed LIMIT ?1")?;
    let limit = i64::try_from(most).unwrap_or(i64::MAX);
    let keys: Vec<i64> = pending.query_map([limit], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for key in &keys {
        connection.prepare_cached("DELETE FROM search_index WHERE rowid = ?1")?.execute([key])?;
        let texts: Option<String> = connection
            .prepare_cached("SELECT texts FROM search WHERE key = ?1")?
            .query_row([key], |row| row.get(0))
            .optional()?;
        if let Some(texts) = texts {
            let mut add = connection
                .prepare_cached("INSERT INTO search_index (rowid, texts) VALUES (?1, ?2)")?;
            add.execute(params![key, texts])?;
        }
        connection.prepare_cached("DELETE FROM unindexed WHERE key = ?1")?.execute([key])?;
    }
    Ok(keys.len() < most)
}

/// Indexes some issues, and removes some old events. Returns true if nothing is left, and `None` after a failure.
pub(super) fn tidy(database: &Database, opened: &Opened) -> Option<bool> {
    let turn = database.take_turn(opened).ok()?;
    let keep = database.options.keep_events;
    let done = transact(&opened.connection, |connection| {
        let is_indexed = extend(connection, FEW)?;
        let is_more = forget_events(connection, keep)?;
        Ok(is_indexed && !is_more)
    });
    drop(turn);
    done.ok()
}
