//! The health of a store.

use prometheus_client::metrics::histogram::Histogram;

use super::StoreError;
use ait_domain::Timestamp;

/// The upper bounds of the histogram buckets for durations, in seconds.
pub const DURATION_BUCKETS_S: [f64; 16] = [
    0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0, 10.0,
];

/// How thoroughly to examine a store.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Probe {
    /// Reports what is known without a test.
    Known,
    /// Also tests writing: opens what a change would open, and writes a few KiB that no other process sees and that
    /// are removed afterwards.
    Trial,
}

/// The health of a store. A value that does not exist or cannot be determined now is `None`.
#[derive(Clone, Debug, Default)]
pub struct StoreHealth {
    /// The error that the next read or change would return.
    pub trouble: Option<StoreError>,
    /// A problem that needs attention although the store can be read and changed, as text.
    pub warning: Option<String>,
    /// The name of the store for people: its file name, without the directory.
    pub name: String,
    /// The size of `issues.json`, in bytes.
    pub published_bytes: Option<u64>,
    /// The size of the log of events, in bytes.
    pub log_bytes: Option<u64>,
    /// When any process last wrote a change.
    pub last_write: Option<Timestamp>,
    /// When `issues.json` was last written.
    pub published_at: Option<Timestamp>,
    /// What only a store in a database knows.
    pub database: Option<DatabaseHealth>,
    /// The time that each fsync of this process took, in seconds.
    pub syncs: Option<Histogram>,
}

/// The health of a database.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DatabaseHealth {
    /// For how long the oldest transaction has been open that keeps the database from removing old rows, in seconds.
    pub oldest_snapshot_s: u64,
    /// The time of the clock of the database.
    pub clock: Timestamp,
    /// The indexes that are missing or not valid.
    pub missing_indexes: Vec<String>,
    /// Whether the index with which searches find texts is there and valid.
    pub has_search_index: bool,
    /// The statements with which a superuser makes that index safe and usable; empty if it is.
    pub search_repair: Vec<String>,
    /// The tables with many more old rows than current ones.
    pub bloated_tables: Vec<String>,
}
