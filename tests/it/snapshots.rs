//! Snapshots and full segments: a crash or a power cut during their creation loses nothing, and pruning removes only
//! events that are too old and not needed to open the store.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use agent_issue_tracker::domain::{AgentName, ClaimProof, Command, Timestamp};
use agent_issue_tracker::store::json::{JsonStoreOptions, KeepEvents};
use agent_issue_tracker::store::{Store, StoreError};
use agent_issue_tracker::tracker::{Tracker, UndoSelection};

use crate::support::commands::{at, number};
use crate::support::disk::{Disk, FaultyDuty};
use crate::support::files::{copy_directory, names, segments, store_directory};
use crate::support::scene::{Answers, Process, file};
use crate::support::stores::{all_issues, apply, quiet};
use crate::support::trouble::Fault;
use crate::support::{PATIENCE, directory_in_memory, factor, until};

/// The description size, and the numbers of such issues that trigger a snapshot or fill a segment.
const DESCRIPTION: usize = 60_000;
const FOR_SNAPSHOT: u32 = 75;
const FOR_SEGMENT: u32 = 145;

fn large(n: u32) -> Command {
    file(AgentName::try_from("before").unwrap(), 10_000 + n, &"x".repeat(DESCRIPTION))
}

/// Creates a store with `count` large issues.
async fn large_store(count: u32) -> tempfile::TempDir {
    let directory = directory_in_memory();
    let process =
        Process::start(directory.path(), Disk::new(directory.path(), FaultyDuty::Nothing));
    for n in (0..count).step_by(20) {
        let commands = (n..count.min(n + 20)).map(large).collect();
        process.store.commit(commands, at(0)).await.unwrap();
    }
    process.kill().await;
    directory
}

/// The prefix of the snapshot that a log has from the start.
const FIRST: &str = "snapshot-0-";

fn snapshots(directory: &Path) -> Vec<String> {
    let mut names = names(&store_directory(directory));
    names.retain(|name| name.starts_with("snapshot-"));
    names
}

fn at_once() -> JsonStoreOptions {
    JsonStoreOptions { publish_after: Duration::ZERO, ..quiet() }
}

/// Checks the acknowledged changes and the `count` issues of [`large_store`].
async fn check(answers: &Answers, store: &dyn Store, count: u32) -> Result<(), String> {
    answers.check(store).await?;
    let issues = all_issues(store).await.map_err(|error| error.to_string())?;
    let large: Vec<_> =
        issues.iter().filter(|issue| issue.description.len() == DESCRIPTION).collect();
    let expected = (0..count).map(|n| number(10_000 + n));
    if !large.iter().map(|issue| issue.id).eq(expected) {
        return Err(format!("{} of {count} large issues are stored", large.len()));
    }
    Ok(())
}

/// Waits until a snapshot with events exists, or the process is dead.
fn wait_for_snapshot(directory: &Path, disk: &Disk) {
    let begun = Instant::now();
    while snapshots(directory).len() < 2 && !disk.trouble.is_dead() {
        assert!(begun.elapsed() < PATIENCE, "no snapshot was written");
        thread::sleep(Duration::from_millis(2));
    }
}

#[tokio::test]
async fn crash_during_snapshot_or_segment_rotation_loses_nothing() {
    for (count, publishes) in [(FOR_SNAPSHOT, true), (FOR_SEGMENT, false)] {
        let full = large_store(count).await;
        // Crash at every ninth call, or at every call in long runs.
        for call in (1..).step_by(if factor() > 1 { 1 } else { 9 }) {
            let directory = directory_in_memory();
            let path = directory.path();
            copy_directory(full.path(), path);
            let disk = Disk::new(path, FaultyDuty::Nothing);
            let answers = Answers::new(&disk);
            let options = if publishes { at_once() } else { quiet() };
            let process = Process::start_with(path, Arc::clone(&disk), options);
            // Open the store first, so that every counted call belongs to the change and its follow-up work.
            process.store.counts().await.unwrap();
            let before = disk.moment();
            disk.trouble.begin(Fault::Death(call));
            let filed = answers.file(&process).await;
            if filed.is_ok() && publishes {
                wait_for_snapshot(path, &disk);
            }
            let is_dead = disk.trouble.is_dead();
            let name = disk.trouble.failed();
            process.kill().await;
            let later = Process::start(path, disk.beside());
            let at = |wrong| format!("call {call}, {name:?}: {wrong}");
            check(&answers, &*later.store, count).await.map_err(at).unwrap();
            answers.file(&later).await.map_err(|error| at(error.to_string())).unwrap();
            later.publish().await.map_err(|error| at(error.to_string())).unwrap();
            later.kill().await;
            if !is_dead {
                assert!(call > 10);
                if !publishes {
                    assert_eq!(segments(path).len(), 2);
                }
                // No crash happened in this round: cut the power at several moments instead.
                let step = if factor() > 1 { 4 } else { 16 };
                let cuts = answers.cut_every(before, step).await.unwrap();
                assert!(cuts >= 4, "{cuts}");
                break;
            }
        }
    }
}

#[tokio::test]
async fn damaged_snapshot_falls_back_to_an_older_one() {
    let directory = large_store(FOR_SNAPSHOT).await;
    let path = directory.path();
    let disk = Disk::new(path, FaultyDuty::Nothing);
    let answers = Answers::new(&disk);
    let process = Process::start_with(path, Arc::clone(&disk), at_once());
    answers.file(&process).await.unwrap();
    wait_for_snapshot(path, &disk);
    answers.file(&process).await.unwrap();
    process.kill().await;
    let newest = store_directory(path)
        .join(snapshots(path).iter().find(|name| !name.starts_with(FIRST)).unwrap());
    let good = fs::read(&newest).unwrap();
    for index in (0..good.len()).step_by(good.len() / 7) {
        let mut bad = good.clone();
        bad[index] ^= 4;
        for bad in [bad, good[..index].to_vec()] {
            fs::write(&newest, bad).unwrap();
            let later = Process::start(path, Disk::new(path, FaultyDuty::Nothing));
            check(&answers, &*later.store, FOR_SNAPSHOT).await.unwrap();
            later.kill().await;
        }
    }
    // Without the older snapshot the store cannot be opened, and reports that.
    let first = snapshots(path).into_iter().find(|name| name.starts_with(FIRST)).unwrap();
    fs::remove_file(store_directory(path).join(first)).unwrap();
    fs::write(&newest, b"{}").unwrap();
    let later = Process::start(path, Disk::new(path, FaultyDuty::Nothing));
    let error = later.store.counts().await.unwrap_err();
    assert!(matches!(&error, StoreError::Corrupt(text) if text.contains("snapshot")), "{error}");
    let refused = apply(&*later.store, large(900), at(0)).await.unwrap_err();
    assert!(matches!(refused, StoreError::Corrupt(_)), "{refused}");
}

/// Pruning removes events that are too old, the oldest first, and keeps what the store needs to open.
#[tokio::test]
async fn pruning_removes_old_events_and_keeps_issues() {
    let directory = directory_in_memory();
    let path = directory.path();
    let disk = Disk::new(path, FaultyDuty::Nothing);
    let answers = Answers::new(&disk);
    let options = JsonStoreOptions { keep_events: KeepEvents::Bytes(1), ..at_once() };
    let mut count = 0;
    for _ in 0..3 {
        // A new process each time: a process waits after a snapshot before it writes the next.
        let quiet = Process::start(path, disk.beside());
        for _ in 0..4 {
            let commands = (count..count + 20).map(large).collect();
            quiet.store.commit(commands, at(0)).await.unwrap();
            count += 20;
        }
        quiet.kill().await;
        let before = snapshots(path);
        let process = Process::start_with(path, disk.beside(), options);
        answers.file(&process).await.unwrap();
        let begun = Instant::now();
        while snapshots(path) == before {
            assert!(begun.elapsed() < PATIENCE, "no snapshot was written");
            thread::sleep(Duration::from_millis(5));
        }
        process.store.close().await;
    }
    // The store prunes old segments after it writes a snapshot.
    until("the oldest segment is removed", || !segments(path)[0].ends_with("0000000001.log"));
    let later = Process::start(path, disk.beside());
    check(&answers, &*later.store, count).await.unwrap();
    let events = later.store.events(0, 3).await.unwrap();
    assert!(events.oldest > 1 && !events.is_complete_after(0), "{}", events.oldest);
    assert_eq!(events.events[0].position.number, events.oldest);
    // An undo by time reports that the log does not reach back far enough.
    let (agent, since) = (AgentName::try_from("before").unwrap(), Timestamp::MIN);
    let all = UndoSelection::By { agent: agent.clone(), since, until: None };
    let store: Arc<dyn Store> = Arc::clone(&later.store) as _;
    let tracker = Tracker::new(store);
    let undone = tracker.undo(&all, &agent, ClaimProof::default(), true).await.unwrap();
    assert!(undone.log_begins.is_some_and(|begin| begin.0 > since), "{undone:?}");
    answers.file(&later).await.unwrap();
    later.kill().await;
}
