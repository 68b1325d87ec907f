//! Locks and reads what the decision of commands looks at.

use std::collections::BTreeSet;

use deadpool_postgres::ClientWrapper;
use futures::future::{BoxFuture, FutureExt, try_join_all};
use tokio_postgres::Row;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::connection::{Param, run};
use super::database::Database;
use super::error::Failure;
use super::needs::Needs;
use super::rows::{Rows, unknown_keys};
use super::sql::{self, Statements};
use ait_domain::{IssueId, UnknownKeys};

/// What was read for some commands. All of it is of the time after the locks were taken.
#[derive(Default, Debug)]
pub(super) struct Loaded {
    /// The issues that claims may take. They are locked.
    pub candidates: Rows,
    /// The named issues and those around them.
    pub named: Rows,
    /// The ids of the issues that are locked.
    pub locked: BTreeSet<IssueId>,
    /// What the counted agents hold.
    pub held: Rows,
    /// The unknown top-level keys.
    pub keys: UnknownKeys,
    /// The sequence numbers for events.
    pub reserved: Vec<i64>,
}

/// Columns of the statements that claim: whether the issue changed after the statement began, whether the parking of
/// one has ended, the sequence number.
const IS_CHANGED: usize = 5;
const IS_DUE: usize = 6;
const DRAWN: usize = 7;

/// The rows of statements that are sent together, in their order.
type Answers = Vec<Vec<Row>>;

/// What claims may take.
struct Taken {
    claims: Vec<Row>,
    held: Vec<Row>,
    reserved: Vec<i64>,
}

/// Reads what commands need, within a transaction.
#[derive(Clone, Copy)]
pub(super) struct Loader<'a> {
    pub client: &'a ClientWrapper,
    pub database: &'a Database,
    pub needs: &'a Needs,
    /// How many sequence numbers are drawn for events.
    pub events: usize,
}

impl Loader<'_> {
    /// Begins a transaction and reads what commands need, with `events` sequence numbers for them.
    pub(super) async fn begin(&self) -> Result<Loaded, Failure> {
        let keys = self.needs.advisory_keys(self.database.schema());
        let begin = begin_alone(self.client, &self.database.sql, &keys);
        let (_, loaded) = tokio::try_join!(biased; begin, self.read())?;
        Ok(loaded)
    }

    /// Reads what commands need within a transaction.
    pub(super) async fn read(&self) -> Result<Loaded, Failure> {
        let mut loaded = Loaded::default();
        // One after the other on the server, so each sees what was committed before the locks of those before it were
        // free.
        let named = self.read_named();
        let keys = self.lock_keys();
        let (named, keys, taken) = tokio::try_join!(biased; named, keys, self.take())?;
        let Taken { claims, held, reserved } = taken;
        loaded.reserved = reserved;
        if let [locked, around] = &named[..] {
            loaded.named.add(locked)?;
            loaded.locked.extend(loaded.named.0.keys());
            loaded.named.add(around)?;
        }
        loaded.held.add(&held)?;
        loaded.keys = unknown_keys(keys.first())?;
        loaded.candidates.add(&claims)?;
        loaded.locked.extend(loaded.candidates.0.keys());
        Ok(loaded)
    }

    async fn read_named(&self) -> Result<Answers, Failure> {
        let sql = &self.database.sql;
        if !self.needs.names_issues() {
            return Ok(Vec::new());
        }
        let (low, high) = self.needs.ranges();
        let exact = self.needs.exact();
        let ranges: [Param<'_>; 2] = [(&low, Type::UUID_ARRAY), (&high, Type::UUID_ARRAY)];
        let with_exact: [Param<'_>; 3] =
            [(&low, Type::UUID_ARRAY), (&high, Type::UUID_ARRAY), (&exact, Type::UUID_ARRAY)];
        let around = if self.needs.adds_links {
            self.run(&sql.closure, &with_exact).boxed()
        } else {
            self.run(&sql.around, &ranges).boxed()
        };
        let locked = self.run(&sql.lock_named, &ranges);
        let (locked, around) = tokio::try_join!(biased; locked, around)?;
        Ok(vec![locked, around])
    }

    /// Locks and reads what claims may take, and what their agents hold, and draws a sequence number for each event.
    /// Repeats that if an issue changed meanwhile, and so its place, or if the parking of one has ended.
    async fn take(&self) -> Result<Taken, Failure> {
        let sql = &self.database.sql;
        let mut is_due = false;
        loop {
            if is_due {
                self.unpark().await?;
            }
            let events = if self.needs.draw_by_claiming() { 0 } else { self.events };
            // What is held is read after the locks: an issue that is ready waits for none of it.
            let (mut claims, held, mut reserved) = tokio::try_join!(
                biased;
                self.read_candidates(),
                self.read_held(),
                reserve(self.client, sql, events),
            )?;
            let says =
                |column: usize| claims.iter().any(|row| row.try_get(column).unwrap_or(false));
            is_due = says(IS_DUE);
            if is_due || says(IS_CHANGED) {
                continue;
            }
            claims.retain(|row| row.try_get::<_, Uuid>(0).is_ok());
            if self.needs.draw_by_claiming() {
                reserved = claims.iter().map(|row| row.try_get(DRAWN)).collect::<Result<_, _>>()?;
            }
            return Ok(Taken { claims, held, reserved });
        }
    }

    /// Shows issues whose parking has ended as not parked, and decides again whether their parts wait.
    async fn unpark(&self) -> Result<(), Failure> {
        let sql = &self.database.sql;
        let now: [Param<'_>; 1] = [(&self.needs.now_ms, Type::INT8)];
        let unparked = self.run(&sql.unpark, &now).await?;
        let ids: Vec<Uuid> = unparked.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?;
        let none: Vec<Uuid> = Vec::new();
        let waiting: [Param<'_>; 2] = [(&ids, Type::UUID_ARRAY), (&none, Type::UUID_ARRAY)];
        self.run(&sql.lock_waiting, &waiting).await?;
        self.run(&sql.set_waiting, &waiting).await?;
        Ok(())
    }

    async fn read_candidates(&self) -> Result<Vec<Row>, Failure> {
        let sql = &self.database.sql;
        let ready = self.database.horizon.ready();
        let total: usize = self.needs.work.values().flat_map(|agents| agents.values()).sum();
        let mut reads: Vec<BoxFuture<'_, Result<Vec<Row>, Failure>>> = Vec::new();
        for (kind, agents) in &self.needs.work {
            let names: Vec<String> = agents.keys().cloned().collect();
            let claims: Vec<i64> = agents.values().map(|count| *count as i64).collect();
            // Claims of any kind may take issues of this one.
            let count = total as i64;
            let is_alone = self.needs.work.len() == 1;
            let kind = *kind;
            let now = self.needs.now_ms;
            reads.push(
                async move {
                    let mut params: Vec<Param<'_>> = ready.params().into();
                    params.extend([
                        (&names as _, Type::TEXT_ARRAY),
                        (&claims as _, Type::INT8_ARRAY),
                        (&count as _, Type::INT8),
                        (&is_alone as _, Type::BOOL),
                        (&now as _, Type::INT8),
                    ]);
                    let statement = match &kind {
                        Some(kind) => {
                            params.push((kind, Type::INT2));
                            &sql.claim_kind
                        }
                        None => &sql.claim_any,
                    };
                    self.run(statement, &params).await
                }
                .boxed(),
            );
        }
        if self.needs.reviews > 0 {
            reads.push(self.read_reviews().boxed());
        }
        Ok(try_join_all(reads).await?.into_iter().flatten().collect())
    }

    async fn read_reviews(&self) -> Result<Vec<Row>, Failure> {
        let sql = &self.database.sql;
        let (names, filers): (Vec<String>, Vec<String>) =
            self.needs.reviewers.iter().cloned().unzip();
        let count = self.needs.reviews as i64;
        let now = self.needs.now_ms;
        let params: [Param<'_>; 4] = [
            (&names, Type::TEXT_ARRAY),
            (&filers, Type::TEXT_ARRAY),
            (&count, Type::INT8),
            (&now, Type::INT8),
        ];
        self.run(&sql.claim_reviews, &params).await
    }

    async fn read_held(&self) -> Result<Vec<Row>, Failure> {
        let sql = &self.database.sql;
        let agents: Vec<&String> = self.needs.counted.iter().collect();
        if agents.is_empty() {
            return Ok(Vec::new());
        }
        self.run(&sql.held, &[(&agents, Type::TEXT_ARRAY)]).await
    }

    async fn lock_keys(&self) -> Result<Vec<Row>, Failure> {
        let sql = &self.database.sql;
        if !self.needs.sets_keys {
            return Ok(Vec::new());
        }
        self.run(&sql.lock_keys, &[]).await
    }

    async fn run(&self, statement: &str, params: &[Param<'_>]) -> Result<Vec<Row>, Failure> {
        Ok(run(self.client, &self.database.sql, statement, params).await?)
    }
}

/// Begins a transaction and takes the locks with these keys.
pub(super) async fn begin_alone(
    client: &ClientWrapper,
    sql: &Statements,
    keys: &[i64],
) -> Result<(), Failure> {
    let locks = async {
        if keys.is_empty() {
            return Ok(());
        }
        let keys: [Param<'_>; 1] = [(&keys, Type::INT8_ARRAY)];
        run(client, sql, &sql.advisory, &keys).await.map(drop)
    };
    tokio::try_join!(biased; client.batch_execute(sql::BEGIN), locks)?;
    Ok(())
}

/// Draws sequence numbers, which later ones will exceed.
pub(super) async fn reserve(
    client: &ClientWrapper,
    sql: &Statements,
    events: usize,
) -> Result<Vec<i64>, Failure> {
    if events == 0 {
        return Ok(Vec::new());
    }
    let count = events as i64;
    let rows = run(client, sql, &sql.reserve, &[(&count, Type::INT8)]).await?;
    rows.iter().map(|row| Ok(row.try_get(0)?)).collect()
}
