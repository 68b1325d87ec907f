//! How a store is doing.

use prometheus_client::metrics::histogram::Histogram;

use super::StoreError;
use crate::domain::Timestamp;

/// The upper bounds of the buckets in which durations are counted, in seconds.
pub const DURATION_BUCKETS_S: [f64; 16] = [
    0.0001, 0.000_25, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0, 10.0,
];

/// How thoroughly a store is examined.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Probe {
    /// Only what is known without trying.
    Known,
    /// Also by a real trial to write: opens what a change would open, and writes a few KiB that nobody else
    /// sees and that are gone afterwards.
    Trial,
}

/// How a store is doing. What there is not, or what cannot be found out at the moment, is `None`.
#[derive(Clone, Debug, Default)]
pub struct StoreHealth {
    /// What the next read or change would be refused with.
    pub trouble: Option<StoreError>,
    /// What somebody has to look after although the store can be read and changed, in words.
    pub warning: Option<String>,
    /// What people call the store: the name of its file, without the directory.
    pub name: String,
    /// The size of what people read, in bytes.
    pub snapshot_bytes: Option<u64>,
    /// The size of the log of events, in bytes.
    pub journal_bytes: Option<u64>,
    /// When a change was last written, by any process.
    pub last_write: Option<Timestamp>,
    /// When what people read was written.
    pub snapshot_written: Option<Timestamp>,
    /// How long this process waited for the disk each time that it made changes durable, in seconds.
    pub syncs: Option<Histogram>,
}
