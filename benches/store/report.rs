//! The targets that the store has to meet, as one table; and how long callers in several processes wait.
//!
//! What is compared is measured alternately, so that a moment in which the machine is busy with
//! something else slows down both sides.

use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::Arc;

use agent_issue_tracker::domain::{Command, Query, Timestamp};
use agent_issue_tracker::store::json::format;
use agent_issue_tracker::store::json::fs::RealFileSystem;

use crate::concurrency::{SYNC_DELAY, adds_each, hammer};
use crate::figures::{percentile, timed, us};
use crate::fixture::{self, Appender, Fixture, NO_CHECKPOINT};
use crate::issues::{self, Filing};
use crate::processes::{self, Team};
use crate::reads::PAGE;
use crate::sqlite::Database;
use crate::watched_fs::WatchedFs;
use crate::worker::Kind;

const LARGE: usize = 100_000;
const MB: f64 = 1e6;

/// Measures, and prints one table after the other.
pub fn run() {
    let mut text = String::new();
    changes(&mut text);
    callers(&mut text);
    waits(&mut text);
    reads(&mut text);
    memory(&mut text);
    std::io::stdout().write_all(text.as_bytes()).expect("somebody who reads this");
}

/// Adds a line of text.
macro_rules! line {
    ($text:expr, $($format:tt)*) => {
        writeln!($text, $($format)*).expect("a string can be added to")
    };
}

fn changes(text: &mut String) {
    const ROUNDS: usize = 500;
    let (empty, large) = (Fixture::new(0), Fixture::new(LARGE));
    let (mut empty_sql, mut large_sql) = (Database::new(0), Database::new(LARGE));
    let mut appender = Appender::new(empty.frame_bytes());
    let mut acts: [(&str, &mut dyn FnMut(Filing)); 5] = [
        ("append to a file", &mut |_| appender.append()),
        ("add_issue, empty", &mut |filing| _ = empty.add(filing)),
        ("add_issue, 100,000", &mut |filing| _ = large.add(filing)),
        ("SQLite, empty", &mut |filing| empty_sql.add(&filing)),
        ("SQLite, 100,000", &mut |filing| large_sql.add(&filing)),
    ];
    let mut times: [Vec<u64>; 5] = Default::default();
    for round in 0..ROUNDS {
        for ((_, act), times) in acts.iter_mut().zip(&mut times) {
            let filing = Filing::new(round);
            times.push(timed(|| act(filing)));
        }
    }
    line!(text, "One change by one caller, {ROUNDS} rounds\n");
    line!(text, "| | p50 µs | p90 µs | p99 µs | longest µs |\n|---|---:|---:|---:|---:|");
    for ((name, _), times) in acts.iter().zip(&mut times) {
        times.sort_unstable();
        let [p50, p90, p99, p100] = [50, 90, 99, 100].map(|percent| us(percentile(times, percent)));
        line!(text, "| {name} | {p50:.0} | {p90:.0} | {p99:.0} | {p100:.0} |");
    }
    let ratio = us(percentile(&times[2], 50)) / us(percentile(&times[1], 50));
    line!(text, "\n100,000 to empty: {ratio:.2} (target: at most 1.3)\n");
}

fn callers(text: &mut String) {
    const ROUNDS: usize = 5;
    let mut rates: [Vec<u64>; 2] = Default::default();
    for _ in 0..ROUNDS {
        for (callers, rates) in [1, 32].into_iter().zip(&mut rates) {
            let fixture = Fixture::with(0, WatchedFs::slow(SYNC_DELAY), NO_CHECKPOINT);
            let adds = adds_each(callers);
            let took = timed(|| hammer(&fixture, callers, adds));
            rates.push((callers * adds) as u64 * 1_000_000_000 / took);
        }
    }
    rates.iter_mut().for_each(|rates| rates.sort_unstable());
    let [one, many] = rates.map(|rates| percentile(&rates, 50));
    line!(text, "Changes a second, with one millisecond more for each sync\n");
    line!(
        text,
        "1 caller: {one}; 32 callers: {many}; {:.1} times (target: at least 10)\n",
        many as f64 / one as f64
    );
}

fn waits(text: &mut String) {
    line!(text, "Waits of callers in several processes\n");
    line!(
        text,
        "| | processes | changes | a second | p50 µs | p99 µs | longest µs | longest to p50 |"
    );
    line!(text, "|---|---:|---:|---:|---:|---:|---:|---:|");
    for kind in [Kind::Json, Kind::JsonWithCheckpoints, Kind::Sqlite] {
        for processes in [1, 4, 8] {
            let mut team = Team::start(kind, processes);
            let took = timed(|| team.work());
            let waits = team.waits();
            let rate = waits.len() as u64 * 1_000_000_000 / took;
            let [p50, p99, longest] = [50, 99, 100].map(|percent| us(percentile(&waits, percent)));
            let (name, changes, ratio) = (kind.as_str(), waits.len(), longest / p50);
            line!(
                text,
                "| {name} | {processes} | {changes} | {rate} | {p50:.0} | {p99:.0} | {longest:.0} | {ratio:.1} |"
            );
        }
    }
    line!(text, "\nTarget: json with 8 processes at most 50\n");
}

fn reads(text: &mut String) {
    const ROUNDS: usize = 1_000;
    let fixture = Fixture::new(LARGE);
    let query = &Query { take: PAGE, ..Query::default() };
    let list = || {
        let listed = fixture.tracker.list_issues(query.clone());
        fixture.runtime.block_on(listed).expect("a page")
    };
    let list = sorted((0..ROUNDS).map(|_| timed(list)));
    let bytes = std::fs::read(fixture::issues_json(LARGE)).expect("a file that can be read");
    let issues = format::parse(bytes).expect("a valid file").issues;
    let command = Command::GetNextIssue { classification: None, agent: issues::agent() };
    let now = Timestamp::from(chrono::Utc::now());
    let choice = sorted((0..ROUNDS).map(|_| timed(|| issues.decide(&command, now))));
    line!(text, "Reads at 100,000 issues\n");
    for (name, times, target) in [
        ("a list of 20", list, "below 1,000 µs"),
        ("the choice of the next", choice, "microseconds"),
    ] {
        let [p50, p99] = [50, 99].map(|percent| us(percentile(&times, percent)));
        line!(text, "{name}: p50 {p50:.1} µs, p99 {p99:.1} µs (target: {target})");
    }
    line!(text, "");
}

fn sorted(times: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut times: Vec<u64> = times.collect();
    times.sort_unstable();
    times
}

fn memory(text: &mut String) {
    let fixture = Fixture::with(LARGE, Arc::new(RealFileSystem), NO_CHECKPOINT);
    let bytes = processes::resident_bytes(&fixture.path());
    let [before, opened, changed, peak] = bytes.map(|bytes| bytes as f64 / MB);
    let file = std::fs::metadata(fixture.path()).expect("a file").len() as f64 / MB;
    let each = (opened - 10.0) * 1e3 / LARGE as f64;
    line!(text, "Resident set with 100,000 issues, of {file:.0} MB in the file\n");
    line!(text, "{before:.1} MB before; {opened:.1} MB after opening, {peak:.1} MB while opening");
    line!(text, "{changed:.1} MB after one change");
    line!(text, "{each:.2} kB an issue beyond 10 MB (target: at most 2.5)");
}
