//! The takeover of everything from another store.

use rusqlite::Connection;

use super::database::Database;
use super::error::Failure;
use super::place::PlacedConnection;
use super::write::{StateWriter, add_event};
use crate::transfer::Transfer;
use crate::{NumberedEvent, StoreError, event_format};

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
    let mut writer = StateWriter::default();
    loop {
        let issues = transfer.issues(writer.written()).await?;
        if issues.is_empty() {
            break;
        }
        writer.add(&connection, issues).map_err(Failure::of_change)?;
    }
    transfer.check_unchanged().await?;
    finish(&connection, writer, transfer).map_err(Failure::of_change)?;
    connection.execute_batch("COMMIT").map_err(|error| Failure::from(error).of_commit())
}

/// Begins the transaction on an empty database.
fn begin(database: &Database) -> Result<PlacedConnection, Failure> {
    let paths = database.paths()?;
    let refuse_content = |connection: &Connection| {
        const HAS_CONTENT: &str = "SELECT EXISTS (SELECT 1 FROM events WHERE number > 0) OR EXISTS (SELECT 1 FROM issues) \
            OR EXISTS (SELECT 1 FROM meta WHERE keys <> '{}')";
        if !connection.query_row(HAS_CONTENT, [], |row| row.get(0))? {
            return Ok(());
        }
        let why = format!(
            "{} is not empty, or has a database in {}: choose a new file, or move both away",
            paths.issues.display(),
            paths.directory.display()
        );
        Err(Failure::File(std::io::Error::other(why)))
    };
    // A refused file must stay without a database, and opening one for changes makes it.
    database.read(refuse_content)?;
    let connection = database.open()?.connection;
    // Nothing else syncs what this connection writes.
    connection.execute_batch("PRAGMA synchronous = FULL; BEGIN IMMEDIATE")?;
    refuse_content(&connection)?;
    Ok(connection)
}

fn add_events(connection: &Connection, page: &[NumberedEvent]) -> Result<(), Failure> {
    for event in page {
        let body = event_format::write(&event.event);
        let body = String::from_utf8_lossy(&body);
        add_event(connection, event.position, Some((&event.event, &body)))?;
    }
    Ok(())
}

/// Adds what is neither an event nor an issue.
fn finish(
    connection: &Connection,
    writer: StateWriter,
    transfer: &Transfer<'_>,
) -> Result<(), Failure> {
    writer.finish(connection, transfer.unknown_keys())?;
    let position = transfer.position();
    if transfer.base() == position.number && position.number > 0 {
        // Later events go on from its number.
        add_event(connection, position, None)?;
    }
    Ok(())
}
