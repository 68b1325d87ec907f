//! What all parts of the store share: the options, the statements and the connections.

use std::sync::Arc;
use std::time::{Duration, Instant};

use deadpool_postgres::Object;
use tokio::sync::{OnceCell, watch};

use super::connection::{Connections, PooledConnection};
use super::error::Failure;
use super::horizon::Horizon;
use super::options::PostgresOptions;
use super::schema;
use super::sql::{BEGIN_READ, Statements, quoted};
use crate::EventPosition;

/// How long a read may take.
pub(super) const READ_WITHIN: Duration = Duration::from_secs(30);
/// How long a read that failed for a passing reason is tried again.
const TRY_AGAIN_WITHIN: Duration = Duration::from_secs(4);

/// A schema of a database.
pub(super) struct Database {
    pub options: Arc<PostgresOptions>,
    pub sql: Statements,
    connections: OnceCell<Arc<Connections>>,
    is_made: Arc<OnceCell<()>>,
    /// The position of the newest numbered event that this process knows.
    pub newest: watch::Sender<EventPosition>,
    /// The sequence number of the latest commit of this process.
    pub committed: watch::Sender<i64>,
    pub horizon: Arc<Horizon>,
}

impl Database {
    /// Describes a schema. Does no I/O.
    pub fn new(options: PostgresOptions) -> Self {
        Self {
            sql: Statements::new(options.schema()),
            options: Arc::new(options),
            connections: OnceCell::new(),
            is_made: Arc::default(),
            newest: watch::Sender::default(),
            committed: watch::Sender::default(),
            horizon: Arc::default(),
        }
    }

    /// Returns the name of the schema.
    pub fn schema(&self) -> &str {
        self.options.schema()
    }

    /// Returns the name of the schema as it is in SQL.
    pub fn quoted_schema(&self) -> String {
        quoted(self.schema())
    }

    async fn connections(&self) -> Result<&Arc<Connections>, Failure> {
        let new = || async { Connections::new(&self.options, &self.horizon).map(Arc::new) };
        self.connections.get_or_try_init(new).await
    }

    /// Makes the schema, unless it is there.
    pub async fn ready(&self) -> Result<&Connections, Failure> {
        let connections = self.connections().await?;
        if !self.is_made.initialized() {
            let is_made = Arc::clone(&self.is_made);
            let schema = self.schema().to_owned();
            let of_task = Arc::clone(connections);
            // It goes on when its caller waits no more, however long it takes.
            let making = tokio::spawn(async move {
                is_made.get_or_try_init(|| schema::make(&of_task, &schema)).await.copied()
            });
            let failed = |error| Failure::Other(format!("the schema was not made: {error}"));
            making.await.map_err(failed)??;
        }
        Ok(connections)
    }

    /// Returns a connection for statements that are transactions of their own.
    pub async fn connection(&self) -> Result<Object, Failure> {
        self.ready().await?.get().await
    }

    /// Returns a connection for a transaction.
    pub async fn session(&self) -> Result<PooledConnection, Failure> {
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
        let ready_and_read = || async {
            self.ready().await?;
            self.within(limit, read()).await
        };
        retried(TRY_AGAIN_WITHIN, ready_and_read).await
    }

    /// Does some work within a time limit, like [`Connections::within`].
    pub async fn within<T>(
        &self,
        limit: Duration,
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        self.connections().await?.within(limit, work).await
    }

    /// Begins a transaction whose reads are of one moment.
    pub async fn begin_read(&self) -> Result<PooledConnection, Failure> {
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
}

/// Does some work, and tries again for some time while it fails for a passing reason.
pub(super) async fn retried<T, F>(within: Duration, work: impl Fn() -> F) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    let begun = Instant::now();
    let mut pause = Duration::from_millis(10);
    loop {
        match work().await {
            Err(failure) if failure.is_passing() && begun.elapsed() < within => {
                tracing::debug!("tried again: {failure:?}");
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(Duration::from_millis(500));
            }
            result => return result,
        }
    }
}
