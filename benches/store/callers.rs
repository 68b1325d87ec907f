//! The changes per second of concurrent callers in one process, which share syncs.
//!
//! SQLite alone uses one connection and one thread per caller.

use std::io::{self, Write};
use std::thread;

use crate::sqlite;
use benches::figures::{percentile, timed};
use benches::fixture::{self, Fixture};
use benches::issues::Filing;

const CALLERS: [usize; 3] = [1, 8, 32];
const ROUNDS: usize = 5;
/// The number of issues that all callers file together.
const ADDS: usize = 1_024;

pub fn report(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Changes per second by callers in one process, the median of {ROUNDS} rounds\n")?;
    writeln!(out, "| callers | store | SQLite alone | ratio |\n|---:|---:|---:|---:|")?;
    for callers in CALLERS {
        let mut rates: [Vec<u64>; 2] = Default::default();
        for _ in 0..ROUNDS {
            let fixture = Fixture::new(0);
            let [ours, alone] = &mut rates;
            ours.push(rate(timed(|| hammer(&fixture, callers))));
            let (_directory, path) = sqlite::copy(0);
            // Switch to WAL mode now, because concurrent attempts would fail.
            let _open = sqlite::open(&path);
            alone.push(rate(timed(|| hammer_alone(&path, callers))));
        }
        rates.iter_mut().for_each(|rates| rates.sort_unstable());
        let [ours, alone] = rates.map(|rates| percentile(&rates, 50));
        writeln!(out, "| {callers} | {ours} | {alone} | {:.2} |", ours as f64 / alone as f64)?;
    }
    writeln!(out)
}

fn rate(took_ns: u64) -> u64 {
    ADDS as u64 * 1_000_000_000 / took_ns
}

/// Files the issues in as many tasks as there are callers.
fn hammer(fixture: &Fixture, callers: usize) {
    fixture.runtime.block_on(async {
        let file = |_| {
            let tracker = fixture.tracker.clone();
            tokio::spawn(async move {
                for number in 0..ADDS / callers {
                    fixture::add(&tracker, Filing::new(number)).await;
                }
            })
        };
        let callers: Vec<_> = (0..callers).map(file).collect();
        for caller in callers {
            caller.await.expect("a caller that succeeds");
        }
    });
}

fn hammer_alone(path: &std::path::Path, callers: usize) {
    thread::scope(|scope| {
        for _ in 0..callers {
            scope.spawn(|| {
                let mut connection = sqlite::open(path);
                for number in 0..ADDS / callers {
                    sqlite::add(&mut connection, &Filing::new(number));
                }
            });
        }
    });
}
