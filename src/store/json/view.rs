//! An immutable view of the store: a state, and the end of the log that it was read from.

use std::sync::Arc;

use super::fs::FileFingerprint;
use super::log::{BatchEnd, Segment};
use super::open::Damage;
use super::paths::StorePaths;
use crate::store::{EventPosition, State};

/// A view of the store: its state and the end of its log.
#[derive(Clone)]
pub(super) struct View {
    /// The paths of the files.
    pub paths: Arc<StorePaths>,
    /// The newest state. It may contain changes that are not answered yet.
    pub state: Arc<State>,
    /// The position of the newest durable event.
    pub durable: EventPosition,
    /// The damage that was found. If there is any, the store is read-only.
    pub damage: Option<Damage>,
    /// The log, or `issues.json` alone.
    pub source: Source,
}

/// The source of a view.
#[derive(Clone)]
pub(super) enum Source {
    /// The log.
    Log(LogEnd),
    /// `issues.json`, or no file at all, because there is no log yet.
    File(Option<FileFingerprint>),
}

/// The end of the log.
#[derive(Clone)]
pub(super) struct LogEnd {
    /// The newest segment.
    pub segment: Arc<Segment>,
    /// The end of the last whole batch.
    pub last_batch: BatchEnd,
    /// The end of the last batch that is known to be durable.
    pub durable: BatchEnd,
    /// How much of the file was read, in bytes.
    pub length: u64,
    /// The size of the log after the newest snapshot, and the size of that snapshot, in bytes.
    pub replayed_bytes: u64,
    pub snapshot_bytes: u64,
    /// The number of segments when the log was opened.
    pub segments: usize,
}

impl View {
    pub fn log_end(&self) -> Option<&LogEnd> {
        match &self.source {
            Source::Log(log_end) => Some(log_end),
            Source::File(_) => None,
        }
    }
}
