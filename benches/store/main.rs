//! The cost of the store: one change, callers in one process and in several, reads, opening, publishing, memory, and
//! how long others wait for a change.
//!
//! ```text
//! cargo bench -p benches --bench store              every part, as tables
//! cargo bench -p benches --bench store -- reads     one part
//! ```
//!
//! See `benches/README.md` for the parts and for results. All files are in a directory below the target directory,
//! which is removed at the end.
//!
//! Publishing `issues.json` costs as much as the file is long. Measurements of the latency or rate of changes postpone
//! it (`publish_after` is an hour), so that each run measures only one of the two.

mod callers;
mod changes;
mod delays;
mod processes;
mod reads;
mod sqlite;
mod worker;

use std::io::{self, Write};

use benches::fixture;

/// A report, which prints its tables.
type Report = fn(&mut dyn Write) -> io::Result<()>;

const REPORTS: [(&str, Report); 7] = [
    ("changes", changes::report),
    ("callers", callers::report),
    ("processes", processes::report),
    ("reads", reads::report),
    ("opening", reads::opening),
    ("memory", processes::memory),
    ("delays", delays::report),
];

/// The number of issues in a large store.
const LARGE: usize = 100_000;

fn main() {
    if worker::run() {
        return;
    }
    let directory = fixture::make_directory();
    let is_named = |name: &str| std::env::args().any(|argument| argument == name);
    let is_any_named = REPORTS.iter().any(|(name, _)| is_named(name));
    for (name, report) in REPORTS {
        if is_named(name) || !is_any_named {
            report(&mut io::stdout()).expect("standard output is open");
        }
    }
    directory.close().expect("the directory of the benchmarks can be removed");
}
