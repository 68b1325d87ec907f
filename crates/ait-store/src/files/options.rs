//! Options of a store in files.

use std::time::{Duration, SystemTime};

/// How many events to keep.
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
    /// Returns true if the oldest event may be removed, given the length of all of them in bytes, and when it was
    /// decided, in milliseconds since 1970.
    pub(crate) fn is_exceeded(self, total_bytes: i64, at_ms: i64) -> bool {
        match self {
            Self::Bytes(bytes) => u64::try_from(total_bytes).is_ok_and(|total| total > bytes),
            Self::Age(age) => {
                let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
                let kept_ms = now.unwrap_or_default().saturating_sub(age).as_millis();
                u128::try_from(at_ms).is_ok_and(|at| at < kept_ms)
            }
        }
    }
}

/// Options of a store in files.
#[derive(Clone, Copy, Debug)]
pub struct StoreOptions {
    /// How long a command waits for other processes before it is withdrawn and answered with "busy".
    pub busy_after: Duration,
    /// How long it waits in all, also for what this process does first, such as taking over a large `issues.json`.
    pub withdrawn_after: Duration,
    /// How long after a change `issues.json` is published.
    pub publish_after: Duration,
    /// True to block on the disk on the calling thread, instead of the runtime's blocking threads. For a process that
    /// does nothing else. It opens the store faster, because allocating memory is cheaper on the main thread.
    pub reads_in_place: bool,
    /// The size up to which shutdown publishes `issues.json`, in bytes. The database has what a larger file lacks.
    pub last_publish_bytes: u64,
    /// The pause before an invalid file is read again, at most five times. Editors and git write in place, or remove
    /// a file before they write it again.
    pub reread_after: Duration,
    /// How many events to keep.
    pub keep_events: KeepEvents,
    /// True to allow changes on a network file system, because only one machine uses the store.
    pub allows_network: bool,
    /// True to log failed commits besides returning them, for a process that serves other programs.
    pub logs_failures: bool,
    /// False to answer changes without a sync, for a store that is removed when its process ends. After a power
    /// failure it lacks the last of them.
    pub syncs_changes: bool,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self {
            busy_after: Duration::from_secs(10),
            withdrawn_after: Duration::from_secs(600),
            publish_after: Duration::from_millis(300),
            reads_in_place: false,
            last_publish_bytes: 64 * 1024 * 1024,
            reread_after: Duration::from_millis(20),
            keep_events: KeepEvents::default(),
            allows_network: false,
            logs_failures: true,
            syncs_changes: true,
        }
    }
}

impl StoreOptions {
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
        let withdrawn_after = busy_after;
        Self { busy_after, withdrawn_after, reads_in_place: false, ..Self::for_cli() }
    }
}
