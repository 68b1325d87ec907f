//! How the issues move through their statuses, how many, and how fast.

mod grid;
mod parts;
mod range;
mod tally;
#[cfg(test)]
mod tests;

use serde::Serialize;

use self::grid::Grid;
pub use self::grid::PARTS_OF_DAY_MS;
pub use self::parts::{
    AgeBand, Bucket, Flow, FlowPoint, PerStatus, Spread, Spreads, Throughput, Work,
};
pub use self::range::Range;
use self::tally::{AGES_MS, Tally};
use super::life::Life;
use crate::domain::Timestamp;

/// What is told about all issues, over a span of time that ends now.
///
/// Times that do not fit together, because clocks differ or a file was edited, are taken to be in the
/// order of the history, between the filing and now.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Stats {
    /// How far back they look.
    pub range: Range,
    /// Where they begin: at or shortly before the begin of the range, on a whole hour, day or week of UTC,
    /// and no earlier than that of the first issue.
    pub begin: Timestamp,
    /// When they were taken.
    pub now: Timestamp,
    /// How many issues are in each status now.
    pub present: PerStatus,
    /// How many of them are open.
    pub open: u32,
    /// How many issues there are.
    pub total: u32,
    /// How many were in each status as time went on. The last point equals `present`.
    pub flow: Flow,
    /// What was done as time went on.
    pub throughput: Throughput,
    /// From the filing to the closing of the issues that were closed since the begin.
    pub lead: Spreads,
    /// From the first claim for work that did not lapse to the last completion, of those of them that have both.
    pub cycle: Spreads,
    /// How old the open issues are, the youngest first.
    pub ages: Vec<AgeBand>,
}

impl Stats {
    /// Looks at the lives of all issues.
    ///
    /// Takes time in proportion to the number of steps within the range; a few milliseconds for 100,000
    /// issues.
    pub fn of<'a>(lives: impl Iterator<Item = Life<'a>>, range: Range, now: Timestamp) -> Self {
        // The division of time depends on the oldest.
        let lives: Vec<Life<'_>> = lives.collect();
        let oldest = lives.iter().map(|life| life.created_at).min();
        let grid = Grid::new(range, oldest.map(Timestamp::unix_millis), now.unix_millis());
        let mut tally = Tally::new(grid);
        lives.iter().for_each(|life| tally.add(life));
        let present = PerStatus(tally.present);
        Self {
            range,
            begin: Timestamp::from_unix_millis(grid.begin_ms),
            now,
            present,
            open: present.open(),
            total: present.total(),
            flow: flow(&grid, &tally),
            throughput: throughput(&grid, &tally),
            ages: ages(&tally),
            lead: Spreads::of(tally.lead_ms),
            cycle: Spreads::of(tally.cycle_ms),
        }
    }
}

fn flow(grid: &Grid, tally: &Tally) -> Flow {
    let mut counts = PerStatus::default();
    let points = grid.points().zip(&tally.changes).map(|(at_ms, changes)| {
        for (count, &change) in counts.0.iter_mut().zip(changes) {
            *count = count.wrapping_add_signed(change);
        }
        FlowPoint { at: Timestamp::from_unix_millis(at_ms), counts }
    });
    Flow { point_ms: grid.point_ms.unsigned_abs(), points: points.collect() }
}

fn throughput(grid: &Grid, tally: &Tally) -> Throughput {
    let begins_ms = (grid.begin_ms..).step_by(grid.bucket_ms as usize);
    let counted = tally.filed.iter().zip(&tally.entered);
    let buckets = begins_ms.zip(counted).map(|(begin_ms, (&filed, &entered))| Bucket {
        begin: Timestamp::from_unix_millis(begin_ms),
        work: Work::new(filed, entered),
    });
    let entered = |status: usize| tally.entered.iter().map(|entered| entered[status]).sum();
    let total = Work::new(tally.filed.iter().sum(), std::array::from_fn(entered));
    Throughput { bucket_ms: grid.bucket_ms.unsigned_abs(), buckets: buckets.collect(), total }
}

fn ages(tally: &Tally) -> Vec<AgeBand> {
    let begins_ms = [0].into_iter().chain(AGES_MS);
    let ends_ms = AGES_MS.into_iter().map(Some).chain([None]);
    let bands = begins_ms.zip(ends_ms).zip(tally.ages);
    let band =
        |((from_ms, under_ms), counts)| AgeBand { from_ms, under_ms, counts: PerStatus(counts) };
    bands.map(band).collect()
}
