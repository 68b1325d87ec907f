//! The changes per second of concurrent callers in one process, which share syncs.
//!
//! SQLite uses one connection and one thread per caller.

use std::sync::{Arc, Barrier};
use std::thread;

use divan::Bencher;
use divan::counter::ItemsCount;

use crate::sqlite;
use benches::fixture::{self, Fixture};
use benches::issues::Filing;

const CALLERS: [usize; 4] = [1, 8, 32, 128];

/// Returns the number of issues that each caller files: few enough that one segment holds them all.
pub fn adds_each(callers: usize) -> usize {
    match callers {
        1 => 200,
        8 => 100,
        callers => 1_024 / callers,
    }
}

#[divan::bench(args = CALLERS, sample_count = 10, sample_size = 1)]
fn add(bencher: Bencher, callers: usize) {
    let adds = adds_each(callers);
    bencher
        .counter(ItemsCount::new(callers * adds))
        .with_inputs(|| Fixture::new(0))
        .bench_local_values(|fixture| {
            hammer(&fixture, callers, adds);
            fixture
        });
}

/// Files `adds` issues in each of `callers` tasks.
pub fn hammer(fixture: &Fixture, callers: usize, adds: usize) {
    fixture.runtime.block_on(async {
        let callers: Vec<_> = (0..callers)
            .map(|_| {
                let tracker = fixture.tracker.clone();
                tokio::spawn(async move {
                    for number in 0..adds {
                        fixture::add(&tracker, Filing::new(number)).await;
                    }
                })
            })
            .collect();
        for caller in callers {
            caller.await.expect("a caller that succeeds");
        }
    });
}

#[divan::bench(args = CALLERS, sample_count = 5, sample_size = 1, max_time = 8)]
fn add_sqlite(bencher: Bencher, callers: usize) {
    let adds = adds_each(callers);
    bencher
        .counter(ItemsCount::new(callers * adds))
        .with_inputs(|| {
            let (directory, path) = sqlite::copy(0);
            let begin = Arc::new(Barrier::new(callers + 1));
            let threads: Vec<_> = (0..callers)
                .map(|_| {
                    let (mut connection, begin) = (sqlite::open(&path), Arc::clone(&begin));
                    thread::spawn(move || {
                        begin.wait();
                        (0..adds).for_each(|n| sqlite::add(&mut connection, &Filing::new(n)));
                    })
                })
                .collect();
            (directory, begin, threads)
        })
        .bench_local_values(|(directory, begin, threads)| {
            begin.wait();
            for thread in threads {
                thread.join().expect("a caller that succeeds");
            }
            directory
        });
}
