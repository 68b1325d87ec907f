//! The worker processes of [`processes`](crate::processes): this program, started again.
//!
//! A worker that files issues opens a store, prints "ready", waits for a line, files its issues, prints "done" and the
//! duration of each change in ns, and waits for the end of its input.

use std::future::pending;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::Instant;

use agent_issue_tracker::domain::Query;
use agent_issue_tracker::store::{SqliteStore, Store};
use agent_issue_tracker::tracker::{ClaimKind, Tracker};

use crate::reads::queries;
use crate::sqlite;
use benches::figures::memory_bytes;
use benches::fixture;
use benches::issues::{self, Filing};

/// The environment variable that turns this program into a worker of a kind.
pub const VARIABLE: &str = "AIT_BENCH_WORKER";
const MIB: f64 = 1024.0 * 1024.0;

/// The kind of a worker.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Files issues, publishes and watches the changes of others, as `ait` does.
    Store,
    /// Files issues in SQLite alone.
    Sqlite,
    /// Uses the store in all ways, and prints its memory use.
    Memory,
    /// Watches a store and prints the number of each newest event.
    Watch,
    /// Waits for issues to claim, and prints the id of each.
    Wait,
}

impl Kind {
    const ALL: [Self; 5] = [Self::Store, Self::Sqlite, Self::Memory, Self::Watch, Self::Wait];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Store => "store",
            Self::Sqlite => "SQLite alone",
            Self::Memory => "memory",
            Self::Watch => "watch",
            Self::Wait => "wait",
        }
    }
}

/// Runs as a worker. Returns false if this process is not one.
pub fn run() -> bool {
    let Ok(word) = std::env::var(VARIABLE) else { return false };
    let kind = Kind::ALL.into_iter().find(|kind| kind.as_str() == word).expect("a known worker");
    let mut arguments = std::env::args().skip(1);
    let path = PathBuf::from(arguments.next().expect("a path"));
    let adds = arguments.next().and_then(|adds| adds.parse().ok()).expect("a number");
    match kind {
        Kind::Store => store(&path, adds),
        Kind::Sqlite => {
            let mut connection = sqlite::open(&path);
            work(adds, |number| sqlite::add(&mut connection, &Filing::new(number)));
        }
        Kind::Memory => memory(&path),
        Kind::Watch => watch(&path),
        Kind::Wait => wait(&path),
    }
    true
}

fn store(path: &Path, adds: usize) {
    let runtime = fixture::runtime();
    let tracker = Tracker::new(Arc::new(SqliteStore::new(path)));
    let _watching = tracker.watch();
    runtime.block_on(tracker.counts()).expect("a valid store");
    work(adds, |number| {
        runtime.block_on(fixture::add(&tracker, Filing::new(number)));
    });
}

fn work(adds: usize, mut add: impl FnMut(usize)) {
    let (mut input, mut line) = (io::stdin().lock(), String::new());
    say("ready");
    input.read_line(&mut line).expect("a word from the parent");
    let waits: Vec<String> = (0..adds)
        .map(|number| {
            let begun = Instant::now();
            add(number);
            begun.elapsed().as_nanos().to_string()
        })
        .collect();
    say("done");
    say(&waits.join(" "));
    // Closing the store now would disturb the other workers, so wait for the end of the input.
    input.read_line(&mut line).expect("the end of the input");
}

fn memory(path: &Path) {
    let mib = |name| format!("{:.1}", memory_bytes("self", name) as f64 / MIB);
    let before = mib("VmRSS:");
    let runtime = fixture::runtime();
    let store = fixture::open(path, fixture::unpublished());
    let maintenance = store.maintenance();
    let tracker = Tracker::new(Arc::new(store));
    let list = |query| runtime.block_on(tracker.list_issues(query)).expect("a page");
    list(Query { take: 20, ..Query::default() });
    let claimed = tracker.claim_next(ClaimKind::Work(None), issues::agent());
    runtime.block_on(claimed).expect("a store that can be changed");
    runtime.block_on(fixture::add(&tracker, Filing::new(1)));
    let used = mib("VmRSS:");
    for (_, query) in queries() {
        list(query);
    }
    let searched = mib("VmRSS:");
    runtime.block_on(maintenance.publish()).expect("space on the disk");
    say(&format!("{before} {used} {searched} {}", mib("VmHWM:")));
}

fn watch(path: &Path) {
    let runtime = fixture::runtime();
    let store = fixture::open(path, fixture::unpublished());
    let mut newest = store.watch();
    runtime.block_on(store.counts()).expect("a valid store");
    end_with_input();
    say("ready");
    while runtime.block_on(newest.changed()).is_ok() {
        let number = newest.borrow_and_update().number;
        say(&number.to_string());
    }
}

fn wait(path: &Path) {
    let runtime = fixture::runtime();
    let tracker = Tracker::new(Arc::new(fixture::open(path, fixture::unpublished())));
    runtime.block_on(tracker.counts()).expect("a valid store");
    end_with_input();
    say("ready");
    loop {
        let waiting = tracker.wait_for_next(ClaimKind::Work(None), issues::agent(), pending());
        let claimed = runtime.block_on(waiting).expect("a store that can be changed");
        say(&claimed.expect("an issue").issue.id.to_string());
    }
}

fn end_with_input() {
    thread::spawn(|| {
        io::copy(&mut io::stdin().lock(), &mut io::sink()).expect("the end of the input");
        std::process::exit(0);
    });
}

fn say(text: &str) {
    let mut output = io::stdout().lock();
    writeln!(output, "{text}").and_then(|()| output.flush()).expect("a parent that listens");
}
