//! Takes over everything from another store, in one transaction.

use tokio_postgres::types::Type;
use uuid::Uuid;

use super::connection::{Param, PooledConnection};
use super::database::Database;
use super::decide::IssueAfter;
use super::error::Failure;
use super::load::reserve;
use super::write::Changes;
use crate::domain::IssueId;
use crate::store::sql::rows::{SLOTS, slot};
use crate::store::transfer::Transfer;
use crate::store::{EventPosition, NumberedEvent, StoreError, event_format};

/// Begins the transaction. It blocks all other changes until it ends, but no reads.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '8s'; \
    SET LOCAL statement_timeout = '10min'; SET LOCAL idle_in_transaction_session_timeout = '10min'; \
    LOCK TABLE {s}.events, {s}.issues IN EXCLUSIVE MODE";
/// How many issues are written at once.
const ISSUES_AT_ONCE: usize = 1000;

/// Takes over everything from another store.
pub(super) async fn take_over(
    database: &Database,
    transfer: &Transfer<'_>,
) -> Result<(), StoreError> {
    let session = begin(database).await.map_err(Failure::of_change)?;
    let mut after = transfer.base();
    while let Some(page) = transfer.next_page(&mut after).await? {
        add_events(&session, database, &page).await.map_err(Failure::of_change)?;
    }
    finish(&session, database, transfer).await.map_err(Failure::of_change)?;
    transfer.check_unchanged().await?;
    session.batch_execute("COMMIT").await.map_err(|error| match Failure::from(error) {
        Failure::Away(why) => Failure::Lost(why).of_change(),
        failure => failure.of_change(),
    })?;
    let tables = ["issues", "issue_texts", "issue_search", "links", "events"];
    let tables = tables.map(|table| format!("{}.{table}", database.quoted_schema()));
    // Without it, searches are slow until the database does it by itself.
    let vacuum = format!("VACUUM (ANALYZE) {}", tables.join(", "));
    if let Err(error) = session.batch_execute(&vacuum).await {
        tracing::debug!("the new tables are not vacuumed yet: {error}");
    }
    session.finish();
    Ok(())
}

/// Notes in the schema that everything was moved to another store.
pub(super) async fn say_moved(database: &Database, to: &str) -> Result<(), Failure> {
    let session = database.session().await?;
    session.execute_typed(&database.sql.say_moved, &[(&to, Type::TEXT)]).await?;
    session.finish();
    Ok(())
}

/// Begins the transaction on an empty schema.
async fn begin(database: &Database) -> Result<PooledConnection, Failure> {
    let session = database.session().await?;
    let sql = &database.sql;
    session.batch_execute(&BEGIN.replace("{s}", &database.quoted_schema())).await?;
    let found = session.query_typed_one(&sql.has_content, &[]).await?;
    if found.try_get(0)? {
        return Err(Failure::Other(format!(
            "the schema {} is not empty: choose a new one, or drop it",
            database.schema()
        )));
    }
    Ok(session)
}

/// Adds events with their numbers.
async fn add_events(
    session: &PooledConnection,
    database: &Database,
    page: &[NumberedEvent],
) -> Result<(), Failure> {
    let rows = page.iter().map(|event| {
        let body = String::from_utf8_lossy(&event_format::write(&event.event)).into_owned();
        let issue = Some(event.event.issue).filter(|id| *id != IssueId::NIL).map(Uuid::from);
        (event.position, issue, Some(body))
    });
    add_rows(session, database, rows.collect()).await
}

async fn add_rows(
    session: &PooledConnection,
    database: &Database,
    rows: Vec<(EventPosition, Option<Uuid>, Option<String>)>,
) -> Result<(), Failure> {
    let seq = reserve(session, &database.sql, rows.len()).await?;
    let mut number = vec![];
    let mut nonce = vec![];
    let mut issue = vec![];
    let mut body = vec![];
    for (position, id, text) in rows {
        number.push(position.number.cast_signed());
        nonce.push(position.hash.cast_signed());
        issue.push(id);
        body.push(text);
    }
    let params: [Param<'_>; 5] = [
        (&seq, Type::INT8_ARRAY),
        (&number, Type::INT8_ARRAY),
        (&nonce, Type::INT8_ARRAY),
        (&issue, Type::UUID_ARRAY),
        (&body, Type::TEXT_ARRAY),
    ];
    session.execute_typed(&database.sql.add_numbered, &params).await?;
    Ok(())
}

/// Adds the issues and everything else that is no event.
async fn finish(
    session: &PooledConnection,
    database: &Database,
    transfer: &Transfer<'_>,
) -> Result<(), Failure> {
    let state = transfer.state();
    let sql = &database.sql;
    let mut issues = state.issues.issues();
    let mut totals = vec![0_i32; SLOTS];
    let mut waiting = Changes::default();
    loop {
        let chunk: Vec<_> = issues.by_ref().take(ISSUES_AT_ONCE).collect();
        if chunk.is_empty() {
            break;
        }
        let seq = reserve(session, sql, chunk.len()).await?;
        let copies = chunk.into_iter().zip(seq).map(|(issue, seq)| {
            totals[usize::try_from(slot(&issue)).unwrap_or_default()] += 1;
            let lease = state.issues.lease(issue.id).cloned();
            (IssueAfter { issue, lease }, seq)
        });
        let mut changes = Changes::of_copies(copies);
        waiting.wait_with(&mut changes);
        changes.write(session, sql, false).await?;
    }
    // Only when all issues are there can it be decided which of them wait for others.
    waiting.set_unknown_keys(&state.unknown_keys);
    waiting.write(session, sql, false).await?;
    if transfer.base() == state.position.number {
        // Later events go on from its number.
        add_rows(session, database, vec![(state.position, None, None)]).await?;
    }
    let number = state.position.number.cast_signed();
    let params: [Param<'_>; 2] = [(&number, Type::INT8), (&totals, Type::INT4_ARRAY)];
    session.execute_typed(&sql.set_totals, &params).await?;
    Ok(())
}
