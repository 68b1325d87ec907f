//! PostgreSQL servers that fail over, run out of connections or fill their disk: the errors of the store, and its
//! recovery.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command as Program;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use agent_issue_tracker::domain::{Classification, Command, Description};
use agent_issue_tracker::store::{PostgresStore, Store, StoreError};

use crate::support::PATIENCE;
use crate::support::commands::{add, at, claim, number};
use crate::support::postgres::{Server, give, open, own_directory};
use crate::support::stores::{WholeState, apply};

/// Waits until a query returns true.
async fn wait_for(server: &Server, query: &str) {
    let (client, begun) = (server.connect().await, Instant::now());
    while !client.query_one(query, &[]).await.unwrap().get::<_, bool>(0) {
        assert!(begun.elapsed() < PATIENCE, "{query}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Starts a standby that must confirm every commit.
async fn synchronous_standby(server: &Server) -> Server {
    let standby = tokio::task::block_in_place(|| server.standby());
    let client = server.connect().await;
    client.batch_execute("ALTER SYSTEM SET synchronous_standby_names = '*'").await.unwrap();
    client.batch_execute("SELECT pg_reload_conf()").await.unwrap();
    let follows = "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync')";
    wait_for(server, follows).await;
    standby
}

/// Files issues until `ends` is set, and returns the numbers of the confirmed ones.
async fn file_until(
    ends: Arc<AtomicBool>,
    store: Arc<PostgresStore>,
    first: u32,
    answered: Arc<AtomicUsize>,
) -> Vec<u32> {
    let mut filed = Vec::new();
    for n in first.. {
        if ends.load(Ordering::SeqCst) {
            break;
        }
        match apply(&*store, add(n, Classification::Bug), at(1)).await {
            Ok(_) => {
                answered.fetch_add(1, Ordering::SeqCst);
                filed.push(n);
            }
            Err(StoreError::Refused(refusal)) => panic!("{refusal}"),
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    }
    filed
}

async fn wait_for_more(answered: &AtomicUsize, more: usize) {
    let (begun, before) = (Instant::now(), answered.load(Ordering::SeqCst));
    while answered.load(Ordering::SeqCst) < before + more {
        assert!(begun.elapsed() < PATIENCE, "no more changes are confirmed");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failover_behind_the_same_address_loses_no_change() {
    let Some(server) = Server::start(&[]) else { return };
    let url = server.project();
    let stores: Vec<_> = (0..2).map(|_| Arc::new(open(&url))).collect();
    apply(&*stores[0], add(0, Classification::Bug), at(0)).await.unwrap();
    assert_eq!(stores[1].state().await.unwrap().issues.len(), 1);
    let mut standby = synchronous_standby(&server).await;
    let (ends, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let file = |task: u32| {
        let store = Arc::clone(&stores[task as usize % 2]);
        tokio::spawn(file_until(Arc::clone(&ends), store, task << 20, Arc::clone(&answered)))
    };
    let tasks: Vec<_> = (1..5).map(file).collect();
    wait_for_more(&answered, 40).await;
    tokio::task::block_in_place(|| {
        server.stop("QUIT");
        standby.take_place_of(&server);
    });
    // Before its promotion the standby accepts reads only.
    let other = open(&url);
    assert!(other.counts().await.unwrap().total() > 40);
    let error = apply(&other, claim(None), at(2)).await.unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly(_)), "{error}");
    assert!(error.to_string().contains("connect to the primary"), "{error}");
    wait_for(&standby, "SELECT pg_promote()").await;
    wait_for_more(&answered, 40).await;
    ends.store(true, Ordering::SeqCst);
    let mut filed = vec![0];
    for task in tasks {
        filed.extend(task.await.unwrap());
    }
    let state = open(&url).state().await.unwrap();
    let lost: Vec<_> = filed.iter().filter(|n| state.issues.get(number(**n)).is_none()).collect();
    assert!(lost.is_empty(), "confirmed and lost: {lost:?}");
    let events = other.events(0, usize::MAX).await.unwrap();
    let numbers = events.events.iter().map(|event| event.position.number);
    assert!(numbers.eq(1..=state.position.number), "the numbers are contiguous");
    for store in stores {
        let followed = store.state().await.unwrap();
        assert_eq!(followed.position, state.position);
        assert!(followed.issues.issues().eq(state.issues.issues()));
    }
    assert!(apply(&other, claim(None), at(3)).await.unwrap().is_some());
}

/// The store discards its knowledge of transaction ids when it connects to another server.
#[tokio::test(flavor = "multi_thread")]
async fn events_of_a_server_with_lower_transaction_ids_are_seen() {
    let Some(server) = Server::start(&[]) else { return };
    let url = server.project();
    let store = open(&url);
    apply(&store, add(0, Classification::Bug), at(0)).await.unwrap();
    let mut standby = tokio::task::block_in_place(|| server.standby());
    tokio::task::block_in_place(|| standby.stop("INT"));
    // Each iteration is a separate transaction on the server.
    let ids = "CREATE TEMP TABLE t (n integer); DO $$ BEGIN FOR n IN 1..2000 LOOP BEGIN INSERT INTO t VALUES (n); \
        EXCEPTION WHEN OTHERS THEN END; END LOOP; END $$";
    server.connect().await.batch_execute(ids).await.unwrap();
    assert_eq!(store.events(0, 10).await.unwrap().newest.number, 1);
    tokio::task::block_in_place(|| {
        server.stop("INT");
        standby.take_place_of(&server);
    });
    wait_for(&standby, "SELECT pg_promote()").await;
    // This read reconnects, so that the change does not meet a closed connection.
    assert_eq!(store.counts().await.unwrap().total(), 1);
    apply(&store, add(1, Classification::Bug), at(1)).await.unwrap();
    assert_eq!(store.events(0, 10).await.unwrap().newest.number, 2);
}

#[tokio::test]
async fn a_server_without_a_free_connection_says_so() {
    let Some(server) = Server::start(&["max_connections=6"]) else { return };
    let url = server.project();
    open(&url).make_schema().await.unwrap();
    let (mut held, begun) = (Vec::new(), Instant::now());
    // Recently closed connections may still count for a moment.
    let own = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'";
    loop {
        assert!(begun.elapsed() < PATIENCE);
        match server.try_connect().await {
            Ok(client) => held.push(client),
            Err(_) => {
                let used: i64 = held[0].query_one(own, &[]).await.unwrap().get(0);
                if used == held.len() as i64 {
                    break;
                }
            }
        }
    }
    let store = open(&url);
    let error = apply(&store, add(1, Classification::Bug), at(0)).await.unwrap_err();
    let says_why = |error: &StoreError| error.to_string().contains("raise max_connections");
    assert!(matches!(error, StoreError::Away(_)) && says_why(&error), "{error}");
    let error = store.counts().await.unwrap_err();
    assert!(matches!(error, StoreError::Away(_)) && says_why(&error), "{error}");
    held.clear();
    apply(&store, add(1, Classification::Bug), at(1)).await.unwrap();
    assert_eq!(store.counts().await.unwrap().total(), 1);
}

/// A small file system, unmounted on drop.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// Mounts a tmpfs, or returns `None` where that is not permitted.
    fn mount() -> Option<Self> {
        let directory = own_directory();
        let mut mount = Program::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=24m", "tmpfs"]).arg(&directory);
        if !mount.output().is_ok_and(|done| done.status.success()) {
            crate::support::skip("mounts are not permitted");
            let _ = fs::remove_dir(&directory);
            return None;
        }
        give(&directory, 0o700);
        Some(Self(directory))
    }

    /// Fills the free space.
    fn fill(&self) -> PathBuf {
        let ballast = self.0.join("ballast");
        let mut file = fs::File::create(&ballast).unwrap();
        while file.write_all(&[1; 4096]).is_ok() {}
        ballast
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Program::new("umount").arg("-l").arg(&self.0).status();
        let _ = fs::remove_dir(&self.0);
    }
}

/// Returns a command that files an issue with an incompressible description.
fn large(n: u32) -> Command {
    let words = (0..1500).map(|_| uuid::Uuid::new_v4().to_string());
    let text = Description::try_from(words.collect::<Vec<_>>().join(" ")).unwrap();
    let Command::AddIssue { id, title, classification, details, agent, .. } =
        add(n, Classification::Bug)
    else {
        unreachable!("it adds an issue")
    };
    Command::AddIssue { id, title, description: text, classification, details, agent }
}

/// The tables are in a tablespace that fills up. If the disk of the WAL were full, the server itself would stop.
#[tokio::test]
async fn the_store_recovers_from_a_full_server_disk() {
    let Some(disk) = SmallDisk::mount() else { return };
    let Some(server) = Server::start(&[]) else { return };
    let tablespace = Path::new(&disk.0).join("space");
    fs::create_dir(&tablespace).unwrap();
    give(&tablespace, 0o700);
    let create = format!("CREATE TABLESPACE small LOCATION '{}'", tablespace.display());
    server.connect().await.batch_execute(&create).await.unwrap();
    let url = format!("{}&options=-c%20default_tablespace%3Dsmall", server.project());
    let store = open(&url);
    apply(&store, large(0), at(0)).await.unwrap();
    let ballast = disk.fill();
    let mut answered = 1;
    // The existing files may have a few free pages.
    let error = loop {
        assert!(answered < 20, "the disk does not fill up");
        match apply(&store, large(answered), at(1)).await {
            Ok(_) => answered += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::NotSaved(_)), "{error}");
    assert!(error.to_string().contains("the disk of the server is full"), "{error}");
    assert_eq!(store.counts().await.unwrap().total(), answered as usize);
    fs::remove_file(ballast).unwrap();
    apply(&store, large(answered), at(2)).await.unwrap();
    assert_eq!(open(&url).counts().await.unwrap().total(), answered as usize + 1);
    drop(store);
    drop(server);
}
