//! Reads: issues, parts, counts, events and everything.

use std::ops::RangeInclusive;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use rusqlite::types::Value as SqlValue;
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};
use uuid::Uuid;

use super::error::Failure;
use super::queue::{COLUMNS, Queue, StoredRow, checksum, resolve};
use super::write::{newest, unknown_keys};
use crate::snapshot::SnapshotVisitor;
use crate::sql;
use crate::sql::condition::bounds;
use crate::sql::numbers::with_numbers;
use crate::sql::rows::{SLOTS, lease, storable};
use crate::{EventPosition, Events, NumberedEvent, State, Subset, event_format};
use ait_domain::{Counts, Issue, IssueId, IssueRef, Lease};

/// The issues `?1`, and those that they are linked with or wait with: their wholes, the blockers of all these, and the
/// wholes of the blockers.
static AROUND: LazyLock<String> = LazyLock::new(|| {
    with_numbers(
        "WITH RECURSIVE named(id) AS (SELECT i.id FROM rarray(?1) n JOIN issues i ON i.id = n.value), \
    up(id) AS (SELECT id FROM named UNION \
    SELECT l.target FROM up JOIN links l ON l.source = up.id AND l.kind = {parent}), \
    near(id) AS (SELECT l.target FROM up JOIN links l ON l.source = up.id AND l.kind IN ({blocked_by}, {duplicate_of}) UNION \
    SELECT l.target FROM near JOIN links l ON l.source = near.id AND l.kind = {parent}) \
    SELECT id FROM up UNION SELECT id FROM near UNION \
    SELECT l.target FROM named JOIN links l ON l.source = named.id UNION \
    SELECT l.source FROM named JOIN links l ON l.target = named.id",
    )
});
/// The issues `?1`, and everything that they wait for or are parts of, directly or not.
static LINKING: LazyLock<String> = LazyLock::new(|| {
    with_numbers(
        "WITH RECURSIVE seeds(id) AS (SELECT value FROM rarray(?1)), walk(id) AS (SELECT id FROM seeds \
    UNION SELECT l.target FROM walk w JOIN links l ON l.source = w.id AND l.kind IN ({parent}, {blocked_by}) \
    UNION SELECT l.source FROM walk w JOIN links l ON l.target = w.id AND l.kind = {parent}) \
    SELECT id FROM walk UNION SELECT l.source FROM seeds JOIN links l ON l.target = seeds.id AND l.kind = {blocked_by}",
    )
});

const THESE: &str = "SELECT value FROM rarray(?1)";
const QUESTIONS: &str = "SELECT i.id FROM issues i WHERE i.question = 1";
const HELD: &str =
    "SELECT i.id FROM issues i WHERE i.holder IS NOT NULL AND i.holder IN rarray(?1)";

/// Returns a list as one parameter.
pub(super) fn array<T: Into<SqlValue>>(values: impl IntoIterator<Item = T>) -> Rc<Vec<SqlValue>> {
    Rc::new(values.into_iter().map(Into::into).collect())
}

/// Returns an id as a value of a list.
pub(super) fn id_value(id: Uuid) -> SqlValue {
    SqlValue::Blob(id.as_bytes().to_vec())
}

/// Returns the issue that a reference names.
pub(super) fn get(connection: &Connection, reference: &IssueRef) -> Result<Arc<Issue>, Failure> {
    let id = resolve(connection, reference)??;
    let rows = rows(connection, "SELECT id FROM issues WHERE id = ?1", &[&Uuid::from(id)])?;
    let found = rows.into_iter().next().map(|row| row.issue);
    found.ok_or_else(|| Failure::Damaged(format!("the text of the issue {id} is missing")))
}

/// Returns the issues whose ids a statement finds, in the order of filing.
fn rows(
    connection: &Connection,
    ids: &str,
    params: &[&dyn ToSql],
) -> Result<Vec<StoredRow>, Failure> {
    let statement = format!(
        "SELECT {COLUMNS} FROM issues i CROSS JOIN texts t ON t.key = i.key WHERE i.id IN ({ids}) \
         ORDER BY i.position"
    );
    let mut statement = connection.prepare_cached(&statement)?;
    collect(statement.query(params)?)
}

fn collect(mut rows: rusqlite::Rows<'_>) -> Result<Vec<StoredRow>, Failure> {
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(StoredRow::read(row)?);
    }
    Ok(found)
}

/// Returns a state that has some issues alone.
fn state_of(rows: Vec<StoredRow>) -> State {
    let mut state = State::default();
    rows.into_iter().for_each(|row| state.visit(row.issue, row.lease));
    state
}

/// Shows a visitor everything.
pub(super) fn snapshot(
    connection: &Connection,
    visitor: &mut dyn SnapshotVisitor,
) -> Result<(), Failure> {
    visitor.begin(newest(connection)?, unknown_keys(connection)?);
    let statement = format!(
        "SELECT {COLUMNS} FROM issues i CROSS JOIN texts t ON t.key = i.key ORDER BY i.position"
    );
    let mut statement = connection.prepare(&statement)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let row = StoredRow::read(row)?;
        visitor.visit(row.issue, row.lease);
    }
    Ok(())
}

/// Returns everything.
pub(super) fn state(connection: &Connection) -> Result<State, Failure> {
    let mut whole = State::default();
    snapshot(connection, &mut whole)?;
    Ok(whole)
}

/// Returns the id of the database.
pub(super) fn id(connection: &Connection) -> Result<Uuid, Failure> {
    Ok(connection.query_row("SELECT id FROM meta", [], |row| row.get(0))?)
}

/// Returns the id of the damaged database whose place this one took.
pub(super) fn replaces(connection: &Connection) -> Result<Option<Uuid>, Failure> {
    Ok(connection.query_row("SELECT replaces FROM meta", [], |row| row.get(0))?)
}

/// Returns the issues without a text, and those whose text is not what was written, as sentences.
pub(super) fn text_faults(connection: &Connection) -> Result<Vec<String>, Failure> {
    faults(
        connection,
        "SELECT i.id, t.body, t.checksum FROM issues i LEFT JOIN texts t ON t.key = i.key",
    )
}

/// Returns the events that are not what was written, as sentences.
pub(super) fn event_faults(connection: &Connection) -> Result<Vec<String>, Failure> {
    faults(connection, "SELECT number, body, checksum FROM events WHERE body IS NOT NULL")
}

fn faults(connection: &Connection, all: &str) -> Result<Vec<String>, Failure> {
    let mut statement = connection.prepare(all)?;
    let mut rows = statement.query([])?;
    let mut faults = Vec::new();
    while let Some(row) = rows.next()? {
        let body = row.get_ref(1)?.as_bytes_or_null().map_err(rusqlite::Error::from)?;
        let text = body.and_then(|body| std::str::from_utf8(body).ok());
        if !text.is_some_and(|text| row.get(2) == Ok(checksum(text))) {
            let what = match row.get::<_, Uuid>(0) {
                Ok(id) => format!("the issue {id}"),
                Err(_) => format!("the event {}", row.get::<_, i64>(0)?),
            };
            faults.push(format!("{what} is not what was written"));
        }
    }
    Ok(faults)
}

/// Returns a subset of the issues.
pub(super) fn subset(connection: &Connection, subset: &Subset) -> Result<State, Failure> {
    let found = match subset {
        Subset::Around(ids) => alike(connection, &AROUND, &begun(connection, ids)?)?,
        Subset::Linking(ids) => alike(connection, &LINKING, ids)?,
        Subset::Claimable(agents) => {
            let ids = Queue::new(connection).claimable(agents)?;
            rows(connection, THESE, &[&ids_of(&ids)])?
        }
        Subset::HeldBy(agent) => rows(connection, HELD, &[&array([storable(agent.as_str())])])?,
        Subset::Questions => rows(connection, QUESTIONS, &[])?,
    };
    Ok(State { position: newest(connection)?, ..state_of(found) })
}

/// Returns the claims that live with a client.
pub(super) fn leases(connection: &Connection) -> Result<Vec<(IssueId, Lease)>, Failure> {
    const LEASES: &str = "SELECT id, lease_claim, lease_client FROM issues INDEXED BY issues_leased \
        WHERE lease_client IS NOT NULL";
    let mut statement = connection.prepare_cached(LEASES)?;
    let read = |row: &Row<'_>| {
        let id = IssueId::from(row.get::<_, Uuid>(0)?);
        Ok(lease(row.get(1)?, Some(row.get_ref(2)?.as_str()?)).map(|lease| (id, lease)))
    };
    let leases = statement.query_map([], read)?;
    Ok(leases.filter_map(Result::transpose).collect::<Result<_, _>>()?)
}

fn ids_of(ids: &[IssueId]) -> Rc<Vec<SqlValue>> {
    array(ids.iter().map(|id| id_value((*id).into())))
}

/// Returns the issues that a statement finds from some ids, and those whose first digits are the same.
fn alike(
    connection: &Connection,
    statement: &str,
    ids: &[IssueId],
) -> Result<Vec<StoredRow>, Failure> {
    let found = super::queue::ids(connection, statement, [ids_of(ids)])?;
    rows(connection, THESE, &[&ids_of(&begun(connection, &found)?)])
}

/// Returns the ids of the issues whose first digits are those of some ids.
fn begun(connection: &Connection, ids: &[IssueId]) -> Result<Vec<IssueId>, Failure> {
    let mut all = Vec::new();
    for id in ids {
        let range: RangeInclusive<IssueId> = IssueRef::begun(&id.short()).unwrap_or(*id..=*id);
        let (low, high) = bounds(&range);
        const WITHIN: &str = "SELECT id FROM issues WHERE id BETWEEN ?1 AND ?2";
        all.extend(super::queue::ids(connection, WITHIN, [low, high])?);
    }
    Ok(all)
}

/// Counts the issues in each slot.
pub(super) fn slots(connection: &Connection) -> Result<[usize; SLOTS], Failure> {
    let mut slots = [0; SLOTS];
    let mut statement = connection.prepare_cached("SELECT slot, issues FROM counts")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let slot: i64 = row.get(0)?;
        let count: i64 = row.get(1)?;
        if let Some(slot) = usize::try_from(slot).ok().and_then(|slot| slots.get_mut(slot)) {
            *slot = usize::try_from(count).unwrap_or_default();
        }
    }
    Ok(slots)
}

/// Counts the issues in each status.
pub(super) fn counts(connection: &Connection) -> Result<Counts, Failure> {
    Ok(sql::rows::counts(&slots(connection)?, None))
}

/// Returns the events after an event number.
pub(super) fn events(connection: &Connection, after: u64, limit: usize) -> Result<Events, Failure> {
    const AFTER: &str = "SELECT number, nonce, body, checksum FROM events WHERE number > ?1 AND body IS NOT NULL \
        ORDER BY number LIMIT ?2";
    const OLDEST: &str = "SELECT number FROM events WHERE body IS NOT NULL ORDER BY number LIMIT 1";
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let mut statement = connection.prepare_cached(AFTER)?;
    let mut rows = statement.query(params![after, limit])?;
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        events.push(event(row)?);
    }
    let newest = newest(connection)?;
    let oldest: Option<i64> =
        connection.prepare_cached(OLDEST)?.query_row([], |row| row.get(0)).optional()?;
    let oldest = oldest.map_or(newest.number + 1, i64::cast_unsigned);
    Ok(Events { events, newest, oldest })
}

fn event(row: &Row<'_>) -> Result<NumberedEvent, Failure> {
    let number: i64 = row.get(0)?;
    let nonce: i64 = row.get(1)?;
    let position = EventPosition { number: number.cast_unsigned(), hash: nonce.cast_unsigned() };
    let body = row.get_ref(2)?.as_str().map_err(rusqlite::Error::from)?;
    if checksum(body) != row.get::<_, i64>(3)? {
        return Err(Failure::Damaged(format!("the event {number} is not what was written")));
    }
    let event =
        event_format::read(body).ok_or_else(|| Failure::Newer(format!("the event {number}")))?;
    Ok(NumberedEvent { position, event: Arc::new(event) })
}
