//! What the store costs: latency, throughput, waits, opening and memory, each beside what it is
//! compared with.
//!
//! ```text
//! cargo bench -p benches --bench store                 every group, as tables
//! cargo bench -p benches --bench store -- reads        the groups whose name contains a word
//! cargo bench -p benches --bench store -- report       the targets, and the waits of callers in several processes
//! cargo bench -p benches --bench store -- appends      a change beside an append of the same bytes, a part of that
//! cargo bench -p benches --bench store -- attributes   claims and lists where every fifth issue is blocked
//! cargo bench -p benches --bench store -- stalls       the waits during a publish and a snapshot
//! cargo bench -p benches --bench store -- watch        how soon another process is told of a change
//! cargo bench -p benches --bench store -- wake         how soon a caller that waits has claimed an issue
//! ```
//!
//! See `benches/README.md` for what the groups mean and for results. Everything happens in a directory
//! below the target directory, so on the disk that holds it, and is removed at the end.
//!
//! `issues.json` is published in the background, which costs as much as the file is long. Where the latency or the
//! rate of changes is measured, that is put off (`publish_after` is an hour), so that a run measures the one or the
//! other.

mod appends;
mod attributes;
mod concurrency;
mod files;
mod latency;
mod processes;
mod reads;
mod report;
mod sqlite;
mod stalls;
mod wake;
mod watch;
mod worker;

use std::io::{self, Write};

use benches::fixture;

/// A report, which prints its tables.
type Report = fn(&mut dyn Write) -> io::Result<()>;

const REPORTS: [(&str, Report); 6] = [
    ("report", report::report),
    ("appends", appends::report),
    ("attributes", attributes::report),
    ("stalls", stalls::report),
    ("watch", watch::report),
    ("wake", wake::report),
];

/// How many issues a store has.
const SIZES: [usize; 4] = [0, 1_000, 10_000, 100_000];

fn main() {
    if worker::run() {
        return;
    }
    let directory = fixture::make_directory();
    let is_named = |name: &str| std::env::args().any(|argument| argument == name);
    match REPORTS.iter().find(|(name, _)| is_named(name)) {
        Some((_, report)) => report(&mut io::stdout()).expect("somebody who reads this"),
        None => divan::main(),
    }
    directory.close().expect("the directory of the benchmarks can be removed");
}
