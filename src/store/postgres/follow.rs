//! The whole state in this process, which follows the events by their numbers.

use std::pin::pin;

use futures::StreamExt;
use tokio::sync::Mutex;
use tokio_postgres::Client;
use tokio_postgres::types::{ToSql, Type};

use super::database::Database;
use super::error::Failure;
use super::numbering::{self, position};
use super::read::{self, read_event};
use super::rows::StoredRow;
use super::sql::Statements;
use crate::domain::Issue;
use crate::store::memory::IndexedIssuesBuilder;
use crate::store::{EventPosition, State};

/// How many events are read at once.
const PAGE: usize = 5000;

/// The state that this process followed last.
#[derive(Default)]
pub(super) struct Follower(Mutex<Option<State>>);

impl Follower {
    /// Returns the state after the newest event. Reads the whole store the first time, and events afterwards.
    pub async fn newest(&self, database: &Database) -> Result<State, Failure> {
        let mut held = self.0.lock().await;
        if let Some(state) = held.as_mut() {
            if follow(database, state).await? {
                return Ok(state.clone());
            }
            if state.position.number > 0 {
                tracing::info!(
                    "the database was replaced by another version of it and is read again"
                );
            }
            *held = None;
        }
        // All events get their numbers first, so that few have to be undone.
        numbering::number(database).await?;
        let state = load(database).await?;
        database.publish(state.position);
        Ok(held.insert(state).clone())
    }
}

/// Applies the events since a state. Returns false if they do not follow it, or may not: an empty store may have begun
/// with everything from another one.
async fn follow(database: &Database, state: &mut State) -> Result<bool, Failure> {
    loop {
        let known = state.position;
        // The last known event again, to see that it still is the same one.
        let after = known.number.saturating_sub(1);
        let found = read::events(database, after, PAGE).await?;
        if found.newest == known {
            // Without an event, nothing shows that issues came from another store.
            return Ok(known.number > 0);
        }
        let [first, events @ ..] = &found.events[..] else { return Ok(false) };
        if first.position != known {
            return Ok(false);
        }
        for event in events {
            if state.apply(&event.event, event.position).is_err() {
                return Ok(false);
            }
        }
        if state.position.number >= found.newest.number {
            return Ok(true);
        }
    }
}

/// Reads the whole store as of the newest numbered event.
async fn load(database: &Database) -> Result<State, Failure> {
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
    let mut state = State { position, ..read_all(&session, sql).await? };
    if let Some(row) = keys {
        let keys = serde_json::from_str(row.try_get(0)?);
        state.unknown_keys = keys
            .map_err(|error| Failure::Other(format!("the unknown keys cannot be read: {error}")))?;
    }
    session.batch_execute("COMMIT").await?;
    session.finish();
    for row in &unnumbered {
        state.revert(&read_event(row.try_get(0)?)?, position)?;
    }
    Ok(state)
}

async fn read_all(client: &Client, sql: &Statements) -> Result<State, Failure> {
    let none: [(&(dyn ToSql + Sync), Type); 0] = [];
    let mut rows = pin!(client.query_typed_raw(&sql.all, none).await?);
    let mut builder = IndexedIssuesBuilder::default();
    let mut leases = Vec::new();
    while let Some(row) = rows.next().await {
        let row = StoredRow::read(&row?)?;
        leases.extend(row.lease.map(|lease| (row.issue.id, lease)));
        let issue: Issue = std::sync::Arc::unwrap_or_clone(row.issue);
        builder.push(issue);
    }
    let twice = || Failure::Other("two issues have the same id".to_owned());
    let mut issues = builder.build().ok_or_else(twice)?;
    issues.set_leases(leases);
    Ok(State { issues, position: EventPosition::default(), ..State::default() })
}
