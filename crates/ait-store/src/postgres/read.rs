//! Reads: issues, lists, counts, parts and events.

use std::sync::Arc;

use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::connection::Param;
use super::database::Database;
use super::error::Failure;
use super::list::Listing;
use super::numbering::{self, position};
use super::rows::{Rows, StoredRow};
use crate::memory::only;
use crate::sql;
use crate::sql::condition::bounds;
use crate::sql::rows::{lease, storable};
use crate::{Events, NumberedEvent, State, Subset, event_format};
use ait_domain::{
    Counts, Issue, IssueId, IssueRef, Lease, MatchCounts, Order, Page, Query, Timestamp,
};

/// Returns the issue that a reference names.
pub(super) async fn get(database: &Database, reference: &IssueRef) -> Result<Arc<Issue>, Failure> {
    let (low, high) = bounds(&reference.range());
    let low = vec![low];
    let high = vec![high];
    let params: [Param<'_>; 2] = [(&low, Type::UUID_ARRAY), (&high, Type::UUID_ARRAY)];
    let rows = database.connection().await?.query_typed(&database.sql.get, &params).await?;
    let ids: Vec<_> = rows.iter().map(|row| IssueId::from(row.get::<_, Uuid>(0))).collect();
    only(reference, &ids)?;
    Ok(StoredRow::read(&rows[0])?.issue)
}

/// Returns one page of the issues that match a query.
pub(super) async fn list(database: &Database, query: &Query) -> Result<Page, Failure> {
    let connection = database.connection().await?;
    let schema = database.quoted_schema();
    // Without texts, all titles fit equally well.
    let has_no_texts = query.order == Order::Match && query.condition.required_texts().is_empty();
    let latest = Query { order: Order::LatestActivity, ..query.clone() };
    let query = if has_no_texts { &latest } else { query };
    let listing = Listing { client: &connection, schema: &schema, query };
    if query.condition.is_empty() && query.order != Order::Relevance {
        let (rows, slots) = tokio::try_join!(
            biased;
            listing.page(),
            slots(&connection, database),
        )?;
        let counts = sql::rows::counts(&slots, query.classification);
        return Ok(Page {
            total: counts.in_statuses(query.statuses),
            is_exact: true,
            issues: issues(&rows)?,
            counts: Some(MatchCounts { counts, are_exact: true }),
        });
    }
    let (found, counts) = tokio::try_join!(
        biased;
        listing.search(),
        listing.count_matches(),
    )?;
    let has_page = |row: &&Row| row.try_get::<_, Option<Uuid>>(0).is_ok_and(|id| id.is_some());
    let issues = found.rows.iter().filter(has_page).map(|row| Ok(StoredRow::read(row)?.issue));
    let issues = issues.collect::<Result<_, Failure>>()?;
    let total = usize::try_from(found.total).unwrap_or_default();
    let exact = counts.filter(|counts| counts.are_exact);
    Ok(Page {
        total: exact.map_or(total, |exact| exact.counts.in_statuses(query.statuses)),
        is_exact: exact.is_some() || found.is_exact,
        issues,
        counts,
    })
}

fn issues(rows: &[Row]) -> Result<Vec<Arc<Issue>>, Failure> {
    rows.iter().map(|row| Ok(StoredRow::read(row)?.issue)).collect()
}

/// Counts the issues in each slot.
async fn slots(
    connection: &tokio_postgres::Client,
    database: &Database,
) -> Result<Vec<usize>, Failure> {
    let from = database.horizon.unnumbered();
    let rows = connection.query_typed(&database.sql.counts, &[(&from, Type::INT8)]).await?;
    let count = |row: &Row| Ok(usize::try_from(row.try_get::<_, i64>(0)?).unwrap_or_default());
    rows.iter().map(count).collect()
}

/// Counts the issues in each status.
pub(super) async fn counts(database: &Database) -> Result<Counts, Failure> {
    let slots = slots(&*database.connection().await?, database).await?;
    Ok(sql::rows::counts(&slots, None))
}

/// Returns a subset of the issues.
pub(super) async fn subset(database: &Database, subset: &Subset) -> Result<State, Failure> {
    let connection = database.connection().await?;
    let sql = &database.sql;
    // Before the issues, so that a watcher of this position is told of everything that they lack.
    let newest = connection.query_typed_opt(&sql.newest, &[]).await?;
    let found = match subset {
        Subset::Around(ids) => {
            // The ids that cannot be told apart by their first digits are asked for, too.
            let (low, high): (Vec<_>, Vec<_>) = ids.iter().map(|id| bounds(&begun(*id))).unzip();
            let params: [Param<'_>; 2] = [(&low, Type::UUID_ARRAY), (&high, Type::UUID_ARRAY)];
            connection.query_typed(&sql.around, &params).await
        }
        Subset::Linking(ids) => {
            let ids: Vec<Uuid> = ids.iter().map(|id| (*id).into()).collect();
            let params: [Param<'_>; 3] =
                [(&ids, Type::UUID_ARRAY), (&ids, Type::UUID_ARRAY), (&ids, Type::UUID_ARRAY)];
            connection.query_typed(&sql.closure, &params).await
        }
        Subset::Claimable(agents) => {
            let names: Vec<_> = agents.iter().map(|agent| storable(agent.as_str())).collect();
            let ready = database.horizon.ready();
            let params = [&ready.params()[..], &[(&names, Type::TEXT_ARRAY)]].concat();
            connection.query_typed(&sql.claimable, &params).await
        }
        Subset::HeldBy(agent) => {
            let names = vec![storable(agent.as_str())];
            connection.query_typed(&sql.held, &[(&names, Type::TEXT_ARRAY)]).await
        }
        Subset::Questions => connection.query_typed(&sql.questions, &[]).await,
    };
    let mut rows = Rows::default();
    rows.add(&found?)?;
    Ok(State { position: position(newest.as_ref())?, ..rows.state() })
}

/// Returns the claims that live with a client.
pub(super) async fn leases(database: &Database) -> Result<Vec<(IssueId, Lease)>, Failure> {
    let rows = database.connection().await?.query_typed(&database.sql.leases, &[]).await?;
    let read = |row: &Row| -> Result<_, Failure> {
        let id = IssueId::from(row.try_get::<_, Uuid>(0)?);
        Ok(lease(row.try_get(1)?, row.try_get(2)?).map(|lease| (id, lease)))
    };
    rows.iter().filter_map(|row| read(row).transpose()).collect()
}

/// Returns the ids with the same first digits as an id.
fn begun(id: IssueId) -> std::ops::RangeInclusive<IssueId> {
    IssueRef::begun(&id.short()).unwrap_or(id..=id)
}

/// Returns the events after an event number, after all visible ones have their numbers.
pub(super) async fn events(
    database: &Database,
    after: u64,
    limit: usize,
) -> Result<Events, Failure> {
    let newest = numbering::number(database).await?;
    let connection = database.connection().await?;
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let range: [Param<'_>; 2] = [(&after, Type::INT8), (&limit, Type::INT8)];
    let (rows, oldest) = tokio::try_join!(
        biased;
        connection.query_typed(&database.sql.events, &range),
        connection.query_typed_opt(&database.sql.oldest, &[]),
    )?;
    let events = rows.iter().map(numbered).collect::<Result<Vec<_>, _>>()?;
    // Events can have got numbers meanwhile.
    let newest = match events.last() {
        Some(last) if last.position.number > newest.number => last.position,
        _ => newest,
    };
    database.publish(newest);
    let oldest: Option<i64> = oldest.map(|row| row.try_get(0)).transpose()?;
    let oldest = oldest.map_or(newest.number + 1, i64::cast_unsigned);
    Ok(Events { events, newest, oldest })
}

fn numbered(row: &Row) -> Result<NumberedEvent, Failure> {
    let body: &str = row.try_get(2)?;
    Ok(NumberedEvent { position: position(Some(row))?, event: Arc::new(read_event(body)?) })
}

pub(super) fn read_event(body: &str) -> Result<ait_domain::Event, Failure> {
    event_format::read(body).ok_or_else(|| Failure::Newer("an event".to_owned()))
}

/// Returns the time of the newest event, if there is one.
pub(super) async fn last_write(database: &Database) -> Result<Option<Timestamp>, Failure> {
    let connection = database.connection().await?;
    let newest = connection.query_typed_opt(&database.sql.newest_body, &[]).await?;
    newest.map(|row| Ok(read_event(row.try_get(0)?)?.at)).transpose()
}
