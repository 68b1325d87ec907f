//! Claims per second: plain SQL, plain SQL that writes the same rows, one server with many clients, and many processes,
//! both with `ait` and with plain SQL.

use std::sync::Arc;
use std::time::Instant;

use agent_issue_tracker::domain::AgentName;
use agent_issue_tracker::store::Store;
use benches::fixture;

use crate::server::{Server, open};
use crate::worker::{WARM_UP, Worker};
use crate::{CLIENTS, plain, project};

const CLAIMS: usize = 6400;
const ROUNDS: usize = 3;

pub fn report(server: &Server) {
    println!("\nClaims per second, {CLAIMS} claims by {CLIENTS} at a time\n");
    println!(
        "| commits of one row | plain SQL | with all rows | one server | to plain | all rows from {CLIENTS} processes | {CLIENTS} processes | to plain | to those |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    let runtime = fixture::runtime();
    for _ in 0..ROUNDS {
        let commits = runtime.block_on(plain::commits_per_second(server, CLAIMS));
        let plain = runtime.block_on(plain::claims_per_second(server, CLAIMS));
        let whole = runtime.block_on(plain::whole_claims_per_second(server, CLAIMS));
        let one = runtime.block_on(one_server_rate(server));
        let issues = CLAIMS + CLIENTS * WARM_UP + 100;
        let steps = processes_rate(&runtime.block_on(plain::make(server, issues)));
        let url = runtime.block_on(project::make(server, issues, 10));
        let many = processes_rate(&url);
        let (first, second, third) = (one / plain, many / plain, many / steps);
        println!(
            "| {commits:.0} | {plain:.0} | {whole:.0} | {one:.0} | {first:.2} | {steps:.0} | {many:.0} | {second:.2} | {third:.2} |"
        );
    }
}

async fn one_server_rate(server: &Server) -> f64 {
    let store = Arc::new(open(&project::make(server, CLAIMS + 100, 10).await));
    store.counts().await.expect("a project");
    let begun = Instant::now();
    let tasks: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let store = Arc::clone(&store);
            let agent = AgentName::try_from(format!("agent {client}")).expect("a name");
            tokio::spawn(async move {
                for _ in 0..CLAIMS / CLIENTS {
                    project::claim(&store, &agent).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("a task that ends");
    }
    CLAIMS as f64 / begun.elapsed().as_secs_f64()
}

fn processes_rate(url: &str) -> f64 {
    let start = |_| Worker::start(url, CLAIMS / CLIENTS);
    let mut workers: Vec<_> = (0..CLIENTS).map(start).collect();
    workers.iter_mut().for_each(|worker| worker.expect("ready"));
    let begun = Instant::now();
    workers.iter_mut().for_each(Worker::go);
    workers.iter_mut().for_each(|worker| worker.expect("done"));
    CLAIMS as f64 / begun.elapsed().as_secs_f64()
}
