//! The delay between filing an issue and its claim by a waiting caller.

use std::future::pending;
use std::io::{self, Write};
use std::thread;
use std::time::{Duration, Instant};

use agent_issue_tracker::tracker::ClaimKind;

use crate::processes::Worker;
use crate::worker::Kind;
use benches::figures::{ns, percentile, timed, us};
use benches::fixture::Fixture;
use benches::issues;

const ROUNDS: usize = 400;
/// The time that a caller waits before an issue is filed.
const PAUSE: Duration = Duration::from_millis(20);

pub fn report(out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "From the response to `add_issue` to a claim by a waiting caller, {ROUNDS} each, ms\n"
    )?;
    writeln!(out, "| | p50 | p99 | to the plain claim |\n|---|---:|---:|---:|")?;
    let plain = plain();
    let others = [
        ("claim without waiting", plain.clone()),
        ("the caller waits in the same process", same_process()),
        ("in another process", other_process()),
    ];
    let plain = percentile(&plain, 50) as f64;
    for (name, times) in others {
        let [p50, p99] = [50, 99].map(|percent| us(percentile(&times, percent)) / 1e3);
        let ratio = percentile(&times, 50) as f64 / plain;
        writeln!(out, "| {name} | {p50:.2} | {p99:.2} | {ratio:.1} |")?;
    }
    writeln!(out)
}

/// Returns a store without a ready issue.
fn fixture() -> Fixture {
    let fixture = Fixture::published(0);
    claim(&fixture);
    fixture
}

fn claim(fixture: &Fixture) {
    let claimed = fixture
        .runtime
        .block_on(fixture.tracker.claim_next(ClaimKind::Work(None), issues::agent()));
    claimed.expect("a store that can be changed").expect("an issue");
}

fn sorted(mut times: Vec<u64>) -> Vec<u64> {
    times.sort_unstable();
    times
}

fn plain() -> Vec<u64> {
    let fixture = fixture();
    let round = || {
        fixture.add(fixture.filing());
        thread::sleep(PAUSE);
        timed(|| claim(&fixture))
    };
    sorted((0..ROUNDS).map(|_| round()).collect())
}

fn same_process() -> Vec<u64> {
    let fixture = fixture();
    let round = || {
        let tracker = fixture.tracker.clone();
        let waiting = fixture.runtime.spawn(async move {
            tracker.wait_for_next(ClaimKind::Work(None), issues::agent(), pending()).await
        });
        thread::sleep(PAUSE);
        fixture.add(fixture.filing());
        let answered = Instant::now();
        let claimed = fixture.runtime.block_on(waiting).expect("no panic");
        claimed.expect("a store that can be changed").expect("an issue");
        ns(answered.elapsed())
    };
    sorted((0..ROUNDS).map(|_| round()).collect())
}

fn other_process() -> Vec<u64> {
    let fixture = fixture();
    let mut waiting = Worker::start(Kind::Wait, &fixture.path(), 0);
    waiting.expect("ready");
    let mut round = || {
        thread::sleep(PAUSE);
        let filed = fixture.add(fixture.filing()).to_string();
        let answered = Instant::now();
        assert_eq!(waiting.line().trim_end(), filed);
        ns(answered.elapsed())
    };
    sorted((0..ROUNDS).map(|_| round()).collect())
}
