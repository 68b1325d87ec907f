//! A file system that fails: every single call, once. The caller is told, memory and disk agree, and
//! nothing is lost when the cause is gone.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use agent_issue_tracker::domain::Query;
use agent_issue_tracker::store::{Store, StoreError};

use crate::support::directory;
use crate::support::disk::{Disk, Neglect};
use crate::support::files::{STORE_FILES, issues_in_file, names, stored_issues};
use crate::support::stores::{add, ids, now, open};

/// Fails each call of a change that is made `before` others; gives the calls that were made to fail.
async fn fail_each_call_of_a_change(before: usize) -> Vec<&'static str> {
    let mut failed = Vec::new();
    for call in 1.. {
        let (directory, disk) = (directory(), Disk::new(Neglect::Nothing));
        let store = open(directory.path(), &disk);
        for _ in 0..before {
            store.apply(add(), now()).await.unwrap();
        }
        disk.trouble.fail_call(call);
        let outcome = store.apply(add(), now()).await;
        let Some(name) = disk.failed() else {
            outcome.unwrap();
            return failed;
        };
        failed.push(name);
        // What the caller was told is what others find on disk.
        let on_disk = stored_issues(directory.path()).len();
        match &outcome {
            Ok(_) => assert_eq!(on_disk, before + 1, "{name} failed and nobody was told"),
            Err(error) => {
                let is_uncertain = matches!(error, StoreError::Uncertain(_));
                assert_eq!(on_disk, before + usize::from(is_uncertain), "{name}: {error}");
                assert!(error.to_string().contains("no space left"), "{name}: {error}");
            }
        }
        // The cause is gone: the next change goes through.
        store.apply(add(), now()).await.unwrap();
        store.check().await.unwrap();
        assert_eq!(ids(&store).await.len(), on_disk + 1, "{name}");
        assert_eq!(stored_issues(directory.path()).len(), on_disk + 1, "{name}");
        // Nobody writes a checkpoint any more.
        store.close().await;
        assert!(names(directory.path()).iter().all(|name| !name.ends_with(".tmp")), "{name}");
    }
    unreachable!()
}

#[tokio::test]
async fn whichever_call_of_a_change_fails_the_answer_is_true_and_the_store_goes_on() {
    let look = ["resolve", "stamp", "is_at", "read_at"];
    let lock = ["lock"];
    let under_it =
        ["stamp", "is_at", "read_at", "stamp_open", "claim", "read_at", "is_at", "write_at"];
    let after_it = ["sync_data", "is_at"];
    let all = [&look[..], &lock, &under_it, &after_it].concat();
    assert_eq!(fail_each_call_of_a_change(1).await, all);
}

#[tokio::test]
async fn whichever_call_of_the_first_change_fails_the_store_begins_nothing_by_halves() {
    let failed = fail_each_call_of_a_change(0).await;
    for name in ["create_temp", "write", "sync", "place", "sync_directory", "write_at"] {
        assert!(failed.contains(&name), "{name} is not among {failed:?}");
    }
}

#[tokio::test]
async fn whichever_call_of_a_checkpoint_fails_nothing_is_lost_and_the_next_one_makes_up_for_it() {
    let mut failed = Vec::new();
    for call in 1.. {
        let (directory, disk) = (directory(), Disk::new(Neglect::Nothing));
        let first = open(directory.path(), &disk);
        first.apply(add(), now()).await.unwrap();
        first.close().await;
        let second = open(directory.path(), &disk);
        second.apply(add(), now()).await.unwrap();
        disk.trouble.fail_call(call);
        second.close().await;
        let name = disk.failed();
        disk.trouble.fail_call(usize::MAX);
        assert_eq!(stored_issues(directory.path()).len(), 2, "{name:?}");
        // A living process follows, too.
        assert_eq!(ids(&second).await.len(), 2, "{name:?}");
        let third = open(directory.path(), &disk);
        third.apply(add(), now()).await.unwrap();
        assert_eq!(ids(&second).await.len(), 3, "{name:?}");
        third.close().await;
        assert_eq!(issues_in_file(directory.path()).len(), 3, "{name:?}");
        assert_eq!(names(directory.path()), STORE_FILES, "{name:?}");
        match name {
            Some(name) => failed.push(name),
            None => break,
        }
    }
    let snapshot = ["create_temp", "write", "sync", "stamp_open", "is_at", "write_at", "sync_data"];
    let journal =
        ["exchange", "stamp", "stamp_open", "open_directory", "sync_directory", "create_temp"];
    let rest = ["write", "sync", "is_at", "replace", "open_directory", "sync_directory"];
    for calls in [&snapshot[..], &journal, &rest] {
        let found = failed.windows(calls.len()).any(|window| window == calls);
        assert!(found, "{calls:?} are not among {failed:?}");
    }
}

#[tokio::test]
async fn whichever_call_of_a_first_read_fails_the_store_never_starts_from_empty() {
    let directory = directory();
    let disk = Disk::new(Neglect::Nothing);
    let store = open(directory.path(), &disk);
    store.apply(add(), now()).await.unwrap();
    store.close().await;
    open(directory.path(), &disk).apply(add(), now()).await.unwrap();
    let mut failed = Vec::new();
    for call in 1.. {
        let disk = Disk::new(Neglect::Nothing);
        let store = open(directory.path(), &disk);
        disk.trouble.fail_call(call);
        let counted = store.counts().await;
        let Some(name) = disk.failed() else {
            assert_eq!(counted.unwrap().total(), 2);
            break;
        };
        failed.push(name);
        assert!(matches!(counted, Err(StoreError::Unreadable(_))), "{name}: {counted:?}");
        assert_eq!(store.counts().await.unwrap().total(), 2, "{name}");
    }
    assert_eq!(
        failed,
        ["resolve", "stamp", "stamp", "read", "open", "stamp_open", "read_at", "stamp", "is_at"]
    );
}

/// git replaces a file by removing it and writing it anew, and some editors write in place.
#[tokio::test]
async fn a_file_that_is_away_or_half_written_for_a_moment_is_waited_for_and_no_longer() {
    let directory = directory();
    let disk = Disk::new(Neglect::Nothing);
    let store = open(directory.path(), &disk);
    // Another process changes the file, so that this one has to read it.
    let touch = || async {
        let other = open(directory.path(), &Disk::new(Neglect::Nothing));
        other.apply(add(), now()).await.unwrap();
        other.close().await;
        std::fs::remove_file(directory.path().join("issues.json.journal")).unwrap();
    };
    touch().await;
    assert_eq!(store.counts().await.unwrap().total(), 1);
    for (trouble, expected) in [(&disk.absent, 2), (&disk.halved, 3)] {
        touch().await;
        trouble.store(3, Ordering::SeqCst);
        assert_eq!(store.counts().await.unwrap().total(), expected);
    }
    for (trouble, words) in [(&disk.absent, "is gone"), (&disk.halved, "line ")] {
        touch().await;
        trouble.store(usize::MAX, Ordering::SeqCst);
        let error = store.counts().await.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
        let before = disk.count_of("read");
        // What is known to be bad is not read again until it changes.
        store.counts().await.unwrap_err();
        assert_eq!(disk.count_of("read"), before, "{words}");
        trouble.store(0, Ordering::SeqCst);
        touch().await;
        store.counts().await.unwrap();
    }
}

#[tokio::test]
async fn an_edit_in_place_while_a_checkpoint_syncs_the_directory_is_not_hidden() {
    let directory = directory();
    let file = directory.path().join("issues.json");
    let disk = Disk::new(Neglect::Nothing);
    let store = open(directory.path(), &disk);
    store.apply(add(), now()).await.unwrap();
    let edited = file.clone();
    disk.hook(move |call| {
        let text = std::fs::read_to_string(&edited).unwrap_or_default();
        if call == "sync_directory" && text.contains("\"title\": \"t\"") {
            let text = text.replace("\"title\": \"t\"", "\"title\": \"edited\"");
            std::fs::write(&edited, text).unwrap();
        }
    });
    store.close().await;
    let all = Query { take: 1, ..Query::default() };
    assert_eq!(store.list(all).await.unwrap().issues[0].title, "edited");
    let next = open(directory.path(), &disk);
    next.apply(add(), now()).await.unwrap();
    next.close().await;
    assert_eq!(issues_in_file(directory.path())[0]["title"], "edited");
}

/// A process that cannot open the directory has no file descriptor left for a moment: that says nothing
/// about the disk. One that could not sync it does not rely on the name of the journal, and gives it anew.
#[tokio::test]
async fn a_directory_that_cannot_be_opened_or_synced_keeps_no_process_from_going_on() {
    for begun_meanwhile in [false, true] {
        for (name, saves) in [("open_directory", false), ("sync_directory", true)] {
            let (directory, disk) = (directory(), Disk::new(Neglect::Nothing));
            let store = open(directory.path(), &disk);
            store.apply(add(), now()).await.unwrap();
            let path = directory.path().to_owned();
            // Another process begins a journal anew.
            let begin = move || {
                let other = open(&path, &Disk::new(Neglect::Nothing));
                let runtime = tokio::runtime::Runtime::new().unwrap();
                runtime.block_on(other.apply(add(), now())).unwrap();
                runtime.block_on(other.close());
            };
            if !begun_meanwhile {
                std::thread::spawn(begin.clone()).join().unwrap();
            }
            let (mut has_begun, mut has_failed) = (!begun_meanwhile, false);
            let mortal = Arc::clone(&disk);
            disk.hook(move |call| {
                if call == "lock" && !std::mem::replace(&mut has_begun, true) {
                    std::thread::spawn(begin.clone()).join().unwrap();
                }
                if call == name && !std::mem::replace(&mut has_failed, true) {
                    mortal.trouble.fail_call(1);
                }
            });
            let replaced = disk.count_of("replace");
            let outcome = store.apply(add(), now()).await;
            assert_eq!(disk.failed(), Some(name));
            assert_eq!(outcome.is_ok(), saves, "{name}: {outcome:?}");
            assert_eq!(disk.count_of("replace") - replaced, usize::from(saves), "{name}");
            assert!(!matches!(outcome, Err(StoreError::Uncertain(_))), "{name}: {outcome:?}");
            let before = 2 + usize::from(saves);
            assert_eq!(stored_issues(directory.path()).len(), before, "{name}");
            store.apply(add(), now()).await.unwrap();
            store.check().await.unwrap();
            assert_eq!(stored_issues(directory.path()).len(), before + 1, "{name}");
        }
    }
}

/// A change that could neither be made nor undone: what others do afterwards stands behind it, and must
/// not be taken for its remains.
#[tokio::test]
async fn after_a_change_that_could_not_be_undone_others_go_on_and_lose_nothing() {
    let (directory, disk) = (directory(), Disk::new(Neglect::Nothing));
    let store = open(directory.path(), &disk);
    store.apply(add(), now()).await.unwrap();
    disk.die_at(1);
    let hook = Arc::clone(&disk);
    disk.hook(move |call| {
        hook.die_at(if call == "write_at" || call == "truncate" { 1 } else { 9 });
    });
    let uncertain = store.apply(add(), now()).await.unwrap_err();
    assert!(matches!(uncertain, StoreError::Uncertain(_)), "{uncertain}");
    disk.die_at(usize::MAX);
    disk.hook(|_| {});
    let other = open(directory.path(), &Disk::beside(&disk));
    other.apply(add(), now()).await.unwrap();
    // The one that failed follows, and goes on.
    assert_eq!(ids(&store).await, ids(&other).await);
    store.apply(add(), now()).await.unwrap();
    assert_eq!(ids(&store).await, ids(&other).await);
    store.close().await;
    assert_eq!(stored_issues(directory.path()).len(), 3);
}
