//! The store behind `issues.json`: one event log.
//!
//! It rests on three ideas:
//!
//! 1. **The log is the source of truth** (`log`): numbered events, appended and kept. The state in memory, snapshots
//!    and `issues.json` derive from it.
//! 2. **Written bytes never change.** A new segment solves every problem at the end of the old one. It repeats every
//!    whole batch that is not known to be durable (`commit`).
//! 3. **`issues.json` is a rendering that people may edit** (`publish`, `edits`). Edits come back as commands,
//!    through one three-way merge per issue.
//!
//! Any number of processes share the files as equals. Read the modules in this order: `log`, `view` and `shared` (what
//! a process knows, and how it follows others), `commit` with `writer` (how it makes changes), `publish` with
//! `background`, `edits`, `open`, `maintenance`.
//!
//! | file | contents |
//! |---|---|
//! | `issues.json` | all issues in the order in which they were filed |
//! | `.ait/<name>/log/<ordinal>.log` | segments; the newest one is also the commit lock |
//! | `.ait/<name>/snapshot-<number>-<store>.json` | the state after an event |
//! | `.ait/<name>/durable` | how much of the newest segment is durable |
//! | `.ait/<name>/published` | the note: position and fingerprint of the last published `issues.json` |
//! | `.ait/<name>/published.lock` | the lock for replacing `published` and `issues.json` together |
//! | `.ait/<name>/publish.lock` | the lock for writing `issues.json` or a snapshot |
//! | `.ait/<name>/kept/` | quarantine: files that are kept for people |
//! | `.ait/<name>/processes/` | the process registry |
//! | `.ait/<name>/clients/` | the clients that hold claims |

pub(super) mod background;
mod cancellation;
mod canonical;
pub(super) mod commit;
pub(super) mod edits;
pub mod format;
pub mod fs;
pub mod inspect;
mod issue_scanner;
pub mod lock_check;
mod log;
mod log_check;
mod maintenance;
pub mod merge_files;
mod merge_state;
pub(super) mod open;
mod options;
pub mod paths;
pub(super) mod publish;
pub(super) mod published_note;
pub(super) mod quarantine;
mod read_events;
mod recent_events;
pub(in crate::store) mod render;
mod replaced_logs;
pub mod salvage;
mod seek_index;
mod shared;
mod snapshot;
mod standby;
pub(super) mod support;
mod transfer;
mod view;
mod writer;

use std::io;
use std::path::{self, Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};
use tokio::sync::watch;

use self::background::Schedule;
use self::fs::{FileSystem, RealFileSystem};
pub use self::maintenance::Maintenance;
pub use self::options::{JsonStoreOptions, KeepEvents};
use self::publish::Publisher;
use self::shared::Shared;
use self::support::on_thread;
use self::view::View;
use self::writer::WriterHandle;
use super::clients::Clients;
use super::file_clients::FileClients;
use super::transfer::{Transfer, TransferTarget};
use super::{
    Committed, EventPosition, Events, Probe, State, Store, StoreError, StoreFuture, StoreHealth,
    StoreId, Subset,
};
use crate::domain::{Command, Counts, Issue, IssueRef, Page, Query, Timestamp};

/// How long a read waits for the merge of an external edit to begin. It takes that long only if another process holds
/// the lock.
const ADOPT_WITHIN: Duration = Duration::from_secs(2);

/// A store in one JSON file and its log, shared with other processes.
pub struct JsonStore {
    shared: Arc<Shared>,
    writer: WriterHandle,
    schedule: Arc<Schedule>,
    is_watching: AtomicBool,
    clients: Arc<FileClients>,
}

impl JsonStore {
    /// Creates a store for a file, which need not exist yet.
    ///
    /// Does no I/O. Problems with the file show in each operation while they last.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self::with(path, Arc::new(RealFileSystem), JsonStoreOptions::default())
    }

    /// Creates a store that accesses the disk through `fs`.
    pub fn with(
        path: impl Into<PathBuf>,
        fs: Arc<dyn FileSystem>,
        options: JsonStoreOptions,
    ) -> Self {
        let shared = Arc::new(Shared::new(path.into(), fs, options));
        shared.lock_check.allow_network(shared.options.allows_network);
        let schedule = Arc::new(Schedule::default());
        let scheduled = Arc::clone(&schedule);
        let writer = WriterHandle::new(Arc::clone(&shared), move |writer, shared| {
            if scheduled.changed() {
                let publisher = Publisher { shared: Arc::clone(shared), writer };
                background::start_publishing(publisher, Arc::clone(&scheduled));
            }
        });
        let located = Arc::clone(&shared);
        let directory =
            move || located.paths().map(|paths| paths.clients()).map_err(io::Error::other);
        let clients = Arc::new(FileClients::new(directory));
        Self { shared, writer, schedule, is_watching: AtomicBool::new(false), clients }
    }

    /// Returns the maintenance operations of this store.
    pub fn maintenance(&self) -> Maintenance {
        Maintenance::new(Arc::clone(&self.shared), self.writer.clone())
    }

    /// Returns the path of `issues.json` as given, with symbolic links unresolved.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Answers a read from the newest state, on a thread that may block on the disk.
    fn read<T: Send + 'static>(
        &self,
        answer: impl FnOnce(&Shared, &View) -> Result<T, StoreError> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        let (shared, writer) = (Arc::clone(&self.shared), self.writer.clone());
        let in_place = shared.options.reads_in_place;
        on_thread(in_place, move || {
            let mut view = shared.fresh()?;
            if edits::needs_merge(&shared, &view) {
                let adopted = writer.run_within(ADOPT_WITHIN, edits::adopt_external_edit);
                if let Err(error) = adopted.and_then(|adopted| adopted) {
                    // This user may not be allowed to write. The log has everything except the edit.
                    tracing::debug!("an external edit is not merged for now: {error}");
                }
                view = shared.fresh()?;
            }
            answer(&shared, &view)
        })
    }
}

/// Returns the id of a store. It derives from the resolved path of its file, whether or not the file exists. While
/// the directory of the file cannot be resolved, it derives from the absolute path as given.
///
/// So two machines or containers that use the same path have stores with the same id, and a file with two hard links
/// or two mounts has two ids.
fn identity(path: &Path, resolved: Option<PathBuf>) -> StoreId {
    let given = || path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let path = resolved.unwrap_or_else(given);
    StoreId::of("ait issues.json", path.as_os_str().as_encoded_bytes())
}

impl Drop for JsonStore {
    fn drop(&mut self) {
        // The publisher thread keeps the rest of the store alive.
        self.schedule.close();
    }
}

impl TransferTarget for JsonStore {
    fn take_over<'a>(&'a self, transfer: &'a Transfer<'_>) -> StoreFuture<'a, ()> {
        transfer::take_over(&self.shared, transfer).boxed()
    }
}

impl Store for JsonStore {
    fn id(&self) -> BoxFuture<'_, StoreId> {
        let shared = Arc::clone(&self.shared);
        let resolved = on_thread(shared.options.reads_in_place, move || Ok(shared.paths()?.issues));
        async move { identity(self.path(), resolved.await.ok()) }.boxed()
    }

    fn commit(&self, commands: Vec<Command>, now: Timestamp) -> StoreFuture<'_, Committed> {
        async move {
            // The writer decides again, so the last known state suffices if it gives an event.
            let changes = |state: &State| {
                commands
                    .iter()
                    .any(|command| !matches!(state.decide(command, now), Ok(None) | Err(_)))
            };
            if self.shared.latest().is_some_and(|view| changes(&view.state)) {
                return self.writer.commit(commands, now).await;
            }
            // A refusal, a claim that finds nothing and a repeated change need no lock and change nothing. They are
            // answered from the newest state; a repeated change only if that is durable.
            let (commands, answer) = self
                .read(move |_, view| {
                    // Damage may hide events that would change the answer.
                    if let Some(damage) = &view.damage {
                        return Err(damage.into());
                    }
                    let is_durable = view.durable == view.state.position;
                    let mut outcomes = Vec::new();
                    for command in &commands {
                        match view.state.decide(command, now) {
                            Ok(None) => outcomes.push(view.state.unchanged_outcome(command)),
                            Ok(Some(_)) => return Ok((commands, None)),
                            Err(refusal) => return Ok((commands, Some(Err(refusal)))),
                        }
                    }
                    let is_sure = is_durable || outcomes.iter().all(Option::is_none);
                    Ok((commands, is_sure.then_some(Ok(outcomes))))
                })
                .await?;
            match answer {
                Some(answer) => answer
                    .map(|outcomes| Committed { outcomes, events: Vec::new() })
                    .map_err(StoreError::Refused),
                None => self.writer.commit(commands, now).await,
            }
        }
        .boxed()
    }

    fn get(&self, reference: IssueRef) -> StoreFuture<'_, Arc<Issue>> {
        self.read(move |_, view| Ok(view.state.issues.find(&reference)?))
    }

    fn list(&self, query: Query) -> StoreFuture<'_, Page> {
        self.read(move |_, view| Ok(view.state.issues.list(&query)))
    }

    fn counts(&self) -> StoreFuture<'_, Counts> {
        self.read(|_, view| Ok(view.state.issues.counts()))
    }

    fn state(&self) -> StoreFuture<'_, State> {
        self.read(|_, view| Ok(State::clone(&view.state)))
    }

    fn subset(&self, _: Subset) -> StoreFuture<'_, State> {
        self.state()
    }

    fn events(&self, after: u64, limit: usize) -> StoreFuture<'_, Events> {
        self.read(move |shared, _| {
            let view = shared.fresh_durable()?;
            read_events::after(shared, &view, after, limit)
        })
    }

    fn watch(&self) -> watch::Receiver<EventPosition> {
        if !self.is_watching.swap(true, Ordering::SeqCst) {
            let schedule = Arc::clone(&self.schedule);
            let stale = move |shared: &Arc<Shared>, writer| {
                let publisher = Publisher { shared: Arc::clone(shared), writer };
                // The process that made a change publishes it within a second, unless it died.
                let is_stale = shared.latest().is_some_and(|view| publisher.is_behind(&view));
                if is_stale && schedule.changed() {
                    background::start_publishing(publisher, Arc::clone(&schedule));
                }
            };
            background::start_watching(&self.shared, &self.writer, Box::new(stale));
        }
        self.shared.newest.subscribe()
    }

    fn clients(&self) -> Arc<dyn Clients> {
        Arc::<FileClients>::clone(&self.clients)
    }

    fn damage(&self) -> BoxFuture<'_, Option<StoreError>> {
        let shared = Arc::clone(&self.shared);
        let newest = on_thread(shared.options.reads_in_place, move || shared.fresh());
        async move {
            match newest.await {
                Ok(view) => view.damage.as_ref().map(StoreError::from),
                Err(error) => Some(error),
            }
        }
        .boxed()
    }

    fn health(&self, probe: Probe) -> BoxFuture<'_, StoreHealth> {
        let maintenance = self.maintenance();
        let examined =
            on_thread(self.shared.options.reads_in_place, move || Ok(maintenance.health(probe)));
        async move {
            examined.await.unwrap_or_else(|error| StoreHealth {
                trouble: Some(error),
                ..StoreHealth::default()
            })
        }
        .boxed()
    }

    fn close(&self) -> BoxFuture<'_, bool> {
        async move {
            let is_ended = self.writer.close().await;
            self.schedule.close();
            if !is_ended {
                return false;
            }
            let maintenance = self.maintenance();
            let published = on_thread(self.shared.options.reads_in_place, move || {
                Ok(maintenance.publish_last())
            });
            published.await.unwrap_or(false)
        }
        .boxed()
    }
}
