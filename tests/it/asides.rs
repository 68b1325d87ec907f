//! Checkpoints beside which others commit: what they commit at any call of one is kept, whatever becomes of
//! it.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent_issue_tracker::domain::{Command, Description, IssueId};
use agent_issue_tracker::store::json::JsonStoreOptions;
use agent_issue_tracker::store::json::fs::{FileSystem, RealFileSystem};
use agent_issue_tracker::store::{JsonStore, Store, StoreError};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::support::disk::{Disk, Neglect};
use crate::support::files::{issues_in_file, names};
use crate::support::stores::{add, ids, now};
use crate::support::{directory_in_memory, until};

const NEVER: Duration = Duration::from_secs(3600);
/// Longer than a commit takes whose lock is free.
const COMMIT: Duration = Duration::from_millis(60);
/// More calls than a checkpoint makes.
const MAX_CALLS: usize = 200;
/// How many of the longest issues take more than 10 MiB.
const LONG: usize = 27;

/// A store that writes `issues.json` beside commits however small it is, and only when it is told to.
fn open(directory: &Path, fs: Arc<dyn FileSystem>) -> JsonStore {
    let options =
        JsonStoreOptions { checkpoint_after: NEVER, aside_from_bytes: 0, ..Default::default() };
    JsonStore::with(directory.join("issues.json"), fs, options)
}

/// What another process commits at one call of a checkpoint, without keeping that up if it has the lock.
struct Intruder {
    runtime: Handle,
    store: Arc<JsonStore>,
    work: Mutex<Vec<JoinHandle<Result<IssueId, StoreError>>>>,
}

impl Intruder {
    fn new(directory: &Path) -> Arc<Self> {
        let store = Arc::new(open(directory, Arc::new(RealFileSystem)));
        Arc::new(Self { runtime: Handle::current(), store, work: Mutex::default() })
    }

    fn commit(&self) {
        let store = Arc::clone(&self.store);
        let work = self.runtime.spawn(async move {
            store.apply(add(), now()).await.map(|issue| issue.expect("a new issue").id)
        });
        let begun = std::time::Instant::now();
        while !work.is_finished() && begun.elapsed() < COMMIT {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.work.lock().unwrap().push(work);
    }

    /// What it was answered.
    async fn answered(&self) -> Vec<IssueId> {
        let work = std::mem::take(&mut *self.work.lock().unwrap());
        let mut answered = Vec::new();
        for work in work {
            answered.push(work.await.unwrap().expect("nothing kept it from committing"));
        }
        answered
    }
}

async fn file(store: &JsonStore) -> IssueId {
    store.apply(add(), now()).await.unwrap().unwrap().id
}

/// Has another process commit at the call of a checkpoint with this number, which then goes on or dies;
/// false when there are not so many calls.
async fn intruded(number: usize, dies: bool) -> bool {
    let (directory, disk) = (directory_in_memory(), Disk::new(Neglect::Nothing));
    let path = directory.path();
    let (store, intruder) = (open(path, Arc::clone(&disk) as _), Intruder::new(path));
    let mut expected = vec![file(&store).await, file(&store).await];
    store.save().await.unwrap();
    // Each knows the other's, and the next state lacks something in the file.
    expected.push(file(&intruder.store).await);
    expected.push(file(&store).await);
    let (mut calls, at_call, mortal) = (0, Arc::clone(&intruder), Arc::downgrade(&disk));
    // One that dies leaves something behind that was committed while it wrote.
    let (mut is_writing, is_reached) = (false, Arc::new(AtomicBool::new(false)));
    let reached = Arc::clone(&is_reached);
    disk.hook(move |call| {
        calls += 1;
        if dies && call == "write" && !std::mem::replace(&mut is_writing, true) {
            at_call.commit();
        }
        if calls == number {
            reached.store(true, Ordering::SeqCst);
            at_call.commit();
            if let Some(disk) = mortal.upgrade().filter(|_| dies) {
                disk.die_at(1);
            }
        }
    });
    let saved = store.save().await;
    disk.hook(|_| {});
    let answered = intruder.answered().await;
    expected.extend(answered);
    let about = format!("at call {number}, {} dies: {saved:?}", if dies { "it" } else { "nobody" });
    assert!(saved.is_ok() || dies, "{about}");
    assert_eq!(ids(&intruder.store).await, expected, "{about}");
    expected.push(file(&intruder.store).await);
    if !dies {
        assert_eq!(ids(&store).await, expected, "{about}");
        expected.push(file(&store).await);
    }
    // What it still does in the end is no matter of this.
    store.close().await;
    // Whoever comes later finds the same, and so does whoever reads the file.
    let next = open(path, Arc::new(RealFileSystem));
    assert_eq!(ids(&next).await, expected, "{about}");
    // Whoever changes something removes what was left.
    expected.push(file(&next).await);
    next.save().await.unwrap();
    let in_file: Vec<_> = issues_in_file(path).iter().map(|it| it["id"].clone()).collect();
    let expected: Vec<_> = expected.iter().map(|id| serde_json::json!(id.to_string())).collect();
    assert_eq!(in_file, expected, "{about}");
    assert!(!names(path).iter().any(|name| name.ends_with(".tmp")), "{about}");
    is_reached.load(Ordering::SeqCst)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_process_commits_at_any_call_of_a_checkpoint_is_kept() {
    let mut calls = 0;
    while intruded(calls + 1, false).await {
        calls += 1;
        assert!(calls < MAX_CALLS);
    }
    assert!(calls > 30, "{calls} calls");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_process_commits_is_kept_when_the_checkpoint_dies_there() {
    let mut calls = 0;
    while intruded(calls + 1, true).await {
        calls += 1;
        assert!(calls < MAX_CALLS);
    }
    assert!(calls > 30, "{calls} calls");
}

/// While `issues.json` is written, others go on at once; two never write it at the same time.
#[tokio::test(flavor = "multi_thread")]
async fn others_commit_while_it_is_written_and_nobody_writes_it_beside() {
    let (directory, disk) = (directory_in_memory(), Disk::new(Neglect::Nothing));
    let path = directory.path();
    let store = Arc::new(open(path, Arc::clone(&disk) as _));
    let mut expected = vec![file(&store).await];
    let pause = disk.pause_at(&["write"]);
    let saving = tokio::spawn({
        let store = Arc::clone(&store);
        async move { store.save().await }
    });
    pause.reached().await;
    let beside = Disk::beside(&disk);
    let options = JsonStoreOptions {
        checkpoint_after: Duration::ZERO,
        aside_from_bytes: 0,
        ..Default::default()
    };
    let file_name = path.join("issues.json");
    let other = JsonStore::with(file_name, Arc::clone(&beside) as _, options);
    for _ in 0..20 {
        expected.push(file(&other).await);
        expected.push(file(&store).await);
    }
    assert_eq!(ids(&other).await, expected);
    // It has found out that somebody writes it, and does not wait for that.
    until("it would write it", || beside.count_of("try_lock") > 0);
    assert_eq!(beside.count_of("create_temp"), 0);
    assert!(!path.join("issues.json").exists());
    pause.end().await;
    saving.await.unwrap().unwrap();
    assert_eq!(issues_in_file(path).len(), 1, "what it was begun with");
    assert_eq!(ids(&store).await, expected);
    let next = open(path, Arc::new(RealFileSystem));
    assert_eq!(ids(&next).await, expected);
    assert!(matches!(next.apply(claim(), now()).await, Ok(Some(_))));
    assert_eq!(ids(&store).await, expected);
}

/// Whoever cannot find out whether somebody writes it takes it that somebody does.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_removes_what_is_being_written_because_of_a_fault() {
    let (directory, disk) = (directory_in_memory(), Disk::new(Neglect::Nothing));
    let path = directory.path();
    let store = Arc::new(open(path, Arc::clone(&disk) as _));
    file(&store).await;
    let pause = disk.pause_at(&["write"]);
    let saving = tokio::spawn({
        let store = Arc::clone(&store);
        async move { store.save().await }
    });
    pause.reached().await;
    let is_temp = |name: &String| name.ends_with(".tmp");
    assert!(names(path).iter().any(is_temp));
    let beside = Disk::beside(&disk);
    let other = open(path, Arc::clone(&beside) as _);
    let (mut is_locked, faulty) = (false, Arc::clone(&beside));
    beside.hook(move |call| {
        // The first look under the lock, which was tried before.
        if std::mem::replace(&mut is_locked, call == "excludes") {
            faulty.trouble.fail_call(1);
        }
    });
    file(&other).await;
    assert_eq!(beside.failed(), Some("stamp"));
    assert!(names(path).iter().any(is_temp));
    pause.end().await;
    saving.await.unwrap().unwrap();
}

/// Who can still reach the `issues.json` that a checkpoint replaces.
#[derive(Clone, Copy, PartialEq, Debug)]
enum By {
    Nobody,
    Reader,
    Name,
}

/// Replaces an `issues.json` of several pieces, and gives how often the old one was cut.
async fn cuts(reached: By) -> usize {
    let (directory, disk) = (directory_in_memory(), Disk::new(Neglect::Nothing));
    let path = directory.path();
    let store = open(path, Arc::clone(&disk) as _);
    for _ in 0..LONG {
        store.apply(add_long(), now()).await.unwrap();
    }
    store.save().await.unwrap();
    let (file_name, linked) = (path.join("issues.json"), path.join("linked.json"));
    let before = std::fs::read(&file_name).unwrap();
    assert!(before.len() > 10 * 1024 * 1024, "{} bytes", before.len());
    let reader = (reached == By::Reader).then(|| File::open(&file_name).unwrap());
    if reached == By::Name {
        std::fs::hard_link(&file_name, &linked).unwrap();
    }
    let cut_before = disk.count_of("truncate");
    file(&store).await;
    store.save().await.unwrap();
    if let Some(mut reader) = reader {
        let mut read = Vec::new();
        reader.read_to_end(&mut read).unwrap();
        assert!(read == before, "{reached:?}: {} bytes are left", read.len());
    }
    if reached == By::Name {
        assert!(std::fs::read(&linked).unwrap() == before, "{reached:?}");
    }
    assert_eq!(issues_in_file(path).len(), LONG + 1, "{reached:?}");
    disk.count_of("truncate") - cut_before
}

/// A disk that frees much at once keeps those waiting who commit meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn the_room_of_a_large_file_that_was_replaced_is_given_back_in_pieces() {
    let unnamed = tempfile::tempfile_in(directory_in_memory().path()).unwrap();
    if !RealFileSystem.is_unreachable(&unnamed) {
        eprintln!("skipped: this system cannot tell that nobody else has a file open");
        return;
    }
    assert!(cuts(By::Nobody).await > 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_taken_from_whoever_can_still_reach_a_file_that_was_replaced() {
    for reached in [By::Reader, By::Name] {
        assert_eq!(cuts(reached).await, 0, "{reached:?}");
    }
}

/// A new issue that takes 400 kB.
fn add_long() -> Command {
    let Command::AddIssue { id, title, classification, agent, .. } = add() else { unreachable!() };
    let description = Description::try_from("\u{1d11e}".repeat(Description::MAX_CHARS)).unwrap();
    Command::AddIssue { id, title, description, classification, agent }
}

fn claim() -> Command {
    let agent = agent_issue_tracker::domain::AgentName::try_from("a").unwrap();
    Command::GetNextIssue { classification: None, agent }
}
