//! The single pass over all issues that collects the statistics.

use super::time_buckets::Grid;
use super::types::STATUSES;
use crate::read_model::status_timeline::{StatusChange, StatusTimeline};
use ait_domain::{Classification, Status};

/// The ages at which one group of open issues ends and the next begins.
pub(super) const AGES_MS: [u64; 6] = [
    3_600_000,
    4 * 3_600_000,
    24 * 3_600_000,
    3 * 24 * 3_600_000,
    7 * 24 * 3_600_000,
    30 * 24 * 3_600_000,
];

/// The counts so far.
///
/// Clocks differ, so times are adjusted: nothing is later than now, nothing is earlier than the filing, and
/// no step is later than the next one. A step that appears to be before the filing gets the time of the next step.
/// So the order of the history holds, a wrong clock moves no other step far, and every step is counted by now at the
/// latest.
pub(super) struct Accumulator {
    grid: Grid,
    point_ms: u64,
    /// The bucket of each interval between points.
    bucket_of: Vec<u32>,
    /// The change of each number at each point.
    pub changes: Vec<[i32; STATUSES]>,
    /// How often each status was entered in each bucket. Filing does not count, nor does a lapsed claim, because no
    /// work was done.
    pub entered: Vec<[u32; STATUSES]>,
    /// The number of issues filed in each bucket.
    pub filed: Vec<u32>,
    /// The number of issues in each status now.
    pub present: [u32; STATUSES],
    /// The number of open issues in each status by age.
    pub ages: [[u32; STATUSES]; AGES_MS.len() + 1],
    /// The lead times of the closed issues, from filing to closing, by classification.
    pub lead_ms: [Vec<u64>; Classification::ALL.len()],
    /// Their cycle times, from the first claim for work to the last completion, by classification.
    pub cycle_ms: [Vec<u64>; Classification::ALL.len()],
    /// How long each of them was in each status where it was.
    pub in_status_ms: [Vec<u64>; STATUSES],
    /// The adjusted times of the current issue's steps; a reusable buffer.
    pub times_ms: Vec<i64>,
}

impl Accumulator {
    pub fn new(grid: Grid) -> Self {
        let points = grid.points().count();
        let per_bucket = (grid.bucket_ms / grid.point_ms) as usize;
        Self {
            grid,
            point_ms: grid.point_ms as u64,
            bucket_of: (0..=points).map(|span| (span / per_bucket) as u32).collect(),
            changes: vec![[0; STATUSES]; points],
            entered: vec![[0; STATUSES]; grid.buckets()],
            filed: vec![0; grid.buckets()],
            present: [0; STATUSES],
            ages: Default::default(),
            lead_ms: Default::default(),
            cycle_ms: Default::default(),
            in_status_ms: Default::default(),
            times_ms: Vec::new(),
        }
    }

    /// Counts one issue.
    pub fn add(&mut self, timeline: &StatusTimeline) {
        let now_ms = self.grid.now_ms;
        let filed_ms = timeline.created_at.unix_millis().min(now_ms);
        self.present[timeline.status as usize] += 1;
        if timeline.status.is_open() {
            let age_ms = now_ms.abs_diff(filed_ms);
            let band = AGES_MS.iter().take_while(|&&end_ms| age_ms >= end_ms).count();
            self.ages[band][timeline.status as usize] += 1;
        }
        self.order(timeline, filed_ms);
        let last = timeline.changes.last().map_or(Status::Created, |step| step.status);
        if last != timeline.status {
            // The time of this change is unknown, so only the current counts change.
            self.enter(now_ms, last, timeline.status, true);
        }
        self.follow(timeline, filed_ms, last);
        if timeline.status == Status::Closed {
            self.time(timeline, filed_ms);
        }
    }

    /// Adjusts the times of the steps, from the last to the first.
    fn order(&mut self, timeline: &StatusTimeline, filed_ms: i64) {
        let mut bound_ms = self.grid.now_ms;
        self.times_ms.clear();
        self.times_ms.resize(timeline.changes.len(), filed_ms);
        for (time_ms, step) in self.times_ms.iter_mut().zip(&timeline.changes).skip(1).rev() {
            let at_ms = step.at_ms;
            if at_ms >= filed_ms {
                bound_ms = bound_ms.min(at_ms);
            }
            *time_ms = bound_ms;
        }
    }

    /// Counts the steps of an issue, newest first, as far back as the grid reaches.
    fn follow(&mut self, timeline: &StatusTimeline, filed_ms: i64, last: Status) {
        let mut status = last;
        for place in (1..timeline.changes.len()).rev() {
            let time_ms = self.times_ms[place];
            if time_ms < self.grid.begin_ms {
                // All earlier steps are before the grid, too.
                self.changes[0][status as usize] += 1;
                return;
            }
            let before = timeline.changes[place - 1].status;
            self.enter(time_ms, before, status, !timeline.changes[place].is_lapse);
            status = before;
        }
        if filed_ms < self.grid.begin_ms {
            self.changes[0][status as usize] += 1;
            return;
        }
        let (point, bucket) = self.place(filed_ms);
        self.changes[point][status as usize] += 1;
        self.filed[bucket] += 1;
    }

    fn enter(&mut self, time_ms: i64, before: Status, status: Status, is_work: bool) {
        let (point, bucket) = self.place(time_ms);
        let change = &mut self.changes[point];
        change[before as usize] -= 1;
        change[status as usize] += 1;
        self.entered[bucket][status as usize] += u32::from(is_work);
    }

    /// Returns the first point at or after a time within the grid, and the bucket of the time.
    fn place(&self, time_ms: i64) -> (usize, usize) {
        let offset_ms = time_ms.abs_diff(self.grid.begin_ms);
        let span = offset_ms / self.point_ms;
        let is_between = span * self.point_ms != offset_ms;
        let point = (span as usize + usize::from(is_between)).min(self.changes.len() - 1);
        (point, self.bucket_of[span as usize] as usize)
    }

    /// Adds the durations of an issue that was closed within the grid.
    fn time(&mut self, timeline: &StatusTimeline, filed_ms: i64) {
        let ends_closed = timeline.changes.last().is_some_and(|step| step.status == Status::Closed);
        let closed_ms = self.times_ms.last().filter(|_| ends_closed).copied();
        let closed_ms = closed_ms.unwrap_or(self.grid.now_ms);
        if closed_ms < self.grid.begin_ms {
            return;
        }
        let kind = timeline.classification as usize;
        let lead_ms = closed_ms.abs_diff(filed_ms);
        // An import that says nothing of the closing dates it like the filing.
        if lead_ms > 0 {
            self.lead_ms[kind].push(lead_ms);
        }
        let ends_ms = self.times_ms.iter().skip(1).chain([&closed_ms]);
        let mut spent_ms = [0; STATUSES];
        for ((begin_ms, end_ms), step) in self.times_ms.iter().zip(ends_ms).zip(&timeline.changes) {
            spent_ms[step.status as usize] += end_ms.abs_diff(*begin_ms);
        }
        for (all, spent_ms) in self.in_status_ms.iter_mut().zip(spent_ms) {
            all.extend(Some(spent_ms).filter(|ms| *ms > 0));
        }
        let has_lapsed =
            |place: usize| timeline.changes.get(place + 1).is_some_and(|next| next.is_lapse);
        let first = (0..timeline.changes.len()).find(|&place| {
            timeline.changes[place].status == Status::InProgress && !has_lapsed(place)
        });
        let is_completion =
            |step: &StatusChange| step.status == Status::Completed && !step.is_lapse;
        let last = timeline.changes.iter().rposition(is_completion);
        if let (Some(first), Some(last)) = (first, last)
            && first < last
        {
            let cycle_ms = self.times_ms[last].abs_diff(self.times_ms[first]);
            self.cycle_ms[kind].push(cycle_ms);
        }
    }
}
