//! Options of a [`JsonStore`](super::JsonStore).

use std::time::{Duration, SystemTime};

/// How much of the log to keep at least. Opening the store may need more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeepEvents {
    /// This many bytes.
    Bytes(u64),
    /// Events that are not older than this.
    Age(Duration),
}

impl Default for KeepEvents {
    fn default() -> Self {
        Self::Bytes(1024 * 1024 * 1024)
    }
}

impl KeepEvents {
    /// Returns true if the oldest segment may be removed, given the size of the log and when the segment was last
    /// written.
    pub(super) fn is_exceeded(self, total_bytes: u64, modified: Option<SystemTime>) -> bool {
        match self {
            Self::Bytes(bytes) => total_bytes > bytes,
            Self::Age(age) => modified
                .and_then(|modified| SystemTime::now().duration_since(modified).ok())
                .is_some_and(|since| since > age),
        }
    }
}

/// Options of a [`JsonStore`](super::JsonStore).
#[derive(Clone, Copy, Debug)]
pub struct JsonStoreOptions {
    /// How long a command waits for the lock before it is withdrawn and answered with "busy".
    pub busy_after: Duration,
    /// How long after a change `issues.json` is published.
    pub publish_after: Duration,
    /// True to block on the disk on the calling thread, instead of the runtime's blocking threads. For a process that
    /// does nothing else. It opens the store faster, because allocating memory is cheaper on the main thread.
    pub reads_in_place: bool,
    /// The size up to which shutdown publishes `issues.json`, in bytes. The log has what a larger file lacks.
    pub last_publish_bytes: u64,
    /// The pause before an invalid file is read again, at most five times. Editors and git write in place, or remove
    /// a file before they write it again.
    pub reread_after: Duration,
    /// How much of the log to keep.
    pub keep_events: KeepEvents,
    /// True to allow changes on a network file system, because only one machine uses the store.
    pub allows_network: bool,
    /// True to log failed commits besides returning them, for a process that serves other programs.
    pub logs_failures: bool,
}

impl Default for JsonStoreOptions {
    fn default() -> Self {
        Self {
            busy_after: Duration::from_secs(10),
            publish_after: Duration::from_millis(300),
            reads_in_place: false,
            last_publish_bytes: 64 * 1024 * 1024,
            reread_after: Duration::from_millis(20),
            keep_events: KeepEvents::default(),
            allows_network: false,
            logs_failures: true,
        }
    }
}

impl JsonStoreOptions {
    /// Returns the options for a run of `ait` that a user waits for.
    pub fn for_cli() -> Self {
        Self {
            reads_in_place: true,
            last_publish_bytes: 2 * 1024 * 1024,
            // The run of `ait` reports its error itself.
            logs_failures: false,
            ..Self::default()
        }
    }

    /// Returns the options for a run of `ait` with so many changes that they wait for each other. It waits longer,
    /// because a retried change would lose its place in the queue. It can still report that it waits.
    pub fn for_many_changes() -> Self {
        Self { busy_after: Duration::from_secs(600), reads_in_place: false, ..Self::for_cli() }
    }

    /// Returns the options for a hook, which must not block the program that runs it. Work that hangs does so on a
    /// blocking thread.
    pub fn for_hook(busy_after: Duration) -> Self {
        Self { busy_after, reads_in_place: false, ..Self::for_cli() }
    }
}
