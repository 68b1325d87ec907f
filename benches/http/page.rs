//! How much a client that loads pages without a pause slows down the agents.

use std::cell::Cell;
use std::io::{self, Write};
use std::time::Instant;

use crate::client::Connection;
use crate::client::Operation::Add;
use crate::load::{COLUMNS, Lane, head, runtime};
use crate::server::Server;
use benches::figures::{ns, percentile, us};

const SIZE: usize = 10_000;
const CLIENTS: usize = 8;
/// Few enough that a burst ends before the file is published.
const EACH: usize = 100;
const ROUNDS: usize = 12;
/// More page loads than fit into a burst.
const MAX_LOADS: usize = 1_000_000;

/// The loaded page and its server.
enum Reading {
    Nothing,
    Own(&'static str),
    /// As many bytes as the first page, from the baseline server: the transfer takes the same CPU time, but the tracker
    /// does no work.
    Baseline,
}

struct Trial {
    name: &'static str,
    reading: Reading,
    server: Server,
    lane: Lane,
    /// The duration of each page load, in ns.
    loads: Vec<u64>,
}

pub fn report(out: &mut dyn Write) -> io::Result<()> {
    let (runtime, baseline) = (runtime(), Server::baseline());
    let mut page_bytes = 0;
    let mut trials = Vec::new();
    for (name, reading) in [
        ("nothing", Reading::Nothing),
        ("`/`", Reading::Own("/")),
        ("statistics", Reading::Own("/stats?range=all")),
        ("`/health`", Reading::Own("/health")),
        ("the baseline", Reading::Baseline),
    ] {
        // Each trial has its own server, so that all stores grow equally.
        let server = Server::with(SIZE);
        let lane = runtime.block_on(async {
            page_bytes = Connection::open(server.port).await.get("/").await;
            Lane::of_sessions(name, &server, CLIENTS).await
        });
        trials.push(Trial { name, reading, server, lane, loads: Vec::new() });
    }
    for _ in 0..ROUNDS {
        for trial in &mut trials {
            trial.server.settle();
            let (port, path) = match trial.reading {
                Reading::Nothing => {
                    runtime.block_on(trial.lane.run(Add, EACH));
                    continue;
                }
                Reading::Own(path) => (trial.server.port, path.to_owned()),
                Reading::Baseline => (baseline.port, format!("/{page_bytes}")),
            };
            runtime.block_on(run_with_page_loads(trial, port, &path));
        }
    }
    writeln!(
        out,
        "Changes by {CLIENTS} clients at {SIZE} issues while another client loads pages\n"
    )?;
    head(
        out,
        &format!("reads | {COLUMNS} | p50 to nothing | p99 | pages per second | p50 of a page µs"),
    )?;
    let alone = [50, 99].map(|percent| trials[0].lane.times.us(percent));
    for trial in &mut trials {
        let times = &trial.lane.times;
        let [p50, p99] = [times.us(50) / alone[0], times.us(99) / alone[1]];
        write!(out, "| {} | {} | {p50:.2} | {p99:.2} | ", trial.name, times.columns())?;
        if trial.loads.is_empty() {
            writeln!(out, "| |")?;
            continue;
        }
        trial.loads.sort_unstable();
        let rate = 1e9 * trial.loads.len() as f64 / trial.loads.iter().sum::<u64>() as f64;
        writeln!(out, "{rate:.0} | {:.0} |", us(percentile(&trial.loads, 50)))?;
    }
    writeln!(out, "\n`/` has {page_bytes} bytes\n")
}

/// Runs a burst of changes while another client loads pages.
async fn run_with_page_loads(trial: &mut Trial, port: u16, path: &str) {
    let mut connection = Connection::open(port).await;
    let is_done = Cell::new(false);
    let work = async {
        trial.lane.run(Add, EACH).await;
        is_done.set(true);
    };
    let reading = async {
        for _ in 0..MAX_LOADS {
            if is_done.get() {
                break;
            }
            let begun = Instant::now();
            connection.get(path).await;
            trial.loads.push(ns(begun.elapsed()));
        }
    };
    tokio::join!(work, reading);
}
