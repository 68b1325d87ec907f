//! How many changes a second several processes get done on one store, and how long any of them waits.
//!
//! This program starts itself as [`worker`](crate::worker). Starting and opening are not measured: it
//! begins when all workers are ready.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use divan::Bencher;
use divan::counter::ItemsCount;
use rusqlite::Connection;
use tempfile::TempDir;

use crate::sqlite;
use crate::worker::{self, Kind};
use benches::fixture::Fixture;

const PROCESSES: [usize; 3] = [1, 4, 8];
/// How often each process files an issue.
const ADDS: usize = 200;
/// The same where `issues.json` is published meanwhile: for so long that it is, several times.
const ADDS_WHILE_PUBLISHING: usize = 2_000;
/// How many issues there are before.
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

/// Processes that are about to work on one store.
pub struct Team {
    workers: Vec<Worker>,
    _place: StorePaths,
}

/// What keeps the store of a team in its place.
#[expect(dead_code, reason = "kept until it is dropped")]
enum StorePaths {
    Json(Box<Fixture>),
    Sqlite(Connection, TempDir),
}

/// This program as a worker, until it is dropped.
pub struct Worker {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Team {
    pub fn start(kind: Kind, processes: usize) -> Self {
        let (place, path) = if kind == Kind::Sqlite {
            let (directory, path) = sqlite::copy(SIZE);
            // The change to WAL mode fails when several try it at once; from here on it is made.
            (StorePaths::Sqlite(sqlite::open(&path), directory), path)
        } else {
            let fixture = Fixture::published(SIZE);
            let path = fixture.path();
            (StorePaths::Json(Box::new(fixture)), path)
        };
        let adds = if kind == Kind::JsonPublishing { ADDS_WHILE_PUBLISHING } else { ADDS };
        let start = |_| Worker::start(kind, &path, adds);
        let mut workers: Vec<_> = (0..processes).map(start).collect();
        workers.iter_mut().for_each(|worker| worker.expect("ready"));
        Self { workers, _place: place }
    }

    /// Lets all of them file their issues.
    pub fn work(&mut self) {
        for worker in &mut self.workers {
            let input = worker.input.as_mut().expect("a worker that listens");
            input.write_all(b"go\n").expect("a worker that listens");
        }
        self.workers.iter_mut().for_each(|worker| worker.expect("done"));
    }

    /// How many nanoseconds each change took, in ascending order.
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
        // Ends its input, which it waits for.
        self.input = None;
        // Nothing to be done about one that fails at its end.
        let _ = self.process.wait();
    }
}

/// The resident set of a process in bytes: as it begins, after it has opened this store, the largest until then,
/// after its first change, and the largest until it has published that.
pub fn resident_bytes(path: &Path) -> [u64; 5] {
    let line = Worker::start(Kind::Memory, path, 0).line();
    let mut numbers = line.split_whitespace().map(|word| word.parse().expect("a number"));
    std::array::from_fn(|_| numbers.next().expect("five numbers"))
}
