//! Passes everything in a store to a thread that writes a backup, while the store is read: few issues are in memory.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::file::{SaveOptions, Saved};
use super::{BackupContent, BackupError};
use crate::{EventPosition, SnapshotVisitor};
use ait_domain::{Issue, Lease, UnknownKeys};

/// How many issues wait for the thread that writes.
const WAITING: usize = 256;

enum Part {
    Begin(UnknownKeys),
    Issue(Arc<Issue>),
    End,
}

/// The visitor of the store.
pub struct BackupSender(SyncSender<Part>);

/// What the visitor sends.
pub struct BackupReceiver(Receiver<Part>);

/// Returns both ends. They have to be on two threads.
pub fn stream() -> (BackupSender, BackupReceiver) {
    let (sender, receiver) = sync_channel(WAITING);
    (BackupSender(sender), BackupReceiver(receiver))
}

impl BackupSender {
    /// Says that everything was read.
    pub fn end(&self) {
        self.send(Part::End);
    }

    fn send(&self, part: Part) {
        // The thread that writes tells of its error itself.
        let _ = self.0.send(part);
    }
}

impl SnapshotVisitor for BackupSender {
    fn begin(&mut self, _: EventPosition, unknown_keys: UnknownKeys) {
        self.send(Part::Begin(unknown_keys));
    }

    fn visit(&mut self, issue: Arc<Issue>, _: Option<Lease>) {
        self.send(Part::Issue(issue));
    }
}

impl BackupReceiver {
    /// Writes the backup. Nothing is left of it if the store was not read to its end.
    ///
    /// # Errors
    ///
    /// [`BackupError`].
    pub fn save(self, saving: &SaveOptions) -> Result<Saved, BackupError> {
        let Ok(Part::Begin(unknown_keys)) = self.0.recv() else {
            let path = saving.path.clone();
            return Err(BackupError::NotSaved { path, cause: Arc::new(incomplete()) });
        };
        let issues = std::iter::from_fn(move || match self.0.recv() {
            Ok(Part::Issue(issue)) => Some(Ok(issue)),
            Ok(Part::End) => None,
            // The read began anew, or it failed.
            Ok(Part::Begin(_)) | Err(_) => Some(Err(incomplete())),
        });
        saving.save(BackupContent { unknown_keys, issues: Box::new(issues), damage: None })
    }
}

fn incomplete() -> io::Error {
    io::Error::other("the store was not read to its end; try again")
}
