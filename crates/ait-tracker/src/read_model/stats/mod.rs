//! Statistics: how many issues move through the statuses, and how fast.

mod accumulator;
mod range;
#[cfg(test)]
mod tests;
mod time_buckets;
mod types;
mod usage;

use std::sync::Arc;

use indexmap::IndexMap;
use serde::Serialize;

use self::accumulator::{AGES_MS, Accumulator};
pub use self::range::Range;
use self::time_buckets::Grid;
pub use self::time_buckets::PARTS_OF_DAY_MS;
use self::types::STATUSES;
pub use self::types::{
    AgeBucket, Bucket, Flow, FlowPoint, PerStatus, Percentiles, Spreads, Throughput, Work,
};
pub use self::usage::UsageStats;
use super::agent_interner::Names;
use super::status_timeline::StatusTimeline;
use super::summary::IssueSummary;
use ait_domain::{Status, Timestamp};

/// Statistics of all issues over a time range that ends now.
///
/// Times can contradict each other, because clocks differ or a file was edited. They are adjusted to the order of
/// the history, between the filing and now.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// The time range.
    pub range: Range,
    /// The start of the statistics: at or shortly before the start of the range, on a whole hour, day or week in
    /// UTC, and no earlier than that of the first issue.
    pub begin: Timestamp,
    /// The time of the statistics.
    pub now: Timestamp,
    /// The number of issues in each status now.
    pub present: PerStatus,
    /// The number of open issues.
    pub open: u32,
    /// The number of all issues.
    pub total: u32,
    /// The number of issues in each status over time. The last point equals `present`.
    pub flow: Flow,
    /// The work done over time.
    pub throughput: Throughput,
    /// Lead times, from filing to closing, of the issues closed since `begin`.
    pub lead: Spreads,
    /// Cycle times of these issues, from the first claim for work that did not lapse to the last completion. Issues
    /// without both are left out.
    pub cycle: Spreads,
    /// How long these issues were in each status, all the times together. Those that were never there are left out.
    pub in_status: IndexMap<Status, Percentiles>,
    /// The ages of the open issues, youngest first.
    pub ages: Vec<AgeBucket>,
    /// What the work used; `None` if nothing is known of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageStats>,
}

impl Stats {
    /// Computes the statistics from the status timelines of all issues, and the time at which the oldest was filed.
    ///
    /// The time is proportional to the number of steps within the range: a few milliseconds for 100,000 issues.
    pub fn of(
        lives: impl Iterator<Item = StatusTimeline>,
        oldest: Option<Timestamp>,
        range: Range,
        now: Timestamp,
    ) -> Self {
        let grid = Grid::new(range, oldest.map(Timestamp::unix_millis), now.unix_millis());
        let mut accumulator = Accumulator::new(grid);
        lives.for_each(|timeline| accumulator.add(&timeline));
        let present = PerStatus(accumulator.present);
        Self {
            range,
            begin: Timestamp::from_unix_millis(grid.begin_ms),
            now,
            present,
            open: present.open(),
            total: present.total(),
            flow: flow(&grid, &accumulator),
            throughput: throughput(&grid, &accumulator),
            ages: ages(&accumulator),
            lead: Spreads::of(accumulator.lead_ms),
            cycle: Spreads::of(accumulator.cycle_ms),
            in_status: in_status(accumulator.in_status_ms),
            usage: None,
        }
    }

    /// Adds what the work used.
    pub(super) fn with_usage<'a>(
        self,
        summaries: impl Iterator<Item = &'a Arc<IssueSummary>>,
        names: &Names,
    ) -> Self {
        let Throughput { bucket_ms, buckets, .. } = &self.throughput;
        let usage = UsageStats::of(summaries, names, self.begin, *bucket_ms, buckets.len());
        Self { usage, ..self }
    }
}

fn flow(grid: &Grid, accumulator: &Accumulator) -> Flow {
    let mut counts = PerStatus::default();
    let points = grid.points().zip(&accumulator.changes).map(|(at_ms, changes)| {
        for (count, &change) in counts.0.iter_mut().zip(changes) {
            *count = count.wrapping_add_signed(change);
        }
        FlowPoint { at: Timestamp::from_unix_millis(at_ms), counts }
    });
    Flow { point_ms: grid.point_ms.unsigned_abs(), points: points.collect() }
}

fn throughput(grid: &Grid, accumulator: &Accumulator) -> Throughput {
    let begins_ms = (grid.begin_ms..).step_by(grid.bucket_ms as usize);
    let counted = accumulator.filed.iter().zip(&accumulator.entered);
    let buckets = begins_ms.zip(counted).map(|(begin_ms, (&filed, &entered))| Bucket {
        begin: Timestamp::from_unix_millis(begin_ms),
        work: Work::new(filed, entered),
    });
    let entered = |status: usize| accumulator.entered.iter().map(|entered| entered[status]).sum();
    let total = Work::new(accumulator.filed.iter().sum(), std::array::from_fn(entered));
    Throughput { bucket_ms: grid.bucket_ms.unsigned_abs(), buckets: buckets.collect(), total }
}

fn in_status(mut times_ms: [Vec<u64>; STATUSES]) -> IndexMap<Status, Percentiles> {
    let times = Status::OF_WORK.iter().zip(&mut times_ms).filter(|(_, times)| !times.is_empty());
    times.map(|(status, times)| (*status, Percentiles::of(times))).collect()
}

fn ages(accumulator: &Accumulator) -> Vec<AgeBucket> {
    let begins_ms = [0].into_iter().chain(AGES_MS);
    let ends_ms = AGES_MS.into_iter().map(Some).chain([None]);
    let bands = begins_ms.zip(ends_ms).zip(accumulator.ages);
    let band =
        |((from_ms, under_ms), counts)| AgeBucket { from_ms, under_ms, counts: PerStatus(counts) };
    bands.map(band).collect()
}
