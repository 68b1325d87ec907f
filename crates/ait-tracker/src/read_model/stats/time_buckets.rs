//! The division of the statistics' time range into buckets.

use super::range::{DAY_MS, HOUR_MS, Range};

const MINUTE_MS: i64 = 60_000;
const WEEK_MS: i64 = 7 * DAY_MS;
/// The first Monday of 1970. Weeks begin on Mondays.
const MONDAY_MS: i64 = 4 * DAY_MS;
/// A store younger than this is divided into hours.
const YOUNG_MS: i64 = 2 * DAY_MS;
/// The maximum number of bars that fit on a narrow screen.
const MAX_BUCKETS: i64 = 60;
/// The maximum number of intervals between points of the flow, plus half the number of buckets. More would make a
/// page slow to load.
const MAX_INTERVALS: i64 = 92;
/// The customary divisions of a day, up to a whole day.
pub const PARTS_OF_DAY_MS: [i64; 10] = [
    5 * MINUTE_MS,
    10 * MINUTE_MS,
    15 * MINUTE_MS,
    30 * MINUTE_MS,
    HOUR_MS,
    2 * HOUR_MS,
    3 * HOUR_MS,
    6 * HOUR_MS,
    12 * HOUR_MS,
    DAY_MS,
];

/// The division of a time range into buckets, and of each bucket into equal intervals between points.
///
/// Buckets are whole hours, days or weeks in UTC, so they stay the same as time passes. The first bucket begins at
/// or before the start of the range; the last contains `now`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Grid {
    /// The start of the first bucket and the first point.
    pub begin_ms: i64,
    /// The last point; nothing is later.
    pub now_ms: i64,
    /// The length of a bucket.
    pub bucket_ms: i64,
    /// The distance between points, a divisor of the bucket length.
    pub point_ms: i64,
}

impl Grid {
    /// Returns the grid for a range. It starts no earlier than the oldest issue requires.
    pub fn new(range: Range, oldest_ms: Option<i64>, now_ms: i64) -> Self {
        let oldest_ms = oldest_ms.map(|oldest_ms| oldest_ms.min(now_ms));
        let asked_ms = range.length_ms().map(|length_ms| now_ms - length_ms);
        let begin_ms = match (asked_ms, oldest_ms) {
            (Some(asked_ms), Some(oldest_ms)) => asked_ms.max(oldest_ms),
            (Some(begin_ms), None) | (None, Some(begin_ms)) => begin_ms,
            (None, None) => now_ms - DAY_MS,
        };
        let is_young = oldest_ms.is_some_and(|oldest_ms| now_ms - oldest_ms < YOUNG_MS);
        let shortest_ms = if range == Range::Day || is_young { HOUR_MS } else { DAY_MS };
        let bucket_ms = shortest_from(shortest_ms, |step_ms| {
            // A week may begin before the first day of the range.
            (step_ms == shortest_ms || step_ms >= WEEK_MS)
                && (now_ms - floor(begin_ms, step_ms)) / step_ms < MAX_BUCKETS
        });
        let begin_ms = floor(begin_ms, bucket_ms);
        let point_ms = shortest_from(PARTS_OF_DAY_MS[0], |step_ms| {
            bucket_ms % step_ms == 0
                && (now_ms - begin_ms) / step_ms + (now_ms - begin_ms) / bucket_ms / 2
                    < MAX_INTERVALS
        });
        Self { begin_ms, now_ms, bucket_ms, point_ms }
    }

    /// Returns the number of buckets; at least one.
    pub fn buckets(&self) -> usize {
        ((self.now_ms - self.begin_ms) / self.bucket_ms) as usize + 1
    }

    /// Returns the times of the points; the last is `now`.
    pub fn points(&self) -> impl Iterator<Item = i64> + use<> {
        let Self { begin_ms, now_ms, point_ms, .. } = *self;
        (begin_ms..now_ms).step_by(point_ms as usize).chain([now_ms])
    }
}

/// Returns the shortest step that fits, starting at `first_ms`. Longer steps give fewer buckets, so one always fits.
/// From a week on, each step is twice the previous one.
fn shortest_from(first_ms: i64, fits: impl Fn(i64) -> bool) -> i64 {
    let parts = PARTS_OF_DAY_MS.into_iter().filter(|&step_ms| step_ms >= first_ms);
    let weeks = std::iter::successors(Some(WEEK_MS), |step_ms| Some(step_ms * 2));
    parts.chain(weeks).find(|&step_ms| fits(step_ms)).unwrap_or(i64::MAX)
}

/// Returns the start of the hour, day or week in UTC that contains a time.
fn floor(time_ms: i64, step_ms: i64) -> i64 {
    let origin_ms = if step_ms >= WEEK_MS { MONDAY_MS } else { 0 };
    (time_ms - origin_ms).div_euclid(step_ms) * step_ms + origin_ms
}

#[cfg(test)]
mod tests {
    use super::*;
    use ait_domain::Timestamp;

    fn ms(text: &str) -> i64 {
        Timestamp::parse(text).unwrap().unix_millis()
    }

    #[test]
    fn bucket_sizes_fit_the_range_and_the_age_of_the_store() {
        let minute = |text: &str| ms(&format!("{}:00Z", text.replace(' ', "T")));
        let hour = 60;
        let day = 24 * 60;
        for (range, oldest, begin, bucket, buckets, point, points) in [
            (Range::Day, "2025-01-01 00:00", "2026-03-17 10:00", hour, 25, 30, 50),
            (Range::Week, "2025-01-01 00:00", "2026-03-11 00:00", day, 8, 3 * hour, 61),
            (Range::Month, "2025-01-01 00:00", "2026-02-16 00:00", day, 31, 12 * hour, 62),
            (Range::All, "2026-02-20 05:00", "2026-02-20 00:00", day, 27, 12 * hour, 54),
            (Range::All, "2025-12-31 05:00", "2025-12-29 00:00", 7 * day, 12, day, 81),
            (Range::All, "2025-01-01 00:00", "2024-12-23 00:00", 14 * day, 33, 7 * day, 66),
            (Range::Week, "2026-03-17 22:10", "2026-03-17 22:00", hour, 13, 10, 75),
            (Range::Month, "2026-03-16 10:21", "2026-03-16 10:00", hour, 49, hour, 50),
            (Range::Month, "2026-03-18 10:19", "2026-03-18 10:00", hour, 1, 5, 5),
            (Range::All, "2030-01-01 00:00", "2026-03-18 10:00", hour, 1, 5, 5),
        ] {
            let grid = Grid::new(range, Some(minute(oldest)), minute("2026-03-18 10:20"));
            let steps = (grid.bucket_ms / MINUTE_MS, grid.buckets(), grid.point_ms / MINUTE_MS);
            let found = (grid.begin_ms, steps, grid.points().count());
            let expected = (minute(begin), (bucket, buckets, point), points);
            assert_eq!(found, expected, "{range} {oldest}");
        }
    }

    #[test]
    fn bucket_and_point_counts_are_bounded_for_any_time_range() {
        let times = ["0000-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "1900-05-05T05:05:05Z"];
        let later = ["2026-03-18T10:20:00Z", "2026-03-18T00:00:00Z", "9999-12-31T23:59:59.999Z"];
        let all: Vec<_> = times.into_iter().chain(later).map(ms).collect();
        for (&range, &oldest, &now) in Range::ALL
            .iter()
            .flat_map(|range| all.iter().map(move |oldest| (range, oldest)))
            .flat_map(|(range, oldest)| all.iter().map(move |now| (range, oldest, now)))
        {
            for oldest in [Some(oldest), None] {
                let grid = Grid::new(range, oldest, now);
                assert!((1..=MAX_BUCKETS as usize).contains(&grid.buckets()), "{grid:?}");
                assert!(grid.points().count() <= 120, "{grid:?}");
                assert_eq!(grid.points().last(), Some(now));
                assert!(grid.begin_ms <= now && grid.bucket_ms % grid.point_ms == 0, "{grid:?}");
            }
        }
    }
}
