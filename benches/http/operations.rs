//! Operations per second and their latency, by the number of clients and issues.
//!
//! Reads and changes are measured separately. Before each burst of changes the store is published, so that no publish
//! falls into the burst; one table measures changes during publishing.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use crate::client::Operation::{self, Add, List};
use crate::load::{Burst, COLUMNS, Lane, Times, answer_bytes, head, runtime};
use crate::server::Server;
use crate::stdio;
use benches::figures::timed;
use benches::fixture::Appender;

const SIZES: [usize; 3] = [0, 1_000, 10_000];
const CLIENTS: [usize; 3] = [1, 8, 32];
const ROUNDS: usize = 8;
/// The number of appends per round.
const APPENDS: usize = 50;

pub fn report(out: &mut dyn Write) -> io::Result<()> {
    reads(out)?;
    changes(out)?;
    without_pause(out)?;
    transports(out)
}

/// Returns the number of operations per client in a burst.
fn each(clients: usize) -> usize {
    match clients {
        1 => 200,
        8 => 60,
        clients => 1_024 / clients,
    }
}

fn name(size: usize) -> String {
    format!("{size} issues")
}

fn reads(out: &mut dyn Write) -> io::Result<()> {
    let (runtime, baseline) = (runtime(), Server::baseline());
    let servers = SIZES.map(|size| (size, Server::with(size)));
    writeln!(out, "Reads: list_issues, take 20\n")?;
    head(out, &format!("clients | | {COLUMNS} | p50 to its baseline"))?;
    for clients in CLIENTS {
        let mut lanes = runtime.block_on(async {
            let mut lanes = Vec::new();
            for (size, server) in &servers {
                // An empty list gives a much shorter response.
                let bytes = answer_bytes(server, List).await;
                let name_of_baseline = format!("baseline, {bytes} bytes");
                let baseline = Lane::of_baseline(name_of_baseline, &baseline, bytes, clients).await;
                lanes.push((baseline, Lane::of_sessions(name(*size), server, clients).await));
            }
            for _ in 0..ROUNDS {
                for (baseline, lane) in &mut lanes {
                    baseline.run(List, each(clients)).await;
                    lane.run(List, each(clients)).await;
                }
            }
            lanes
        });
        for (baseline, lane) in lanes.drain(..) {
            let ratio = lane.times.us(50) / baseline.times.us(50);
            writeln!(out, "| {clients} | {} | {} | |", baseline.name, baseline.times.columns())?;
            writeln!(out, "| {clients} | {} | {} | {ratio:.1} |", lane.name, lane.times.columns())?;
        }
    }
    writeln!(out)
}

/// Repeated synced appends, as the store makes them for changes.
struct Appends {
    appender: Appender,
    times: Times,
}

impl Appends {
    fn new() -> Self {
        Self { appender: Appender::begin(), times: Times::default() }
    }

    fn run(&mut self) {
        let begun = Instant::now();
        let times = (0..APPENDS).map(|_| timed(|| self.appender.append())).collect();
        self.times.add(Burst { times, took: begun.elapsed() }, Duration::ZERO);
    }
}

fn changes(out: &mut dyn Write) -> io::Result<()> {
    let (runtime, baseline) = (runtime(), Server::baseline());
    writeln!(out, "Changes: add_issue\n")?;
    head(out, &format!("clients | | {COLUMNS} | p50 to the baseline | to an append"))?;
    for clients in CLIENTS {
        // New servers, because each burst adds issues to their stores.
        let servers = SIZES.map(|size| (size, Server::with(size)));
        let mut appends = Appends::new();
        let (mut lane_of_baseline, mut lanes) = runtime.block_on(async {
            let bytes = answer_bytes(&servers[0].1, Add).await;
            let name_of_baseline = format!("baseline, {bytes} bytes");
            let baseline = Lane::of_baseline(name_of_baseline, &baseline, bytes, clients).await;
            let mut lanes = Vec::new();
            for (size, server) in &servers {
                lanes.push((Lane::of_sessions(name(*size), server, clients).await, server));
            }
            (baseline, lanes)
        });
        for _ in 0..ROUNDS {
            for (lane, server) in &mut lanes {
                server.settle();
                appends.run();
                runtime.block_on(lane_of_baseline.run(Add, each(clients)));
                runtime.block_on(lane.run(Add, each(clients)));
            }
        }
        let (append, baseline) = (&appends.times, &lane_of_baseline.times);
        writeln!(out, "| | append and sync | {} | | |", append.columns())?;
        writeln!(out, "| {clients} | {} | {} | | |", lane_of_baseline.name, baseline.columns())?;
        for (lane, _) in &lanes {
            let [to_baseline, to_append] =
                [baseline, append].map(|times| lane.times.us(50) / times.us(50));
            let (name, columns) = (&lane.name, lane.times.columns());
            writeln!(
                out,
                "| {clients} | {name} | {columns} | {to_baseline:.1} | {to_append:.1} |"
            )?;
        }
    }
    writeln!(out)
}

/// Measures changes over a time in which `issues.json` is published.
fn without_pause(out: &mut dyn Write) -> io::Result<()> {
    const CLIENTS: usize = 8;
    const EACH: usize = 1_500;
    let (runtime, server) = (runtime(), Server::with(10_000));
    let lane = runtime.block_on(async {
        let mut lane = Lane::of_sessions("", &server, CLIENTS).await;
        lane.run(Add, EACH).await;
        lane
    });
    let (count, ratio) = (lane.times.count(), lane.times.us(100) / lane.times.us(50));
    writeln!(out, "{count} changes by {CLIENTS} clients at 10,000 issues, while publishing\n")?;
    head(out, &format!("{COLUMNS} | longest to p50"))?;
    writeln!(out, "| {} | {ratio:.0} |\n", lane.times.columns())
}

/// Compares the transports for one client and the same operation.
fn transports(out: &mut dyn Write) -> io::Result<()> {
    const SIZE: usize = 1_000;
    const EACH: usize = 100;
    // Long enough to publish each store between the bursts of changes.
    const REST: Duration = Duration::from_millis(600);
    writeln!(out, "One client, {SIZE} issues\n")?;
    head(out, &format!(" | | {COLUMNS} | p50 to stdio"))?;
    let runtime = runtime();
    for operation in [List, Add] {
        let (first, second, mut pipes) =
            (Server::with(SIZE), Server::with(SIZE), stdio::Client::with(SIZE));
        let (mut sessions, mut stateless) = runtime.block_on(async {
            let sessions = Lane::of_sessions("HTTP, session", &first, 1).await;
            (sessions, Lane::of_stateless("HTTP, stateless", &second, operation).await)
        });
        pipes.burst(operation, 5);
        let mut by_pipe = Times::default();
        for _ in 0..ROUNDS {
            if operation == Add {
                std::thread::sleep(REST);
            }
            pipes.run(&mut by_pipe, operation, EACH);
            runtime.block_on(sessions.run(operation, EACH));
            runtime.block_on(stateless.run(operation, EACH));
        }
        row(out, operation, "stdio", &by_pipe, &by_pipe)?;
        for lane in [&sessions, &stateless] {
            row(out, operation, &lane.name, &lane.times, &by_pipe)?;
        }
    }
    writeln!(out)
}

fn row(
    out: &mut dyn Write,
    operation: Operation,
    name: &str,
    times: &Times,
    baseline: &Times,
) -> io::Result<()> {
    let ratio = times.us(50) / baseline.us(50);
    writeln!(out, "| {} | {name} | {} | {ratio:.1} |", operation.tool(), times.columns())
}
