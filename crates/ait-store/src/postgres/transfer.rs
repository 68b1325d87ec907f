//! Takes over everything from another store, in one transaction.

use std::sync::Arc;

use tokio_postgres::types::Type;
use uuid::Uuid;

use super::connection::{Param, PooledConnection};
use super::database::Database;
use super::error::Failure;
use super::load::reserve;
use super::write::Changes;
use crate::sql::rows::{IssueAfter, SLOTS, slot};
use crate::transfer::Transfer;
use crate::{EventPosition, NumberedEvent, StoreError, event_format};
use ait_domain::{Issue, IssueId, Lease};

/// Begins the transaction. It blocks all other changes until it ends, but no reads.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = '8s'; \
    SET LOCAL statement_timeout = '10min'; SET LOCAL idle_in_transaction_session_timeout = '10min'; \
    LOCK TABLE {s}.events, {s}.issues IN EXCLUSIVE MODE";

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
    let mut added = Added::default();
    loop {
        let issues = transfer.issues(added.count).await?;
        if issues.is_empty() {
            break;
        }
        add_issues(&session, database, &mut added, issues).await.map_err(Failure::of_change)?;
    }
    finish(&session, database, transfer, added).await.map_err(Failure::of_change)?;
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

/// What is known of the issues that were added.
#[derive(Default)]
struct Added {
    count: usize,
    /// How many are in each slot.
    totals: Vec<i32>,
    waiting: Changes,
}

/// Adds the next issues.
async fn add_issues(
    session: &PooledConnection,
    database: &Database,
    added: &mut Added,
    issues: Vec<(Arc<Issue>, Option<Lease>)>,
) -> Result<(), Failure> {
    let sql = &database.sql;
    added.count += issues.len();
    let seq = reserve(session, sql, issues.len()).await?;
    let totals = &mut added.totals;
    totals.resize(SLOTS, 0);
    let copies = issues.into_iter().zip(seq).map(|((issue, lease), seq)| {
        totals[usize::try_from(slot(&issue)).unwrap_or_default()] += 1;
        (IssueAfter { issue, lease }, seq)
    });
    let mut changes = Changes::of_copies(copies);
    added.waiting.wait_with(&mut changes);
    changes.write(session, sql, false).await
}

/// Adds what is neither an event nor an issue.
async fn finish(
    session: &PooledConnection,
    database: &Database,
    transfer: &Transfer<'_>,
    added: Added,
) -> Result<(), Failure> {
    let sql = &database.sql;
    let Added { mut waiting, totals, .. } = added;
    // Only when all issues are there can it be decided which of them wait for others.
    waiting.set_unknown_keys(transfer.unknown_keys());
    waiting.write(session, sql, false).await?;
    let position = transfer.position();
    if transfer.base() == position.number {
        // Later events go on from its number.
        add_rows(session, database, vec![(position, None, None)]).await?;
    }
    let number = position.number.cast_signed();
    let params: [Param<'_>; 2] = [(&number, Type::INT8), (&totals, Type::INT4_ARRAY)];
    session.execute_typed(&sql.set_totals, &params).await?;
    Ok(())
}
