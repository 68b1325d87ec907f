//! A store in a PostgreSQL database, shared by processes on any number of machines.
//!
//! Reads: `read` and `list`; everything: `snapshot`; changes by others: `watch`; the move from another store:
//! `transfer`. Below all of them are `database`, `connection`, `schema`, `rows` and `error`. `schema.sql` has the
//! tables; `horizon` keeps the old versions of their rows out of the way.
//!
//! # From the command to the watchers
//!
//! 1. `ait-store/postgres/writer.rs` gathers the requests that wait into one transaction.
//! 2. `ait-store/postgres/needs.rs` says what their commands look at. `ait-store/postgres/load.rs` locks and reads
//!    that, with the statements in `ait-store/postgres/sql.rs`: the named issues, and for claims the first ones that
//!    are ready and that no other claim is taking. It also draws a `seq` for each event that there may be, with a
//!    random nonce for the transaction.
//! 3. `ait-store/postgres/decide.rs` runs the rules of `ait-domain/` on this part of the state. If a rule changes an
//!    issue that is not locked, more is loaded and everything is decided again.
//! 4. `ait-store/postgres/write.rs` turns the result into rows, each event with a random nonce; they and the COMMIT go
//!    to the server together.
//! 5. If the connection breaks before the answer to the COMMIT, `resolve` in `writer.rs` asks for the nonce of the
//!    first `seq`. If it is not there, it takes that `seq` itself, so that the broken transaction can no longer be
//!    committed.
//! 6. After the commit, `ait-store/postgres/numbering.rs` gives events their numbers: one transaction at a time numbers
//!    all that are visible to it, so that numbers become visible in their order. Readers never see `seq`. Then it
//!    announces the newest number, and `ait-store/postgres/watch.rs` of other processes tells their watchers. A caller
//!    who wants the numbers of its own change finds the events by their nonces (`Tracker::change_numbers` in
//!    `ait-tracker/events.rs`).
//!
//! `ait-store/postgres/horizon.rs` remembers where the index scans of steps 2 and 6 begin, so that rows that are dead
//! but cannot be removed yet cost nothing.

mod clients;
mod connection;
mod database;
mod decide;
mod error;
mod horizon;
mod list;
mod load;
mod needs;
mod numbering;
mod options;
mod password;
mod read;
mod rows;
mod schema;
mod snapshot;
mod sql;
mod transfer;
mod watch;
mod write;
mod writer;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::FutureExt;
use tokio::runtime::Handle;
use tokio::sync::watch::Receiver;
use tokio_postgres::types::Type;

use self::clients::PostgresClients;
use self::database::{Database, READ_WITHIN};
use self::error::Failure;
pub use self::options::{NotAPostgresUrl, Password, PostgresOptions};
use self::writer::WriterHandle;
use super::clients::Clients;
use super::transfer::{Transfer, TransferTarget};
use super::{
    Committed, DatabaseHealth, EventPosition, Events, Probe, SnapshotVisitor, State, Store,
    StoreError, StoreHealth, StoreId, Subset,
};
use ait_domain::{Command, Counts, Issue, IssueId, IssueRef, Lease, Page, Query, Timestamp};

/// How long the end of the store waits for changes that are being made.
const CLOSE_WITHIN: Duration = Duration::from_secs(5);

/// How long reading all issues may take.
const READ_ALL_WITHIN: Duration = Duration::from_secs(300);
/// For how long a transaction may be open without a warning, in seconds.
const OLD_TRANSACTION_S: i64 = 600;

/// A store in a schema of a PostgreSQL database.
pub struct PostgresStore {
    database: Arc<Database>,
    writer: WriterHandle,
    is_watching: AtomicBool,
    clients: Arc<PostgresClients>,
}

impl PostgresStore {
    /// Creates a store. Does no I/O. Problems with the database show in each operation while they last.
    pub fn new(options: PostgresOptions) -> Self {
        let database = Arc::new(Database::new(options));
        Self {
            writer: WriterHandle::new(Arc::clone(&database)),
            is_watching: AtomicBool::new(false),
            clients: Arc::new(PostgresClients::new(Arc::clone(&database))),
            database,
        }
    }

    /// Creates the schema, unless it is there. Several processes may do that at the same time.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotSaved`] says what is missing, for example a right; [`StoreError::Newer`];
    /// [`StoreError::Earlier`].
    pub async fn make_schema(&self) -> Result<(), StoreError> {
        self.database.ready().await.map(drop).map_err(Failure::of_change)
    }

    /// Returns where the store is, without the password.
    pub fn shown(&self) -> String {
        self.database.options.shown()
    }

    /// Runs a read for a caller.
    async fn read<T, F>(&self, read: impl Fn() -> F) -> Result<T, StoreError>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        self.database.read(read).await.map_err(Failure::of_read)
    }

    /// Examines the database, and tries a change if the probe is one.
    async fn probe(&self, probe: Probe, health: &mut StoreHealth) {
        match self.examine(health).await {
            Ok(warning) => health.warning = warning,
            Err(failure) => health.trouble = Some(failure.of_health()),
        }
        if probe == Probe::Trial
            && health.trouble.is_none()
            && let Err(failure) = self.database.read(|| self.try_change()).await
        {
            health.trouble = Some(failure.of_change());
        }
        let written = self.database.read(|| read::last_write(&self.database)).await;
        health.last_write = written.ok().flatten();
    }

    /// Asks the database what it knows, and notes it. Returns what needs attention.
    async fn examine(&self, health: &mut StoreHealth) -> Result<Option<String>, Failure> {
        let indexes = schema::indexes();
        let indexes = [(&indexes as _, Type::TEXT_ARRAY)];
        let rows = self.database.read(|| async {
            let connection = self.database.connection().await?;
            let health = connection.query_typed_one(&self.database.sql.health, &indexes).await?;
            Ok((health, connection.query_typed_one(&self.database.sql.search_index, &[]).await?))
        });
        let (row, search_index) = rows.await?;
        let oldest_s: i64 = row.try_get(3)?;
        health.database = Some(DatabaseHealth {
            oldest_snapshot_s: oldest_s.max(0).cast_unsigned(),
            clock: Timestamp::from_unix_millis(row.try_get(4)?),
            missing_indexes: row.try_get(5)?,
            has_search_index: search_index.try_get(0)?,
            search_repair: search_index.try_get(1)?,
            bloated_tables: row.try_get(6)?,
        });
        if row.try_get::<_, bool>(0)? {
            return Err(Failure::ReadOnly(
                "the server is a standby that only allows reads; connect to the primary".into(),
            ));
        }
        let settings = [("synchronous_commit", 1), ("fsync", 2)];
        let off = settings.iter().find(|(_, at)| row.get::<_, &str>(*at) == "off");
        if let Some((name, _)) = off {
            return Ok(Some(format!(
                "{name} is off in the database: a power failure can lose changes; turn it on"
            )));
        }
        Ok((oldest_s > OLD_TRANSACTION_S).then(|| {
            let minutes = oldest_s / 60;
            format!(
                "a transaction has been open for {minutes} min in the database and keeps it from cleaning up, \
                 which slows claims down; see pg_stat_activity"
            )
        }))
    }

    /// Makes a change and takes it back.
    async fn try_change(&self) -> Result<(), Failure> {
        let session = self.database.session().await?;
        session.batch_execute(sql::BEGIN).await?;
        session.execute_typed(&self.database.sql.trial, &[]).await?;
        session.batch_execute("ROLLBACK").await?;
        session.finish();
        Ok(())
    }
}

#[async_trait]
impl TransferTarget for PostgresStore {
    async fn take_over(&self, transfer: &Transfer<'_>) -> Result<(), StoreError> {
        transfer::take_over(&self.database, transfer).await
    }

    async fn say_moved(&self, to: &str) -> Result<(), StoreError> {
        let noting = transfer::say_moved(&self.database, to).await;
        noting.map_err(Failure::of_change)
    }
}

#[async_trait]
impl Store for PostgresStore {
    async fn id(&self) -> StoreId {
        let options = &self.database.options;
        let place = format!("{}/{}", options.place(), options.schema());
        StoreId::of("ait postgres", place.as_bytes())
    }

    async fn commit(
        &self,
        commands: Vec<Command>,
        now: Timestamp,
    ) -> Result<Committed, StoreError> {
        self.writer.commit(commands, now).await
    }

    async fn get(&self, reference: IssueRef) -> Result<Arc<Issue>, StoreError> {
        self.read(|| read::get(&self.database, &reference)).await
    }

    async fn list(&self, query: Query) -> Result<Page, StoreError> {
        self.read(|| read::list(&self.database, &query)).await
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        self.read(|| read::counts(&self.database)).await
    }

    async fn snapshot(&self, visitor: Arc<Mutex<dyn SnapshotVisitor>>) -> Result<(), StoreError> {
        let read = || snapshot::snapshot(&self.database, &visitor);
        let done = self.database.read_within(READ_ALL_WITHIN, read).await;
        done.map_err(Failure::of_read)
    }

    async fn subset(&self, subset: Subset) -> Result<State, StoreError> {
        self.read(|| read::subset(&self.database, &subset)).await
    }

    async fn leases(&self) -> Result<Vec<(IssueId, Lease)>, StoreError> {
        self.read(|| read::leases(&self.database)).await
    }

    async fn events(&self, after: u64, limit: usize) -> Result<Events, StoreError> {
        self.read(|| read::events(&self.database, after, limit)).await
    }

    fn watch(&self) -> Receiver<EventPosition> {
        // Without a runtime, the next call begins to watch.
        if Handle::try_current().is_ok() && !self.is_watching.swap(true, Ordering::SeqCst) {
            watch::spawn(&self.database);
        }
        self.database.newest.subscribe()
    }

    fn clients(&self) -> Arc<dyn Clients> {
        Arc::<PostgresClients>::clone(&self.clients)
    }

    async fn health(&self, probe: Probe) -> StoreHealth {
        let mut health = StoreHealth { name: self.shown(), ..StoreHealth::default() };
        let probing = self.probe(probe, &mut health).map(Ok);
        if let Err(failure) = self.database.within(READ_WITHIN, probing).await {
            health.trouble.get_or_insert(failure.of_health());
        }
        health
    }

    async fn close(&self) -> bool {
        let is_saved = self.writer.close(CLOSE_WITHIN).await;
        if let Err(failure) = numbering::finish(&self.database).await {
            tracing::debug!("new events are not announced: {failure:?}");
        }
        is_saved
    }
}
