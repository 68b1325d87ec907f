//! The values that statistics consist of.

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::domain::{Classification, Status, Timestamp};

/// How many statuses there are.
pub(super) const STATUSES: usize = Status::ALL.len();

/// A number for each status.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PerStatus(pub(super) [u32; STATUSES]);

impl PerStatus {
    /// The number of one status.
    pub fn in_status(&self, status: Status) -> u32 {
        self.0[status as usize]
    }

    /// The sum of all.
    pub fn total(&self) -> u32 {
        self.0.iter().sum()
    }

    /// The sum of those whose issues are still open.
    pub fn open(&self) -> u32 {
        let open = Status::ALL.iter().filter(|status| !status.is_terminal());
        open.map(|&status| self.in_status(status)).sum()
    }
}

impl Serialize for PerStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(STATUSES))?;
        for (status, number) in Status::ALL.iter().zip(self.0) {
            map.serialize_entry(status, &number)?;
        }
        map.end()
    }
}

/// How many issues were in each status at one time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct FlowPoint {
    /// When.
    pub at: Timestamp,
    /// How many: those that had been filed until then.
    #[serde(flatten)]
    pub counts: PerStatus,
}

/// How many issues were in each status as time went on.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Flow {
    /// The distance of two points; the last two can be closer.
    pub point_ms: u64,
    /// The points, the last of which is now.
    pub points: Vec<FlowPoint>,
}

/// How often each thing was done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Work {
    /// Issues that came into being.
    pub filed: u32,
    /// Times that an issue was handed to review.
    pub completed: u32,
    /// Ends that accepted what was done.
    pub closed: u32,
    /// Ends that did not.
    pub rejected: u32,
    /// Times that an issue went back into the queue.
    pub returned: u32,
}

impl Work {
    /// What was filed, and how often a status was entered otherwise.
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

/// What was done within a span of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
pub struct Bucket {
    /// Where the span begins.
    pub begin: Timestamp,
    /// What was done.
    #[serde(flatten)]
    pub work: Work,
}

/// What was done as time went on.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Throughput {
    /// The length of a bucket.
    pub bucket_ms: u64,
    /// The buckets, the last of which has not ended yet.
    pub buckets: Vec<Bucket>,
    /// What was done in all of them.
    pub total: Work,
}

/// How long something took, as percentiles by nearest rank: the smallest of the times that were seen which
/// is not exceeded in so many percent of the cases. So each is a time that did occur.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Spread {
    /// How many times were seen.
    pub count: usize,
    /// What half of the cases do not exceed; `None` without any.
    pub median_ms: Option<u64>,
    /// What nine of ten cases do not exceed; `None` without any.
    pub p90_ms: Option<u64>,
}

impl Spread {
    /// The spread of times, which this puts into another order.
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

/// The place, from 0, of a percentile among so many values in order.
fn rank(percent: usize, count: usize) -> usize {
    (percent * count).div_ceil(100).max(1) - 1
}

/// How long something took, for all issues and for each kind of work.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, serde::Serialize)]
pub struct Spreads {
    /// For all.
    pub all: Spread,
    /// For bugs.
    pub bug: Spread,
    /// For improvements.
    pub improvement: Spread,
    /// For features.
    pub feature: Spread,
}

impl Spreads {
    pub(super) fn of(times_ms: [Vec<u64>; Classification::ALL.len()]) -> Self {
        let mut all = times_ms.concat();
        let [mut bug, mut improvement, mut feature] = times_ms;
        Self {
            all: Spread::of(&mut all),
            bug: Spread::of(&mut bug),
            improvement: Spread::of(&mut improvement),
            feature: Spread::of(&mut feature),
        }
    }

    /// The spread for one kind of work.
    pub fn of_kind(&self, classification: Classification) -> Spread {
        match classification {
            Classification::Bug => self.bug,
            Classification::Improvement => self.improvement,
            Classification::Feature => self.feature,
        }
    }
}

/// How many open issues there are of an age, which counts from the filing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AgeBand {
    /// They are at least as old as this.
    pub from_ms: u64,
    /// They are younger than this; `None` where nothing is too old.
    pub under_ms: Option<u64>,
    /// How many.
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
            let expected = Spread { count: times_ms.len(), median_ms, p90_ms };
            assert_eq!(Spread::of(&mut given), expected, "{times_ms:?}");
        }
    }
}
