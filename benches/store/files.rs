//! What happens once in a while: opening, bringing `issues.json` up to date, and catching up with what
//! another process has appended.

use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use agent_issue_tracker::store::json::fs::RealFileSystem;
use agent_issue_tracker::store::{JsonStore, Store};
use agent_issue_tracker::tracker::Tracker;
use divan::Bencher;

use crate::SIZES;
use crate::concurrency::hammer;
use crate::fixture::{self, Fixture, NO_CHECKPOINT};
use crate::issues::Filing;
use crate::sqlite;
use crate::watched_fs::WatchedFs;

/// A new store object, and its first answer.
#[divan::bench(args = SIZES, sample_count = 10, sample_size = 1, max_time = 10, skip_ext_time = true)]
fn open(bencher: Bencher, size: usize) {
    let fixture = Fixture::new(size);
    let path = fixture.path();
    bencher.bench_local(|| {
        let store = JsonStore::new(&path);
        fixture.runtime.block_on(store.counts()).expect("a valid file");
        store
    });
}

/// The floor: reading the bytes of `issues.json`.
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

/// From the answer to a change until `issues.json` contains it.
#[divan::bench(args = SIZES, sample_count = 10, sample_size = 1, max_time = 8)]
fn checkpoint(bencher: Bencher, size: usize) {
    // One object and one journal for each sample, since all rest for a while after a checkpoint, and
    // the journal is what tells them.
    let directory = Fixture::new(size);
    let path = directory.path();
    bencher
        .with_inputs(|| {
            let _ = std::fs::remove_file(path.with_extension("json.journal"));
            let (saved, is_saved) = channel();
            let fs = WatchedFs::telling(saved);
            let tracker = Tracker::new(Arc::new(fixture::open(&path, fs, Duration::ZERO)));
            directory.runtime.block_on(fixture::add(&tracker, Filing::new(size)));
            (tracker, is_saved)
        })
        .bench_local_values(|(tracker, is_saved)| {
            is_saved.recv().expect("a checkpoint");
            tracker
        });
}

/// Its floor, as in `latency`.
#[divan::bench(args = SIZES, sample_count = 10, sample_size = 1, max_time = 4)]
fn checkpoint_rewrite(bencher: Bencher, size: usize) {
    let bytes = std::fs::read(fixture::issues_json(size)).expect("a file that can be read");
    let directory = fixture::new_directory();
    bencher.bench_local(|| fixture::rewrite(directory.path(), &bytes));
}

/// The first answer after another store object has filed so many issues, of 10,000 that there are.
#[divan::bench(args = [0, 1, 100, 1_000], sample_count = 10, sample_size = 1)]
fn catch_up(bencher: Bencher, changes: usize) {
    bencher
        .with_inputs(|| {
            let other = Fixture::new(10_000);
            let fs = Arc::new(RealFileSystem);
            let store = fixture::open(&other.path(), fs, NO_CHECKPOINT);
            other.runtime.block_on(store.counts()).expect("a valid file");
            hammer(&other, changes.min(100), changes.div_ceil(100));
            (other, store)
        })
        .bench_local_values(|(other, store)| {
            let counts = other.runtime.block_on(store.counts()).expect("a valid file");
            assert_eq!(counts.total(), 10_001 + changes);
            (other, store)
        });
}
