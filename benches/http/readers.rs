//! Page loads of readers without a pause: their latency, their effect on tool calls, and the delay from change to page.

use std::cell::Cell;
use std::io::{self, Write};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::aged_store::aged_store;
use crate::client::Operation::{Add, List};
use crate::client::{Agent, Connection, Operation};
use crate::load::{head, runtime};
use crate::server::Server;
use benches::figures::{ns, percentile, us};

const SIZE: usize = 100_000;
/// The pages, one for each reader.
const PAGES: [&str; 4] = ["/", "/board", "/agents", "/stats"];
/// The number of calls, and the pause of the agent after each.
const CALLS: usize = 100;
const PAUSE: Duration = Duration::from_millis(10);
const ROUNDS: usize = 4;
/// The pause between changes, and their number.
const BETWEEN_CHANGES: Duration = Duration::from_millis(20);
const CHANGES: usize = 400;
const PATIENCE: Duration = Duration::from_secs(60);

pub fn report(out: &mut dyn Write) -> io::Result<()> {
    let runtime = runtime();
    let server = aged_store(SIZE);
    for path in PAGES {
        runtime.block_on(async { Connection::open(server.port).await.get(path).await });
    }
    writeln!(out, "Four readers that reload without a pause at {SIZE} issues, and one agent\n")?;
    head(
        out,
        "tool | alone, p50 µs | with readers | ratio | pages per second | a page, p50 ms | p95 ms",
    )?;
    for operation in [List, Add] {
        runtime.block_on(with_readers(out, &server, operation))?;
    }
    writeln!(
        out,
        "\nFrom the response to a change until a page that reloads at each event shows it, ms, at 50 changes per second\n"
    )?;
    head(out, "page | p50 | p95 | longest")?;
    for path in PAGES {
        runtime.block_on(change_to_page(out, &server, path))?;
    }
    writeln!(out)
}

/// Measures calls of a tool alternately alone and during page loads.
async fn with_readers(
    out: &mut dyn Write,
    server: &Server,
    operation: Operation,
) -> io::Result<()> {
    let mut agent = Agent::connect(server.port).await;
    let (mut alone, mut loaded) = (Vec::new(), Vec::new());
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
        loaded.extend(times);
        loads.extend(read.concat());
    }
    let [alone, loaded] = [alone, loaded].map(|mut times| {
        times.sort_unstable();
        us(percentile(&times, 50))
    });
    loads.sort_unstable();
    let rate = loads.len() as f64 / took.as_secs_f64();
    let [p50, p95] = [50, 95].map(|percent| us(percentile(&loads, percent)) / 1e3);
    let ratio = loaded / alone;
    let name = operation.tool();
    writeln!(
        out,
        "| `{name}` | {alone:.0} | {loaded:.0} | {ratio:.2} | {rate:.0} | {p50:.1} | {p95:.1} |"
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

/// Files issues, and measures how soon a reader who reloads the page at each event sees each of them.
async fn change_to_page(out: &mut dyn Write, server: &Server, path: &str) -> io::Result<()> {
    let mut agent = Agent::connect(server.port).await;
    let mut arguments = Add.arguments();
    // The reader runs until the last change is filed.
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
        let (mut received, mut seen, mut times) = (Vec::new(), 0, Vec::new());
        let mut connection = Connection::open(server.port).await;
        while !is_done.get() {
            received.clear();
            let read = timeout(PATIENCE, stream.read_buf(&mut received)).await;
            assert!(read.expect("an event in time").expect("a stream") > 0, "the stream ended");
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
