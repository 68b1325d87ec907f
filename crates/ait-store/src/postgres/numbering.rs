//! Gives events their numbers, after the commit.
//!
//! A number that is drawn within a transaction would become visible in another order than that of the numbers, and a
//! reader that follows by number would miss events. So one transaction at a time numbers the events that it sees. A
//! later one can only add higher numbers.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use futures::future::TryFutureExt;
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::connection::{Param, PooledConnection, run};
use super::database::Database;
use super::error::Failure;
use super::horizon::Ready;
use super::sql::{BEGIN, advisory_key};
use crate::EventPosition;

/// How many events are numbered at once, at most.
pub(super) const NUMBERED_AT_ONCE: i64 = 20_000;
/// How long commits are gathered before their events are numbered.
const GATHER_FOR: Duration = Duration::from_millis(20);
/// How long commits are gathered at most, while another process numbers their events.
const GATHER_AT_MOST_FOR: Duration = Duration::from_millis(100);
/// How long this may take after a commit.
const ANNOUNCE_WITHIN: Duration = Duration::from_secs(20);
/// How long this may take at the end of a process.
const FINISH_WITHIN: Duration = Duration::from_secs(2);
/// How long to wait for the process that is numbering events.
const OTHERS_WITHIN: Duration = Duration::from_millis(100);

/// Numbers the events that are visible, and tells the watchers of this process. Returns the position of the newest one.
/// A standby allows only reads: there it returns the newest event that has a number.
pub(super) async fn number(database: &Database) -> Result<EventPosition, Failure> {
    let position = number_visible(database).await?;
    database.publish(position);
    Ok(position)
}

async fn number_visible(database: &Database) -> Result<EventPosition, Failure> {
    let connection = database.connection().await?;
    let sql = &database.sql;
    let from = database.horizon.unnumbered();
    let from = [(&from as _, Type::INT8)];
    let row = connection.query_typed_one(&sql.newest_and_unnumbered, &from).await?;
    let has_numbered = row.try_get::<_, Option<i64>>(0)?.is_some();
    let newest = position(has_numbered.then_some(&row))?;
    if !row.try_get::<_, bool>(2)? {
        database.horizon.set_numbered(row.try_get(3)?);
        return Ok(newest);
    }
    drop(connection);
    match number_all(database).await {
        Err(Failure::ReadOnly(_) | Failure::Forbidden(_)) => Ok(newest),
        result => result,
    }
}

async fn number_all(database: &Database) -> Result<EventPosition, Failure> {
    loop {
        let (position, numbered) = number_some(database).await?;
        if numbered < NUMBERED_AT_ONCE {
            return Ok(position);
        }
    }
}

/// Numbers events once. Returns the position of the newest one, and how many it has numbered.
async fn number_some(database: &Database) -> Result<(EventPosition, i64), Failure> {
    let session = database.session().await?;
    let sql = &database.sql;
    let key = vec![advisory_key("number", database.schema())];
    let key: [Param<'_>; 1] = [(&key, Type::INT8_ARRAY)];
    let (_, _, numbered) = tokio::try_join!(
        biased;
        session.batch_execute(BEGIN).map_err(Failure::from),
        session.query_typed(&sql.advisory, &key).map_err(Failure::from),
        number_and_commit(database, &session),
    )?;
    session.finish();
    Ok(numbered)
}

/// Numbers events once in a transaction that has the lock for it, and commits.
async fn number_and_commit(
    database: &Database,
    session: &PooledConnection,
) -> Result<(EventPosition, i64), Failure> {
    let sql = &database.sql;
    let from = database.horizon.unnumbered();
    let params: [Param<'_>; 2] = [(&from, Type::INT8), (&NUMBERED_AT_ONCE, Type::INT8)];
    let (oldest, numbered, newest, _) = tokio::try_join!(
        biased;
        run(session, sql, &sql.oldest_transaction, &[]),
        run(session, sql, &sql.number, &params),
        run(session, sql, &sql.newest, &[]),
        session.batch_execute("COMMIT"),
    )?;
    let numbered = numbered.first().map_or(Ok(0), |row| row.try_get::<_, i64>(0))?;
    if numbered < NUMBERED_AT_ONCE
        && let Some(oldest) = oldest.first()
    {
        database.horizon.set_numbered(oldest.try_get(0)?);
    }
    Ok((position(newest.first())?, numbered))
}

/// Sees to it that the events of this process get their numbers soon after each commit, as long as the store exists.
pub(super) fn spawn(database: &Arc<Database>) {
    let mut committed = database.committed.subscribe();
    let database: Weak<Database> = Arc::downgrade(database);
    tokio::spawn(async move {
        let mut gather_for = GATHER_FOR;
        loop {
            let idle_since = Instant::now();
            // Ends with the database.
            if committed.changed().await.is_err() {
                return;
            }
            if idle_since.elapsed() > OTHERS_WITHIN {
                gather_for = GATHER_FOR;
            }
            let seq = *committed.borrow_and_update();
            tokio::time::sleep(gather_for).await;
            let Some(database) = database.upgrade() else { return };
            let announcing = async {
                if database.horizon.is_ready_old()
                    && let Err(failure) = look_for_ready(&database).await
                {
                    tracing::debug!("the first issue that is ready is not known: {failure:?}");
                }
                announce(&database, seq).await
            };
            // While several processes commit, one of them numbers the events of all, and the others look ever less
            // often.
            match database.within(ANNOUNCE_WITHIN, announcing).await {
                Ok(true) => gather_for = GATHER_FOR,
                Ok(false) => gather_for = (gather_for * 2).min(GATHER_AT_MOST_FOR),
                // Every read of events numbers them first, and each process looks once a second.
                Err(failure) => tracing::debug!("new events are not announced: {failure:?}"),
            }
        }
    });
}

/// Sees to it that the events of this process have their numbers before it ends.
pub(super) async fn finish(database: &Database) -> Result<(), Failure> {
    let seq = *database.committed.borrow();
    if seq > 0 {
        database.within(FINISH_WITHIN, announce(database, seq)).await?;
    }
    Ok(())
}

/// Notes from where claims have to look.
async fn look_for_ready(database: &Database) -> Result<(), Failure> {
    let connection = database.connection().await?;
    let known = database.horizon.ready();
    let rows = run(&connection, &database.sql, &database.sql.first_ready, &known.params()).await?;
    let Some(row) = rows.first() else { return Ok(()) };
    database.horizon.set_ready(Ready {
        priority: row.try_get::<_, Option<i16>>(0)?.unwrap_or(i16::MAX),
        position: row.try_get::<_, Option<i64>>(1)?.unwrap_or(i64::MAX),
        since: row.try_get(2)?,
    });
    Ok(())
}

/// Numbers the events and tells of them, unless another process does that for all. Returns true if this process did it.
async fn announce(database: &Database, seq: i64) -> Result<bool, Failure> {
    let sql = &database.sql;
    let ours = [(&seq as _, Type::INT8)];
    loop {
        let connection = database.connection().await?;
        let newest = run(&connection, sql, &sql.newest_and_ours, &ours).await?;
        drop(connection);
        if let Some(row) = newest.first()
            && !row.try_get::<_, bool>(2)?
        {
            database.publish(position(Some(row))?);
            return Ok(false);
        }
        if let Some((position, numbered)) = try_number(database).await? {
            database.publish(position);
            if numbered < NUMBERED_AT_ONCE {
                return Ok(true);
            }
            continue;
        }
        // Perhaps it does not see this event.
        tokio::time::sleep(OTHERS_WITHIN).await;
    }
}

/// Numbers the events, unless another process is doing that.
async fn try_number(database: &Database) -> Result<Option<(EventPosition, i64)>, Failure> {
    let session = database.session().await?;
    let sql = &database.sql;
    let key = advisory_key("number", database.schema());
    let key: [Param<'_>; 1] = [(&key, Type::INT8)];
    let (_, is_ours) = tokio::try_join!(
        biased;
        session.batch_execute(BEGIN).map_err(Failure::from),
        run(&session, sql, &sql.try_advisory, &key).map_err(Failure::from),
    )?;
    if !is_ours.first().is_some_and(|row| row.get(0)) {
        session.batch_execute("ROLLBACK").await?;
        session.finish();
        return Ok(None);
    }
    let numbered = number_and_commit(database, &session).await?;
    session.finish();
    Ok(Some(numbered))
}

/// Reads a row with number and nonce.
pub(super) fn position(row: Option<&Row>) -> Result<EventPosition, Failure> {
    let Some(row) = row else { return Ok(EventPosition::default()) };
    let number: i64 = row.try_get(0)?;
    let nonce: i64 = row.try_get(1)?;
    Ok(EventPosition { number: number.cast_unsigned(), hash: nonce.cast_unsigned() })
}
