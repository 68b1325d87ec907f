//! The changes per second of several processes on one store, and the wait of each change.
//!
//! This program starts itself as [`worker`](crate::worker). The measurement begins when all workers are ready, so it
//! excludes starting and opening.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use divan::Bencher;
use divan::counter::ItemsCount;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::worker::{self, Kind};
use crate::{rows, sqlite};
use benches::fixture::Fixture;

const PROCESSES: [usize; 3] = [1, 4, 8];
/// The number of issues that each process files.
const ADDS: usize = 200;
/// The same number for processes that publish: high enough for several publishes.
const ADDS_WHILE_PUBLISHING: usize = 2_000;
/// The number of existing issues.
const SIZE: usize = 10_000;

#[divan::bench(args = PROCESSES, sample_count = 5, sample_size = 1)]
fn add(bencher: Bencher, processes: usize) {
    measure(bencher, processes, Kind::Json);
}

#[divan::bench(args = PROCESSES, sample_count = 5, sample_size = 1)]
fn add_sqlite(bencher: Bencher, processes: usize) {
    measure(bencher, processes, Kind::Sqlite);
}

fn measure(bencher: Bencher, processes: usize, kind: Kind) {
    bencher
        .counter(ItemsCount::new(processes * ADDS))
        .with_inputs(|| Team::start(kind, processes))
        .bench_local_values(|mut team| {
            team.work();
            team
        });
}

/// Processes that work on one store.
pub struct Team {
    workers: Vec<Worker>,
    _store: TeamStore,
}

/// Keeps the store of a team alive.
#[expect(dead_code, reason = "kept until it is dropped")]
enum TeamStore {
    Json(Box<Fixture>),
    Sqlite(Connection, TempDir),
    Rows(TempDir),
}

/// A worker process, ended on drop.
pub struct Worker {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Team {
    pub fn start(kind: Kind, processes: usize) -> Self {
        let (store, path) = if kind == Kind::Sqlite {
            let (directory, path) = sqlite::copy(SIZE);
            // Switch to WAL mode now, because concurrent attempts of the workers would fail.
            (TeamStore::Sqlite(sqlite::open(&path), directory), path)
        } else if kind == Kind::SqliteStore {
            let (directory, path) = rows::store(SIZE);
            (TeamStore::Rows(directory), path)
        } else {
            let fixture = Fixture::published(SIZE);
            let path = fixture.path();
            (TeamStore::Json(Box::new(fixture)), path)
        };
        let adds = match kind {
            Kind::JsonPublishing | Kind::SqliteStore => ADDS_WHILE_PUBLISHING,
            _ => ADDS,
        };
        let start = |_| Worker::start(kind, &path, adds);
        let mut workers: Vec<_> = (0..processes).map(start).collect();
        workers.iter_mut().for_each(|worker| worker.expect("ready"));
        Self { workers, _store: store }
    }

    /// Makes all workers file their issues.
    pub fn work(&mut self) {
        for worker in &mut self.workers {
            let input = worker.input.as_mut().expect("a worker that listens");
            input.write_all(b"go\n").expect("a worker that listens");
        }
        self.workers.iter_mut().for_each(|worker| worker.expect("done"));
    }

    /// Returns the duration of each change in ns, in ascending order.
    pub fn waits(mut self) -> Vec<u64> {
        let lines: Vec<String> = self.workers.iter_mut().map(Worker::line).collect();
        let words = lines.iter().flat_map(|line| line.split_whitespace());
        let mut waits: Vec<u64> = words.map(|word| word.parse().expect("a number")).collect();
        waits.sort_unstable();
        waits
    }
}

impl Worker {
    pub fn start(kind: Kind, path: &Path, adds: usize) -> Self {
        let program: PathBuf = std::env::current_exe().expect("this program");
        let mut process = Command::new(program)
            .arg(path)
            .arg(adds.to_string())
            .env(worker::VARIABLE, kind.as_str())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a process");
        let output = BufReader::new(process.stdout.take().expect("a pipe"));
        let input = process.stdin.take();
        Self { process, input, output }
    }

    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a worker that answers");
        line
    }

    pub fn expect(&mut self, word: &str) {
        assert_eq!(self.line().trim_end(), word, "a worker failed");
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // The worker ends when its input ends.
        self.input = None;
        // Ignore an error at the end of the process.
        let _ = self.process.wait();
    }
}

/// Returns the resident set of a process in bytes: at the start, after opening the store, the peak until then, after
/// the first change, and the peak until its publish.
pub fn resident_bytes(path: &Path) -> [u64; 5] {
    let line = Worker::start(Kind::Memory, path, 0).line();
    let mut numbers = line.split_whitespace().map(|word| word.parse().expect("a number"));
    std::array::from_fn(|_| numbers.next().expect("five numbers"))
}
