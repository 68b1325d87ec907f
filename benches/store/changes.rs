//! One change by one caller, compared with one synced append of as many bytes as an issue has, and with SQLite alone.
//!
//! All sides are measured alternately, so that other work of the machine slows them all down.

use std::io::{self, Write};

use crate::LARGE;
use crate::sqlite::Database;
use benches::figures::{percentile, timed, us};
use benches::fixture::{Appender, Fixture};
use benches::issues::Filing;

const ROUNDS: usize = 1_000;

pub fn report(out: &mut dyn Write) -> io::Result<()> {
    let (empty, large) = (Fixture::new(0), Fixture::new(LARGE));
    let (mut empty_sql, mut large_sql) = (Database::new(0), Database::new(LARGE));
    let mut appender = Appender::begin();
    let mut acts: [(&str, &mut dyn FnMut(Filing)); 6] = [
        ("append to a file", &mut |_| appender.append()),
        ("SQLite alone, empty", &mut |filing| empty_sql.add(&filing)),
        ("SQLite alone, 100,000", &mut |filing| large_sql.add(&filing)),
        ("`add_issue`, empty", &mut |filing| _ = empty.add(filing)),
        ("`add_issue`, 100,000", &mut |filing| _ = large.add(filing)),
        ("`get_next_issue`, 100,000", &mut |_| _ = large.claim()),
    ];
    let mut times: [Vec<u64>; 6] = Default::default();
    for round in 0..ROUNDS {
        for ((_, act), times) in acts.iter_mut().zip(&mut times) {
            let filing = Filing::new(round);
            times.push(timed(|| act(filing)));
        }
    }
    writeln!(out, "One change by one caller, {ROUNDS} rounds\n")?;
    writeln!(out, "| | p50 µs | p90 µs | p99 µs | longest µs | p50 to an append |")?;
    writeln!(out, "|---|---:|---:|---:|---:|---:|")?;
    let mut append = None;
    for ((name, _), times) in acts.iter().zip(&mut times) {
        times.sort_unstable();
        let [p50, p90, p99, p100] = [50, 90, 99, 100].map(|percent| us(percentile(times, percent)));
        let ratio = p50 / *append.get_or_insert(p50);
        writeln!(out, "| {name} | {p50:.0} | {p90:.0} | {p99:.0} | {p100:.0} | {ratio:.2} |")?;
    }
    writeln!(out)
}
