//! How long others wait for a change: a process that watches, and callers that wait for an issue to claim.

use std::future::pending;
use std::io::{self, Write};
use std::thread;
use std::time::{Duration, Instant};

use agent_issue_tracker::tracker::ClaimKind;

use crate::LARGE;
use crate::processes::Worker;
use crate::worker::Kind;
use benches::figures::{ns, percentile, timed, us};
use benches::fixture::Fixture;
use benches::issues;

const ROUNDS: usize = 200;
/// The time that others wait before something happens.
const PAUSE: Duration = Duration::from_millis(30);

pub fn report(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "From the response to a change until others know, {ROUNDS} each, ms\n")?;
    writeln!(out, "| | p50 | p99 | longest |\n|---|---:|---:|---:|")?;
    for (name, mut times) in [
        ("another process is told, no issues", watched(0)),
        ("another process is told, 100,000 issues", watched(LARGE)),
        ("a claim that need not wait takes", plain()),
        ("a claim that waits in the same process", waited()),
        ("a claim that waits in another process", waited_elsewhere()),
    ] {
        times.sort_unstable();
        let [p50, p99, longest] =
            [50, 99, 100].map(|percent| us(percentile(&times, percent)) / 1e3);
        writeln!(out, "| {name} | {p50:.1} | {p99:.1} | {longest:.1} |")?;
    }
    writeln!(out)
}

/// Files an issue and returns how long it then takes until `known` returns.
fn after_a_change(fixture: &Fixture, known: impl FnOnce(&Fixture, String)) -> u64 {
    thread::sleep(PAUSE);
    let filed = fixture.add(fixture.filing()).to_string();
    let answered = Instant::now();
    known(fixture, filed);
    ns(answered.elapsed())
}

fn watched(size: usize) -> Vec<u64> {
    let fixture = Fixture::published(size);
    let mut watcher = Worker::beside(&fixture, Kind::Watch);
    let mut known = |fixture: &Fixture, _| {
        let bounds = fixture.runtime.block_on(fixture.tracker.log_bounds());
        let newest = bounds.expect("a valid store").newest.number;
        while watcher.line().trim_end().parse::<u64>().expect("a number") < newest {}
    };
    (0..ROUNDS).map(|_| after_a_change(&fixture, &mut known)).collect()
}

/// Returns a store without a ready issue.
fn without_work() -> Fixture {
    let fixture = Fixture::published(0);
    fixture.claim();
    fixture
}

fn plain() -> Vec<u64> {
    let fixture = without_work();
    let round = || {
        fixture.add(fixture.filing());
        thread::sleep(PAUSE);
        timed(|| fixture.claim())
    };
    (0..ROUNDS).map(|_| round()).collect()
}

fn waited() -> Vec<u64> {
    let fixture = without_work();
    let round = || {
        let tracker = fixture.tracker.clone();
        let waiting = fixture.runtime.spawn(async move {
            tracker.wait_for_next(ClaimKind::Work(None), issues::agent(), pending()).await
        });
        after_a_change(&fixture, |fixture, _| {
            let claimed = fixture.runtime.block_on(waiting).expect("no panic");
            claimed.expect("a store that can be changed").expect("an issue");
        })
    };
    (0..ROUNDS).map(|_| round()).collect()
}

fn waited_elsewhere() -> Vec<u64> {
    let fixture = without_work();
    let mut waiting = Worker::beside(&fixture, Kind::Wait);
    let mut known = |_: &Fixture, filed: String| assert_eq!(waiting.line().trim_end(), filed);
    (0..ROUNDS).map(|_| after_a_change(&fixture, &mut known)).collect()
}
