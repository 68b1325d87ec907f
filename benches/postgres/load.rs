//! A long load while another transaction holds a snapshot, so that the server cannot remove old rows.

use std::sync::Arc;
use std::time::Instant;

use agent_issue_tracker::domain::AgentName;
use agent_issue_tracker::store::Store;
use benches::fixture;

use crate::server::{Server, open};
use crate::{CLIENTS, project};

const CLAIMS: usize = 200_000;
const PARTS: usize = 10;

pub fn report(server: &Server) {
    println!("\nClaims per second in each tenth of {CLAIMS} claims by {CLIENTS} clients\n");
    let runtime = fixture::runtime();
    for holds_snapshot in [false, true] {
        let rates = runtime.block_on(load(server, holds_snapshot));
        let shown: Vec<_> = rates.iter().map(|rate| format!("{rate:.0}")).collect();
        let last = 100.0 * rates[PARTS - 1] / rates[0];
        let holds = if holds_snapshot { "with an old snapshot" } else { "without an old snapshot" };
        println!("{holds}: {}; the last to the first: {last:.0} %", shown.join(", "));
    }
}

async fn load(server: &Server, holds_snapshot: bool) -> Vec<f64> {
    let url = project::make(server, CLAIMS + 100, 10).await;
    let store = Arc::new(open(&url));
    let old = server.connect().await;
    if holds_snapshot {
        let begin = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM pg_class";
        old.batch_execute(begin).await.expect("a transaction");
    }
    store.counts().await.expect("a project");
    let mut rates = Vec::new();
    for _ in 0..PARTS {
        let begun = Instant::now();
        let tasks: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let store = Arc::clone(&store);
                let agent = AgentName::try_from(format!("agent {client}")).expect("a name");
                tokio::spawn(async move {
                    for _ in 0..CLAIMS / PARTS / CLIENTS {
                        project::claim(&store, &agent).await;
                    }
                })
            })
            .collect();
        for task in tasks {
            task.await.expect("a task that ends");
        }
        rates.push((CLAIMS / PARTS) as f64 / begun.elapsed().as_secs_f64());
    }
    rates
}
