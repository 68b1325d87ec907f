//! Issues as rows, and the part of a state that rows make.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::connection::Param;
use super::error::Failure;
use crate::State;
use crate::snapshot::SnapshotVisitor;
use crate::sql::rows::{IssueRow, SEPARATOR, lease};
use ait_domain::{Issue, IssueId, Lease, UnknownKeys};

/// An issue with what the store knows of it beside its text.
#[derive(Clone, Debug)]
pub(super) struct StoredRow {
    pub position: i64,
    pub issue: Arc<Issue>,
    pub lease: Option<Lease>,
}

impl StoredRow {
    /// Reads a row with the columns id, position, lease_claim, lease_client and body.
    pub fn read(row: &Row) -> Result<Self, Failure> {
        let body: &str = row.try_get(4)?;
        let issue = serde_json::from_str(body).map_err(|error| {
            let id: Uuid = row.get(0);
            Failure::Other(format!("the text of the issue {id} cannot be read: {error}"))
        })?;
        let lease = lease(row.try_get(2)?, row.try_get(3)?);
        Ok(Self { position: row.try_get(1)?, issue: Arc::new(issue), lease })
    }
}

/// Reads a row with the unknown top-level keys.
pub(super) fn unknown_keys(row: Option<&Row>) -> Result<UnknownKeys, Failure> {
    let Some(row) = row else { return Ok(UnknownKeys::default()) };
    serde_json::from_str(row.try_get(0)?)
        .map_err(|error| Failure::Other(format!("the unknown keys cannot be read: {error}")))
}

/// Issues by id. A row that was read under its lock must come first: later ones do not replace it.
#[derive(Clone, Default, Debug)]
pub(super) struct Rows(pub BTreeMap<IssueId, StoredRow>);

impl Rows {
    /// Adds rows, except those that are there.
    pub fn add(&mut self, rows: &[Row]) -> Result<(), Failure> {
        for row in rows {
            let id = IssueId::from(row.try_get::<_, Uuid>(0)?);
            if let Entry::Vacant(free) = self.0.entry(id) {
                free.insert(StoredRow::read(row)?);
            }
        }
        Ok(())
    }

    /// Returns the state that has these issues alone, in the order of filing.
    pub fn state(&self) -> State {
        let mut rows: Vec<_> = self.0.values().collect();
        rows.sort_by_key(|row| (row.position, row.issue.id));
        let mut state = State::default();
        for row in rows {
            state.visit(Arc::clone(&row.issue), row.lease.clone());
        }
        state
    }
}

/// Defines the rows that a statement writes, as columns: each with its type here and there, and its value of a row.
macro_rules! columns {
    ($vis:vis $name:ident($($given:ident: $type:ty),+) {
        $($column:ident: $item:ty, $kind:ident = $value:expr;)+
    }) => {
        #[derive(Clone, Default, Debug)]
        $vis struct $name {
            $($column: Vec<$item>,)+
        }

        impl $name {
            $vis fn push(&mut self, $($given: $type),+) {
                $(self.$column.push($value);)+
            }

            $vis fn params(&self) -> Vec<Param<'_>> {
                vec![$((&self.$column as _, Type::$kind),)+]
            }
        }
    };
}
pub(super) use columns;

columns!(pub(super) FactColumns(row: &IssueRow) {
    created: i64, INT8_ARRAY = row.created;
    returns: i64, INT8_ARRAY = row.returns;
    claims: i64, INT8_ARRAY = row.claims;
    labels: String, TEXT_ARRAY = row.labels.join(SEPARATOR);
});
