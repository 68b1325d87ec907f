//! The store behind `issues.json`: one event log.
//!
//! Three ideas carry it:
//!
//! 1. **The log is the truth** (`log`): numbered events, appended and kept. The state in memory, snapshots and
//!    `issues.json` are derived from it.
//! 2. **Written bytes never change.** Whatever is wrong with the end of a segment, a new segment follows, which
//!    repeats every whole batch that is not known to be durable (`commit`).
//! 3. **`issues.json` is a rendering that people may edit** (`publish`, `edits`). Edits come back as commands,
//!    by one three-way merge for each issue.
//!
//! Any number of processes share the files as equals. To be read in this order: `log`, `view` (what a process
//! knows, and how it follows others), `commit` with `writer` (how changes are made), `publish` with
//! `background`, `edits`, `recovery` (opening), `maintenance`.
//!
//! | file | contents |
//! |---|---|
//! | `issues.json` | all issues in the order in which they were filed |
//! | `.ait/<name>/log/<ordinal>.log` | segments; the newest one is also the lock of a commit |
//! | `.ait/<name>/snapshot-<number>-<store>.json` | the state after an event |
//! | `.ait/<name>/durable` | how much of the newest segment is durable |
//! | `.ait/<name>/published` | what `issues.json` was known by when it was written |
//! | `.ait/<name>/published.lock` | lock for replacing `published` and `issues.json` together |
//! | `.ait/<name>/publish.lock` | the lock of whoever writes `issues.json` or a snapshot |
//! | `.ait/<name>/kept/` | files that were set aside for people |
//! | `.ait/<name>/processes/` | the live processes |

mod background;
mod cancellation;
mod commit;
mod edits;
pub mod format;
pub mod fs;
pub mod ground;
pub mod inspect;
mod issue_scanner;
mod kept;
mod landmarks;
mod log;
mod maintenance;
mod options;
pub mod place;
mod publish;
mod published;
mod read_events;
mod recent;
mod recovery;
pub(in crate::store) mod render;
mod replay;
pub mod salvage;
mod snapshot;
mod spare;
mod support;
mod view;
mod writer;
mod written;

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
use self::support::on_thread;
use self::view::{Shared, View};
use self::writer::WriterHandle;
use super::{
    Events, Outcome, Position, Probe, State, Store, StoreError, StoreFuture, StoreHealth, StoreId,
};
use crate::domain::{Command, Counts, Issue, IssueRef, Page, Query, Timestamp};

/// How long a read waits for an edit to be taken over, which takes that long only while others keep the lock.
const ADOPT_WITHIN: Duration = Duration::from_secs(2);

/// A store in one JSON file and its log, shared with other processes.
pub struct JsonStore {
    shared: Arc<Shared>,
    writer: WriterHandle,
    schedule: Arc<Schedule>,
    is_watching: AtomicBool,
}

impl JsonStore {
    /// Prepares a store in the given file, which need not exist yet.
    ///
    /// Neither reads nor creates anything: what is wrong with the file shows in each operation, for
    /// as long as it is wrong.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self::with(path, Arc::new(RealFileSystem), JsonStoreOptions::default())
    }

    /// Prepares a store that reaches the disk through `fs`.
    pub fn with(
        path: impl Into<PathBuf>,
        fs: Arc<dyn FileSystem>,
        options: JsonStoreOptions,
    ) -> Self {
        let shared = Arc::new(Shared::new(path.into(), fs, options));
        shared.ground.allow_network(shared.options.allows_network);
        let schedule = Arc::new(Schedule::default());
        let scheduled = Arc::clone(&schedule);
        let writer = WriterHandle::new(Arc::clone(&shared), move |writer, shared| {
            if scheduled.changed() {
                let publisher = Publisher { shared: Arc::clone(shared), writer };
                background::start_publishing(publisher, Arc::clone(&scheduled));
            }
        });
        Self { shared, writer, schedule, is_watching: AtomicBool::new(false) }
    }

    /// What only stores in files have.
    pub fn maintenance(&self) -> Maintenance {
        Maintenance::new(Arc::clone(&self.shared), self.writer.clone())
    }

    /// The file as it was given, symbolic links not resolved.
    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Answers a read from the newest state of the files, on a thread that may wait for the disk.
    fn read<T: Send + 'static>(
        &self,
        answer: impl FnOnce(&Shared, &View) -> Result<T, StoreError> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        let (shared, writer) = (Arc::clone(&self.shared), self.writer.clone());
        let in_place = shared.options.reads_in_place;
        on_thread(in_place, move || {
            let mut view = shared.fresh()?;
            if edits::is_pending(&shared, &view) {
                let adopted = writer.run_within(ADOPT_WITHIN, edits::adopt);
                if let Err(error) = adopted.and_then(|adopted| adopted) {
                    // Also where this user may not write: the log has everything but the edit.
                    tracing::debug!("an edit is not taken over for now: {error}");
                }
                view = shared.fresh()?;
            }
            answer(&shared, &view)
        })
    }
}

/// The id of a store: that of the place that its file has, or would have, symbolic links resolved; as
/// long as the directory of the file cannot be found, that of the absolute path as it was given.
///
/// So two machines, or two containers, that call a file the same have stores of the same id, and a file
/// that is reached by two hard links or two mounts has two.
fn identity(path: &Path, resolved: Option<PathBuf>) -> StoreId {
    let given = || path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let place = resolved.unwrap_or_else(given);
    StoreId::of("ait issues.json", place.as_os_str().as_encoded_bytes())
}

impl Drop for JsonStore {
    fn drop(&mut self) {
        // The publisher keeps everything else alive.
        self.schedule.close();
    }
}

impl Store for JsonStore {
    fn id(&self) -> BoxFuture<'_, StoreId> {
        let shared = Arc::clone(&self.shared);
        let resolved = on_thread(shared.options.reads_in_place, move || Ok(shared.place()?.issues));
        async move { identity(self.path(), resolved.await.ok()) }.boxed()
    }

    fn commit(&self, commands: Vec<Command>, now: Timestamp) -> StoreFuture<'_, Vec<Outcome>> {
        async move {
            // The writer decides anew, so what was known last will do, as long as it gives an event.
            let changes = |state: &State| {
                commands
                    .iter()
                    .any(|command| !matches!(state.decide(command, now), Ok(None) | Err(_)))
            };
            if self.shared.latest().is_some_and(|view| changes(&view.state)) {
                return self.writer.commit(commands, now).await;
            }
            // What is refused, and a claim that finds nothing, needs no lock and leaves no trace, and
            // is answered from the newest state.
            let (commands, outcomes) = self
                .read(move |_, view| {
                    // What the damage hides cannot be answered for.
                    if let Some(damage) = &view.damage {
                        return Err(StoreError::Damaged(damage.to_string()));
                    }
                    let decided: Vec<_> =
                        commands.iter().map(|command| view.state.decide(command, now)).collect();
                    let changes = decided.iter().any(|decided| matches!(decided, Ok(Some(_))));
                    let outcomes = decided.into_iter().map(|decided| decided.map(|_| None));
                    Ok((commands, (!changes).then(|| outcomes.collect())))
                })
                .await?;
            match outcomes {
                Some(outcomes) => Ok(outcomes),
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

    fn snapshot(&self) -> StoreFuture<'_, State> {
        self.read(|_, view| Ok(State::clone(&view.state)))
    }

    fn events(&self, after: u64, limit: usize) -> StoreFuture<'_, Events> {
        self.read(move |shared, _| {
            let view = shared.fresh_durable()?;
            read_events::after(shared, &view, after, limit)
        })
    }

    fn watch(&self) -> watch::Receiver<Position> {
        if !self.is_watching.swap(true, Ordering::SeqCst) {
            let schedule = Arc::clone(&self.schedule);
            let stale = move |shared: &Arc<Shared>, writer| {
                let publisher = Publisher { shared: Arc::clone(shared), writer };
                // Whoever changed something publishes it within a second, unless it died.
                let is_stale = shared.latest().is_some_and(|view| publisher.is_behind(&view));
                if is_stale && schedule.changed() {
                    background::start_publishing(publisher, Arc::clone(&schedule));
                }
            };
            background::start_watching(&self.shared, &self.writer, Box::new(stale));
        }
        self.shared.newest.subscribe()
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
