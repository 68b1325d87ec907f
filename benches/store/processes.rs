//! The changes per second of several processes on one store and the wait of each change, and the memory of a process.
//!
//! This program starts itself as [`worker`](crate::worker). The measurement begins when all workers are ready, so it
//! excludes starting and opening.

use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use tempfile::TempDir;

use crate::LARGE;
use crate::sqlite;
use crate::worker::{self, Kind};
use benches::figures::{percentile, timed, us};
use benches::fixture::{self, Fixture};

const PROCESSES: [usize; 3] = [1, 4, 8];
/// The number of issues that each process files: high enough that `issues.json` is published several times.
const ADDS: usize = 2_000;
/// The number of existing issues.
const SIZE: usize = 10_000;

pub fn report(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Processes without a pause, {ADDS} changes each, at {SIZE} issues\n")?;
    writeln!(out, "| | processes | per second | p50 µs | p99 µs | longest µs |")?;
    writeln!(out, "|---|---:|---:|---:|---:|---:|")?;
    for processes in PROCESSES {
        for kind in [Kind::Store, Kind::Sqlite] {
            let mut team = Team::start(kind, processes);
            let took = timed(|| team.work());
            let waits = team.waits();
            let rate = waits.len() as u64 * 1_000_000_000 / took;
            let [p50, p99, longest] = [50, 99, 100].map(|percent| us(percentile(&waits, percent)));
            let name = kind.as_str();
            writeln!(
                out,
                "| {name} | {processes} | {rate} | {p50:.0} | {p99:.0} | {longest:.0} |"
            )?;
        }
    }
    writeln!(out)
}

pub fn memory(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Resident memory of a process that uses the store, MiB\n")?;
    writeln!(
        out,
        "| issues | before | after a list, a claim and a change | after searches | at most while publishing |"
    )?;
    writeln!(out, "|---:|---:|---:|---:|---:|")?;
    for size in [SIZE, LARGE] {
        let (_directory, path) = fixture::store(size);
        let line = Worker::start(Kind::Memory, &path, 0).line();
        let numbers: Vec<&str> = line.split_whitespace().collect();
        writeln!(out, "| {size} | {} |", numbers.join(" | "))?;
    }
    writeln!(out)
}

/// Processes that work on one store.
struct Team {
    workers: Vec<Worker>,
    /// Kept until the workers have ended.
    _directory: TempDir,
}

/// A worker process, ended on drop.
pub struct Worker {
    process: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Team {
    fn start(kind: Kind, processes: usize) -> Self {
        let (directory, path) = if kind == Kind::Sqlite {
            let (directory, path) = sqlite::copy(SIZE);
            // Switch to WAL mode now, because concurrent attempts of the workers would fail.
            drop(sqlite::open(&path));
            (directory, path)
        } else {
            fixture::store(SIZE)
        };
        let start = |_| Worker::start(kind, &path, ADDS);
        let mut workers: Vec<_> = (0..processes).map(start).collect();
        workers.iter_mut().for_each(|worker| worker.expect("ready"));
        Self { workers, _directory: directory }
    }

    /// Makes all workers file their issues.
    fn work(&mut self) {
        for worker in &mut self.workers {
            let input = worker.input.as_mut().expect("a worker that listens");
            input.write_all(b"go\n").expect("a worker that listens");
        }
        self.workers.iter_mut().for_each(|worker| worker.expect("done"));
    }

    /// Returns the duration of each change in ns, in ascending order.
    fn waits(mut self) -> Vec<u64> {
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

    /// Starts a worker on the store of a fixture, and waits until it is ready.
    pub fn beside(fixture: &Fixture, kind: Kind) -> Self {
        let mut worker = Self::start(kind, &fixture.path(), 0);
        worker.expect("ready");
        worker
    }

    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a worker that answers");
        line
    }

    fn expect(&mut self, word: &str) {
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
