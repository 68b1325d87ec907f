//! The takeover of everything from another store.

use rusqlite::Connection;

use super::database::Database;
use super::error::Failure;
use super::write::{add_event, add_state};
use crate::store::transfer::Transfer;
use crate::store::{NumberedEvent, StoreError, event_format};

/// Takes over everything from another store, all or nothing.
pub(super) async fn take_over(
    database: &Database,
    transfer: &Transfer<'_>,
) -> Result<(), StoreError> {
    // Its transaction ends without a trace if it is dropped.
    let connection = begin(database).map_err(Failure::of_change)?;
    let mut after = transfer.base();
    while let Some(page) = transfer.next_page(&mut after).await? {
        add_events(&connection, &page).map_err(Failure::of_change)?;
    }
    transfer.check_unchanged().await?;
    finish(&connection, transfer).map_err(Failure::of_change)?;
    connection.execute_batch("COMMIT").map_err(|error| Failure::from(error).of_commit())
}

/// Begins the transaction on an empty database.
fn begin(database: &Database) -> Result<Connection, Failure> {
    const HAS_CONTENT: &str =
        "SELECT EXISTS (SELECT 1 FROM events) OR EXISTS (SELECT 1 FROM issues)";
    let connection = database.open()?.connection;
    connection.execute_batch("BEGIN IMMEDIATE")?;
    if connection.query_row(HAS_CONTENT, [], |row| row.get(0))? {
        let why = "the store is not empty: choose a new directory for it";
        return Err(Failure::File(std::io::Error::other(why)));
    }
    Ok(connection)
}

fn add_events(connection: &Connection, page: &[NumberedEvent]) -> Result<(), Failure> {
    for event in page {
        let body = event_format::write(&event.event);
        let body = String::from_utf8_lossy(&body);
        add_event(connection, event.position, Some((event.event.issue, &body)))?;
    }
    Ok(())
}

/// Adds the issues and everything else that is no event.
fn finish(connection: &Connection, transfer: &Transfer<'_>) -> Result<(), Failure> {
    let state = transfer.state();
    add_state(connection, state)?;
    if transfer.base() == state.position.number && state.position.number > 0 {
        // Later events go on from its number.
        add_event(connection, state.position, None)?;
    }
    Ok(())
}
