//! The values that make up the statistics.

use indexmap::IndexMap;
use serde::ser::{Serialize, SerializeMap, Serializer};

use ait_domain::{Classification, Classifications, Status, Timestamp};

/// The number of statuses.
pub(super) const STATUSES: usize = Status::ALL.len();

/// A number for each status.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PerStatus(pub(super) [u32; STATUSES]);

impl PerStatus {
    /// Returns the number for a status.
    pub fn in_status(&self, status: Status) -> u32 {
        self.0[status as usize]
    }

    /// Returns the sum over all statuses.
    pub fn total(&self) -> u32 {
        self.0.iter().sum()
    }

    /// Returns the sum over the open statuses.
    pub fn open(&self) -> u32 {
        let open = Status::OF_WORK.iter().filter(|status| status.is_open());
        open.map(|&status| self.in_status(status)).sum()
    }
}

impl Serialize for PerStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(Status::OF_WORK.len()))?;
        for (status, number) in Status::OF_WORK.iter().zip(self.0) {
            map.serialize_entry(status, &number)?;
        }
        map.end()
    }
}

/// The number of issues in each status at one time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct FlowPoint {
    /// The time.
    pub at: Timestamp,
    /// The number of issues in each status, of those filed until then.
    #[serde(flatten)]
    pub counts: PerStatus,
}

/// The number of issues in each status over time.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Flow {
    /// The distance between points. The last two can be closer.
    pub point_ms: u64,
    /// The points; the last is now.
    pub points: Vec<FlowPoint>,
}

/// The number of times each kind of work was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Work {
    /// Issues filed.
    pub filed: u32,
    /// Completions.
    pub completed: u32,
    /// Issues closed as accepted.
    pub closed: u32,
    /// Issues rejected.
    pub rejected: u32,
    /// Returns to the queue.
    pub returned: u32,
}

impl Work {
    /// Creates the counts from the number of filings and the number of other entries into each status.
    pub(super) fn new(filed: u32, entered: [u32; STATUSES]) -> Self {
        let entered = |status: Status| entered[status as usize];
        Self {
            filed,
            completed: entered(Status::Completed),
            closed: entered(Status::Closed),
            rejected: entered(Status::Rejected),
            returned: entered(Status::Created),
        }
    }
}

/// The work done within a time span.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Bucket {
    /// The start of the span.
    pub begin: Timestamp,
    #[serde(flatten)]
    pub work: Work,
}

/// The work done over time.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Throughput {
    /// The length of a bucket.
    pub bucket_ms: u64,
    /// The buckets; the last is not over yet.
    pub buckets: Vec<Bucket>,
    /// The sum over all buckets.
    pub total: Work,
}

/// A distribution of durations as nearest-rank percentiles: the smallest observed duration that the given percentage
/// of cases does not exceed. So each value was observed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Percentiles {
    /// The number of durations.
    pub count: usize,
    /// The median; `None` without durations.
    pub median_ms: Option<u64>,
    /// The 90th percentile; `None` without durations.
    pub p90_ms: Option<u64>,
}

impl Percentiles {
    /// Computes the percentiles; reorders the durations.
    pub(super) fn of(times_ms: &mut [u64]) -> Self {
        let count = times_ms.len();
        if count == 0 {
            return Self::default();
        }
        let (before, &mut p90_ms, _) = times_ms.select_nth_unstable(rank(90, count));
        let median = rank(50, count);
        let median_ms = match before.len() {
            len if median < len => *before.select_nth_unstable(median).1,
            _ => p90_ms,
        };
        Self { count, median_ms: Some(median_ms), p90_ms: Some(p90_ms) }
    }
}

/// Returns the index of a percentile among sorted values.
fn rank(percent: usize, count: usize) -> usize {
    (percent * count).div_ceil(100).max(1) - 1
}

/// Distributions of durations, for all issues and by kind of work.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Spreads {
    /// All issues.
    pub all: Percentiles,
    /// The issues of each kind that there usually is or that has any.
    #[serde(flatten)]
    kinds: IndexMap<Classification, Percentiles>,
}

impl Spreads {
    pub(super) fn of(times_ms: [Vec<u64>; Classification::ALL.len()]) -> Self {
        let usual = Classifications::default();
        let mut all = times_ms.concat();
        let kinds = Classification::ALL.iter().copied().zip(times_ms);
        let kinds = kinds.filter(|(kind, times_ms)| usual.contains(*kind) || !times_ms.is_empty());
        Self {
            all: Percentiles::of(&mut all),
            kinds: kinds.map(|(kind, mut times)| (kind, Percentiles::of(&mut times))).collect(),
        }
    }

    /// Returns the distribution for each kind of work.
    pub fn kinds(&self) -> impl Iterator<Item = (Classification, Percentiles)> {
        self.kinds.iter().map(|(kind, spread)| (*kind, *spread))
    }
}

/// The number of open issues of an age, counted from filing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgeBucket {
    /// The minimum age.
    pub from_ms: u64,
    /// The age at which the next group begins; `None` for the last.
    pub under_ms: Option<u64>,
    /// The number of issues in each status.
    #[serde(flatten)]
    pub counts: PerStatus,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        for (times_ms, median_ms, p90_ms) in [
            (vec![], None, None),
            (vec![7], Some(7), Some(7)),
            (vec![9, 1], Some(1), Some(9)),
            (vec![3, 1, 2], Some(2), Some(3)),
            (vec![4, 3, 1, 2], Some(2), Some(4)),
            ((1..=10).rev().collect(), Some(5), Some(9)),
            ((1..=11).collect(), Some(6), Some(10)),
            ((1..=100).rev().collect(), Some(50), Some(90)),
            (vec![5; 20], Some(5), Some(5)),
        ] {
            let mut given: Vec<u64> = times_ms.clone();
            let expected = Percentiles { count: times_ms.len(), median_ms, p90_ms };
            assert_eq!(Percentiles::of(&mut given), expected, "{times_ms:?}");
        }
    }
}
