//! What the store costs: latency, throughput, waits, opening and memory, each beside what it is
//! compared with.
//!
//! ```text
//! cargo bench --bench store                 every group, as tables
//! cargo bench --bench store -- reads        the groups whose name contains a word
//! cargo bench --bench store -- report       the targets, and the waits of callers in several processes
//! cargo bench --bench store -- stalls       the waits during a checkpoint
//! cargo bench --bench store -- appends      whether a journal should have its room beforehand
//! ```
//!
//! See `benches/README.md` for what the groups mean and for results. Everything happens in a directory
//! below the target directory, so on the disk that holds it, and is removed at the end.
//!
//! `issues.json` is brought up to date in the background, which costs as much as the file is long. Where
//! the latency or the rate of changes is measured, that is put off (`checkpoint_after` is an hour, and
//! the journal stays below the size at which it no longer waits), so that a run measures the one or the
//! other.

mod appends;
mod concurrency;
mod figures;
mod files;
mod fixture;
mod issues;
mod latency;
mod processes;
mod reads;
mod report;
mod sqlite;
mod stalls;
mod watched_fs;
mod worker;

/// How many issues a store has.
const SIZES: [usize; 4] = [0, 1_000, 10_000, 100_000];

fn main() {
    if worker::run() {
        return;
    }
    let directory = fixture::make_directory();
    if std::env::args().any(|argument| argument == "report") {
        report::run();
    } else if std::env::args().any(|argument| argument == "stalls") {
        stalls::run();
    } else if std::env::args().any(|argument| argument == "appends") {
        appends::run();
    } else {
        divan::main();
    }
    directory.close().expect("the directory of the benchmarks can be removed");
}
