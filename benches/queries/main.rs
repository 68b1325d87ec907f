//! The cost of queries on a file store and on PostgreSQL.
//!
//! ```text
//! cargo bench -p benches --bench queries
//! cargo bench -p benches --bench queries -- files 100000    # one store, files or PostgreSQL, or one size
//! ```
//!
//! See `benches/README.md` for results. Both stores have the same issues. The first search of a process builds the
//! index and has its own column.

#[expect(dead_code, reason = "only the tests use the rest")]
#[path = "../../tests/it/support/postgres.rs"]
mod server;

use std::fs;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_issue_tracker::domain::{Order, Query, Timestamp};
use agent_issue_tracker::query_language::{ParsedQuery, SavedQueries};
use agent_issue_tracker::store::files::format;
use agent_issue_tracker::store::transfer::{Transfer, TransferTarget};
use agent_issue_tracker::store::{SqliteStore, Store};
use benches::{figures, fixture, issues};
use chrono::Utc;

use self::server::{Server, open};

/// The time limit for the start of the server.
const PATIENCE: Duration = Duration::from_secs(60);
const ROUNDS: usize = 21;
/// The sizes with their targets for p50, in ms.
const SIZES: [(usize, f64); 2] = [(10_000, 5.0), (100_000, 30.0)];
const FILES: &str = "files";
const POSTGRES: &str = "PostgreSQL";
/// The page size of the web UI.
const TAKE: usize = 50;

const QUERIES: [&str; 16] = [
    "",
    "login",
    "login timeout",
    "timeout kelnor",
    "\"token expires\"",
    "login sort:changed",
    "zzzz",
    "status:open kind:bug priority:<=1",
    "holder:none returns:>=1",
    "holder:developer-3 -label:ui",
    "changed:>-1d is:ready",
    "changed:<-1h -label:ui kind:feature",
    "idle:>3d",
    "(kind:bug OR kind:feature) import",
    "blocks:3f2a9c1e OR parent:3f2a9c1e",
    "error: the reader drops the last line of a file, expected one row but got none after the restart of the server (see \
     list) in the browser when the token of the request expires before the retry",
];

fn main() {
    // `cargo test --benches` also starts this program, without `--bench`; it must not measure then.
    if std::env::args().any(|argument| argument == "--bench") {
        report(&mut io::stdout()).expect("standard output is open");
    }
}

/// Returns true if the arguments name this part, or no part at all.
fn is_wanted(part: &str, all: &[&str]) -> bool {
    let is_named = |name: &str| std::env::args().any(|argument| argument == name);
    is_named(part) || !all.iter().any(|name| is_named(name))
}

fn report(out: &mut dyn Write) -> io::Result<()> {
    let is_wanted_store = |name: &str| is_wanted(name, &[FILES, POSTGRES]);
    let sizes = SIZES.map(|(size, _)| size.to_string());
    let sizes = sizes.each_ref().map(String::as_str);
    let wants_server = is_wanted_store(POSTGRES);
    let server = if wants_server { Server::start(&["max_wal_size=4GB"]) } else { None };
    writeln!(out, "Queries, a page of {TAKE}, p50 of {ROUNDS} in ms\n")?;
    let mut missed = Vec::new();
    for (size, target_ms) in
        SIZES.into_iter().filter(|(size, _)| is_wanted(&size.to_string(), &sizes))
    {
        let directory = tempfile::tempdir()?;
        let path = directory.path().join("issues.json");
        let mut file = BufWriter::new(fs::File::create(&path)?);
        format::write(&issues::different(size), &mut file)?;
        file.flush()?;
        let runtime = fixture::runtime();
        let mut stores: Vec<(&str, Arc<dyn Store>)> =
            vec![(FILES, Arc::new(SqliteStore::new(path)))];
        if let Some(server) = &server {
            let target = open(&server.project());
            let source = Arc::clone(&stores[0].1);
            runtime.block_on(async {
                target.make_schema().await.expect("a server that can be changed");
                let transfer = Transfer::of(&*source).await.expect("a store that can be read");
                target.take_over(&transfer).await.expect("an empty project");
            });
            stores.push((POSTGRES, Arc::new(target)));
        }
        for (name, store) in stores.into_iter().filter(|(name, _)| is_wanted_store(name)) {
            writeln!(out, "\n## {size} issues, {name}\n\n| query | matches | first | p50 | p90 |")?;
            writeln!(out, "|---|---:|---:|---:|---:|")?;
            for query in QUERIES {
                let Figures { matches, first, p50, p90 } =
                    runtime.block_on(measure(&*store, query));
                let shown: String = query.chars().take(60).collect();
                writeln!(out, "| `{shown}` | {matches} | {first:.1} | {p50:.2} | {p90:.2} |")?;
                if p50 > target_ms {
                    missed.push(format!(
                        "{size} issues, {name}: {shown}: {p50:.1} ms, target {target_ms}"
                    ));
                }
            }
        }
    }
    writeln!(out, "\n{} targets missed", missed.len())?;
    missed.iter().try_for_each(|line| writeln!(out, "- {line}"))
}

struct Figures {
    matches: usize,
    first: f64,
    p50: f64,
    p90: f64,
}

async fn measure(store: &dyn Store, text: &str) -> Figures {
    let now = Timestamp::from(Utc::now());
    let parsed = ParsedQuery::parse(text, &SavedQueries::new(), now).expect("a valid query");
    let base = Query { order: Order::LatestActivity, take: TAKE, ..Query::default() };
    let query = parsed.narrow(base);
    let (mut times, mut matches) = (Vec::new(), 0);
    for _ in 0..=ROUNDS {
        let begun = Instant::now();
        let page = store.list(query.clone()).await.expect("a store that can be read");
        times.push(figures::ns(begun.elapsed()));
        matches = page.total;
    }
    let ms = |ns: u64| figures::us(ns) / 1e3;
    let first = ms(times.remove(0));
    times.sort_unstable();
    let [p50, p90] = [50, 90].map(|percent| ms(figures::percentile(&times, percent)));
    Figures { matches, first, p50, p90 }
}
