//! A store in a PostgreSQL database, shared by processes on any number of machines.

mod connection;
mod error;
mod options;
mod password;
mod schema;

use std::sync::Arc;

use futures::future::{BoxFuture, FutureExt, ready};
use tokio::sync::{OnceCell, watch};

use self::connection::Connections;
use self::error::Failure;
pub use self::options::{NotAPostgresUrl, Password, PostgresOptions};
use super::clients::{Clients, MemoryClients};
use super::{
    Events, Outcome, Part, Position, Probe, State, Store, StoreError, StoreFuture, StoreHealth,
    StoreId,
};
use crate::domain::{Command, Counts, Issue, IssueRef, Page, Query, Timestamp};

/// A store in a schema of a PostgreSQL database.
pub struct PostgresStore {
    options: Arc<PostgresOptions>,
    connections: OnceCell<Connections>,
    newest: watch::Sender<Position>,
}

impl PostgresStore {
    /// Creates a store. Does no I/O. Problems with the database show in each operation while they last.
    pub fn new(options: PostgresOptions) -> Self {
        Self {
            options: Arc::new(options),
            connections: OnceCell::new(),
            newest: watch::Sender::default(),
        }
    }

    /// Creates the schema or brings it up to date. Several processes may do that at the same time.
    ///
    /// # Errors
    ///
    /// [`StoreError::NotSaved`] says what is missing, for example a right; [`StoreError::Newer`].
    pub async fn migrate(&self) -> Result<(), StoreError> {
        let connections = self.connections().await.map_err(Failure::of_change)?;
        schema::migrate(connections, self.options.schema()).await.map_err(Failure::of_change)
    }

    async fn connections(&self) -> Result<&Connections, Failure> {
        self.connections.get_or_try_init(|| async { Connections::new(&self.options) }).await
    }

    fn not_yet<T: Send + 'static>(&self) -> StoreFuture<'_, T> {
        ready(Err(StoreError::Unreadable("this version cannot do that yet".to_owned()))).boxed()
    }
}

impl Store for PostgresStore {
    fn id(&self) -> BoxFuture<'_, StoreId> {
        let place = format!("{}/{}", self.options.place(), self.options.schema());
        ready(StoreId::of("ait postgres", place.as_bytes())).boxed()
    }

    fn commit(&self, _: Vec<Command>, _: Timestamp) -> StoreFuture<'_, Vec<Outcome>> {
        self.not_yet()
    }

    fn get(&self, _: IssueRef) -> StoreFuture<'_, Arc<Issue>> {
        self.not_yet()
    }

    fn list(&self, _: Query) -> StoreFuture<'_, Page> {
        self.not_yet()
    }

    fn counts(&self) -> StoreFuture<'_, Counts> {
        self.not_yet()
    }

    fn state(&self) -> StoreFuture<'_, State> {
        self.not_yet()
    }

    fn part(&self, _: Part) -> StoreFuture<'_, State> {
        self.not_yet()
    }

    fn events(&self, _: u64, _: usize) -> StoreFuture<'_, Events> {
        self.not_yet()
    }

    fn watch(&self) -> watch::Receiver<Position> {
        self.newest.subscribe()
    }

    fn clients(&self) -> Arc<dyn Clients> {
        Arc::new(MemoryClients::default())
    }

    fn health(&self, _: Probe) -> BoxFuture<'_, StoreHealth> {
        ready(StoreHealth { name: self.options.shown(), ..StoreHealth::default() }).boxed()
    }

    fn close(&self) -> BoxFuture<'_, bool> {
        ready(true).boxed()
    }
}
