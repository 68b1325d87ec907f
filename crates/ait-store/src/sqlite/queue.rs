//! The issues that a decision looks at, read from the database while it looks.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use rusqlite::{Connection, OptionalExtension, Row, params};
use uuid::Uuid;
use xxhash_rust::xxh3::xxh3_64;

use super::error::Failure;
use crate::memory::only;
use crate::sql::condition::{NameKind, bounds};
use crate::sql::numbers::with_numbers;
use crate::sql::rows::{filer_mark, lease, storable};
use ait_domain::readiness::{is_free, parts_below};
use ait_domain::{
    AgentName, Classification, DomainError, Issue, IssueGraph, IssueId, IssueQueue, IssueRef,
    Lease, LinkKind, ReviewPolicy, Timestamp,
};

/// The columns of [`StoredRow::read`].
pub(super) const COLUMNS: &str =
    "i.key, i.id, i.position, i.lease_claim, i.lease_client, t.body, t.checksum";

/// An issue as the database has it.
#[derive(Clone, Debug)]
pub(super) struct StoredRow {
    pub key: i64,
    pub position: i64,
    pub issue: Arc<Issue>,
    pub lease: Option<Lease>,
}

impl StoredRow {
    /// Reads a row with [`COLUMNS`], and checks its text.
    pub fn read(row: &Row<'_>) -> Result<Self, Failure> {
        let id: Uuid = row.get(1)?;
        let body = row.get_ref(5)?.as_str().map_err(rusqlite::Error::from)?;
        let damaged = |why: &str| Failure::Damaged(format!("the issue {id} {why}"));
        if checksum(body) != row.get::<_, i64>(6)? {
            return Err(damaged("is not what was written"));
        }
        let issue =
            serde_json::from_str(body).map_err(|_| damaged("cannot be read by this version"))?;
        let client: Option<String> = row.get(4)?;
        let lease = lease(row.get(3)?, client.as_deref());
        Ok(Self { key: row.get(0)?, position: row.get(2)?, issue: Arc::new(issue), lease })
    }
}

/// Returns the checksum of a text.
pub(super) fn checksum(body: &str) -> i64 {
    xxh3_64(body.as_bytes()).cast_signed()
}

/// The issues within a transaction. A read that fails looks like an issue that is not there, until
/// [`check`](Self::check) tells of it.
pub(super) struct Queue<'a> {
    pub(super) connection: &'a Connection,
    rows: RefCell<HashMap<IssueId, Option<StoredRow>>>,
    failure: RefCell<Option<Failure>>,
}

impl<'a> Queue<'a> {
    /// Begins to look at the issues of a transaction.
    pub fn new(connection: &'a Connection) -> Self {
        Self { connection, rows: RefCell::default(), failure: RefCell::default() }
    }

    /// Returns the first failure of a read.
    pub fn check(&self) -> Result<(), Failure> {
        self.failure.borrow_mut().take().map_or(Ok(()), Err)
    }

    /// Returns an issue with what the database knows of it.
    pub fn row(&self, id: IssueId) -> Option<StoredRow> {
        if let Some(known) = self.rows.borrow().get(&id) {
            return known.clone();
        }
        let row = self.noting(find_row(self.connection, id)).flatten();
        self.rows.borrow_mut().insert(id, row.clone());
        row
    }

    /// Forgets an issue, because it changed.
    pub fn forget(&self, id: IssueId) {
        self.rows.borrow_mut().remove(&id);
    }

    fn noting<T>(&self, result: Result<T, Failure>) -> Option<T> {
        let note = |failure| {
            self.failure.borrow_mut().get_or_insert(failure);
        };
        result.map_err(note).ok()
    }

    /// Returns the first id that a statement finds.
    fn first(&self, statement: &str, params: impl rusqlite::Params) -> Option<IssueId> {
        let find = || -> Result<Option<Uuid>, Failure> {
            let mut statement = self.connection.prepare_cached(statement)?;
            Ok(statement.query_row(params, |row| row.get(0)).optional()?)
        };
        self.noting(find()).flatten().map(IssueId::from)
    }

    /// Returns the issues that some agents could claim next, of each kind and under each policy for reviews, and those
    /// that are parked until a time.
    pub fn claimable(&self, agents: &[AgentName]) -> Result<Vec<IssueId>, Failure> {
        static DUE: LazyLock<String> = LazyLock::new(|| {
            with_numbers(
                "SELECT id FROM issues INDEXED BY issues_due WHERE parked = 1 \
            AND parked_until IS NOT NULL AND status < {ended} ORDER BY parked_until LIMIT 1000",
            )
        });
        /// Nothing is parked for longer.
        const EVER: i64 = i64::MAX;
        let author = NameKind::Author as i16;
        let kinds = || Classification::of_work().map(|kind| kind as i16);
        let mut found = ids(self.connection, &DUE, [])?;
        found.extend(
            kinds().filter_map(|kind| self.first(&NEXT_READY_OF_KIND, [EVER, kind.into()])),
        );
        found.extend(self.first(&NEXT_REVIEW, [EVER]));
        for agent in agents {
            let agent = storable(agent.as_str());
            let assigned = |kind| self.first(&NEXT_ASSIGNED_OF_KIND, params![EVER, agent, kind]);
            found.extend(kinds().filter_map(assigned));
            for other in [agent.clone(), filer_mark(&agent)] {
                let others = params![EVER, author, agent, other];
                found.extend(self.first(&NEXT_REVIEW_OF_OTHERS, others));
            }
        }
        self.check()?;
        Ok(found)
    }

    /// Shows the issues whose parking has ended as not parked, so that claims find them with all others, and decides
    /// again whether their parts wait. Their texts stay.
    fn unpark(&self, now: Timestamp) -> Result<(), Failure> {
        static DUE: LazyLock<String> = LazyLock::new(|| {
            with_numbers(
                "SELECT id FROM issues INDEXED BY issues_due WHERE parked = 1 \
            AND parked_until IS NOT NULL AND parked_until <= ?1 AND status < {ended}",
            )
        });
        let due = ids(self.connection, &DUE, [now.unix_millis()])?;
        for id in due {
            let mut update =
                self.connection.prepare_cached("UPDATE issues SET parked = 0 WHERE id = ?1")?;
            update.execute([Uuid::from(id)])?;
            for part in parts_below(self, id) {
                if let Some(row) = self.row(part) {
                    // The parking of a whole that has ended holds nothing back any more.
                    let waits =
                        !is_free(self, &row.issue, |whole| whole.attributes.is_parked_at(now));
                    set_waits(self.connection, part, waits)?;
                }
            }
        }
        self.check()
    }
}

/// Sets whether an issue waits for others.
pub(super) fn set_waits(connection: &Connection, id: IssueId, waits: bool) -> Result<(), Failure> {
    const SET: &str = "UPDATE issues SET waits = ?2 WHERE id = ?1 AND waits <> ?2";
    connection.prepare_cached(SET)?.execute(params![Uuid::from(id), waits])?;
    Ok(())
}

/// Returns an issue, if it exists.
fn find_row(connection: &Connection, id: IssueId) -> Result<Option<StoredRow>, Failure> {
    let statement =
        format!("SELECT {COLUMNS} FROM issues i JOIN texts t ON t.key = i.key WHERE i.id = ?1");
    let mut statement = connection.prepare_cached(&statement)?;
    let mut rows = statement.query([Uuid::from(id)])?;
    rows.next()?.map(StoredRow::read).transpose()
}

/// Returns the ids that a statement finds.
pub(super) fn ids(
    connection: &Connection,
    statement: &str,
    params: impl rusqlite::Params,
) -> Result<Vec<IssueId>, Failure> {
    let mut statement = connection.prepare_cached(statement)?;
    let found = statement.query_map(params, |row| row.get::<_, Uuid>(0))?;
    found.map(|id| Ok(IssueId::from(id?))).collect()
}

/// Returns the id of the issue that a reference names.
pub(super) fn resolve(
    connection: &Connection,
    reference: &IssueRef,
) -> Result<Result<IssueId, DomainError>, Failure> {
    let (low, high) = bounds(&reference.range());
    let found = ids(
        connection,
        "SELECT id FROM issues WHERE id BETWEEN ?1 AND ?2 ORDER BY id",
        [low, high],
    )?;
    Ok(only(reference, &found))
}

impl IssueGraph for Queue<'_> {
    fn issue(&self, id: IssueId) -> Option<Arc<Issue>> {
        self.row(id).map(|row| row.issue)
    }

    fn linked_from(&self, kind: LinkKind, to: IssueId) -> Vec<IssueId> {
        const FROM: &str =
            "SELECT source FROM links WHERE target = ?1 AND kind = ?2 ORDER BY source";
        let found = ids(self.connection, FROM, params![Uuid::from(to), kind as i16]);
        self.noting(found).unwrap_or_default()
    }

    fn resolve(&self, reference: &IssueRef) -> Result<IssueId, DomainError> {
        let unknown = || DomainError::UnknownIssue { reference: reference.to_string() };
        self.noting(resolve(self.connection, reference)).unwrap_or_else(|| Err(unknown()))
    }
}

/// A search in the order of claims. `$condition` names one index, so that statistics cannot lead to another one.
macro_rules! next {
    ($condition:literal) => {
        LazyLock::new(|| {
            with_numbers(concat!(
                "SELECT i.id FROM issues i INDEXED BY ",
                $condition,
                " AND (i.parked_until IS NULL OR i.parked_until <= ?1) ORDER BY i.priority, i.position LIMIT 1"
            ))
        })
    };
}

static NEXT_ASSIGNED: LazyLock<String> = next!(
    "issues_assigned WHERE i.status = {created} AND i.waits = 0 AND i.parked = 0 AND i.assignee IS NOT NULL \
     AND i.assignee = ?2"
);
static NEXT_ASSIGNED_OF_KIND: LazyLock<String> = next!(
    "issues_assigned WHERE i.status = {created} AND i.waits = 0 AND i.parked = 0 AND i.assignee IS NOT NULL \
     AND i.assignee = ?2 AND i.kind = ?3"
);
static NEXT_READY: LazyLock<String> = next!(
    "issues_ready WHERE i.status = {created} AND i.waits = 0 AND i.parked = 0 AND i.assignee IS NULL"
);
static NEXT_READY_OF_KIND: LazyLock<String> = next!(
    "issues_ready_of_kind WHERE i.status = {created} AND i.waits = 0 AND i.parked = 0 AND i.assignee IS NULL \
     AND i.kind = ?2"
);
static NEXT_REVIEW: LazyLock<String> =
    next!("issues_reviews WHERE i.status = {completed} AND i.parked = 0");
/// The names are those that no author may have.
static NEXT_REVIEW_OF_OTHERS: LazyLock<String> = next!(
    "issues_reviews WHERE i.status = {completed} AND i.parked = 0 AND NOT EXISTS (SELECT 1 FROM names n \
     WHERE n.issue = i.key AND n.kind = ?2 AND n.name IN (?3, ?4))"
);

impl IssueQueue for Queue<'_> {
    fn next_ready(
        &self,
        agent: &AgentName,
        classification: Option<Classification>,
        now: Timestamp,
    ) -> Option<Arc<Issue>> {
        self.noting(self.unpark(now))?;
        let agent = storable(agent.as_str());
        let now = now.unix_millis();
        let found = match classification.map(|kind| kind as i16) {
            None => self
                .first(&NEXT_ASSIGNED, params![now, agent])
                .or_else(|| self.first(&NEXT_READY, [now])),
            Some(kind) => self
                .first(&NEXT_ASSIGNED_OF_KIND, params![now, agent, kind])
                .or_else(|| self.first(&NEXT_READY_OF_KIND, params![now, kind])),
        };
        self.issue(found?)
    }

    fn next_review(
        &self,
        agent: &AgentName,
        policy: ReviewPolicy,
        now: Timestamp,
    ) -> Option<Arc<Issue>> {
        self.noting(self.unpark(now))?;
        let agent = storable(agent.as_str());
        let now = now.unix_millis();
        let of_others = |filer: &str| {
            let author = NameKind::Author as i16;
            self.first(&NEXT_REVIEW_OF_OTHERS, params![now, author, agent, filer])
        };
        let found = match policy {
            ReviewPolicy::Anyone => self.first(&NEXT_REVIEW, [now]),
            ReviewPolicy::NotAuthor => of_others(&agent),
            ReviewPolicy::Uninvolved => of_others(&filer_mark(&agent)),
        };
        self.issue(found?)
    }

    fn holds(&self, agent: &AgentName, count: usize) -> bool {
        const HOLDS: &str = "SELECT id FROM issues INDEXED BY issues_held WHERE holder IS NOT NULL \
            AND holder = ?1 LIMIT ?2";
        let most = i64::try_from(count).unwrap_or(i64::MAX);
        let held = ids(self.connection, HOLDS, params![storable(agent.as_str()), most]);
        self.noting(held).is_some_and(|held| held.len() == count)
    }

    fn lease(&self, id: IssueId) -> Option<Lease> {
        self.row(id)?.lease
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Claims read the head of an index, whatever the planner knows of the tables.
    #[test]
    fn claims_sort_nothing() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(include_str!("schema.sql")).unwrap();
        for statistics in ["", "ANALYZE"] {
            connection.execute_batch(statistics).unwrap();
            for statement in [
                &NEXT_ASSIGNED,
                &NEXT_ASSIGNED_OF_KIND,
                &NEXT_READY,
                &NEXT_READY_OF_KIND,
                &NEXT_REVIEW,
                &NEXT_REVIEW_OF_OTHERS,
            ] {
                let plan = plan(&connection, statement);
                assert!(!plan.contains("TEMP B-TREE"), "{}: {plan}", **statement);
            }
        }
        // Control: without its index, a claim sorts what is ready.
        let unpinned = NEXT_READY.replace("INDEXED BY issues_ready", "NOT INDEXED");
        assert!(plan(&connection, &unpinned).contains("TEMP B-TREE"));
    }

    fn plan(connection: &Connection, statement: &str) -> String {
        let mut plan = connection.prepare(&format!("EXPLAIN QUERY PLAN {statement}")).unwrap();
        for parameter in 1..=plan.parameter_count() {
            plan.raw_bind_parameter(parameter, 0).unwrap();
        }
        let mut rows = plan.raw_query();
        let mut steps = Vec::new();
        while let Some(row) = rows.next().unwrap() {
            steps.push(row.get::<_, String>(3).unwrap());
        }
        steps.join("; ")
    }
}
