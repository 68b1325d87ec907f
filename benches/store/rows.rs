//! The store in SQLite beside the log, in what decides between them: one change, processes, opening, memory, lists.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use agent_issue_tracker::domain::{Condition, Order, Query, StatusSet};
use agent_issue_tracker::store::SqliteStore;
use agent_issue_tracker::store::transfer::{Transfer, TransferTarget};
use agent_issue_tracker::tracker::{ClaimKind, Tracker};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::processes::{Team, Worker};
use crate::worker::{Kind, say};
use benches::figures::{memory_bytes, percentile, timed, us};
use benches::fixture::{self, Appender, Fixture};
use benches::issues::{self, Filing};

const LARGE: usize = 100_000;
const ROUNDS: usize = 1_000;
const MIB: f64 = 1024.0 * 1024.0;

/// Measures and prints the tables.
pub fn report(out: &mut dyn Write) -> io::Result<()> {
    changes(out)?;
    processes(out)?;
    reads(out)?;
    memory(out)
}

/// Makes a store in SQLite with `size` issues.
pub fn store(size: usize) -> (TempDir, PathBuf) {
    let directory = fixture::new_directory();
    let path = directory.path().join("issues.json");
    let template = fixture::template(&format!("{size}.db"), |template| {
        let made = fixture::new_directory();
        let target = SqliteStore::new(made.path().join("issues.json"));
        let (source, runtime) = (fixture::directory_with(size), fixture::runtime());
        let log = fixture::open(&source.path().join("issues.json"), fixture::unpublished());
        runtime.block_on(async {
            let transfer = Transfer::of(&log).await.expect("a store that can be read");
            target.take_over(&transfer).await.expect("an empty store");
        });
        let database = made.path().join(".ait/issues.json/queue.db");
        let connection = rusqlite::Connection::open(&database).expect("a database");
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).expect("a log");
        fixture::copy(&database, template);
    });
    let own = directory.path().join(".ait/issues.json");
    std::fs::create_dir_all(&own).expect("a new directory");
    fixture::copy(&template, &own.join("queue.db"));
    (directory, path)
}

/// A store in SQLite and what calls it.
struct Rows {
    runtime: Runtime,
    tracker: Tracker,
    _directory: TempDir,
}

impl Rows {
    fn new(size: usize) -> Self {
        let (directory, path) = store(size);
        let tracker = Tracker::new(Arc::new(SqliteStore::new(path)));
        Self { runtime: fixture::runtime(), tracker, _directory: directory }
    }

    fn add(&self, filing: Filing) {
        self.runtime.block_on(fixture::add(&self.tracker, filing));
    }

    fn claim(&self) {
        let kind = ClaimKind::Work(None);
        let claimed = self.tracker.wait_for_next(kind, issues::agent(), std::future::ready(()));
        self.runtime.block_on(claimed).expect("a store that can be changed");
    }

    fn list(&self, query: Query) -> usize {
        let listed = self.runtime.block_on(self.tracker.list_issues(query));
        listed.expect("a page").issues.len()
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        self.runtime.block_on(self.tracker.close());
    }
}

fn changes(out: &mut dyn Write) -> io::Result<()> {
    let (empty, large) = (Rows::new(0), Rows::new(LARGE));
    let log = Fixture::new(LARGE);
    let mut appender = Appender::new(log.frame_bytes());
    let mut acts: [(&str, &mut dyn FnMut(Filing)); 5] = [
        ("append to a file", &mut |_| appender.append()),
        ("log, 100,000", &mut |filing| _ = log.add(filing)),
        ("SQLite, empty", &mut |filing| empty.add(filing)),
        ("SQLite, 100,000", &mut |filing| large.add(filing)),
        ("SQLite, 100,000: a claim", &mut |_| large.claim()),
    ];
    let mut times: [Vec<u64>; 5] = Default::default();
    for round in 0..ROUNDS {
        for ((_, act), times) in acts.iter_mut().zip(&mut times) {
            let filing = Filing::new(round);
            times.push(timed(|| act(filing)));
        }
    }
    writeln!(out, "One change by one caller, {ROUNDS} rounds\n")?;
    writeln!(out, "| | p50 µs | p90 µs | p99 µs | longest µs | p50 to an append |")?;
    writeln!(out, "|---|---:|---:|---:|---:|---:|")?;
    let mut append = None;
    for ((name, _), times) in acts.iter().zip(&mut times) {
        times.sort_unstable();
        let [p50, p90, p99, p100] = [50, 90, 99, 100].map(|percent| us(percentile(times, percent)));
        let ratio = p50 / *append.get_or_insert(p50);
        writeln!(out, "| {name} | {p50:.0} | {p90:.0} | {p99:.0} | {p100:.0} | {ratio:.2} |")?;
    }
    writeln!(out)
}

fn processes(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "8 processes without a pause\n")?;
    writeln!(out, "| | changes | per second | p50 µs | p99 µs | longest µs |")?;
    writeln!(out, "|---|---:|---:|---:|---:|---:|")?;
    for kind in [Kind::JsonPublishing, Kind::SqliteStore, Kind::JsonPublishing, Kind::SqliteStore] {
        let mut team = Team::start(kind, 8);
        let took = timed(|| team.work());
        let waits = team.waits();
        let rate = waits.len() as u64 * 1_000_000_000 / took;
        let [p50, p99, longest] = [50, 99, 100].map(|percent| us(percentile(&waits, percent)));
        let (name, changes) = (kind.as_str(), waits.len());
        writeln!(out, "| {name} | {changes} | {rate} | {p50:.0} | {p99:.0} | {longest:.0} |")?;
    }
    writeln!(out)
}

fn queries() -> [(&'static str, Query); 7] {
    let of = |query: Query| Query { take: 50, ..query };
    let text = |text: &str| Condition::Text(text.to_owned());
    let pasted = "error: the loop in the reader stops at line 41, expected one row, got none";
    let texts: Vec<String> = pasted.split(' ').map(str::to_owned).collect();
    let some = Condition::SomeTexts { at_least: 4, texts };
    let latest = Query { order: Order::LatestActivity, ..Query::default() };
    [
        ("the first 50", of(Query::default())),
        (
            "the latest 50 that are open",
            of(Query { statuses: StatusSet::open(), ..latest.clone() }),
        ),
        ("a word that all have", of(Query { condition: text("importer"), ..latest.clone() })),
        ("a word that one has", of(Query { condition: text("(54321)"), ..latest.clone() })),
        ("a word that none has", of(Query { condition: text("kelnor"), ..latest.clone() })),
        ("two characters", of(Query { condition: text("zq"), ..latest })),
        (
            "a pasted error",
            of(Query { condition: some, order: Order::Relevance, ..Query::default() }),
        ),
    ]
}

fn reads(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Reads in SQLite; the first after opening, and the median of 30\n")?;
    writeln!(out, "| | issues | first ms | p50 ms |")?;
    writeln!(out, "|---|---:|---:|---:|")?;
    for size in [10_000, LARGE] {
        let rows = Rows::new(size);
        for (name, query) in queries() {
            let first = us(timed(|| rows.list(query.clone()))) / 1e3;
            let mut times: Vec<u64> = (0..30).map(|_| timed(|| rows.list(query.clone()))).collect();
            times.sort_unstable();
            let p50 = us(percentile(&times, 50)) / 1e3;
            writeln!(out, "| {name} | {size} | {first:.2} | {p50:.2} |")?;
        }
        let (_directory, path) = store(size);
        let open = || {
            let (runtime, store) = (fixture::runtime(), SqliteStore::new(&path));
            let query = Query { take: 20, ..Query::default() };
            runtime.block_on(Tracker::new(Arc::new(store)).list_issues(query)).expect("a page");
        };
        let first = us(timed(open)) / 1e3;
        writeln!(out, "| open and list 20 | {size} | {first:.2} | {:.2} |", us(timed(open)) / 1e3)?;
    }
    writeln!(out)
}

fn memory(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "Resident memory of a process in MiB\n")?;
    writeln!(out, "| issues | before | after a list, a claim and a change | after all reads |")?;
    writeln!(out, "|---:|---:|---:|---:|")?;
    for size in [10_000, LARGE] {
        let (_directory, path) = store(size);
        let line = Worker::start(Kind::SqliteMemory, &path, 0).line();
        let numbers: Vec<&str> = line.split_whitespace().collect();
        writeln!(out, "| {size} | {} |", numbers.join(" | "))?;
    }
    writeln!(out)
}

/// Uses a store as a server of one agent does, and prints its memory.
pub fn memory_worker(path: &Path) {
    let now = || format!("{:.1}", memory_bytes("self", "VmRSS:") as f64 / MIB);
    let before = now();
    let tracker = Tracker::new(Arc::new(SqliteStore::new(path)));
    let rows = Rows { runtime: fixture::runtime(), tracker, _directory: fixture_directory() };
    rows.list(Query { take: 20, ..Query::default() });
    rows.claim();
    rows.add(Filing::new(1));
    let used = now();
    for (_, query) in queries() {
        rows.list(query);
    }
    say(&format!("{before} {used} {}", now()));
}

fn fixture_directory() -> TempDir {
    TempDir::new().expect("a directory")
}
