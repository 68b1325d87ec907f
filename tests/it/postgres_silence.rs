//! Servers and connections that stop responding: every wait has a time limit, and the store recovers without help.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_issue_tracker::domain::{Classification, Timestamp};
use agent_issue_tracker::store::{Probe, Store, StoreError};
use futures::future::join_all;
use tokio::time::timeout;

use crate::support::PATIENCE;
use crate::support::clock::StoppedClock;
use crate::support::commands::{add, at};
use crate::support::postgres::{Server, open, shared};
use crate::support::relay::Relay;
use crate::support::stores::apply;

/// Shorter than every time limit of the store for reads and changes, yet long enough for a slow machine.
const SOON: Duration = Duration::from_secs(8);

/// Waits until a query returns the expected number.
async fn wait_for(client: &tokio_postgres::Client, query: &str, expected: i64) {
    let begun = Instant::now();
    while client.query_one(query, &[]).await.unwrap().get::<_, i64>(0) != expected {
        assert!(begun.elapsed() < PATIENCE, "{query}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn silent_connections_are_used_at_most_once() {
    let Some(server) = shared() else { return };
    let relay = Relay::start(&server).await;
    let store = open(&relay.url(&server, &server.project()));
    apply(&store, add(1, Classification::Bug), at(0)).await.unwrap();
    for counted in join_all((0..6).map(|_| store.counts())).await {
        assert_eq!(counted.unwrap().total(), 1);
    }
    relay.silence();
    let clock = StoppedClock::new();
    let read = clock.within(35, store.counts()).await;
    assert!(matches!(read, Err(StoreError::Busy(_))), "{read:?}");
    drop(clock);
    let read = || join_all((0..6).map(|_| store.counts()));
    for counted in timeout(SOON, read()).await.expect("reads use other connections") {
        assert_eq!(counted.unwrap().total(), 1);
    }
    relay.silence();
    let clock = StoppedClock::new();
    let change = clock.within(35, apply(&store, add(2, Classification::Bug), at(1))).await;
    assert!(matches!(change, Err(StoreError::Busy(_))), "{change:?}");
    drop(clock);
    let change = timeout(SOON, apply(&store, add(2, Classification::Bug), at(1)));
    change.await.expect("changes use other connections").unwrap();
}

#[tokio::test]
async fn live_processes_reconnect_when_connections_go_silent() {
    let Some(server) = shared() else { return };
    let project = server.project();
    let relay = Relay::start(&server).await;
    let (store, other) = (open(&relay.url(&server, &project)), open(&project));
    other.make_schema().await.unwrap();
    let clients = store.clients();
    let client =
        tokio::task::spawn_blocking(move || clients.begin_process()).await.unwrap().unwrap();
    let mut watched = store.watch();
    let direct = server.connect().await;
    let schema = project.split_once("schema=").unwrap().1;
    let forget = format!("UPDATE {schema}.clients SET ttl_ms = 0 WHERE client = '{client}'");
    direct.batch_execute(&forget).await.unwrap();
    relay.silence();
    let clock = StoppedClock::new();
    clock.pass(16).await;
    drop(clock);
    let renewed =
        format!("SELECT count(*) FROM {schema}.clients WHERE client = '{client}' AND ttl_ms > 0");
    timeout(SOON, wait_for(&direct, &renewed, 1))
        .await
        .expect("the process renews its registration");
    apply(&other, add(1, Classification::Bug), at(0)).await.unwrap();
    let seen = timeout(SOON, watched.wait_for(|newest| newest.number == 1)).await;
    seen.expect("the process sees changes").unwrap();
}

/// A standby that must confirm every commit is unreachable.
#[tokio::test]
async fn commits_without_a_confirmation_are_uncertain() {
    let Some(server) = Server::start(&["synchronous_standby_names=away"]) else { return };
    let url = server.project();
    open(&format!("{url}&options=-c%20synchronous_commit%3Dlocal")).make_schema().await.unwrap();
    let (store, direct) = (Arc::new(open(&url)), server.connect().await);
    let change = |n, time: Timestamp| {
        let store = Arc::clone(&store);
        tokio::spawn(async move { apply(&*store, add(n, Classification::Bug), time).await })
    };
    let first = change(1, at(0));
    let commits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    wait_for(&direct, commits, 1).await;
    let clock = StoppedClock::new();
    clock.pass(26).await;
    drop(clock);
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    wait_for(&direct, waits, 1).await;
    let clock = StoppedClock::new();
    clock.pass(16).await;
    drop(clock);
    let answer = timeout(SOON, first).await.expect("the change is answered").unwrap();
    assert!(matches!(answer, Err(StoreError::Uncertain(_))), "{answer:?}");
    // The store still tries the next change.
    let _next = change(2, at(1));
    wait_for(&direct, commits, 2).await;
}

#[tokio::test]
async fn a_health_check_of_a_silent_server_has_one_time_limit() {
    let Some(server) = shared() else { return };
    let relay = Relay::start(&server).await;
    let store = open(&relay.url(&server, &server.project()));
    assert!(store.health(Probe::Trial).await.trouble.is_none());
    relay.silence();
    let health = StoppedClock::new().within(35, store.health(Probe::Trial)).await;
    assert!(matches!(health.trouble, Some(StoreError::Busy(_))), "{health:?}");
}

/// A migration may take longer than a read, and continues when the read that started it is dropped.
#[tokio::test]
async fn reads_wait_for_a_long_migration() {
    let Some(server) = Server::start(&[]) else { return };
    let url = server.project();
    let (store, direct, other) =
        (Arc::new(open(&url)), server.connect().await, server.connect().await);
    let schema = url.split_once("schema=").unwrap().1;
    direct.batch_execute(&format!("BEGIN; CREATE SCHEMA {schema}")).await.unwrap();
    let read = || {
        let store = Arc::clone(&store);
        tokio::spawn(async move { store.counts().await })
    };
    let given_up = read();
    let waits = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'";
    wait_for(&other, waits, 1).await;
    given_up.abort();
    let waiting = read();
    let clock = StoppedClock::new();
    clock.pass(40).await;
    drop(clock);
    assert!(!waiting.is_finished());
    assert_eq!(other.query_one(waits, &[]).await.unwrap().get::<_, i64>(0), 1);
    direct.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(timeout(SOON, waiting).await.unwrap().unwrap().unwrap().total(), 0);
}
