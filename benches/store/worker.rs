//! The other end of [`processes`](crate::processes): what this program does as a worker.
//!
//! It opens a store, says "ready", waits for a line, files its issues, says "done", tells how many
//! nanoseconds each of them took, and waits for the end of its input.

use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_issue_tracker::store::json::JsonStoreOptions;
use agent_issue_tracker::store::json::fs::RealFileSystem;
use agent_issue_tracker::tracker::Tracker;

use crate::figures::memory_bytes;
use crate::fixture::{self, NO_CHECKPOINT};
use crate::issues::Filing;
use crate::sqlite;

/// The environment variable that makes a worker of this program, and says which.
pub const VARIABLE: &str = "AIT_BENCH_WORKER";

/// What a worker works with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Json,
    /// The same, with checkpoints as they are made outside of benchmarks.
    JsonWithCheckpoints,
    Sqlite,
    /// Opens `issues.json` and tells how much memory it takes.
    Memory,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Json, Self::JsonWithCheckpoints, Self::Sqlite, Self::Memory];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::JsonWithCheckpoints => "json-with-checkpoints",
            Self::Sqlite => "sqlite",
            Self::Memory => "memory",
        }
    }
}

/// Does the work of a worker; false when this process is none.
pub fn run() -> bool {
    let Ok(word) = std::env::var(VARIABLE) else { return false };
    let kind = Kind::ALL.into_iter().find(|kind| kind.as_str() == word).expect("a known worker");
    let mut arguments = std::env::args().skip(1);
    let path = PathBuf::from(arguments.next().expect("a path"));
    let adds = arguments.next().and_then(|adds| adds.parse().ok()).expect("a number");
    match kind {
        Kind::Json => json(&path, adds, NO_CHECKPOINT),
        Kind::JsonWithCheckpoints => {
            json(&path, adds, JsonStoreOptions::default().checkpoint_after);
        }
        Kind::Sqlite => {
            let mut connection = sqlite::open(&path);
            work(adds, |number| sqlite::add(&mut connection, &Filing::new(number)));
        }
        Kind::Memory => memory(&path),
    }
    true
}

fn json(path: &Path, adds: usize, checkpoint_after: Duration) {
    let runtime = fixture::runtime();
    let store = fixture::open(path, Arc::new(RealFileSystem), checkpoint_after);
    let tracker = Tracker::new(Arc::new(store));
    runtime.block_on(tracker.counts()).expect("a valid file");
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
    // Whoever has finished does not disturb the others by closing its store.
    input.read_line(&mut line).expect("the end of the input");
}

fn memory(path: &Path) {
    let before = memory_bytes("self", "VmRSS:");
    let runtime = fixture::runtime();
    let tracker =
        Tracker::new(Arc::new(fixture::open(path, Arc::new(RealFileSystem), NO_CHECKPOINT)));
    let total = runtime.block_on(tracker.counts()).expect("a valid file").total();
    let opened = memory_bytes("self", "VmRSS:");
    runtime.block_on(fixture::add(&tracker, Filing::new(total)));
    let (changed, peak) = (memory_bytes("self", "VmRSS:"), memory_bytes("self", "VmHWM:"));
    say(&format!("{before} {opened} {changed} {peak}"));
}

fn say(text: &str) {
    let mut output = io::stdout().lock();
    writeln!(output, "{text}").and_then(|()| output.flush()).expect("a parent that listens");
}
