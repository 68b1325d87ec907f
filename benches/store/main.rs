//! The cost of the store: latency, throughput, waits, opening and memory, each compared with a baseline.
//!
//! ```text
//! cargo bench -p benches --bench store                 every group, as tables
//! cargo bench -p benches --bench store -- reads        the groups whose name contains a word
//! cargo bench -p benches --bench store -- report       the targets, and the waits of callers in several processes
//! cargo bench -p benches --bench store -- appends      a part of the report: a change and an append
//! cargo bench -p benches --bench store -- attributes   claims and lists where every fifth issue is blocked
//! cargo bench -p benches --bench store -- watch        the delay until another process is notified of a change
//! cargo bench -p benches --bench store -- rows         the store in SQLite beside the log
//! cargo bench -p benches --bench store -- wake         the delay until a waiting caller has claimed an issue
//! ```
//!
//! See `benches/README.md` for the groups and for results. All files are in a directory below the target directory,
//! which is removed at the end.
//!
//! Publishing `issues.json` in the background costs as much as the file is long. Measurements of the latency or rate of
//! changes postpone it (`publish_after` is an hour), so that each run measures only one of the two.

mod appends;
mod attributes;
mod concurrency;
mod files;
mod latency;
mod processes;
mod reads;
mod report;
mod rows;
mod sqlite;
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
    ("rows", rows::report),
    ("watch", watch::report),
    ("wake", wake::report),
];

/// The numbers of issues in the store.
const SIZES: [usize; 4] = [0, 1_000, 10_000, 100_000];

fn main() {
    if worker::run() {
        return;
    }
    let directory = fixture::make_directory();
    let is_named = |name: &str| std::env::args().any(|argument| argument == name);
    match REPORTS.iter().find(|(name, _)| is_named(name)) {
        Some((_, report)) => report(&mut io::stdout()).expect("standard output is open"),
        None => divan::main(),
    }
    directory.close().expect("the directory of the benchmarks can be removed");
}
