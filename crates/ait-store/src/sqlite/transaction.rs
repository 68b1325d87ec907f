//! Transactions that write: commands are decided and their events applied, one after the other.

use rusqlite::Connection;

use super::error::Failure;
use super::queue::{Queue, resolve};
use super::write::{apply, unknown_keys};
use crate::writer_queue::WriterReply;
use crate::{Committed, EventPosition, Outcome, StoreError};
use ait_domain::{Command, CommandTarget, IssueGraph, Timestamp, UnknownKeys, decide};

/// Runs a transaction that writes.
pub(super) fn transact<T>(
    connection: &Connection,
    run: impl FnOnce(&Connection) -> Result<T, Failure>,
) -> Result<T, StoreError> {
    let begun = connection.execute_batch("BEGIN IMMEDIATE");
    begun.map_err(|error| Failure::from(error).of_change())?;
    let undo = |error| {
        let _ = connection.execute_batch("ROLLBACK");
        error
    };
    let done = run(connection).map_err(|failure| undo(failure.of_change()))?;
    let committed = connection.execute_batch("COMMIT");
    committed.map_err(|error| undo(Failure::from(error).of_commit()))?;
    Ok(done)
}

/// Decides the commands of one caller, each on the state that the one before left: all of them, or none.
pub(super) fn decide_all(
    connection: &Connection,
    commands: &[Command],
    now: Timestamp,
) -> Result<WriterReply, Failure> {
    connection.execute_batch("SAVEPOINT request")?;
    let mut committed = Committed::default();
    for command in commands {
        match decide_command(connection, command, now) {
            Ok((outcome, position)) => {
                committed.outcomes.push(outcome);
                committed.events.extend(position);
            }
            Err(Failure::Refused(refusal)) => {
                connection.execute_batch("ROLLBACK TO request; RELEASE request")?;
                return Ok(Err(StoreError::Refused(refusal)));
            }
            Err(failure) => return Err(failure),
        }
    }
    connection.execute_batch("RELEASE request")?;
    Ok(Ok(committed))
}

/// Decides a command on the issues of a transaction, and writes what it changes.
pub(super) fn decide_command(
    connection: &Connection,
    command: &Command,
    now: Timestamp,
) -> Result<(Outcome, Option<EventPosition>), Failure> {
    let queue = Queue::new(connection);
    let keys = match command.target() {
        CommandTarget::Document => unknown_keys(connection)?,
        _ => UnknownKeys::default(),
    };
    let decided = decide(command, now, &queue, &keys);
    queue.check()?;
    if let Some(event) = decided? {
        let (position, issue) = apply(connection, &queue, &event)?;
        return Ok((issue, Some(position)));
    }
    let CommandTarget::Named(reference) = command.target() else { return Ok((None, None)) };
    let issue = resolve(connection, reference)?.ok().and_then(|id| queue.issue(id));
    queue.check()?;
    Ok((issue, None))
}
