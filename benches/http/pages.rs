//! The cost of each page at two store sizes, and of many open pages.

use std::io::{self, Write};
use std::thread;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};

use crate::aged_store::aged_store;
use crate::client::Connection;
use crate::client::Operation::Add;
use crate::load::{COLUMNS, Lane, head, runtime};
use crate::server::{Server, processor_time};
use benches::figures::{ns, percentile, us};

const SIZES: [usize; 2] = [10_000, 100_000];
const LOADS: usize = 40;
const BETWEEN_LOADS: Duration = Duration::from_millis(2);
/// Targets: the bytes of a page at the smaller size, and p50 in ms at each size.
const MAX_BYTES: usize = 150_000;
const MAX_MS: [f64; 2] = [10.0, 30.0];
/// The measured pages. The searches match many issues, few, or none.
const PAGES: [(&str, &str); 24] = [
    ("list", "/"),
    ("list, one status", "/?status=closed"),
    ("list, three filters", "/?status=open&classification=bug&agent=agent-1"),
    ("list by title", "/?sort=title"),
    ("list by title, last page", "/?sort=title&page=1000000"),
    ("search, many", "/?q=importer"),
    ("search, few", "/?q=%22%2877%22"),
    ("search, none", "/?q=xyzzy"),
    ("search, short", "/?q=qz"),
    ("list, one label", "/?label=area%2Fpart-3"),
    ("list, ready", "/?ready=true"),
    ("board", "/board"),
    ("board, one agent", "/board?agent=agent-1"),
    ("board, rows by agent", "/board?rows=agent"),
    ("wallboard", "/wall"),
    ("agents", "/agents"),
    ("one agent", "/agents/agent-1"),
    ("activity", "/activity"),
    ("inbox", "/inbox"),
    ("memory", "/memory"),
    ("statistics, 7 d", "/stats?range=7d"),
    ("statistics, all", "/stats?range=all"),
    ("JSON, list", "/api/issues"),
    ("JSON, statistics", "/api/stats?range=all"),
];

const STREAMS: usize = 1_000;
const CLIENTS: usize = 8;
const EACH: usize = 100;
/// The time limit of a stream: the connections are opened one after the other, so that none is refused.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn report(out: &mut dyn Write) -> io::Result<()> {
    let (runtime, baseline) = (runtime(), Server::baseline());
    for (size, max_ms) in SIZES.into_iter().zip(MAX_MS) {
        writeln!(out, "Pages at {size} issues; one reader who waits between two\n")?;
        head(
            out,
            "page | bytes | compressed | p50 ms | p99 ms | the baseline, p50 ms | to the baseline | target",
        )?;
        let server = aged_store(size);
        let issue = first_issue(server.port);
        let pages = PAGES.map(|(name, path)| (name, path.to_owned()));
        for (name, path) in pages.into_iter().chain([("issue", issue)]) {
            page(out, &runtime, (&server, &baseline), (name, &path), (size == SIZES[0], max_ms))?;
        }
        writeln!(out, "\nresident: {:.0} MB\n", server.resident_bytes() as f64 / 1e6)?;
    }
    streams(out, &runtime)
}

/// Returns the path of an issue page.
fn first_issue(port: u16) -> String {
    let list = body(port, "/", "identity");
    let list = String::from_utf8_lossy(&list);
    let path = list.split("href=\"").find(|rest| rest.starts_with("/issues/"));
    let path = path.and_then(|rest| rest.split('"').next()).expect("a link to an issue");
    path.to_owned()
}

fn body(port: u16, path: &str, encoding: &str) -> Vec<u8> {
    let client = reqwest::blocking::Client::new();
    let request = client.get(format!("http://localhost:{port}{path}"));
    let answer = request.header("accept-encoding", encoding).send().expect("an answer");
    assert!(answer.status().is_success(), "{path}: {}", answer.status());
    answer.bytes().expect("a body").to_vec()
}

fn page(
    out: &mut dyn Write,
    runtime: &Runtime,
    (server, baseline): (&Server, &Server),
    (name, path): (&str, &str),
    (is_small, max_ms): (bool, f64),
) -> io::Result<()> {
    let plain = body(server.port, path, "identity").len();
    let compressed = body(server.port, path, "gzip").len();
    let mut times = [Vec::new(), Vec::new()];
    let paths = [(server.port, path.to_owned()), (baseline.port, format!("/{plain}"))];
    runtime.block_on(async {
        for _ in 0..LOADS {
            for (times, (port, path)) in times.iter_mut().zip(&paths) {
                let mut connection = Connection::open(*port).await;
                sleep(BETWEEN_LOADS).await;
                let begun = Instant::now();
                connection.get(path).await;
                times.push(ns(begun.elapsed()));
            }
        }
    });
    let [page, baseline] = times.each_mut().map(|times| {
        times.sort_unstable();
        [50, 99].map(|percent| us(percentile(times, percent)) / 1e3)
    });
    let ratio = page[0] / baseline[0];
    let is_met = page[0] <= max_ms && !(is_small && plain > MAX_BYTES);
    let target = if is_met { "met" } else { "missed" };
    writeln!(
        out,
        "| {name} | {plain} | {compressed} | {:.2} | {:.2} | {:.2} | {ratio:.0} | {target} |",
        page[0], page[1], baseline[0]
    )
}

/// Keeps a thousand pages open while agents change issues.
fn streams(out: &mut dyn Write, runtime: &Runtime) -> io::Result<()> {
    rlimit::increase_nofile_limit(2 * STREAMS as u64).expect("files enough");
    let server = aged_store(SIZES[0]);
    body(server.port, "/", "identity");
    writeln!(out, "Changes by {CLIENTS} clients while {STREAMS} pages are open\n")?;
    head(
        out,
        &format!("open pages | resident MB | core, of one, while nothing changes | {COLUMNS}"),
    )?;
    let idle = |server: &Server| {
        let before = processor_time(server.id());
        thread::sleep(Duration::from_secs(10));
        (processor_time(server.id()) - before).as_secs_f64() / 10.0
    };
    for count in [0, STREAMS] {
        let port = server.port;
        let listeners: Vec<_> =
            (0..count).map(|_| runtime.block_on(Listener::open(port))).collect();
        let resident = server.resident_bytes() as f64 / 1e6;
        let share = 100.0 * idle(&server);
        let mut lane = runtime.block_on(Lane::of_sessions("", &server, CLIENTS));
        server.settle();
        runtime.block_on(async {
            let waits =
                listeners.into_iter().map(|listener| tokio::spawn(listener.wait_for_change()));
            let waits: Vec<_> = waits.collect();
            lane.run(Add, EACH).await;
            for listener in waits {
                listener.await.expect("a listener that gets the event");
            }
        });
        writeln!(out, "| {count} | {resident:.1} | {share:.1} % | {} |", lane.times.columns())?;
    }
    writeln!(out, "\nEvery call succeeded, and every open page got the change.\n")
}

/// An open page from the server's point of view.
struct Listener {
    stream: TcpStream,
    received: Vec<u8>,
}

impl Listener {
    async fn open(port: u16) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).await.expect("a server");
        let request = b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n";
        stream.write_all(request).await.expect("a server that listens");
        let mut listener = Self { stream, received: Vec::new() };
        listener.wait_for("event: hello").await;
        listener
    }

    /// Waits for the event of a change.
    async fn wait_for_change(mut self) {
        self.wait_for("event: change").await;
    }

    async fn wait_for(&mut self, wanted: &str) {
        let hearing = async {
            while !String::from_utf8_lossy(&self.received).contains(wanted) {
                let count = self.stream.read_buf(&mut self.received).await.expect("a stream");
                assert!(
                    count > 0,
                    "the stream has ended: {:?}",
                    String::from_utf8_lossy(&self.received)
                );
            }
        };
        timeout(PATIENCE, hearing).await.expect("an event in time");
    }
}
