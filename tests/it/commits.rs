//! How commits of several callers and processes get along: who waits for whom, and for what not.

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use agent_issue_tracker::store::json::JsonStoreOptions;
use agent_issue_tracker::store::json::fs::RealFileSystem;
use agent_issue_tracker::store::{JsonStore, Store, StoreError};

use crate::support::directory;
use crate::support::disk::{Disk, Neglect};
use crate::support::files::{issues_in_file, stored_issues};
use crate::support::stores::{add, ids, now, open};

#[tokio::test]
async fn a_lock_that_somebody_keeps_makes_callers_busy_and_their_commands_are_withdrawn() {
    let directory = directory();
    let file = directory.path().join("issues.json");
    let options = JsonStoreOptions { busy_after: Duration::from_millis(50), ..Default::default() };
    let store = JsonStore::with(&file, Arc::new(RealFileSystem), options);
    store.apply(add(), now()).await.unwrap();
    let other = File::open(directory.path().join("issues.json.lock")).unwrap();
    other.lock().unwrap();
    let busy = store.apply(add(), now()).await;
    assert!(
        matches!(&busy, Err(StoreError::Busy(text)) if text.contains("issues.json")),
        "{busy:?}"
    );
    // Readers do not need the lock.
    assert_eq!(store.counts().await.unwrap().total(), 1);
    other.unlock().unwrap();
    store.apply(add(), now()).await.unwrap();
    assert_eq!(store.counts().await.unwrap().total(), 2, "the withdrawn command was carried out");
}

#[tokio::test]
async fn commands_of_one_moment_share_one_write_and_one_sync() {
    let (directory, disk) = (directory(), Disk::new(Neglect::Nothing));
    let store = open(directory.path(), &disk);
    store.apply(add(), now()).await.unwrap();
    let before = (disk.count_of("write_at"), disk.count_of("sync_data"));
    let lock = File::open(directory.path().join("issues.json.lock")).unwrap();
    lock.lock().unwrap();
    let mut waiting: Vec<_> = (0..100).map(|_| store.apply(add(), now())).collect();
    // Each is handed to the writer when it is first polled, and the writer waits for the lock.
    for command in &mut waiting {
        assert!(futures::poll!(command).is_pending());
    }
    lock.unlock().unwrap();
    for outcome in futures::future::join_all(waiting).await {
        outcome.unwrap();
    }
    let after = (disk.count_of("write_at"), disk.count_of("sync_data"));
    assert_eq!(after, (before.0 + 1, before.1 + 1));
    assert_eq!(stored_issues(directory.path()).len(), 101);
}

/// Readers of the same process while it waits for its disk: they are answered at once, and are not
/// shown what is not durable yet.
#[tokio::test]
async fn reads_neither_wait_for_a_sync_nor_show_what_it_is_for() {
    let (directory, disk) = (directory(), Disk::new(Neglect::Nothing));
    let store = open(directory.path(), &disk);
    store.apply(add(), now()).await.unwrap();
    let pause = disk.pause_at(&["sync_data"]);
    let change = store.apply(add(), now());
    let reading = async {
        pause.reached().await;
        assert_eq!(store.counts().await.unwrap().total(), 1, "shown before it is durable");
        // Whoever reads through another process may see it, as documented.
        assert_eq!(stored_issues(directory.path()).len(), 2);
        pause.end().await;
    };
    let (changed, ()) = tokio::join!(change, reading);
    changed.unwrap();
    assert_eq!(store.counts().await.unwrap().total(), 2);
}

/// Somebody cleans away the lock file while a process holds it: the next process locks a new one, and
/// still must not write beside the other.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn two_processes_with_two_lock_files_do_not_write_at_once() {
    let (directory, disk) = (directory(), Disk::new(Neglect::Nothing));
    let (one, other) =
        (open(directory.path(), &disk), open(directory.path(), &Disk::beside(&disk)));
    one.apply(add(), now()).await.unwrap();
    other.apply(add(), now()).await.unwrap();
    let pause = disk.pause_at(&["write_at"]);
    let first = tokio::spawn(async move { one.apply(add(), now()).await });
    pause.reached().await;
    std::fs::remove_file(directory.path().join("issues.json.lock")).unwrap();
    let journal = || std::fs::read(directory.path().join("issues.json.journal")).unwrap();
    let before = journal();
    let mut second = Box::pin(other.apply(add(), now()));
    // Long enough for the other to find the lock file free and the journal taken, several times.
    let early = tokio::time::timeout(Duration::from_millis(150), &mut second).await;
    assert!(early.is_err(), "{early:?}");
    assert_eq!(journal(), before);
    pause.end().await;
    first.await.unwrap().unwrap();
    second.await.unwrap();
    assert_eq!(stored_issues(directory.path()).len(), 4);
}

/// The same before there is a journal that could be taken.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn two_processes_with_two_lock_files_do_not_begin_two_journals() {
    let (directory, disk) = (directory(), Disk::new(Neglect::Cleaning));
    // Cleaning would take the file away that the one is about to put in place.
    let (one, other) =
        (open(directory.path(), &disk), open(directory.path(), &Disk::beside(&disk)));
    let pause = disk.pause_at(&["place", "replace"]);
    let first = tokio::spawn(async move { one.apply(add(), now()).await });
    pause.reached().await;
    std::fs::remove_file(directory.path().join("issues.json.lock")).unwrap();
    other.apply(add(), now()).await.unwrap();
    pause.end().await;
    first.await.unwrap().unwrap();
    assert_eq!(stored_issues(directory.path()).len(), 2);
}

/// One has looked at the journal and not taken it yet, while another, which locked another file,
/// appends to it: what the look has missed is not cut as the remains of a dead process.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn a_change_between_the_look_and_the_claim_of_another_is_kept() {
    for checkpoint in [false, true] {
        let (directory, disk) = (directory(), Disk::new(Neglect::Nothing));
        let (one, other) =
            (open(directory.path(), &disk), open(directory.path(), &Disk::beside(&disk)));
        one.apply(add(), now()).await.unwrap();
        let pause = disk.pause_at(&["claim"]);
        let first = tokio::spawn(async move { one.apply(add(), now()).await });
        pause.reached().await;
        std::fs::remove_file(directory.path().join("issues.json.lock")).unwrap();
        other.apply(add(), now()).await.unwrap();
        if checkpoint {
            other.close().await;
        }
        pause.end().await;
        first.await.unwrap().unwrap();
        assert_eq!(stored_issues(directory.path()).len(), 3, "{checkpoint}");
    }
}

/// Between append and answer somebody removes the journal, and another process begins one that knows
/// nothing of the change.
#[tokio::test]
async fn an_answer_waits_until_the_change_is_part_of_what_others_read() {
    let (directory, disk) = (directory(), Disk::new(Neglect::Nothing));
    let store = open(directory.path(), &disk);
    store.apply(add(), now()).await.unwrap();
    store.close().await;
    let store = open(directory.path(), &disk);
    store.apply(add(), now()).await.unwrap();
    let (path, beside) = (directory.path().to_owned(), Disk::beside(&disk));
    let mut is_first = true;
    disk.hook(move |call| {
        if call == "sync_data" && std::mem::take(&mut is_first) {
            std::fs::remove_file(path.join("issues.json.journal")).unwrap();
            let other = open(&path, &beside);
            let begin = async { other.apply(add(), now()).await };
            let runtime = tokio::runtime::Runtime::new().unwrap();
            runtime.block_on(begin).unwrap();
        }
    });
    let uncertain = store.apply(add(), now()).await;
    assert!(
        matches!(&uncertain, Err(StoreError::Uncertain(text)) if text.contains("replaced")),
        "{uncertain:?}"
    );
    // The files are the truth, for this process too.
    assert_eq!(ids(&store).await.len(), stored_issues(directory.path()).len());
}

#[tokio::test]
async fn after_a_checkpoint_all_processes_leave_the_file_alone_for_twenty_times_its_length() {
    let (directory, disk) = (directory(), Disk::new(Neglect::Nothing));
    let store = open(directory.path(), &disk);
    store.apply(add(), now()).await.unwrap();
    disk.hook(|call| {
        if call == "sync" {
            std::thread::sleep(Duration::from_millis(500));
        }
    });
    store.close().await;
    let (next, at_once) = (Disk::beside(&disk), Duration::ZERO);
    let options = JsonStoreOptions { checkpoint_after: at_once, ..Default::default() };
    let file = directory.path().join("issues.json");
    let store = JsonStore::with(&file, Arc::clone(&next) as _, options);
    for _ in 0..5 {
        store.apply(add(), now()).await.unwrap();
    }
    assert_eq!(next.count_of("replace"), 0);
    // It took too long for the end of a process that nobody is to wait for, and says that it does.
    assert!(!store.close().await);
    assert_eq!(issues_in_file(directory.path()).len(), 1);
    let patient =
        JsonStoreOptions { last_checkpoint: Duration::from_secs(60), ..Default::default() };
    let store = JsonStore::with(&file, next as _, patient);
    store.apply(add(), now()).await.unwrap();
    // The end does not wait until the time has come.
    assert!(store.close().await);
    assert_eq!(issues_in_file(directory.path()).len(), 7);
}
