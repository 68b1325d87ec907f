//! Reads everything as of the newest event that has a number.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex};

use futures::StreamExt;
use tokio_postgres::types::{ToSql, Type};

use super::database::Database;
use super::error::Failure;
use super::numbering::{self, position};
use super::read::read_event;
use super::rows::{StoredRow, unknown_keys};
use crate::State;
use crate::files::support::lock;
use crate::snapshot::SnapshotVisitor;
use ait_domain::{Event, EventKind, Issue, IssueId, Lease};

/// Shows a visitor everything, in one transaction.
pub(super) async fn snapshot(
    database: &Database,
    visitor: &Mutex<dyn SnapshotVisitor>,
) -> Result<(), Failure> {
    // All events get their numbers first, so that few have to be undone.
    numbering::number(database).await?;
    let session = database.begin_read().await?;
    let sql = &database.sql;
    let from = database.horizon.unnumbered();
    let unnumbered = [(&from as _, Type::INT8)];
    let (newest, unnumbered, keys) = tokio::try_join!(
        biased;
        session.query_typed_opt(&sql.newest, &[]),
        session.query_typed(&sql.unnumbered, &unnumbered),
        session.query_typed_opt(&sql.keys, &[]),
    )?;
    let position = position(newest.as_ref())?;
    let mut unknown_keys = unknown_keys(keys.as_ref())?;
    // The newest first.
    let mut later: HashMap<IssueId, Vec<Event>> = HashMap::new();
    for row in &unnumbered {
        let event = read_event(row.try_get(0)?)?;
        if let EventKind::UnknownKeysEdited { keys } = event.kind {
            unknown_keys = keys.before;
        } else {
            later.entry(event.issue).or_default().push(event);
        }
    }
    lock(visitor).begin(position, unknown_keys);
    let none: [(&(dyn ToSql + Sync), Type); 0] = [];
    let mut rows = pin!(session.query_typed_raw(&sql.all, none).await?);
    while let Some(row) = rows.next().await {
        let row = StoredRow::read(&row?)?;
        let before = match later.remove(&row.issue.id) {
            Some(events) => before(Some((row.issue, row.lease)), &events)?,
            None => Some((row.issue, row.lease)),
        };
        if let Some((issue, lease)) = before {
            lock(visitor).visit(issue, lease);
        }
    }
    // Issues that a later event removed.
    for events in later.into_values() {
        if let Some((issue, lease)) = before(None, &events)? {
            lock(visitor).visit(issue, lease);
        }
    }
    session.batch_execute("COMMIT").await?;
    session.finish();
    database.publish(position);
    Ok(())
}

/// An issue, and the lease of its claim.
type Leased = (Arc<Issue>, Option<Lease>);

/// Returns an issue as it was before events, the newest first.
fn before(after: Option<Leased>, events: &[Event]) -> Result<Option<Leased>, Failure> {
    let mut state = State::default();
    if let Some((issue, lease)) = after {
        state.visit(issue, lease);
    }
    for event in events {
        state.revert(event, state.position)?;
    }
    let issue = state.issues.issues().next();
    Ok(issue.map(|issue| {
        let lease = state.issues.lease(issue.id).cloned();
        (issue, lease)
    }))
}
