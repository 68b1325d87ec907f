//! What all parts of the store share: the options, the statements and the connections.

use std::sync::Arc;
use std::time::Duration;

use deadpool_postgres::Object;
use tokio::sync::{OnceCell, watch};
use tokio_postgres::types::Type;

use super::connection::{Connections, Session};
use super::error::Failure;
use super::horizon::Horizon;
use super::options::PostgresOptions;
use super::schema;
use super::sql::{BEGIN_READ, Statements, advisory_key};
use crate::store::EventPosition;

/// How long a read may take.
pub(super) const READ_WITHIN: Duration = Duration::from_secs(30);
/// How long a read that failed for a passing reason is tried again.
const TRY_AGAIN_WITHIN: Duration = Duration::from_secs(4);

/// A schema of a database.
pub(super) struct Database {
    pub options: Arc<PostgresOptions>,
    pub sql: Statements,
    connections: OnceCell<Connections>,
    is_migrated: OnceCell<()>,
    /// The position of the newest numbered event that this process knows.
    pub newest: watch::Sender<EventPosition>,
    /// The sequence number of the latest commit of this process.
    pub committed: watch::Sender<i64>,
    pub horizon: Horizon,
}

impl Database {
    /// Describes a schema. Does no I/O.
    pub fn new(options: PostgresOptions) -> Self {
        Self {
            sql: Statements::new(options.schema()),
            options: Arc::new(options),
            connections: OnceCell::new(),
            is_migrated: OnceCell::new(),
            newest: watch::Sender::default(),
            committed: watch::Sender::default(),
            horizon: Horizon::default(),
        }
    }

    /// Returns the name of the schema.
    pub fn schema(&self) -> &str {
        self.options.schema()
    }

    /// Makes the schema or brings it up to date.
    pub async fn migrate(&self) -> Result<(), Failure> {
        schema::migrate(self.connections().await?, self.schema()).await
    }

    async fn connections(&self) -> Result<&Connections, Failure> {
        self.connections.get_or_try_init(|| async { Connections::new(&self.options) }).await
    }

    async fn ready(&self) -> Result<&Connections, Failure> {
        self.is_migrated.get_or_try_init(|| self.migrate()).await?;
        self.connections().await
    }

    /// Returns a connection for statements that are transactions of their own.
    pub async fn connection(&self) -> Result<Object, Failure> {
        self.ready().await?.get().await
    }

    /// Returns a connection for a transaction.
    pub async fn session(&self) -> Result<Session, Failure> {
        self.ready().await?.session(&self.sql.hot()).await
    }

    /// Runs a read within the time limit of small ones. Tries again if the connection broke, because a read can be
    /// repeated.
    pub async fn read<T, F>(&self, read: impl Fn() -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        self.read_within(READ_WITHIN, read).await
    }

    /// Runs a read within a time limit, like [`read`](Self::read).
    pub async fn read_within<T, F>(
        &self,
        limit: Duration,
        read: impl Fn() -> F,
    ) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, Failure>>,
    {
        let begun = std::time::Instant::now();
        let mut pause = Duration::from_millis(20);
        loop {
            match self.within(limit, read()).await {
                Err(failure) if failure.is_passing() && begun.elapsed() < TRY_AGAIN_WITHIN => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(Duration::from_millis(500));
                }
                result => return result,
            }
        }
    }

    /// Does some work within a time limit. If that is over, the connections may be dead although nothing says so, and
    /// none of them is used again.
    pub async fn within<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        tokio::time::timeout(limit, work).await.unwrap_or_else(|_| {
            if let Some(connections) = self.connections.get() {
                connections.close_idle();
            }
            Err(Failure::Busy("the database did not answer in time".into()))
        })
    }

    /// Begins a transaction whose reads are of one moment.
    pub async fn begin_read(&self) -> Result<Session, Failure> {
        let session = self.session().await?;
        session.batch_execute(BEGIN_READ).await?;
        Ok(session)
    }

    /// Tells the watchers of this process of a position.
    pub fn publish(&self, position: EventPosition) {
        self.newest.send_if_modified(|newest| {
            let is_newer = newest.number < position.number;
            if is_newer {
                *newest = position;
            }
            is_newer
        });
    }

    /// Returns the channel of `NOTIFY` for this schema.
    pub fn channel(&self) -> String {
        format!("ait_{:016x}", advisory_key("changes", self.schema()))
    }

    /// Tells other processes that there are new events.
    pub async fn notify(&self) -> Result<(), Failure> {
        let (connection, channel) = (self.connection().await?, self.channel());
        connection.query_typed("SELECT pg_notify($1, '')", &[(&channel, Type::TEXT)]).await?;
        Ok(())
    }
}
