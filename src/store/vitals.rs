//! What probes and meters want to know of a store besides its issues.

use prometheus_client::metrics::histogram::Histogram;

use crate::domain::Timestamp;

/// The upper bounds of the buckets in which durations are counted, in seconds.
pub const DURATION_BUCKETS_S: [f64; 16] = [
    0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0, 10.0,
];

/// How a store is doing, as far as that can be told without reading its issues.
///
/// What there is not, or what cannot be found out at the moment, is `None`.
#[derive(Clone, Debug, Default)]
pub struct Vitals {
    /// What people call the store: the name of its file, without the directory.
    pub name: String,
    /// The size of the file with the issues, in bytes.
    pub snapshot_bytes: Option<u64>,
    /// The size of what was written since, in bytes.
    pub journal_bytes: Option<u64>,
    /// When a change was last written, by any process. An edit by hand counts as one.
    pub last_write: Option<Timestamp>,
    /// When the file with the issues was written.
    pub snapshot_written: Option<Timestamp>,
    /// How long this process waited for the disk each time that it made changes durable, in seconds.
    pub syncs: Option<Histogram>,
}
