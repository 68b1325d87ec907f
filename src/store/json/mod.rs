//! The store behind `issues.json`.
//!
//! Any number of processes share one file. A change goes through the one writer thread of its
//! process (`writer`), which holds the lock file ([`fs::FileSystem::lock`]) while it looks whether
//! somebody else changed the file, decides, and replaces the file (`snapshot`). Readers never take
//! the lock: the file is only ever replaced whole, so what they find is always complete; a look at
//! the file's metadata tells whether what they have in memory is still the newest.
//!
//! | file | what |
//! |---|---|
//! | `issues.json` | the issues, see [`mod@format`] |
//! | `issues.json.lock` | the lock of a commit; empty, never deleted |
//! | `.issues.json.*.tmp` | a replacement that is being written; left behind only by a process that was killed, and removed by the next one that writes |

pub mod format;
pub mod fs;
mod snapshot;
mod ticket;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, FutureExt};

use self::fs::{FileSystem, RealFileSystem};
use self::snapshot::{Snapshot, Snapshots};
use self::writer::Writer;
use super::{Store, StoreError, StoreFuture};
use crate::domain::{Command, Counts, Issue, IssueRef, Page, Query, Timestamp};

/// How a [`JsonStore`] behaves where there is a choice.
#[derive(Clone, Copy, Debug)]
pub struct JsonStoreOptions {
    /// How long a command waits for the lock before it is withdrawn and answered "busy".
    pub busy_after: Duration,
}

impl Default for JsonStoreOptions {
    fn default() -> Self {
        Self { busy_after: Duration::from_secs(10) }
    }
}

/// A store in one JSON file, shared with other processes.
pub struct JsonStore {
    snapshots: Arc<Snapshots>,
    writer: Writer,
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
        let snapshots = Arc::new(Snapshots::new(path.into(), fs));
        let writer = Writer::new(Arc::clone(&snapshots), options.busy_after);
        Self { snapshots, writer }
    }

    /// The file as it was given, symbolic links not resolved.
    pub fn path(&self) -> &Path {
        self.snapshots.path()
    }

    /// Answers a read from the newest state of the file, on a thread that may wait for the disk.
    fn read<T: Send + 'static>(
        &self,
        answer: impl FnOnce(&Snapshot) -> Result<T, StoreError> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        let snapshots = Arc::clone(&self.snapshots);
        let read = tokio::task::spawn_blocking(move || answer(&*snapshots.current()?));
        // A read that panics is a defect; it is answered like a file that cannot be read.
        read.map(|read| read.unwrap_or_else(|panic| Err(StoreError::Unreadable(panic.to_string()))))
            .boxed()
    }
}

impl Store for JsonStore {
    fn apply(&self, command: Command, now: Timestamp) -> StoreFuture<'_, Option<Arc<Issue>>> {
        async move {
            // What is refused, and a claim that finds nothing, needs no lock and leaves no trace.
            let (command, decided) = self
                .read(move |snapshot| {
                    let decided = snapshot.issues.decide(&command, now);
                    Ok((command, decided))
                })
                .await?;
            match decided? {
                Some(_) => self.writer.apply(command, now).await,
                None => Ok(None),
            }
        }
        .boxed()
    }

    fn get(&self, reference: IssueRef) -> StoreFuture<'_, Arc<Issue>> {
        self.read(move |snapshot| Ok(Arc::clone(snapshot.issues.find(&reference)?)))
    }

    fn list(&self, query: Query) -> StoreFuture<'_, Page> {
        self.read(move |snapshot| Ok(snapshot.issues.list(&query)))
    }

    fn counts(&self) -> StoreFuture<'_, Counts> {
        self.read(|snapshot| Ok(snapshot.issues.counts()))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.writer.close().boxed()
    }
}
