//! How a [`JsonStore`](super::JsonStore) behaves where there is a choice.

use std::time::{Duration, SystemTime};

/// How many events the log keeps at least, as long as no opening needs more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum KeepEvents {
    /// So many bytes.
    Bytes(u64),
    /// Those that are not older than this.
    Age(Duration),
}

impl Default for KeepEvents {
    fn default() -> Self {
        Self::Bytes(1024 * 1024 * 1024)
    }
}

impl KeepEvents {
    /// Whether the oldest segment may go: of a log of so many bytes, and last written at that time.
    pub(super) fn is_exceeded(self, total_bytes: u64, modified: Option<SystemTime>) -> bool {
        match self {
            Self::Bytes(bytes) => total_bytes > bytes,
            Self::Age(age) => modified
                .and_then(|modified| SystemTime::now().duration_since(modified).ok())
                .is_some_and(|since| since > age),
        }
    }
}

/// How a [`JsonStore`](super::JsonStore) behaves where there is a choice.
#[derive(Clone, Copy, Debug)]
pub struct JsonStoreOptions {
    /// How long a command waits for the lock before it is withdrawn and answered "busy".
    pub busy_after: Duration,
    /// How long after a change `issues.json` is brought up to date.
    pub publish_after: Duration,
    /// Whether whoever asks waits for the disk on the thread that asks, rather than on one of those that
    /// the runtime keeps for that. For a process that has nothing else to do: it opens the store faster,
    /// because memory is had at less cost on the thread that a process begins with.
    pub reads_in_place: bool,
    /// The largest `issues.json` in bytes that the end of a process writes itself. What it leaves out is in the log.
    pub last_publish_bytes: u64,
    /// How long after a look at a file that is not valid it is looked at again, up to five times: editors and git
    /// write in place, or remove a file before they write it anew.
    pub second_look_after: Duration,
    /// How many events are kept.
    pub keep_events: KeepEvents,
    /// Whether changes may be made on a file system of a network, because somebody has said that no other machine
    /// uses the store.
    pub allows_network: bool,
    /// Whether a failed commit is logged, beside being answered: for a process whose callers are others.
    pub logs_failures: bool,
}

impl Default for JsonStoreOptions {
    fn default() -> Self {
        Self {
            busy_after: Duration::from_secs(10),
            publish_after: Duration::from_millis(300),
            reads_in_place: false,
            last_publish_bytes: 64 * 1024 * 1024,
            second_look_after: Duration::from_millis(20),
            keep_events: KeepEvents::default(),
            allows_network: false,
            logs_failures: true,
        }
    }
}

impl JsonStoreOptions {
    /// For a process that does one thing, and that somebody waits for.
    pub fn for_command() -> Self {
        Self {
            reads_in_place: true,
            last_publish_bytes: 2 * 1024 * 1024,
            // It tells that itself.
            logs_failures: false,
            ..Self::default()
        }
    }

    /// The same for a command that makes so many changes that they wait for each other: one that was told to try
    /// again would lose its place among them. It is not kept from telling that it waits.
    pub fn for_many_changes() -> Self {
        Self { busy_after: Duration::from_secs(600), reads_in_place: false, ..Self::for_command() }
    }

    /// For a hook of another program, which must not be held up: what hangs does so on a thread that nobody waits
    /// for.
    pub fn for_hook(busy_after: Duration) -> Self {
        Self { busy_after, reads_in_place: false, ..Self::for_command() }
    }
}
