//! Claims, lists and opening at 100,000 issues: without attributes, and where every fifth issue is blocked and has five
//! labels. Both sides are measured alternately.

use std::io::{self, Write};

use agent_issue_tracker::domain::{Order, Query};
use agent_issue_tracker::store::{SqliteStore, Store};
use agent_issue_tracker::tracker::{ClaimKind, IndexedIssues};

use crate::reads::PAGE;
use benches::figures::{percentile, timed, us};
use benches::fixture::Fixture;
use benches::issues;

const LARGE: usize = 100_000;

pub fn report(out: &mut dyn Write) -> io::Result<()> {
    let fixtures = [Fixture::new(LARGE), Fixture::with_blocked(LARGE)];
    let issues = fixtures.each_ref().map(|fixture| {
        let state = fixture.runtime.block_on(fixture.tracker.state());
        state.expect("an open store").issues
    });
    let blocked = |issues: &IndexedIssues| {
        issues.issues().filter(|issue| issues.open_blockers(issue).next().is_some()).count()
    };
    assert_eq!(issues.each_ref().map(blocked), [0, LARGE / 5]);
    // One runtime for both stores, so that thread wake-ups do not differ.
    let runtime = &fixtures[0].runtime;
    let list = |fixture: &Fixture, order| {
        let query = Query { order, take: PAGE, ..Query::default() };
        let page = runtime.block_on(fixture.tracker.list_issues(query));
        assert_eq!(page.expect("a page").issues.len(), PAGE);
    };
    let claim = |fixture: &Fixture| {
        let claimed = fixture.tracker.claim_next(ClaimKind::Work(None), issues::agent());
        assert!(runtime.block_on(claimed).expect("a store that can be changed").is_some());
    };
    let open = |fixture: &Fixture| {
        let store = SqliteStore::new(fixture.path());
        runtime.block_on(store.counts()).expect("a valid store");
        store
    };
    writeln!(
        out,
        "{LARGE} issues: plain, and with {} blocked ones with 5 labels each\n",
        LARGE / 5
    )?;
    writeln!(out, "| | plain, p50 µs | blocked, p50 µs | ratio | p99 ratio |")?;
    writeln!(out, "|---|---:|---:|---:|---:|")?;
    let fixtures = &fixtures;
    let mut compare =
        |name, rounds, act: &dyn Fn(&Fixture)| compare(out, fixtures, name, rounds, act);
    compare("list_issues, filed", 2_000, &|fixture| list(fixture, Order::Filed))?;
    compare("list_issues, latest", 2_000, &|fixture| list(fixture, Order::LatestActivity))?;
    compare("get_next_issue", 4_000, &claim)?;
    fixtures.iter().for_each(Fixture::publish);
    compare("opening", 20, &|fixture| drop(open(fixture)))?;
    writeln!(out, "\nTarget: at most 1.1\n")
}

/// Measures an operation on both stores alternately, and prints a row.
fn compare(
    out: &mut dyn Write,
    fixtures: &[Fixture; 2],
    name: &str,
    rounds: usize,
    act: &dyn Fn(&Fixture),
) -> io::Result<()> {
    let mut times: [Vec<u64>; 2] = Default::default();
    for _ in 0..rounds {
        for (fixture, times) in fixtures.iter().zip(&mut times) {
            times.push(timed(|| act(fixture)));
        }
    }
    times.iter_mut().for_each(|times| times.sort_unstable());
    let [plain, blocked] = times.each_ref().map(|times| us(percentile(times, 50)));
    let [plain_p99, blocked_p99] = times.each_ref().map(|times| us(percentile(times, 99)));
    let (ratio, p99) = (blocked / plain, blocked_p99 / plain_p99);
    writeln!(out, "| {name} | {plain:.1} | {blocked:.1} | {ratio:.2} | {p99:.2} |")
}
