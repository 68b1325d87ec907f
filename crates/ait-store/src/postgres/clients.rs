//! The clients that hold claims, by the clock of the database.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio_postgres::types::Type;
use uuid::Uuid;

use super::connection::Param;
use super::database::{Database, READ_WITHIN};
use super::error::Failure;
use crate::clients::Clients;
use crate::files::support::lock;
use ait_domain::ClientId;

/// How often a process says that it lives, and how long it tries to each time.
const HEARTBEAT_EVERY: Duration = Duration::from_secs(5);
/// How long a process that is silent counts as alive.
const PROCESS_TTL: Duration = Duration::from_secs(20);
/// How often a server looks for clients that are gone.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Renewals of one client that follow each other by less than this part of its time are one.
const RENEWALS_PER_TTL: u32 = 10;

/// The clients of a store in a database.
///
/// The calls block, so they are for threads that may. They need a runtime that drives the connections.
pub(super) struct PostgresClients {
    database: Arc<Database>,
    /// When each client was renewed, and for how long.
    renewed: Mutex<HashMap<ClientId, (Instant, Duration)>>,
}

impl PostgresClients {
    /// Creates the clients of a store.
    pub fn new(database: Arc<Database>) -> Self {
        Self { database, renewed: Mutex::default() }
    }

    fn run<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> io::Result<T> {
        let runtime = Handle::try_current().map_err(io::Error::other)?;
        runtime.block_on(work).map_err(|failure| io::Error::other(failure.of_change().to_string()))
    }

    fn forget_renewal(&self, client: &ClientId) {
        lock(&self.renewed).remove(client);
    }

    /// Returns true if the last renewal of the client was for the same time and is too recent to need another one.
    fn is_fresh(&self, client: &ClientId, ttl: Duration) -> bool {
        let renewed = lock(&self.renewed);
        renewed
            .get(client)
            .is_some_and(|(at, of)| *of == ttl && at.elapsed() < ttl / RENEWALS_PER_TTL)
    }
}

async fn renew(
    database: &Database,
    client: &ClientId,
    ttl: Duration,
    limit: Duration,
) -> Result<(), Failure> {
    // A time that never comes is as good as no limit.
    const FOREVER_MS: i64 = 1000 * 60 * 60 * 24 * 365 * 1000;
    let ttl_ms = i64::try_from(ttl.as_millis()).unwrap_or(FOREVER_MS).min(FOREVER_MS);
    let name = client.as_str();
    let params: [Param<'_>; 2] = [(&name, Type::TEXT), (&ttl_ms, Type::INT8)];
    let read = || async {
        let connection = database.connection().await?;
        Ok(connection.execute_typed(&database.sql.renew, &params).await?)
    };
    database.read_within(limit, read).await?;
    Ok(())
}

/// Returns for how long those of some clients have been gone that are. Notes which ones are gone since now.
async fn gone_for(
    database: &Database,
    clients: &[ClientId],
) -> Result<HashMap<ClientId, Duration>, Failure> {
    if clients.is_empty() {
        return Ok(HashMap::new());
    }
    let names: Vec<&str> = clients.iter().map(ClientId::as_str).collect();
    let look = || async {
        let connection = database.connection().await?;
        let params: [Param<'_>; 1] = [(&names, Type::TEXT_ARRAY)];
        let rows = connection.query_typed(&database.sql.gone_for, &params).await?;
        let mut gone = HashMap::new();
        let mut noticed = Vec::new();
        for row in &rows {
            let name: &str = row.try_get(0)?;
            let micros: Option<i64> = row.try_get(1)?;
            let is_noticed: bool = row.try_get(2)?;
            if is_noticed {
                noticed.push(name);
            }
            if let Some(micros) = micros.or(is_noticed.then_some(0)) {
                let gone_for = Duration::from_micros(micros.max(0).cast_unsigned());
                gone.insert(ClientId::new(name), gone_for);
            }
        }
        if !noticed.is_empty() {
            let ttl_ms = PROCESS_TTL.as_secs().cast_signed() * 1000;
            let params: [Param<'_>; 2] = [(&noticed, Type::TEXT_ARRAY), (&ttl_ms, Type::INT8)];
            connection.execute_typed(&database.sql.notice_gone, &params).await?;
        }
        Ok(gone)
    };
    database.read(look).await
}

/// Renews a process as long as the store exists.
fn spawn_heartbeat(database: Weak<Database>, client: ClientId) {
    tokio::spawn(async move {
        loop {
            tokio::time::sleep(HEARTBEAT_EVERY).await;
            let Some(database) = database.upgrade() else { return };
            let renewed = renew(&database, &client, PROCESS_TTL, HEARTBEAT_EVERY).await;
            if let Err(failure) = renewed {
                tracing::debug!("this process cannot say that it lives: {failure:?}");
            }
        }
    });
}

impl Clients for PostgresClients {
    fn begin_process(&self) -> io::Result<ClientId> {
        let client = ClientId::new(&format!("process-{}", Uuid::new_v4().simple()));
        self.run(async {
            renew(&self.database, &client, PROCESS_TTL, READ_WITHIN).await?;
            spawn_heartbeat(Arc::downgrade(&self.database), client.clone());
            Ok(())
        })?;
        Ok(client)
    }

    fn renew(&self, client: &ClientId, ttl: Duration) -> io::Result<()> {
        if self.is_fresh(client, ttl) {
            return Ok(());
        }
        let now = Instant::now();
        self.run(renew(&self.database, client, ttl, READ_WITHIN))?;
        let mut renewed = lock(&self.renewed);
        renewed.insert(client.clone(), (now, ttl));
        Ok(())
    }

    fn end(&self, client: &ClientId) {
        self.forget_renewal(client);
        let database = &self.database;
        let name = client.as_str();
        let ended = self.run(database.read(|| async {
            let connection = database.connection().await?;
            Ok(connection.execute_typed(&database.sql.end, &[(&name, Type::TEXT)]).await?)
        }));
        if let Err(error) = ended {
            tracing::warn!("the end of the client {client} is not recorded: {error}");
        }
    }

    fn gone_for(&self, client: &ClientId) -> io::Result<Option<Duration>> {
        let gone = self.run(gone_for(&self.database, std::slice::from_ref(client)))?;
        Ok(gone.get(client).copied())
    }

    fn all_gone_for(&self, clients: &[ClientId]) -> Vec<Option<Duration>> {
        // Clients that cannot be examined count as alive.
        let gone = self.run(gone_for(&self.database, clients)).unwrap_or_default();
        clients.iter().map(|client| gone.get(client).copied()).collect()
    }

    /// Each look is a question to the database, and every process on every machine looks.
    fn look_every(&self) -> Duration {
        LOOK_EVERY
    }

    fn forget_gone(&self, needed: &dyn Fn(&ClientId) -> bool) {
        let database = &self.database;
        let forgotten = self.run(database.read(|| async {
            let connection = database.connection().await?;
            let gone = connection.query_typed(&database.sql.gone, &[]).await?;
            let names = gone.iter().map(|row| row.get::<_, String>(0));
            let unneeded: Vec<_> = names.filter(|name| !needed(&ClientId::new(name))).collect();
            if unneeded.is_empty() {
                return Ok(0);
            }
            let params: [Param<'_>; 1] = [(&unneeded, Type::TEXT_ARRAY)];
            Ok(connection.execute_typed(&database.sql.forget, &params).await?)
        }));
        if let Err(error) = forgotten {
            tracing::debug!("the clients that are gone are not forgotten: {error}");
        }
        let mut renewed = lock(&self.renewed);
        renewed.retain(|_, (at, ttl)| at.elapsed() < *ttl);
    }
}
