//! The durations of operations in a small and in a large project.

use std::time::{Duration, Instant};

use agent_issue_tracker::domain::{AgentName, Query};
use agent_issue_tracker::store::Store;
use benches::{figures, fixture};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::project;
use crate::server::{Server, open};

const SIZES: [usize; 2] = [1_000, 1_000_000];
const TIMES: usize = 100;

pub fn report(server: &Server) {
    println!("\nOne caller, 9 of 10 issues have ended, p50 of {TIMES}, ms\n");
    println!("| issues | claim | list of 20 | get | counts |\n|---:|---:|---:|---:|---:|");
    let mut urls = Vec::new();
    for size in SIZES {
        let runtime = fixture::runtime();
        let url = runtime.block_on(project::make(server, size, 1));
        let [claim, list, get, counts] = runtime.block_on(measure(&url));
        println!("| {size} | {claim:.2} | {list:.2} | {get:.2} | {counts:.2} |");
        urls.push(url);
    }
    println!("\nA process over stdio, from its start to the first response\n");
    println!(
        "| issues | `initialize`, ms | `list_issues`, ms | memory, MiB |\n|---:|---:|---:|---:|"
    );
    for (size, url) in SIZES.iter().zip(urls) {
        let (begun, answered, memory) = start(&url);
        println!("| {size} | {begun:.1} | {answered:.1} | {memory:.1} |");
    }
}

async fn measure(url: &str) -> [f64; 4] {
    let store = open(url);
    let agent = AgentName::try_from("a").expect("a name");
    let twenty = || Query { take: 20, ..Query::default() };
    let page = store.list(twenty()).await.expect("a project").issues;
    let (store, page, agent) = (&store, &page, &agent);
    let claim = median(|_| project::claim(store, agent)).await;
    let list = median(|_| async { drop(store.list(twenty()).await.expect("a project")) }).await;
    let get = |nth: usize| page[nth % page.len()].id;
    let get =
        median(|nth| async move { drop(store.get(get(nth).into()).await.expect("it")) }).await;
    let counts =
        median(|_| async { assert!(store.counts().await.expect("a project").total() > 0) }).await;
    [claim, list, get, counts]
}

/// Returns the median duration of an operation, in ms.
async fn median<F: Future<Output = ()>>(mut operation: impl FnMut(usize) -> F) -> f64 {
    let mut times = Vec::new();
    for nth in 0..TIMES {
        let begun = Instant::now();
        operation(nth).await;
        times.push(begun.elapsed());
    }
    middle(times)
}

fn middle(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times[times.len() / 2].as_secs_f64() * 1e3
}

/// Returns the median times until the responses to `initialize` and `list_issues` in ms, and the memory then in MiB.
fn start(url: &str) -> (f64, f64, f64) {
    let (mut begun, mut answered, mut memory) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..15 {
        let directory = tempfile::tempdir().expect("a directory");
        let mut ait = benches::ait();
        ait.current_dir(&directory).args(["--store", url, "--port", "0"]);
        let start = Instant::now();
        let mut process =
            ait.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("a process");
        let mut input = process.stdin.take().expect("a pipe");
        let mut output = BufReader::new(process.stdout.take().expect("a pipe"));
        input.write_all(REQUESTS.as_bytes()).expect("a process that listens");
        let mut line = String::new();
        output.read_line(&mut line).expect("an answer");
        begun.push(start.elapsed());
        line.clear();
        output.read_line(&mut line).expect("an answer");
        answered.push(start.elapsed());
        assert!(line.contains("Issue 1"), "{line}");
        memory.push(figures::memory_bytes(&process.id().to_string(), "VmRSS:"));
        drop(input);
        process.wait().expect("a process that ends");
    }
    memory.sort_unstable();
    (middle(begun), middle(answered), memory[memory.len() / 2] as f64 / f64::from(1 << 20))
}

const REQUESTS: &str = concat!(
    r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"#,
    r#""clientInfo":{"name":"bench","version":"1"}}}"#,
    "\n",
    r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
    "\n",
    r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_issues","arguments":{}}}"#,
    "\n"
);
