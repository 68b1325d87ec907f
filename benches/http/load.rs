//! Many clients at a time, and what their operations took.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use futures::stream::{self, FuturesUnordered, Stream, StreamExt};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use crate::client::{Agent, Operation};
use crate::server::{Server, processor_time};
use benches::figures::{ns, percentile, us};

/// Longer than anything takes.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often each agent does something before it counts.
const WARM_UP: usize = 3;

/// The clients share one thread: two more would take the cores from the server.
pub fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// What some clients did together without a pause.
pub struct Burst {
    /// How many nanoseconds each operation took.
    pub times: Vec<u64>,
    pub took: Duration,
}

/// Lets each agent do something so often.
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

/// What several bursts of the same kind took.
#[derive(Default)]
pub struct Times {
    ascending: Vec<u64>,
    /// Operations a second, one figure for each burst.
    rates: Vec<f64>,
    /// How long the server had a core in all bursts together.
    processor: Duration,
}

impl Times {
    /// Takes note of a burst, for which the server had a core for so long.
    pub fn add(&mut self, burst: Burst, processor: Duration) {
        self.processor += processor;
        self.rates.push(burst.times.len() as f64 / burst.took.as_secs_f64());
        self.rates.sort_unstable_by(f64::total_cmp);
        self.ascending.extend(burst.times);
        self.ascending.sort_unstable();
    }

    /// The time in µs that so many of a hundred operations do not exceed.
    pub fn us(&self, percent: usize) -> f64 {
        us(percentile(&self.ascending, percent))
    }

    /// Operations a second: the median of all bursts.
    pub fn rate(&self) -> f64 {
        self.rates[self.rates.len() / 2]
    }

    /// How many µs of a core an operation took.
    pub fn processor_us(&self) -> f64 {
        self.processor.as_secs_f64() * 1e6 / self.ascending.len() as f64
    }

    pub fn count(&self) -> usize {
        self.ascending.len()
    }

    /// The figures that all tables have: [`COLUMNS`].
    pub fn columns(&self) -> String {
        let [p50, p99, longest] = [50, 99, 100].map(|percent| self.us(percent));
        let (rate, processor) = (self.rate(), self.processor_us());
        format!("{rate:.0} | {p50:.0} | {p99:.0} | {longest:.0} | {processor:.0}")
    }
}

/// The names of [`Times::columns`]; the last is how long the server had a core for each operation.
pub const COLUMNS: &str = "a second | p50 µs | p99 µs | longest µs | core µs";

/// Begins a table with these columns.
pub fn head(out: &mut dyn Write, columns: &str) -> io::Result<()> {
    let rule = "---:|".repeat(columns.matches('|').count());
    writeln!(out, "| {columns} |\n|---|{rule}")
}

/// Agents that do the same, time and again, while others do something else in between.
pub struct Lane {
    pub name: String,
    agents: Vec<Agent>,
    /// The number of the process that serves them.
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

    /// At the floor, with answers of the length that another server gives.
    pub async fn of_floor(
        name: impl Into<String>,
        server: &Server,
        answer_bytes: usize,
        agents: usize,
    ) -> Self {
        let agents = stream::iter(0..agents).then(|_| Agent::of_floor(server.port, answer_bytes));
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

    /// Does something without taking note of it.
    pub async fn warm_up(&mut self, operation: Operation) {
        burst(&mut self.agents, operation, WARM_UP).await;
    }

    /// Does something and takes note of it, on connections that are new but have been used.
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

/// How long the answer to an operation is.
pub async fn answer_bytes(server: &Server, operation: Operation) -> usize {
    Agent::connect(server.port).await.call(operation, &operation.arguments().to_string()).await
}
