//! Concurrent clients and the durations of their operations.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use futures::stream::{self, FuturesUnordered, Stream, StreamExt};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::client::{Agent, Operation};
use crate::server::{Server, processor_time};
use benches::figures::{ns, percentile, us};

/// Longer than any operation takes.
const PATIENCE: Duration = Duration::from_secs(120);
/// The number of unmeasured operations of each agent.
const WARM_UP: usize = 3;

/// Creates a single-threaded runtime for all clients: more threads would take cores from the server.
pub fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// The measurements of clients that work without a pause.
pub struct Burst {
    /// The duration of each operation, in ns.
    pub times: Vec<u64>,
    pub took: Duration,
}

/// Runs `each` operations per agent.
pub async fn burst(agents: &mut [Agent], operation: Operation, each: usize) -> Burst {
    let arguments = operation.arguments().to_string();
    let begun = Instant::now();
    let work: FuturesUnordered<_> =
        agents.iter_mut().map(|agent| repeat(agent, operation, &arguments, each)).collect();
    let times: Vec<_> = timeout(PATIENCE, work.collect()).await.expect("a server that answers");
    Burst { times: times.concat(), took: begun.elapsed() }
}

async fn repeat(agent: &mut Agent, op: Operation, arguments: &str, count: usize) -> Vec<u64> {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let begun = Instant::now();
        agent.call(op, arguments).await;
        times.push(ns(begun.elapsed()));
    }
    times
}

/// The measurements of several bursts of the same kind.
#[derive(Default)]
pub struct Times {
    ascending: Vec<u64>,
    /// Operations per second, one figure per burst.
    rates: Vec<f64>,
    /// The CPU time of the server in all bursts.
    processor: Duration,
}

impl Times {
    /// Adds a burst and the CPU time of the server during it.
    pub fn add(&mut self, burst: Burst, processor: Duration) {
        self.processor += processor;
        self.rates.push(burst.times.len() as f64 / burst.took.as_secs_f64());
        self.rates.sort_unstable_by(f64::total_cmp);
        self.ascending.extend(burst.times);
        self.ascending.sort_unstable();
    }

    /// Returns the duration in µs that `percent` of 100 operations do not exceed.
    pub fn us(&self, percent: usize) -> f64 {
        us(percentile(&self.ascending, percent))
    }

    /// Returns the operations per second: the median of all bursts.
    pub fn rate(&self) -> f64 {
        self.rates[self.rates.len() / 2]
    }

    /// Returns the CPU time per operation in µs.
    pub fn processor_us(&self) -> f64 {
        self.processor.as_secs_f64() * 1e6 / self.ascending.len() as f64
    }

    pub fn count(&self) -> usize {
        self.ascending.len()
    }

    /// Returns the figures that all tables have, in the order of [`COLUMNS`].
    pub fn columns(&self) -> String {
        let [p50, p99, longest] = [50, 99, 100].map(|percent| self.us(percent));
        let (rate, processor) = (self.rate(), self.processor_us());
        format!("{rate:.0} | {p50:.0} | {p99:.0} | {longest:.0} | {processor:.0}")
    }
}

/// The names of [`Times::columns`]. The last one is the CPU time of the server per operation.
pub const COLUMNS: &str = "per second | p50 µs | p99 µs | longest µs | core µs";

/// Begins a table with these columns.
pub fn head(out: &mut dyn Write, columns: &str) -> io::Result<()> {
    let rule = "---:|".repeat(columns.matches('|').count());
    writeln!(out, "| {columns} |\n|---|{rule}")
}

/// Agents that repeat one operation in bursts; other lanes run between the bursts.
pub struct Lane {
    pub name: String,
    agents: Vec<Agent>,
    /// The id of the server process.
    server: u32,
    pub times: Times,
}

impl Lane {
    pub async fn of_sessions(name: impl Into<String>, server: &Server, agents: usize) -> Self {
        let agents = stream::iter(0..agents).then(|_| Agent::connect(server.port));
        Self::of(name, server, agents).await
    }

    pub async fn of_stateless(
        name: impl Into<String>,
        server: &Server,
        operation: Operation,
    ) -> Self {
        Self::of(name, server, stream::once(Agent::stateless(server.port, operation))).await
    }

    /// Creates agents of the baseline server, with responses as long as those of another server.
    pub async fn of_baseline(
        name: impl Into<String>,
        server: &Server,
        answer_bytes: usize,
        agents: usize,
    ) -> Self {
        let agents =
            stream::iter(0..agents).then(|_| Agent::of_baseline(server.port, answer_bytes));
        Self::of(name, server, agents).await
    }

    async fn of(
        name: impl Into<String>,
        server: &Server,
        agents: impl Stream<Item = Agent>,
    ) -> Self {
        let (agents, server) = (agents.collect().await, server.id());
        Self { name: name.into(), agents, server, times: Times::default() }
    }

    /// Runs operations without measuring them.
    pub async fn warm_up(&mut self, operation: Operation) {
        burst(&mut self.agents, operation, WARM_UP).await;
    }

    /// Measures a burst over new connections that are warmed up.
    pub async fn run(&mut self, operation: Operation, each: usize) {
        for agent in &mut self.agents {
            agent.reconnect().await;
        }
        self.warm_up(operation).await;
        let before = processor_time(self.server);
        let burst = burst(&mut self.agents, operation, each).await;
        self.times.add(burst, processor_time(self.server) - before);
    }
}

/// Returns the length of the response to an operation.
pub async fn answer_bytes(server: &Server, operation: Operation) -> usize {
    Agent::connect(server.port).await.call(operation, &operation.arguments().to_string()).await
}
