//! What readers who reload pages without a pause wait, what they do to the tools, and how soon a reader sees a change.

use std::cell::Cell;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::client::Operation::{Add, List};
use crate::client::{Agent, Connection, Operation};
use crate::lived_in::lived_in;
use crate::load::{head, runtime};
use crate::server::Server;
use benches::figures::{ns, percentile, us};

const SIZE: usize = 100_000;
/// What the readers load, one page each.
const PAGES: [&str; 4] = ["/", "/board", "/agents", "/stats"];
/// The agent makes a call, and pauses.
const CALLS: usize = 100;
const PAUSE: Duration = Duration::from_millis(10);
const ROUNDS: usize = 4;
/// Changes a second, for how many changes.
const BETWEEN_CHANGES: Duration = Duration::from_millis(20);
const CHANGES: usize = 400;
const PATIENCE: Duration = Duration::from_secs(60);

pub fn report(out: &mut dyn Write) -> io::Result<()> {
    let runtime = runtime();
    let server = lived_in(SIZE);
    for path in PAGES {
        runtime.block_on(async { Connection::open(server.port).await.get(path).await });
    }
    writeln!(out, "Four readers who reload without a pause at {SIZE} issues, beside one agent\n")?;
    head(
        out,
        "tool | alone, p50 µs | beside readers | ratio | pages a second | a page, p50 ms | p95 ms",
    )?;
    for operation in [List, Add] {
        runtime.block_on(beside(out, &server, operation))?;
    }
    writeln!(
        out,
        "\nFrom the answer to a change until a page that follows the changes has loaded with it, ms, at 50 changes a second\n"
    )?;
    head(out, "page | p50 | p95 | longest")?;
    for path in PAGES {
        runtime.block_on(change_to_page(out, &server, path))?;
    }
    writeln!(out)
}

/// Measures calls of a tool, alone and beside readers in turn.
async fn beside(out: &mut dyn Write, server: &Server, operation: Operation) -> io::Result<()> {
    let mut agent = Agent::connect(server.port).await;
    let (mut alone, mut together) = (Vec::new(), Vec::new());
    let (mut loads, mut took) = (Vec::new(), Duration::ZERO);
    for _ in 0..ROUNDS {
        server.settle();
        agent.reconnect().await;
        alone.extend(calls(&mut agent, operation).await);
        let (is_done, begun) = (Cell::new(false), Instant::now());
        let work = async {
            let times = calls(&mut agent, operation).await;
            is_done.set(true);
            times
        };
        let reads = PAGES.map(|path| reload(server.port, path, &is_done));
        let (times, read) = tokio::join!(work, futures::future::join_all(reads));
        took += begun.elapsed();
        together.extend(times);
        loads.extend(read.concat());
    }
    let [alone, together] = [alone, together].map(|mut times| {
        times.sort_unstable();
        us(percentile(&times, 50))
    });
    loads.sort_unstable();
    let rate = loads.len() as f64 / took.as_secs_f64();
    let [p50, p95] = [50, 95].map(|percent| us(percentile(&loads, percent)) / 1e3);
    let ratio = together / alone;
    let name = operation.tool();
    writeln!(
        out,
        "| `{name}` | {alone:.0} | {together:.0} | {ratio:.2} | {rate:.0} | {p50:.1} | {p95:.1} |"
    )
}

async fn calls(agent: &mut Agent, operation: Operation) -> Vec<u64> {
    let arguments = operation.arguments().to_string();
    let mut times = Vec::new();
    for _ in 0..CALLS {
        sleep(PAUSE).await;
        let begun = Instant::now();
        agent.call(operation, &arguments).await;
        times.push(ns(begun.elapsed()));
    }
    times
}

async fn reload(port: u16, path: &str, is_done: &Cell<bool>) -> Vec<u64> {
    let mut connection = Connection::open(port).await;
    let mut times = Vec::new();
    while !is_done.get() {
        let begun = Instant::now();
        connection.get(path).await;
        times.push(ns(begun.elapsed()));
    }
    times
}

/// Files issues, and measures how soon a reader who loads the page at each event has each of them.
async fn change_to_page(out: &mut dyn Write, server: &Server, path: &str) -> io::Result<()> {
    let mut agent = Agent::connect(server.port).await;
    let mut arguments = Add.arguments();
    // Long enough for the last page.
    let (answered, is_done) = (Cell::new(Vec::new()), Cell::new(false));
    let work = async {
        for number in 0..CHANGES {
            sleep(BETWEEN_CHANGES).await;
            arguments["title"] = json!(format!("change {number}"));
            agent.call(Add, &arguments.to_string()).await;
            let mut times = answered.take();
            times.push(Instant::now());
            answered.set(times);
        }
        is_done.set(true);
    };
    let reading = async {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).await.expect("a server");
        let request = b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n";
        stream.write_all(request).await.expect("a server that listens");
        let (mut heard, mut seen, mut times) = (Vec::new(), 0, Vec::new());
        let mut connection = Connection::open(server.port).await;
        while !is_done.get() {
            heard.clear();
            let hearing = timeout(PATIENCE, stream.read_buf(&mut heard)).await;
            assert!(
                hearing.expect("a server that tells").expect("a stream") > 0,
                "the stream ended"
            );
            let all = answered.take();
            let known = all.len();
            answered.set(all);
            connection.get(path).await;
            let loaded = Instant::now();
            let all = answered.take();
            times.extend(all[seen..known].iter().map(|at| ns(loaded - *at)));
            answered.set(all);
            seen = known;
        }
        times
    };
    let ((), mut times) = tokio::join!(work, reading);
    times.sort_unstable();
    let [p50, p95, longest] = [50, 95, 100].map(|percent| us(percentile(&times, percent)) / 1e3);
    writeln!(out, "| `{path}` | {p50:.0} | {p95:.0} | {longest:.0} |")
}
