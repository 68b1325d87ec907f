//! Writes an event and what it changes.

use std::collections::BTreeSet;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, ToSql, params};
use uuid::Uuid;

use super::error::Failure;
use super::queue::{Queue, StoredRow, checksum, set_waits};
use crate::files::KeepEvents;
use crate::files::format::issue_text;
use crate::sql::condition::NameKind;
use crate::sql::rows::{
    IssueAfter, IssueRow, POSITION_BITS, SearchRow, lease_columns, random, slot,
};
use crate::{EventPosition, State, event_format};
use ait_domain::readiness::{affected_by, is_free};
use ait_domain::{Event, EventKind, Issue, IssueId, Lease, LinkKind, UnknownKeys};

/// The slot that counts the bytes of all events.
const EVENT_BYTES: i16 = 1000;

/// Writes an event that was decided on the issues of this transaction, and returns its position and the issue after it.
pub(super) fn apply(
    connection: &Connection,
    queue: &Queue<'_>,
    event: &Event,
) -> Result<(EventPosition, Option<Arc<Issue>>), Failure> {
    let number = newest(connection)?.number + 1;
    let nonce = random();
    let position = EventPosition { number, hash: nonce.cast_unsigned() };
    let body = String::from_utf8_lossy(&event_format::write(event)).into_owned();
    add_event(connection, position, Some((event, &body)))?;
    if let EventKind::UnknownKeysEdited { keys } = &event.kind {
        set_unknown_keys(connection, &keys.after)?;
        return Ok((position, None));
    }
    let before = queue.row(event.issue);
    let after = after(event, before.as_ref());
    match (&before, &after) {
        (Some(before), None) => remove(connection, before)?,
        (Some(before), Some(after)) if matches!(event.kind, EventKind::TakenUp { .. }) => {
            set_lease(connection, before.key, after.lease.as_ref())?;
        }
        (Some(before), Some(after)) => change(connection, before, after)?,
        (None, Some(after)) => {
            let next = match &event.kind {
                EventKind::Imported { next: Some(next), .. } => queue.row(*next),
                _ => None,
            };
            let place = match next {
                Some(next) => place_before(connection, next.position)?,
                None => last_place(connection)? + (1 << POSITION_BITS),
            };
            add(connection, after, place)?;
        }
        (None, None) => {}
    }
    queue.forget(event.issue);
    let issues = (before.map(|row| row.issue), after.map(|after| after.issue));
    let affected = affected_by(queue, issues.0.as_deref(), issues.1.as_deref());
    decide_waits(connection, queue, affected)?;
    queue.check()?;
    Ok((position, issues.1))
}

/// Returns the issue after an event; `None` if there is none.
fn after(event: &Event, before: Option<&StoredRow>) -> Option<IssueAfter> {
    let lease = before.and_then(|row| row.lease.as_ref());
    let issue = match (&event.kind, event.filed(), before) {
        (EventKind::Removed { .. }, ..) => return None,
        (_, Some(issue), _) => Arc::new(issue),
        (EventKind::TakenUp { .. }, _, Some(before)) => Arc::clone(&before.issue),
        (_, _, Some(before)) => {
            let mut issue = Issue::clone(&before.issue);
            event.apply(&mut issue);
            Arc::new(issue)
        }
        (_, None, None) => return None,
    };
    Some(IssueAfter { lease: event.lease_after(&issue, lease), issue })
}

pub(super) fn add_event(
    connection: &Connection,
    position: EventPosition,
    event: Option<(&Event, &str)>,
) -> Result<(), Failure> {
    let issue = event.map(|(event, _)| event.issue).filter(|issue| *issue != IssueId::NIL);
    let mut insert =
        connection.prepare_cached("INSERT INTO events VALUES (?1, ?2, ?3, ?4, ?5, ?6)")?;
    insert.execute(params![
        position.number.cast_signed(),
        position.hash.cast_signed(),
        issue.map(Uuid::from),
        event.map(|(_, body)| body),
        event.map_or(0, |(event, _)| event.at.unix_millis()),
        event.map_or(0, |(_, body)| checksum(body)),
    ])?;
    let bytes = event.map_or(0, |(_, body)| body.len());
    count(connection, EVENT_BYTES, i64::try_from(bytes).unwrap_or(i64::MAX))
}

/// Removes the oldest events as far as they exceed what is to be kept, some at a time. Returns true if more are left.
pub(super) fn forget_events(connection: &Connection, keep: KeepEvents) -> Result<bool, Failure> {
    /// How many events are removed at once.
    const FEW: i64 = 200;
    const BYTES: &str = "SELECT issues FROM counts WHERE slot = ?1";
    const OLDEST: &str = "SELECT number, ifnull(length(CAST(body AS BLOB)), 0), at FROM events ORDER BY number LIMIT ?1";
    let total: Option<i64> =
        connection.prepare_cached(BYTES)?.query_row([EVENT_BYTES], |row| row.get(0)).optional()?;
    let mut total = total.unwrap_or(0);
    let newest = newest(connection)?.number.cast_signed();
    let mut statement = connection.prepare_cached(OLDEST)?;
    let mut rows = statement.query([FEW])?;
    let mut last = None;
    let mut bytes = 0;
    let mut is_more = true;
    while let Some(row) = rows.next()? {
        let number: i64 = row.get(0)?;
        let length: i64 = row.get(1)?;
        let at: i64 = row.get(2)?;
        // The newest event has the number from which the next one goes on.
        if number == newest || !keep.is_exceeded(total, at) {
            is_more = false;
            break;
        }
        total -= length;
        bytes += length;
        last = Some(number);
    }
    let Some(last) = last else { return Ok(false) };
    connection.prepare_cached("DELETE FROM events WHERE number <= ?1")?.execute([last])?;
    count(connection, EVENT_BYTES, -bytes)?;
    Ok(is_more)
}

/// Returns the position of the newest event.
pub(super) fn newest(connection: &Connection) -> Result<EventPosition, Failure> {
    const NEWEST: &str = "SELECT number, nonce FROM events ORDER BY number DESC LIMIT 1";
    let read = |row: &rusqlite::Row<'_>| {
        let number: i64 = row.get(0)?;
        let nonce: i64 = row.get(1)?;
        Ok(EventPosition { number: number.cast_unsigned(), hash: nonce.cast_unsigned() })
    };
    let newest = connection.prepare_cached(NEWEST)?.query_row([], read).optional()?;
    Ok(newest.unwrap_or_default())
}

/// Returns the unknown top-level keys.
pub(super) fn unknown_keys(connection: &Connection) -> Result<UnknownKeys, Failure> {
    let text: String = connection.query_row("SELECT keys FROM meta", [], |row| row.get(0))?;
    serde_json::from_str(&text).map_err(|error| {
        Failure::Damaged(format!("the other top-level keys cannot be read: {error}"))
    })
}

/// Sets the unknown top-level keys.
fn set_unknown_keys(connection: &Connection, keys: &UnknownKeys) -> Result<(), Failure> {
    let text = serde_json::to_string(keys).expect("structures of strings are valid JSON");
    connection.prepare_cached("UPDATE meta SET keys = ?1")?.execute([text])?;
    Ok(())
}

macro_rules! columns {
    () => {
        "status, kind, priority, created, modified, active, returns, claims, assignee, holder, filer, lease_claim, \
         lease_client, parked, parked_until, question"
    };
}

macro_rules! places {
    () => {
        "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16"
    };
}

/// Executes a statement with the columns of an issue, and others behind them.
fn write_row(
    connection: &Connection,
    statement: &str,
    after: &IssueAfter,
    row: &IssueRow,
    others: &[&dyn ToSql],
) -> Result<(), Failure> {
    let (claim, client) = lease_columns(after.lease.as_ref());
    let columns: [&dyn ToSql; 16] = [
        &row.status,
        &row.kind,
        &row.priority,
        &row.created,
        &row.modified,
        &row.active,
        &row.returns,
        &row.claims,
        &row.assignee,
        &row.holder,
        &row.filer,
        &claim,
        &client,
        &row.is_parked,
        &row.parked_until,
        &row.has_question,
    ];
    connection.prepare_cached(statement)?.execute(&[&columns, others].concat()[..])?;
    Ok(())
}

/// Adds an issue at a position. Whether it waits is to be decided after.
fn add(connection: &Connection, after: &IssueAfter, position: i64) -> Result<(), Failure> {
    const ADD: &str = concat!(
        "INSERT INTO issues (",
        columns!(),
        ", id, position, waits) VALUES (",
        places!(),
        ", ?17, ?18, 0)"
    );
    let issue = &*after.issue;
    let row = IssueRow::of(issue);
    write_row(connection, ADD, after, &row, &[&Uuid::from(issue.id), &position])?;
    let key = connection.last_insert_rowid();
    write_text(connection, key, issue)?;
    let search = SearchRow::of(issue);
    write_search(connection, key, &search)?;
    write_names(connection, key, &BTreeSet::new(), &names(&row, &search))?;
    write_links(connection, None, Some(issue))?;
    count(connection, slot(issue), 1)
}

/// Adds issues to a database without issues.
#[derive(Default)]
pub(super) struct StateWriter {
    written: usize,
    /// The issues with links, and their wholes.
    linked: Vec<IssueId>,
}

impl StateWriter {
    /// Returns how many issues were added.
    pub fn written(&self) -> usize {
        self.written
    }

    /// Adds the next issues in the order of filing, with their leases.
    pub fn add(
        &mut self,
        connection: &Connection,
        issues: impl IntoIterator<Item = (Arc<Issue>, Option<Lease>)>,
    ) -> Result<(), Failure> {
        for (issue, lease) in issues {
            for link in &issue.attributes.links {
                self.linked.push(issue.id);
                self.linked.extend((link.kind == LinkKind::Parent).then_some(link.to));
            }
            self.written += 1;
            let place = i64::try_from(self.written).unwrap_or(i64::MAX);
            add(connection, &IssueAfter { issue, lease }, place << POSITION_BITS)?;
        }
        Ok(())
    }

    /// Adds the other top-level keys.
    pub fn finish(self, connection: &Connection, keys: &UnknownKeys) -> Result<(), Failure> {
        // Only when all issues are there can it be decided which of them wait for others.
        decide_waits(connection, &Queue::new(connection), self.linked)?;
        set_unknown_keys(connection, keys)
    }
}

/// Adds the issues of a state to a database without issues, with their leases, and its other top-level keys.
pub(super) fn add_state(connection: &Connection, state: &State) -> Result<(), Failure> {
    let issues = state.issues.issues();
    let leased = issues.map(|issue| {
        let lease = state.issues.lease(issue.id).cloned();
        (issue, lease)
    });
    let mut writer = StateWriter::default();
    writer.add(connection, leased)?;
    writer.finish(connection, &state.unknown_keys)
}

/// Changes an issue. Whether it waits is to be decided after.
fn change(connection: &Connection, before: &StoredRow, after: &IssueAfter) -> Result<(), Failure> {
    const CHANGE: &str =
        concat!("UPDATE issues SET (", columns!(), ") = (", places!(), ") WHERE key = ?17");
    let key = before.key;
    let issue = &*after.issue;
    let row = IssueRow::of(issue);
    write_row(connection, CHANGE, after, &row, &[&key])?;
    write_text(connection, key, issue)?;
    let old = SearchRow::of(&before.issue);
    let new = SearchRow::of(issue);
    if (&old.title, &old.texts) != (&new.title, &new.texts) {
        write_search(connection, key, &new)?;
    }
    let former = names(&IssueRow::of(&before.issue), &old);
    write_names(connection, key, &former, &names(&row, &new))?;
    write_links(connection, Some(&before.issue), Some(issue))?;
    if slot(&before.issue) != slot(issue) {
        count(connection, slot(&before.issue), -1)?;
        count(connection, slot(issue), 1)?;
    }
    Ok(())
}

fn remove(connection: &Connection, before: &StoredRow) -> Result<(), Failure> {
    for statement in [
        "DELETE FROM issues WHERE key = ?1",
        "DELETE FROM texts WHERE key = ?1",
        "DELETE FROM search WHERE key = ?1",
        "DELETE FROM names WHERE issue = ?1",
        // The index forgets it, too.
        "INSERT OR IGNORE INTO unindexed VALUES (?1)",
    ] {
        connection.prepare_cached(statement)?.execute([before.key])?;
    }
    write_links(connection, Some(&before.issue), None)?;
    count(connection, slot(&before.issue), -1)
}

fn set_lease(connection: &Connection, key: i64, lease: Option<&Lease>) -> Result<(), Failure> {
    const SET: &str = "UPDATE issues SET lease_claim = ?2, lease_client = ?3 WHERE key = ?1";
    let (claim, client) = lease_columns(lease);
    connection.prepare_cached(SET)?.execute(params![key, claim, client])?;
    Ok(())
}

fn write_text(connection: &Connection, key: i64, issue: &Issue) -> Result<(), Failure> {
    let body = issue_text(issue);
    let mut write =
        connection.prepare_cached("INSERT OR REPLACE INTO texts VALUES (?1, ?2, ?3)")?;
    write.execute(params![key, body, checksum(&body)])?;
    Ok(())
}

fn write_search(connection: &Connection, key: i64, row: &SearchRow) -> Result<(), Failure> {
    let mut write =
        connection.prepare_cached("INSERT OR REPLACE INTO search VALUES (?1, ?2, ?3)")?;
    write.execute(params![key, row.title, row.texts])?;
    connection.prepare_cached("INSERT OR IGNORE INTO unindexed VALUES (?1)")?.execute([key])?;
    Ok(())
}

/// Returns the names of an issue that stand in rows of their own.
fn names(row: &IssueRow, search: &SearchRow) -> BTreeSet<(i16, String)> {
    let lists = [
        (NameKind::Label, &row.labels),
        (NameKind::Author, &row.authors),
        (NameKind::Agent, &row.agents),
        (NameKind::External, &search.external),
    ];
    let of_kind = |(kind, names): (NameKind, &Vec<String>)| {
        names.iter().map(move |name| (kind as i16, name.clone())).collect::<Vec<_>>()
    };
    lists.into_iter().flat_map(of_kind).collect()
}

fn write_names(
    connection: &Connection,
    key: i64,
    before: &BTreeSet<(i16, String)>,
    after: &BTreeSet<(i16, String)>,
) -> Result<(), Failure> {
    const REMOVE: &str = "DELETE FROM names WHERE issue = ?1 AND kind = ?2 AND name = ?3";
    for (kind, name) in before.difference(after) {
        connection.prepare_cached(REMOVE)?.execute(params![key, kind, name])?;
    }
    for (kind, name) in after.difference(before) {
        let mut add = connection.prepare_cached("INSERT INTO names VALUES (?1, ?2, ?3)")?;
        add.execute(params![key, kind, name])?;
    }
    Ok(())
}

fn write_links(
    connection: &Connection,
    before: Option<&Issue>,
    after: Option<&Issue>,
) -> Result<(), Failure> {
    let links = |issue: Option<&Issue>| {
        issue.map(|issue| issue.attributes.links.to_vec()).unwrap_or_default()
    };
    let old = links(before);
    let new = links(after);
    let Some(id) = before.or(after).map(|issue| Uuid::from(issue.id)) else { return Ok(()) };
    if old == new {
        return Ok(());
    }
    if !old.is_empty() {
        connection.prepare_cached("DELETE FROM links WHERE source = ?1")?.execute([id])?;
    }
    for link in new {
        let mut add =
            connection.prepare_cached("INSERT OR IGNORE INTO links VALUES (?1, ?2, ?3)")?;
        add.execute(params![id, link.kind as i16, Uuid::from(link.to)])?;
    }
    Ok(())
}

fn count(connection: &Connection, slot: i16, more: i64) -> Result<(), Failure> {
    const COUNT: &str = "INSERT INTO counts VALUES (?1, ?2) \
        ON CONFLICT (slot) DO UPDATE SET issues = issues + excluded.issues";
    connection.prepare_cached(COUNT)?.execute(params![slot, more])?;
    Ok(())
}

/// Decides which issues wait for others.
fn decide_waits(
    connection: &Connection,
    queue: &Queue<'_>,
    issues: impl IntoIterator<Item = IssueId>,
) -> Result<(), Failure> {
    for id in issues {
        if let Some(row) = queue.row(id) {
            let is_parked = |whole: &Issue| whole.attributes.parked.is_some();
            set_waits(connection, id, !is_free(queue, &row.issue, is_parked))?;
        }
    }
    Ok(())
}

/// Returns the position of the issue that was filed last; 0 if there is none.
fn last_place(connection: &Connection) -> Result<i64, Failure> {
    const LAST: &str = "SELECT ifnull(max(position), 0) FROM issues";
    Ok(connection.prepare_cached(LAST)?.query_row([], |row| row.get(0))?)
}

/// Returns a position before another one, behind the one that is before it. Makes room if there is none.
fn place_before(connection: &Connection, next: i64) -> Result<i64, Failure> {
    const PREVIOUS: &str = "SELECT max(position) FROM issues WHERE position < ?1";
    const SPREAD: &str = "UPDATE issues SET position = spread.place << 20 FROM \
        (SELECT key, row_number() OVER (ORDER BY position, id) AS place FROM issues) AS spread \
        WHERE issues.key = spread.key";
    const NTH: &str = "SELECT position FROM issues WHERE position >= ?1 ORDER BY position LIMIT 1";
    let previous = |next: i64| -> Result<i64, Failure> {
        let found: Option<i64> =
            connection.prepare_cached(PREVIOUS)?.query_row([next], |row| row.get(0))?;
        Ok(found.unwrap_or_default())
    };
    let middle = |low: i64, high: i64| low + (high - low) / 2;
    let low = previous(next)?;
    if next - low > 1 {
        return Ok(middle(low, next));
    }
    let before: i64 = connection
        .prepare_cached("SELECT count(*) FROM issues WHERE position < ?1")?
        .query_row([next], |row| row.get(0))?;
    connection.execute(SPREAD, [])?;
    let next: i64 = connection
        .prepare_cached(NTH)?
        .query_row([(before + 1) << POSITION_BITS], |row| row.get(0))?;
    Ok(middle(previous(next)?, next))
}
