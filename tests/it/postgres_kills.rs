//! Killed connections and servers lose no change, and no issue is claimed twice.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use agent_issue_tracker::domain::{
    AgentName, Classification, Command, EventKind, IssueId, Query, Status,
};
use agent_issue_tracker::store::{PostgresStore, Store, StoreError};

use crate::support::commands::{add, at};
use crate::support::factor;
use crate::support::postgres::{Server, open};
use crate::support::stores::apply;

const PROCESSES: usize = 3;
const TASKS: usize = 4;
const ISSUES: u32 = 400;

/// The result of one claim by a task.
struct ClaimResult {
    agent: AgentName,
    answer: Result<Option<IssueId>, StoreError>,
}

/// Claims until no issue is left, each time under another agent name.
async fn claim_all(
    store: Arc<PostgresStore>,
    task: usize,
    ends: Arc<AtomicBool>,
) -> Vec<ClaimResult> {
    let mut results = Vec::new();
    while !ends.load(Ordering::Relaxed) {
        let agent = AgentName::try_from(format!("{task}-{}", results.len())).unwrap();
        let terms = Default::default();
        let command = Command::GetNextIssue {
            issue: None,
            classification: None,
            agent: agent.clone(),
            terms,
        };
        let answer = apply(&*store, command, at(1)).await.map(|found| found.map(|issue| issue.id));
        let is_over = matches!(answer, Ok(None));
        results.push(ClaimResult { agent, answer });
        if is_over {
            break;
        }
    }
    results
}

/// Lets tasks of several processes claim every issue during `trouble`, then checks their results against the store.
async fn claim_through<F: Future<Output = ()>>(
    url: &str,
    trouble: impl FnOnce(Arc<AtomicUsize>) -> F,
) {
    let stores: Vec<_> = (0..PROCESSES).map(|_| Arc::new(open(url))).collect();
    for n in 0..ISSUES {
        apply(&*stores[0], add(n, Classification::Bug), at(0)).await.unwrap();
    }
    let (ends, running) =
        (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(PROCESSES * TASKS)));
    let tasks: Vec<_> = (0..PROCESSES * TASKS)
        .map(|task| {
            let (store, ends) = (Arc::clone(&stores[task % PROCESSES]), Arc::clone(&ends));
            let running = Arc::clone(&running);
            tokio::spawn(async move {
                let results = claim_all(store, task, ends).await;
                running.fetch_sub(1, Ordering::SeqCst);
                results
            })
        })
        .collect();
    trouble(running).await;
    let mut results = Vec::new();
    for task in tasks {
        results.extend(task.await.unwrap());
    }
    check(&open(url), &results).await;
}

async fn check(store: &PostgresStore, results: &[ClaimResult]) {
    let events = store.events(0, usize::MAX).await.unwrap();
    let numbers = events.events.iter().map(|event| event.position.number);
    assert!(numbers.eq(1..=events.newest.number), "the numbers are contiguous");
    let mut claims: BTreeMap<IssueId, Vec<String>> = BTreeMap::new();
    let mut by_agent: HashMap<String, IssueId> = HashMap::new();
    for event in &events.events {
        if matches!(event.event.kind, EventKind::Claimed) {
            claims.entry(event.event.issue).or_default().push(event.event.agent.clone());
            by_agent.insert(event.event.agent.clone(), event.event.issue);
        }
    }
    let (mut confirmed, mut failed, mut uncertain) = (0, 0, 0);
    for ClaimResult { agent, answer } in results {
        let claimed = by_agent.get(agent.as_str());
        match answer {
            Ok(Some(issue)) => {
                confirmed += 1;
                assert_eq!(claimed, Some(issue), "a claim is lost: {agent:?}");
                let found = store.get((*issue).into()).await.unwrap();
                assert_eq!(found.holder().map(|holder| holder.agent), Some(agent.as_str()));
            }
            Err(StoreError::Uncertain(_)) => uncertain += 1,
            Ok(None) | Err(_) => {
                failed += usize::from(answer.is_err());
                assert_eq!(claimed, None, "{answer:?} has claimed an issue");
            }
        }
    }
    assert!(claims.values().all(|agents| agents.len() == 1), "an issue was claimed twice");
    let counts = store.counts().await.unwrap();
    assert_eq!(counts.in_status(Status::InProgress), claims.len());
    assert_eq!(counts.total(), ISSUES as usize);
    let query = Query { statuses: Some(Status::InProgress).into(), ..Query::default() };
    assert_eq!(store.list(query).await.unwrap().total, claims.len());
    eprintln!(
        "{confirmed} claims were confirmed, {failed} calls failed, {uncertain} were uncertain"
    );
    assert!(
        confirmed + uncertain >= ISSUES as usize * 9 / 10,
        "fewer than 90 % of the claims succeeded"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn terminated_connections_lose_and_duplicate_no_claim() {
    let Some(server) = Server::start(&[]) else { return };
    let server = &server;
    claim_through(&server.project(), |running| async move {
        let client = server.connect().await;
        let end_one = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'ait' \
                       ORDER BY random() LIMIT 1";
        let mut ended = 0;
        while running.load(Ordering::SeqCst) > 0 && ended < 400 * factor() {
            client.query(end_one, &[]).await.unwrap();
            ended += 1;
            tokio::time::sleep(Duration::from_millis(7)).await;
        }
        eprintln!("{ended} connections ended");
    })
    .await;
}

/// A server recovers when it restarts after a kill or an immediate shutdown.
#[tokio::test(flavor = "multi_thread")]
async fn killed_servers_lose_and_duplicate_no_claim() {
    let Some(server) = Server::start(&[]) else { return };
    let server = &server;
    claim_through(&server.project(), |running| async move {
        let mut signals = ["KILL", "INT", "QUIT"].into_iter().cycle();
        let mut killed = 0;
        while running.load(Ordering::SeqCst) > 0 && killed < 6 * factor() {
            tokio::time::sleep(Duration::from_millis(150)).await;
            let signal = signals.next().unwrap();
            tokio::task::block_in_place(|| {
                server.stop(signal);
                server.run();
            });
            killed += 1;
        }
        eprintln!("{killed} servers ended");
    })
    .await;
}
