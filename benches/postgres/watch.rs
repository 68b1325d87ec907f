//! The delay between the response to a change in one process and the notification of another process.

use std::thread;
use std::time::{Duration, Instant};

use agent_issue_tracker::domain::AgentName;
use agent_issue_tracker::store::Store;
use benches::figures::{ns, percentile, us};
use benches::fixture;

use crate::project;
use crate::server::{Server, open};
use crate::worker::Worker;

const ROUNDS: usize = 200;
const PAUSE: Duration = Duration::from_millis(50);

pub fn report(server: &Server) {
    println!("\nFrom a response to `Store::watch` in another process, {ROUNDS} changes, ms\n");
    println!("| p50 | p99 | longest |\n|---:|---:|---:|");
    let runtime = fixture::runtime();
    let url = runtime.block_on(project::make(server, ROUNDS + 1, 10));
    let (store, agent) = (open(&url), AgentName::try_from("a").expect("a name"));
    let mut watcher = Worker::start(&url, 0);
    watcher.expect("ready");
    let mut times: Vec<u64> = (0..ROUNDS as u64)
        .map(|nth| {
            thread::sleep(PAUSE);
            runtime.block_on(project::claim(&store, &agent));
            let answered = Instant::now();
            // The project already has one event.
            while watcher.line().parse::<u64>().expect("a number") < nth + 2 {}
            ns(answered.elapsed())
        })
        .collect();
    times.sort_unstable();
    let [p50, p99, longest] = [50, 99, 100].map(|percent| us(percentile(&times, percent)) / 1e3);
    println!("| {p50:.1} | {p99:.1} | {longest:.1} |\n\nTarget: at most 250\n");
    runtime.block_on(store.close());
}
