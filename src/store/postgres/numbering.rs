//! Gives events their numbers, after the commit.
//!
//! A number that is drawn within a transaction would become visible in another order than that of the numbers, and a
//! reader that follows by number would miss events. So one transaction at a time numbers the events that it sees. A
//! later one can only add higher numbers.

use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio_postgres::Row;
use tokio_postgres::types::Type;

use super::connection::Param;
use super::database::Database;
use super::error::Failure;
use super::sql::{BEGIN, advisory_key};
use crate::store::Position;

/// How many events the statement numbers at once.
const NUMBERED_AT_ONCE: u64 = 20_000;
/// How long commits are gathered before their events are numbered.
const GATHER_FOR: Duration = Duration::from_millis(20);
/// How long to wait for the process that is just numbering events.
const OTHERS_WITHIN: Duration = Duration::from_millis(60);

/// Numbers the events that are visible, and tells the watchers of this process. Returns the position of the newest one;
/// on a standby that only allows reads, that of the newest event with a number.
pub(super) async fn number(database: &Database) -> Result<Position, Failure> {
    let position = number_visible(database).await?;
    database.publish(position);
    Ok(position)
}

async fn number_visible(database: &Database) -> Result<Position, Failure> {
    let (connection, sql) = (database.connection().await?, &database.sql);
    let (unnumbered, newest) = tokio::try_join!(
        biased;
        connection.query_typed_one(&sql.has_unnumbered, &[]),
        connection.query_typed_opt(&sql.newest, &[]),
    )?;
    if !unnumbered.try_get::<_, bool>(0)? {
        return position(newest.as_ref());
    }
    drop(connection);
    match number_all(database).await {
        Err(Failure::ReadOnly(_)) => position(newest.as_ref()),
        result => result,
    }
}

async fn number_all(database: &Database) -> Result<Position, Failure> {
    loop {
        let (position, numbered) = number_some(database).await?;
        if numbered < NUMBERED_AT_ONCE {
            return Ok(position);
        }
    }
}

/// Numbers events once. Returns the position of the newest one, and how many it has numbered.
async fn number_some(database: &Database) -> Result<(Position, u64), Failure> {
    let (session, sql) = (database.session().await?, &database.sql);
    let key = vec![advisory_key("number", database.schema())];
    let key: [Param<'_>; 1] = [(&key, Type::INT8_ARRAY)];
    let (_, _, numbered, newest, _) = tokio::try_join!(
        biased;
        session.batch_execute(BEGIN),
        session.query_typed(&sql.advisory, &key),
        session.execute_typed(&sql.number, &[]),
        session.query_typed_opt(&sql.newest, &[]),
        session.batch_execute("COMMIT"),
    )?;
    session.finish();
    Ok((position(newest.as_ref())?, numbered))
}

/// Numbers the events of this process soon after each commit, and tells the other processes, as long as the store exists.
pub(super) fn spawn(database: &Arc<Database>) {
    let database: Weak<Database> = Arc::downgrade(database);
    tokio::spawn(async move {
        while let Some(database) = database.upgrade() {
            // The store may end while nothing is committed.
            let committed =
                tokio::time::timeout(Duration::from_secs(1), database.committed.notified());
            if committed.await.is_err() {
                continue;
            }
            tokio::time::sleep(GATHER_FOR).await;
            if let Err(failure) = announce(&database).await {
                // Every read of events numbers them first, and each process looks once a second.
                tracing::debug!("new events are not announced: {failure:?}");
            }
        }
    });
}

/// Numbers the events and tells of them, unless another process does that for all.
async fn announce(database: &Database) -> Result<(), Failure> {
    let sql = &database.sql;
    loop {
        let connection = database.connection().await?;
        let (unnumbered, newest) = tokio::try_join!(
            biased;
            connection.query_typed_one(&sql.has_unnumbered, &[]),
            connection.query_typed_opt(&sql.newest, &[]),
        )?;
        drop(connection);
        if !unnumbered.try_get::<_, bool>(0)? {
            database.publish(position(newest.as_ref())?);
            return Ok(());
        }
        if let Some((position, numbered)) = try_number(database).await? {
            database.publish(position);
            database.notify().await?;
            if numbered < NUMBERED_AT_ONCE {
                return Ok(());
            }
            continue;
        }
        // Perhaps it does not see the newest events.
        tokio::time::sleep(OTHERS_WITHIN).await;
    }
}

/// Numbers the events, unless another process is doing that.
async fn try_number(database: &Database) -> Result<Option<(Position, u64)>, Failure> {
    let (session, sql) = (database.session().await?, &database.sql);
    let key = advisory_key("number", database.schema());
    let key: [Param<'_>; 1] = [(&key, Type::INT8)];
    let (_, is_ours) = tokio::try_join!(
        biased;
        session.batch_execute(BEGIN),
        session.query_typed_one(&sql.try_advisory, &key),
    )?;
    if !is_ours.try_get::<_, bool>(0)? {
        session.batch_execute("ROLLBACK").await?;
        session.finish();
        return Ok(None);
    }
    let (numbered, newest, _) = tokio::try_join!(
        biased;
        session.execute_typed(&sql.number, &[]),
        session.query_typed_opt(&sql.newest, &[]),
        session.batch_execute("COMMIT"),
    )?;
    session.finish();
    Ok(Some((position(newest.as_ref())?, numbered)))
}

/// Reads a row with number and nonce.
pub(super) fn position(row: Option<&Row>) -> Result<Position, Failure> {
    let Some(row) = row else { return Ok(Position::default()) };
    let (number, nonce): (i64, i64) = (row.try_get(0)?, row.try_get(1)?);
    Ok(Position { number: number.cast_unsigned(), hash: nonce.cast_unsigned() })
}
