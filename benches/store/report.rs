//! The targets of the store, and the waits of callers in several processes.

use std::io::{self, Write};

use agent_issue_tracker::domain::Query;

use crate::appends;
use crate::concurrency::{adds_each, hammer};
use crate::processes::{self, Team};
use crate::reads::{PAGE, claim, state};
use crate::worker::Kind;
use benches::figures::{percentile, timed, us};
use benches::fixture::Fixture;

const LARGE: usize = 100_000;
const MB: f64 = 1e6;

/// Measures and prints the tables.
pub fn report(out: &mut dyn Write) -> io::Result<()> {
    appends::report(out)?;
    callers(out)?;
    waits(out)?;
    reads(out)?;
    memory(out)
}

fn callers(out: &mut dyn Write) -> io::Result<()> {
    const ROUNDS: usize = 5;
    let mut rates: [Vec<u64>; 2] = Default::default();
    for _ in 0..ROUNDS {
        for (callers, rates) in [1, 32].into_iter().zip(&mut rates) {
            let fixture = Fixture::new(0);
            let adds = adds_each(callers);
            let took = timed(|| hammer(&fixture, callers, adds));
            rates.push((callers * adds) as u64 * 1_000_000_000 / took);
        }
    }
    rates.iter_mut().for_each(|rates| rates.sort_unstable());
    let [one, many] = rates.map(|rates| percentile(&rates, 50));
    let ratio = many as f64 / one as f64;
    writeln!(out, "Changes per second in one process\n")?;
    writeln!(out, "1 caller: {one}; 32 callers: {many}; {ratio:.1} times (target: at least 10)\n")
}

fn waits(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Waits of callers in several processes\n")?;
    writeln!(
        out,
        "| | processes | changes | per second | p50 µs | p99 µs | longest µs | longest to p50 |"
    )?;
    writeln!(out, "|---|---:|---:|---:|---:|---:|---:|---:|")?;
    for kind in [Kind::Json, Kind::JsonPublishing, Kind::Sqlite] {
        for processes in [1, 4, 8] {
            let mut team = Team::start(kind, processes);
            let took = timed(|| team.work());
            let waits = team.waits();
            let rate = waits.len() as u64 * 1_000_000_000 / took;
            let [p50, p99, longest] = [50, 99, 100].map(|percent| us(percentile(&waits, percent)));
            let (name, changes, ratio) = (kind.as_str(), waits.len(), longest / p50);
            writeln!(
                out,
                "| {name} | {processes} | {changes} | {rate} | {p50:.0} | {p99:.0} | {longest:.0} | {ratio:.1} |"
            )?;
        }
    }
    writeln!(out, "\nTarget: json with 8 processes at most 50\n")
}

fn reads(out: &mut dyn Write) -> io::Result<()> {
    const ROUNDS: usize = 1_000;
    let fixture = Fixture::new(LARGE);
    let query = &Query { take: PAGE, ..Query::default() };
    let list = || {
        let listed = fixture.tracker.list_issues(query.clone());
        fixture.runtime.block_on(listed).expect("a page")
    };
    let list = sorted((0..ROUNDS).map(|_| timed(list)));
    let (state, (command, now)) = (state(LARGE), claim());
    let choice = sorted((0..ROUNDS).map(|_| timed(|| state.decide(&command, now))));
    writeln!(out, "Reads at 100,000 issues\n")?;
    for (name, times, target) in [
        ("a list of 20", list, "below 1,000 µs"),
        ("the choice of the next", choice, "microseconds"),
    ] {
        let [p50, p99] = [50, 99].map(|percent| us(percentile(&times, percent)));
        writeln!(out, "{name}: p50 {p50:.1} µs, p99 {p99:.1} µs (target: {target})")?;
    }
    writeln!(out)
}

fn sorted(times: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut times: Vec<u64> = times.collect();
    times.sort_unstable();
    times
}

fn memory(out: &mut dyn Write) -> io::Result<()> {
    let fixture = Fixture::published(LARGE);
    let bytes = processes::resident_bytes(&fixture.path());
    let [before, opened, opening, changed, publishing] = bytes.map(|bytes| bytes as f64 / MB);
    let file = std::fs::metadata(fixture.path()).expect("a file").len() as f64 / MB;
    let each = (opened - 10.0) * 1e3 / LARGE as f64;
    writeln!(out, "Resident set with 100,000 issues, of {file:.0} MB in the file\n")?;
    writeln!(
        out,
        "{before:.1} MB before; {opened:.1} MB after opening, {opening:.1} MB at most until then"
    )?;
    writeln!(
        out,
        "{changed:.1} MB after one change, {publishing:.1} MB at most until that is published"
    )?;
    writeln!(out, "{each:.2} kB an issue beyond 10 MB (target: at most 2.5)\n")
}
