//! Occasional work: opening a store, publishing, and reading the changes of another process.

use agent_issue_tracker::store::{SqliteStore, Store};
use divan::Bencher;

use crate::SIZES;
use crate::concurrency::hammer;
use crate::sqlite;
use benches::fixture::{self, Fixture};

/// The number of issues, and of events after the snapshot. The larger numbers fill about a quarter of the snapshot
/// size, after which the store writes the next snapshot.
const REPLAYS: [(usize, usize); 4] =
    [(10_000, 1_000), (10_000, 4_500), (100_000, 1_000), (100_000, 45_000)];

/// Opens a store from a snapshot and its log, and reads its counts.
#[divan::bench(args = SIZES, sample_count = 10, sample_size = 1, max_time = 10, skip_ext_time = true)]
fn open(bencher: Bencher, size: usize) {
    measure_opening(bencher, &Fixture::published(size));
}

/// Opens a store with events after the snapshot.
#[divan::bench(args = REPLAYS, sample_count = 10, sample_size = 1, max_time = 10, skip_ext_time = true)]
fn open_with_replay(bencher: Bencher, (size, events): (usize, usize)) {
    let fixture = Fixture::published(size);
    hammer(&fixture, 100, events / 100);
    measure_opening(bencher, &fixture);
}

/// Opens a store that consists of `issues.json` alone.
#[divan::bench(args = SIZES, sample_count = 10, sample_size = 1, max_time = 10, skip_ext_time = true)]
fn open_without_log(bencher: Bencher, size: usize) {
    let (runtime, directory) = (fixture::runtime(), fixture::directory_with(size));
    let path = directory.path().join("issues.json");
    bencher.bench_local(|| {
        let store = SqliteStore::new(&path);
        runtime.block_on(store.counts()).expect("a valid file");
        store
    });
}

fn measure_opening(bencher: Bencher, fixture: &Fixture) {
    let path = fixture.path();
    bencher.bench_local(|| {
        let store = SqliteStore::new(&path);
        fixture.runtime.block_on(store.counts()).expect("a valid store");
        store
    });
}

/// The baseline: reading the bytes of `issues.json`.
#[divan::bench(args = SIZES, sample_count = 10, sample_size = 1)]
fn open_read_bytes(bencher: Bencher, size: usize) {
    let path = fixture::issues_json(size);
    bencher.bench_local(|| std::fs::read(&path).expect("a file that can be read"));
}

#[divan::bench(args = SIZES, sample_count = 10, sample_size = 1)]
fn open_sqlite(bencher: Bencher, size: usize) {
    let (_directory, path) = sqlite::copy(size);
    bencher.bench_local(|| {
        let connection = sqlite::open(&path);
        let count = connection.query_row("SELECT count(*) FROM issue", [], |row| row.get(0));
        let count: i64 = count.expect("an answer");
        (connection, count)
    });
}

/// Publishes `issues.json` after one change.
#[divan::bench(args = SIZES, sample_count = 10, sample_size = 1, max_time = 8)]
fn publish(bencher: Bencher, size: usize) {
    let fixture = Fixture::published(size);
    bencher.with_inputs(|| fixture.add(fixture.filing())).bench_local_values(|_| fixture.publish());
}

/// The baseline of a publish, as in `latency`.
#[divan::bench(args = SIZES, sample_count = 10, sample_size = 1, max_time = 4)]
fn publish_rewrite(bencher: Bencher, size: usize) {
    let bytes = std::fs::read(fixture::issues_json(size)).expect("a file that can be read");
    let directory = fixture::new_directory();
    bencher.bench_local(|| fixture::rewrite(directory.path(), &bytes));
}

/// Reads the counts after another store object has filed `changes` issues in a store of 10,000.
#[divan::bench(args = [0, 1, 100, 1_000], sample_count = 10, sample_size = 1)]
fn catch_up(bencher: Bencher, changes: usize) {
    bencher
        .with_inputs(|| {
            let other = Fixture::published(10_000);
            let store = fixture::open(&other.path(), fixture::unpublished());
            other.runtime.block_on(store.counts()).expect("a valid store");
            hammer(&other, changes.min(100), changes.div_ceil(100));
            (other, store)
        })
        .bench_local_values(|(other, store)| {
            let counts = other.runtime.block_on(store.counts()).expect("a valid store");
            assert_eq!(counts.total(), 10_001 + changes);
            (other, store)
        });
}
