//! What sessions take that their clients leave without a word, and what taking one up again costs.

use std::io::{self, Write};
use std::time::Instant;

use crate::client::{Agent, Connection, Operation};
use crate::figures::{ns, percentile, us};
use crate::load::{Lane, head, runtime};
use crate::server::Server;

/// How many sessions the server keeps in memory.
const CAPACITY: usize = 1_024;
const SESSIONS: usize = 10_000;
/// Twice as many show whether the memory goes on to grow.
const TWICE: usize = 2 * SESSIONS;
/// How many of them are taken up again.
const RESUMED: usize = 500;

pub fn report(out: &mut dyn Write) -> io::Result<()> {
    let (runtime, server) = (runtime(), Server::with(0));
    let (sizes, names) = runtime.block_on(async {
        // So that whatever is made once is there.
        Lane::of_stateless("", &server, Operation::List).await.warm_up(Operation::List).await;
        Connection::open(server.port).await.get("/").await;
        let (mut sizes, mut names) = (vec![server.resident_bytes()], Vec::new());
        for count in 1..=TWICE {
            names.push(Agent::connect(server.port).await.session().to_owned());
            if [CAPACITY, SESSIONS, TWICE].contains(&count) {
                sizes.push(server.resident_bytes());
            }
        }
        (sizes, names)
    });
    let [before, full, after, twice] = sizes[..] else { unreachable!("four are noted") };
    let each = full.saturating_sub(before) / CAPACITY as u64;
    writeln!(out, "Resident set of the server, {TWICE} sessions begun and left\n")?;
    let columns = format!(
        "before | {CAPACITY} | {SESSIONS} | {TWICE} | bytes a live session | {SESSIONS} to \
         {CAPACITY} | {TWICE} to {SESSIONS}"
    );
    head(out, &columns)?;
    for bytes in &sizes {
        write!(out, "| {:.1} MB ", *bytes as f64 / 1e6)?;
    }
    let growth = [after as f64 / full as f64, twice as f64 / after as f64];
    writeln!(out, "| {each} | {:.2} | {:.2} |\n", growth[0], growth[1])?;

    let arguments = Operation::List.arguments().to_string();
    let (mut taken_up, mut live) = (Vec::new(), Vec::new());
    runtime.block_on(async {
        // The very first, and those after it: all have made room long ago.
        let mut agent = Agent::connect(server.port).await;
        for name in &names[..RESUMED] {
            agent.take_up(name);
            for times in [&mut taken_up, &mut live] {
                let begun = Instant::now();
                agent.call(Operation::List, &arguments).await;
                times.push(ns(begun.elapsed()));
            }
        }
    });
    writeln!(out, "The first {RESUMED} sessions are served again; list_issues by one client\n")?;
    head(out, " | p50 µs | p99 µs")?;
    for (name, times) in [("taken up", &mut taken_up), ("live", &mut live)] {
        times.sort_unstable();
        let [p50, p99] = [50, 99].map(|percent| us(percentile(times, percent)));
        writeln!(out, "| {name} | {p50:.0} | {p99:.0} |")?;
    }
    let ratio = percentile(&taken_up, 50) as f64 / percentile(&live, 50) as f64;
    writeln!(out, "\ntaken up to live: {ratio:.1}\n")
}
