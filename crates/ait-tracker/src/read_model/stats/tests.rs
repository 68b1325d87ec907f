//! The statistics of small stores, computed by hand, and of random stores, computed naively.

use proptest::prelude::*;

use super::*;
use crate::read_model::status_timeline::StatusChange;
use ait_domain::{Classification, Status};

use Classification::{Bug, Feature, Improvement};
use Status::{Closed, Completed, Created, InProgress, InReview, Rejected};

fn of_kind(spreads: &Spreads, kind: Classification) -> Percentiles {
    spreads.kinds().find(|(of, _)| *of == kind).unwrap().1
}

const NOW: &str = "2026-03-18T10:20:00Z";
const MINUTE_MS: i64 = 60_000;

fn at(text: &str) -> Timestamp {
    Timestamp::parse(text).unwrap()
}

/// An issue, with the times of its filing and its transitions in minutes before now.
#[derive(Debug)]
struct Sketch(Classification, Vec<(i64, Status)>);

struct Known {
    kind: Classification,
    steps: Vec<StatusChange>,
}

impl Known {
    fn timeline(&self) -> StatusTimeline {
        StatusTimeline {
            classification: self.kind,
            created_at: Timestamp::from_unix_millis(self.steps[0].at_ms),
            status: self.steps[self.steps.len() - 1].status,
            changes: self.steps.as_slice().into(),
        }
    }
}

fn known(Sketch(kind, steps): &Sketch) -> Known {
    Known { kind: *kind, steps: steps.iter().map(step).collect() }
}

fn step(&(ago, status): &(i64, Status)) -> StatusChange {
    let at_ms = at(NOW).unix_millis() - ago * MINUTE_MS;
    StatusChange { at_ms, status, is_lapse: false }
}

fn stats(sketches: &[Sketch], range: Range) -> Stats {
    let known: Vec<_> = sketches.iter().map(known).collect();
    stats_of(known.iter().map(Known::timeline), range, at(NOW))
}

fn stats_of(
    timelines: impl Iterator<Item = StatusTimeline> + Clone,
    range: Range,
    now: Timestamp,
) -> Stats {
    let oldest = timelines.clone().map(|timeline| timeline.created_at).min();
    Stats::of(timelines, oldest, range, now)
}

fn last(stats: &Stats) -> PerStatus {
    stats.flow.points[stats.flow.points.len() - 1].counts
}

#[test]
fn stats_of_an_empty_store_are_zero() {
    for &range in Range::ALL {
        let stats = stats(&[], range);
        assert_eq!((stats.total, stats.open, stats.present), (0, 0, PerStatus::default()));
        assert!(stats.flow.points.iter().all(|point| point.counts.total() == 0));
        let spreads = [stats.lead, stats.cycle];
        assert!(spreads.iter().all(|spread| spread.all.count == 0 && spread.kinds().count() == 3));
        assert_eq!(stats.throughput.total, Work::default());
        assert!(stats.ages.iter().all(|band| band.counts.total() == 0));
    }
}

#[test]
fn stats_of_a_single_issue_are_exact() {
    // Filed at 08:00, claimed 08:30, completed 09:00, reviewed 09:30, closed 10:00; it is 10:20.
    let timeline =
        vec![(140, Created), (110, InProgress), (80, Completed), (50, InReview), (20, Closed)];
    let stats = stats(&[Sketch(Bug, timeline)], Range::All);
    assert_eq!(stats.begin, at("2026-03-18T08:00:00Z"));
    let points: Vec<_> = stats.flow.points.iter().map(|point| point.counts.0).collect();
    let mut expected = Vec::new();
    for (status, times) in
        [(Created, 6), (InProgress, 6), (Completed, 6), (InReview, 6), (Closed, 5)]
    {
        let mut counts = [0; Status::ALL.len()];
        counts[status as usize] = 1;
        expected.extend(vec![counts; times]);
    }
    assert_eq!((points, stats.flow.point_ms), (expected, 300_000));
    let begins: Vec<_> =
        stats.throughput.buckets.iter().map(|bucket| bucket.begin.to_string()).collect();
    assert_eq!(begins, ["08", "09", "10"].map(|hour| format!("2026-03-18T{hour}:00:00.000Z")));
    let work: Vec<_> = stats.throughput.buckets.iter().map(|bucket| bucket.work).collect();
    let none = Work::default();
    assert_eq!(
        work,
        [Work { filed: 1, ..none }, Work { completed: 1, ..none }, Work { closed: 1, ..none }]
    );
    let spread = |ms| Percentiles { count: 1, median_ms: Some(ms), p90_ms: Some(ms) };
    assert_eq!((stats.lead.all, of_kind(&stats.lead, Bug)), (spread(7_200_000), spread(7_200_000)));
    assert_eq!(
        (of_kind(&stats.cycle, Bug), of_kind(&stats.cycle, Feature)),
        (spread(1_800_000), Percentiles::default())
    );
}

#[test]
fn lapsed_claims_count_as_no_work_and_restore_the_status() {
    let claims = [
        (600, Created),
        (500, InProgress),
        (490, Created),
        (300, InProgress),
        (200, Completed),
        (150, InReview),
        (140, Completed),
        (100, InReview),
        (20, Closed),
    ];
    let mut steps: Vec<_> = claims.iter().map(step).collect();
    for place in [2, 6] {
        steps[place].is_lapse = true;
    }
    let known = Known { kind: Bug, steps };
    let stats = stats_of([known.timeline()].into_iter(), Range::All, at(NOW));
    let total = Work { filed: 1, completed: 1, closed: 1, rejected: 0, returned: 0 };
    assert_eq!(stats.throughput.total, total);
    let cycle_ms = of_kind(&stats.cycle, Bug).median_ms.map(i64::try_from);
    assert_eq!(cycle_ms, Some(Ok(100 * MINUTE_MS)), "from the claim that led to something");
    assert_eq!(last(&stats), stats.present);
    let waits = |point: &&FlowPoint| point.counts.in_status(Created) == 1;
    let first = stats.flow.points.iter().rfind(waits).map(|point| point.at);
    assert!(first.is_some_and(|at_last| at_last > at("2026-03-18T02:10:00Z")), "{first:?}");
}

#[test]
fn lead_and_cycle_times_cover_issues_closed_in_the_range() {
    let day = 24 * 60;
    let lives = [
        Sketch(Bug, vec![(90, Created), (60, InProgress), (50, Completed), (30, Closed)]),
        // Claimed twice: the cycle time runs from the first claim to the last completion.
        Sketch(
            Bug,
            vec![
                (400, Created),
                (300, InProgress),
                (250, Completed),
                (240, Created),
                (230, InProgress),
                (200, Completed),
                (100, Closed),
            ],
        ),
        Sketch(Feature, vec![(80, Created), (10, Rejected)]),
        Sketch(Improvement, vec![(3 * day, Created), (50, Closed)]),
        Sketch(Bug, vec![(9 * day, Created), (8 * day, InProgress), (3 * day, Closed)]),
        Sketch(Feature, vec![(70, Created), (60, Completed), (50, InProgress), (40, Closed)]),
        // Imported, without a time of closing.
        Sketch(Improvement, vec![(20, Created), (20, Closed)]),
    ];
    let stats = stats(&lives, Range::Day);
    let minutes = |spread: Percentiles| {
        let minutes = |ms: Option<u64>| ms.map(|ms| ms / 60_000);
        (spread.count, minutes(spread.median_ms), minutes(spread.p90_ms))
    };
    assert_eq!(minutes(of_kind(&stats.lead, Bug)), (2, Some(60), Some(300)));
    assert_eq!(minutes(of_kind(&stats.lead, Improvement)), (1, Some(4270), Some(4270)));
    assert_eq!(minutes(of_kind(&stats.lead, Feature)), (1, Some(30), Some(30)));
    assert_eq!(minutes(stats.lead.all), (4, Some(60), Some(4270)));
    assert_eq!(minutes(stats.cycle.all), (2, Some(10), Some(100)));
    let in_status = stats.in_status.iter().map(|(status, spread)| (*status, minutes(*spread)));
    assert_eq!(
        in_status.collect::<Vec<_>>(),
        [
            (Created, (4, Some(30), Some(4270))),
            (InProgress, (3, Some(10), Some(80))),
            (Completed, (3, Some(20), Some(110))),
        ]
    );
    let total = Work { filed: 5, completed: 4, closed: 5, rejected: 1, returned: 1 };
    assert_eq!(stats.throughput.total, total);
    assert_eq!(stats.flow.points[0].counts.0, [1, 0, 0, 0, 1, 0, 0], "as the range began");
    assert_eq!(last(&stats), stats.present);
}

#[test]
fn age_of_open_issues_is_measured_from_filing() {
    let hour = 60;
    let ages = [0, hour - 1, hour, 4 * hour, 24 * hour, 72 * hour, 168 * hour, 720 * hour, -hour];
    let lives = ages.map(|ago| Sketch(Bug, vec![(ago, Created)]));
    let closed = [Sketch(Bug, vec![(9, Created), (1, Closed)])];
    let working = [Sketch(Bug, vec![(9, Created), (1, InProgress)])];
    let lives: Vec<_> = lives.into_iter().chain(closed).chain(working).collect();
    let stats = stats(&lives, Range::Day);
    let bands: Vec<_> =
        stats.ages.iter().map(|band| (band.under_ms, band.counts.total())).collect();
    let hours = |hours: u64| Some(hours * 3_600_000);
    assert_eq!(
        bands,
        [
            (hours(1), 4),
            (hours(4), 1),
            (hours(24), 1),
            (hours(72), 1),
            (hours(168), 1),
            (hours(720), 1),
            (None, 1)
        ]
    );
    assert_eq!(stats.ages[0].counts.in_status(InProgress), 1);
}

#[test]
fn out_of_order_times_are_clamped() {
    let day = 24 * 60;
    for (steps, filed, entered) in [
        // A time in the future counts as now.
        (vec![(-day, Created)], 0, vec![]),
        (vec![(60, Created), (-day, InProgress)], 60, vec![0]),
        // A future step among others: no later than the next one.
        (vec![(90, Created), (-day, InProgress), (30, Completed)], 90, vec![30, 30]),
        // A step from long before the filing: together with the next one.
        (vec![(90, Created), (1000 * day, InProgress), (30, Completed)], 90, vec![30, 30]),
        (vec![(90, Created), (40, InProgress), (60, Completed)], 90, vec![60, 60]),
        (vec![(90, Created), (200, InProgress)], 90, vec![0]),
    ] {
        let sketch = Sketch(Bug, steps.clone());
        let timeline = known(&sketch);
        let grid = Grid::new(Range::Day, None, at(NOW).unix_millis());
        let mut accumulator = Accumulator::new(grid);
        accumulator.add(&timeline.timeline());
        let ago = |place: usize| (grid.now_ms - accumulator.times_ms[place]) / MINUTE_MS;
        assert_eq!(ago(0), filed, "{steps:?}");
        let found: Vec<_> = (1..steps.len()).map(ago).collect();
        assert_eq!(found, entered, "{steps:?}");
    }
}

#[test]
fn the_current_status_overrides_an_incomplete_history() {
    let filed = at("2026-03-18T09:00:00Z");
    let steps = [StatusChange { at_ms: filed.unix_millis(), status: Created, is_lapse: false }];
    for steps in [&steps[..], &[]] {
        let timeline = StatusTimeline {
            classification: Bug,
            created_at: filed,
            status: Closed,
            changes: steps.into(),
        };
        let stats = stats_of([timeline].into_iter(), Range::All, at(NOW));
        assert_eq!((last(&stats), stats.present.in_status(Closed)), (stats.present, 1));
        assert_eq!(stats.flow.points[0].counts.in_status(Created), 1);
        assert_eq!((stats.throughput.total.closed, of_kind(&stats.lead, Bug).count), (1, 1));
    }
}

#[test]
fn stats_support_years_0_to_9999() {
    let times = ["0000-01-01T00:00:00Z", "0001-06-01T00:00:00Z", NOW, "9999-12-31T23:59:59.999Z"];
    for (&range, now) in Range::ALL.iter().flat_map(|range| times.map(|now| (range, now))) {
        let steps: Vec<_> = times.iter().zip([Created, InProgress, Completed, Closed]).collect();
        let step = |(text, status): &(&&str, Status)| StatusChange {
            at_ms: at(text).unix_millis(),
            status: *status,
            is_lapse: false,
        };
        let steps: Vec<_> = steps.iter().map(step).collect();
        let timeline = Known { kind: Bug, steps };
        let stats = stats_of([timeline.timeline()].into_iter(), range, at(now));
        assert_eq!((stats.present.in_status(Closed), last(&stats)), (1, stats.present));
        assert!(stats.flow.points.is_sorted_by_key(|point| point.at), "{stats:?}");
    }
}

#[test]
fn thousands_of_status_changes_are_all_counted() {
    let turns = (1..=5_000_i64).rev();
    let steps = turns.flat_map(|n| [(2 * n, InProgress), (2 * n - 1, Created)]);
    let steps = [(10_001, Created)].into_iter().chain(steps).collect();
    let stats = stats(&[Sketch(Bug, steps)], Range::All);
    assert_eq!(stats.throughput.total.returned, 5_000);
    assert_eq!((last(&stats), stats.present.in_status(Created)), (stats.present, 1));
}

#[test]
fn stats_json_has_the_expected_keys() {
    let timeline = vec![(30, Created), (20, InProgress), (10, Completed), (5, Closed)];
    let stats = stats(&[Sketch(Bug, timeline)], Range::All);
    let mut json = serde_json::to_value(&stats).unwrap();
    let keys: Vec<_> = json.as_object().unwrap().keys().cloned().collect();
    let expected = [
        "range",
        "begin",
        "now",
        "present",
        "open",
        "total",
        "flow",
        "throughput",
        "lead",
        "cycle",
        "inStatus",
        "ages",
    ];
    assert_eq!(keys, expected);
    let point = json["flow"]["points"][0].take();
    assert_eq!(
        serde_json::to_string(&point).unwrap(),
        r#"{"at":"2026-03-18T09:00:00.000Z","created":0,"in_progress":0,"completed":0,"in_review":0,"closed":0,"rejected":0}"#
    );
    let bucket = &json["throughput"]["buckets"][1];
    assert_eq!(
        serde_json::to_string(bucket).unwrap(),
        r#"{"begin":"2026-03-18T10:00:00.000Z","filed":0,"completed":1,"closed":1,"rejected":0,"returned":0}"#
    );
    assert_eq!(
        serde_json::to_string(&json["cycle"]["bug"]).unwrap(),
        r#"{"count":1,"medianMs":600000,"p90Ms":600000}"#
    );
    assert_eq!(json["ages"][6]["underMs"], serde_json::Value::Null);
    assert_eq!(
        (&json["range"], &json["throughput"]["bucketMs"]),
        (&"all".into(), &3_600_000.into())
    );
}

fn any_life() -> impl Strategy<Value = Sketch> {
    let kinds = prop::sample::select(Classification::ALL);
    let ago = prop_oneof![
        -3_000..200_000_i64,
        -100..3_000_i64,
        prop::sample::select(vec![0, 20, 80, 620])
    ];
    let steps = prop::collection::vec((ago, prop::sample::select(Status::ALL)), 1..9);
    (kinds, steps).prop_map(|(kind, mut steps)| {
        steps[0].1 = Created;
        Sketch(kind, steps)
    })
}

/// The times of the steps in minutes before now, computed forwards and naively, unlike the accumulator.
fn counted(steps: &[(i64, Status)]) -> Vec<(i64, Status)> {
    let filed = steps[0].0.max(0);
    let mut counted = vec![(filed, steps[0].1)];
    for place in 1..steps.len() {
        let valid = steps[place..].iter().map(|step| step.0).filter(|ago| *ago <= filed);
        counted.push((valid.max().unwrap_or(0).max(0), steps[place].1));
    }
    counted
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn flow_and_throughput_match_a_naive_count(
        lives in prop::collection::vec(any_life(), 0..12),
        range in prop::sample::select(Range::ALL),
    ) {
        let stats = stats(&lives, range);
        prop_assert_eq!(last(&stats), stats.present);
        prop_assert_eq!(stats.total as usize, lives.len());
        let now_ms = at(NOW).unix_millis();
        let all: Vec<_> = lives.iter().map(|timeline| counted(&timeline.1)).collect();
        for point in &stats.flow.points {
            let ago_ms = now_ms - point.at.unix_millis();
            let mut expected = [0; Status::ALL.len()];
            for steps in &all {
                let until = steps.iter().rfind(|step| step.0 * MINUTE_MS >= ago_ms);
                until.into_iter().for_each(|(_, status)| expected[*status as usize] += 1);
            }
            prop_assert_eq!(point.counts.0, expected, "{}", point.at);
        }
        for (place, bucket) in stats.throughput.buckets.iter().enumerate() {
            let begin_ms = bucket.begin.unix_millis();
            let end_ms = stats.throughput.buckets.get(place + 1).map_or(i64::MAX, |bucket| bucket.begin.unix_millis());
            let is_within = |ago: i64| (begin_ms..end_ms).contains(&(now_ms - ago * MINUTE_MS));
            let entered = |wanted| {
                let steps = all.iter().flat_map(|steps| &steps[1..]);
                steps.filter(|(ago, status)| *status == wanted && is_within(*ago)).count() as u32
            };
            let filed = all.iter().filter(|steps| is_within(steps[0].0)).count() as u32;
            let expected = Work {
                filed,
                completed: entered(Completed),
                closed: entered(Closed),
                rejected: entered(Rejected),
                returned: entered(Created),
            };
            prop_assert_eq!(bucket.work, expected, "{}", bucket.begin);
        }
    }
}
