//! A store in a SQLite database beside `issues.json`, shared by the processes of one machine.
//!
//! A change: `writer` is the one thread of a process that writes. It takes the turn among processes, merges an edit of
//! the file if there is one (`edits`), and decides requests in one `transaction`. The rules look at `queue`, which
//! reads from the database what they ask for; `write` turns an event into rows. `index` brings the index of searches
//! after them later, and `publish` writes the file.
//!
//! Reads: `read` and `list`, on the connections of `readers`, so that they never wait for a change. Changes by others:
//! `watch`. The move from another store: `transfer`. Below all of them are `database`, `place`, `disk_errors`,
//! `error`
//! and the tables in `schema.sql`.
//!
//! # The files
//!
//! * `database.rs`, `schema.sql`, `error.rs`, `disk_errors.rs`: the file, connections and tables; which error of SQLite
//!   means what, and which one of the disk is behind it
//! * `place.rs`: which files a connection has, so that none is used after some were removed or replaced
//! * `writer.rs`, `started.rs`, `checkpoints.rs`, `transaction.rs`, `queue.rs`, `write.rs`: making changes: one writer
//!   thread, one turn, one transaction, one sync, and the moves into the database
//! * `readers.rs`, `read.rs`, `list.rs`, `index.rs`: connections for reads; reading; lists and searches, and the index
//!   of searches, which lags behind
//! * `watch.rs`, `publish.rs`, `edits.rs`: noticing other processes; writing `issues.json`, and merging edits of it
//! * `maintenance.rs`, `restore.rs`, `transfer.rs`: save, restore, trial writes; everything from another store
//! * `inspect.rs`, `salvage.rs`: for the doctor: the state of the files, and saving what can be read

mod checkpoints;
mod database;
mod disk_errors;
mod edits;
mod error;
mod index;
pub mod inspect;
mod list;
mod maintenance;
mod place;
mod publish;
mod queue;
mod read;
mod readers;
mod restore;
pub mod salvage;
mod started;
mod transaction;
mod transfer;
mod watch;
mod write;
mod writer;

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use rusqlite::Connection;
use tokio::sync::watch::{Receiver, Sender};

use self::database::Database;
use self::error::Failure;
pub use self::maintenance::Maintenance;
use self::writer::{WeakWriter, WriterHandle};
use super::clients::Clients;
use super::file_clients::FileClients;
use super::files::StoreOptions;
use super::files::fs::{FileSystem, RealFileSystem};
use super::files::schedule::Schedule;
use super::files::support::{lock, on_thread};
use super::transfer::{Transfer, TransferTarget};
use super::{
    Committed, EventPosition, Events, Probe, SnapshotVisitor, State, Store, StoreError,
    StoreHealth, StoreId, Subset,
};
use ait_domain::{
    Command, Counts, DomainError, Issue, IssueId, IssueRef, Lease, Page, Query, Timestamp,
    UnknownKeys,
};

/// How long the end of the store waits for changes that are being made.
const CLOSE_WITHIN: Duration = Duration::from_secs(5);
/// How long a read waits for the merge of an external edit to begin.
const ADOPT_WITHIN: Duration = Duration::from_secs(2);

/// A store in a SQLite database.
pub struct SqliteStore {
    database: Arc<Database>,
    writer: WriterHandle,
    schedule: Arc<Schedule>,
    newest: Sender<EventPosition>,
    is_watching: AtomicBool,
    clients: Arc<FileClients>,
}

impl SqliteStore {
    /// Creates a store for an `issues.json`. Does no I/O. Problems with the database show in each operation while they
    /// last.
    pub fn new(issues: impl Into<PathBuf>) -> Self {
        Self::with(issues, Arc::new(RealFileSystem), StoreOptions::default())
    }

    /// Creates a store that reaches `issues.json` through `fs`.
    pub fn with(
        issues: impl Into<PathBuf>,
        fs: Arc<dyn FileSystem>,
        options: StoreOptions,
    ) -> Self {
        let database = Arc::new(Database::new(issues.into(), fs, options));
        let located = Arc::clone(&database);
        let clients = FileClients::new(move || {
            let paths = located.paths();
            paths
                .map(|paths| paths.clients())
                .map_err(|failure| io::Error::other(failure.of_read()))
        });
        let newest = Sender::default();
        let schedule = Arc::new(Schedule::default());
        let handle = Arc::new(OnceLock::<WeakWriter>::new());
        let writer = {
            let database = Arc::clone(&database);
            let schedule = Arc::clone(&schedule);
            let handle = Arc::clone(&handle);
            WriterHandle::new(Arc::clone(&database), newest.clone(), move || {
                database.has_changed.store(true, Ordering::Relaxed);
                if schedule.changed()
                    && let Some(writer) = handle.get()
                {
                    publish::start(&database, writer, &schedule);
                }
            })
        };
        let _ = handle.set(writer.downgrade());
        Self {
            writer,
            schedule,
            newest,
            is_watching: AtomicBool::new(false),
            clients: Arc::new(clients),
            database,
        }
    }

    /// Returns the maintenance operations of this store.
    pub fn maintenance(&self) -> Maintenance {
        Maintenance::new(Arc::clone(&self.database), self.writer.clone())
    }

    /// Runs a read on a thread that may block on the disk. A database that is not there yet has nothing.
    async fn read<T: Send + 'static>(
        &self,
        empty: T,
        read: impl Fn(&Connection) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        let database = Arc::clone(&self.database);
        let writer = self.writer.clone();
        let in_place = database.options.reads_in_place;
        on_thread(in_place, move || {
            if edits::needs_merge(&database, writer.is_running()) {
                let adopted = writer.run_within(ADOPT_WITHIN, edits::adopt);
                if let Err(error) = adopted {
                    // This user may not be allowed to write. The database has everything except the edit.
                    tracing::debug!("an external edit is not merged for now: {error}");
                }
            }
            let found = database.read(read);
            let found = found.map_err(|failure| database.located(failure.of_read()))?;
            Ok(found.unwrap_or(empty))
        })
        .await
    }
}

impl Drop for SqliteStore {
    fn drop(&mut self) {
        // The publisher thread keeps the rest of the store alive.
        self.schedule.close();
    }
}

#[async_trait]
impl TransferTarget for SqliteStore {
    async fn take_over(&self, transfer: &Transfer<'_>) -> Result<(), StoreError> {
        transfer::take_over(&self.database, transfer).await
    }

    async fn say_moved(&self, to: &str) -> Result<(), StoreError> {
        let fs = &*self.database.fs;
        let noted = self.database.paths().and_then(|paths| {
            let file = fs.create(&paths.moved(), &paths.issues)?;
            fs.write_at(&file, 0, format!("{to}\n").as_bytes())?;
            Ok(fs.sync(&file)?)
        });
        noted.map_err(Failure::of_change)
    }
}

#[async_trait]
impl Store for SqliteStore {
    async fn id(&self) -> StoreId {
        let path = self.database.paths().map(|paths| paths.issues);
        let path = path.unwrap_or_else(|_| self.database.issues().to_owned());
        StoreId::of("ait issues.json", path.as_os_str().as_encoded_bytes())
    }

    async fn commit(
        &self,
        commands: Vec<Command>,
        now: Timestamp,
    ) -> Result<Committed, StoreError> {
        if self.writer.is_running() || !self.database.is_unsaved() {
            return self.writer.commit(commands, now).await;
        }
        // A claim that finds nothing creates no database.
        let database = Arc::clone(&self.database);
        let trial = commands.clone();
        let in_place = database.options.reads_in_place;
        let tried = on_thread(in_place, move || {
            let tried = database.try_unsaved(&trial, now);
            tried.map_err(|failure| database.located(failure.of_change()))
        });
        match tried.await? {
            Some(answer) => answer,
            None => self.writer.commit(commands, now).await,
        }
    }

    async fn get(&self, reference: IssueRef) -> Result<Arc<Issue>, StoreError> {
        let unknown = DomainError::UnknownIssue { reference: reference.to_string() };
        let read = move |connection: &Connection| read::get(connection, &reference).map(Some);
        self.read(None, read).await?.ok_or(StoreError::Refused(unknown))
    }

    async fn list(&self, query: Query) -> Result<Page, StoreError> {
        self.read(Page::empty(), move |connection| list::list(connection, &query)).await
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        self.read(Counts::default(), read::counts).await
    }

    async fn leases(&self) -> Result<Vec<(IssueId, Lease)>, StoreError> {
        self.read(Vec::new(), read::leases).await
    }

    async fn snapshot(&self, visitor: Arc<Mutex<dyn SnapshotVisitor>>) -> Result<(), StoreError> {
        let empty = Arc::clone(&visitor);
        let read = self.read(None, move |connection| {
            read::snapshot(connection, &mut *lock(&visitor)).map(Some)
        });
        if read.await?.is_none() {
            lock(&empty).begin(EventPosition::default(), UnknownKeys::default());
        }
        Ok(())
    }

    async fn subset(&self, subset: Subset) -> Result<State, StoreError> {
        self.read(State::default(), move |connection| read::subset(connection, &subset)).await
    }

    async fn events(&self, after: u64, limit: usize) -> Result<Events, StoreError> {
        let empty = Events { oldest: 1, ..Events::default() };
        self.read(empty, move |connection| read::events(connection, after, limit)).await
    }

    fn watch(&self) -> Receiver<EventPosition> {
        if !self.is_watching.swap(true, Ordering::SeqCst) {
            let writer = self.writer.downgrade();
            let schedule = Arc::clone(&self.schedule);
            watch::spawn(&self.database, self.newest.clone(), writer, schedule);
        }
        self.newest.subscribe()
    }

    fn clients(&self) -> Arc<dyn Clients> {
        Arc::<FileClients>::clone(&self.clients)
    }

    async fn damage(&self) -> Option<StoreError> {
        let looked = self.read((), |_| Ok(()));
        match looked.await {
            Ok(()) => self.database.damage(),
            Err(error) => Some(error),
        }
    }

    async fn health(&self, probe: Probe) -> StoreHealth {
        let maintenance = self.maintenance();
        let in_place = self.database.options.reads_in_place;
        let examined = on_thread(in_place, move || Ok(maintenance.health(probe)));
        examined
            .await
            .unwrap_or_else(|error| StoreHealth { trouble: Some(error), ..StoreHealth::default() })
    }

    async fn close(&self) -> bool {
        self.schedule.close();
        self.writer.withdraw();
        publish::finish(&self.database, &self.writer).await;
        self.writer.close(CLOSE_WITHIN).await
    }
}
