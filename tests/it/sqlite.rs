//! The store in a SQLite database under the suites that every store passes.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use agent_issue_tracker::domain::{Classification, IssueId, Status};
use agent_issue_tracker::store::files::{KeepEvents, StoreOptions, format};
use agent_issue_tracker::store::{SqliteStore, Store, StoreError};
use futures::future::join_all;
use proptest::prelude::*;
use tempfile::TempDir;

use crate::support::commands::{add, any_command, at, claim, ids, number};
use crate::support::files::{issue_json, write_issues};
use crate::support::stores::{all_issues, apply, open_with, quiet};
use crate::support::{PATIENCE, directory, directory_in_memory, until};
use crate::{conformance, lease_conformance, queries, review_gate};

fn open(directory: &TempDir) -> SqliteStore {
    SqliteStore::new(directory.path().join("issues.json"))
}

#[tokio::test]
async fn it_passes_the_suite() {
    conformance::exercise(&open(&directory_in_memory())).await;
    let many = directory_in_memory();
    conformance::claim_from_many_tasks(Arc::new(open(&many))).await;
    conformance::number_own_changes(Arc::new(open(&many))).await;
    assert_eq!(open(&many).id().await, open(&many).id().await);
    assert_ne!(open(&many).id().await, open(&directory_in_memory()).id().await);
}

#[tokio::test]
async fn events_and_their_numbers_survive_restarts() {
    let directory = directory_in_memory();
    conformance::keep_events(|| open(&directory)).await;
}

#[tokio::test]
async fn changes_by_other_processes_are_pushed_to_watchers() {
    let directory = directory();
    conformance::push_changes(&open(&directory), &open(&directory)).await;
}

#[tokio::test]
async fn a_closed_store_refuses_changes_but_can_be_read() {
    conformance::refuse_changes_after_the_end(&open(&directory_in_memory())).await;
}

#[tokio::test]
async fn it_keeps_leases() {
    let directory = directory_in_memory();
    lease_conformance::exercise(&open(&directory)).await;
    lease_conformance::exercise_clients(&open(&directory));
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_lapse_and_take_up_never_both_succeed() {
    let directory = directory_in_memory();
    let stores: [Arc<dyn Store>; 2] = [Arc::new(open(&directory)), Arc::new(open(&directory))];
    lease_conformance::race_lapses_with_take_ups(stores).await;
}

#[tokio::test]
async fn it_gives_reviews_by_policy() {
    review_gate::give_reviews_by_policy(&open(&directory_in_memory())).await;
}

#[tokio::test]
async fn queries_match_the_evaluator() {
    queries::answer_queries(Arc::new(open(&directory_in_memory()))).await;
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_matches_the_model(commands in prop::collection::vec(any_command(), 1..120)) {
        conformance::matches_the_model(&open(&directory_in_memory()), &commands)?;
    }
}

/// The first change takes over the issues of the file, however long that takes.
#[tokio::test]
async fn a_change_waits_for_the_work_of_its_own_process() {
    let directory = directory();
    let issue = |n| issue_json(&number(n).to_string(), "t", "created");
    let issues: Vec<_> = (1..=2_000).map(issue).collect();
    write_issues(directory.path(), &issues);
    let options = StoreOptions { busy_after: Duration::from_millis(1), ..quiet() };
    let store = open_with(directory.path(), &Arc::default(), options);
    apply(&store, add(2_001, Classification::Bug), at(0)).await.unwrap();
    assert_eq!(store.counts().await.unwrap().total(), 2_001);
}

/// Old events are removed and texts are indexed even if changes come without a pause.
#[tokio::test(flavor = "multi_thread")]
async fn a_busy_store_tidies_up() {
    let directory = directory_in_memory();
    let options = StoreOptions { keep_events: KeepEvents::Bytes(1024), ..quiet() };
    let store = Arc::new(open_with(directory.path(), &Arc::default(), options));
    let begun = Instant::now();
    let write = |offset: u32| {
        let store = Arc::clone(&store);
        async move {
            for n in (offset..).step_by(4) {
                apply(&*store, add(n, Classification::Bug), at(i64::from(n))).await.unwrap();
                if store.events(0, 1).await.unwrap().oldest > 50 {
                    break;
                }
                assert!(begun.elapsed() < PATIENCE, "the first events are kept");
            }
        }
    };
    join_all((1..=4).map(write)).await;
}

/// What a database had that was removed, or replaced by an old copy of itself, is merged before the next change.
#[tokio::test]
async fn a_removed_or_replaced_database_loses_nothing() {
    let directory = directory_in_memory();
    let files = directory.path().join(".ait/issues.json");
    let store = open(&directory);
    apply(&store, add(1, Classification::Bug), at(1)).await.unwrap();
    apply(&store, claim(None), at(2)).await.unwrap();
    fs::remove_dir_all(&files).unwrap();
    apply(&store, add(2, Classification::Bug), at(3)).await.unwrap();
    let [first, second] = [number(1), number(2)];
    let other = open(&directory);
    assert_eq!(ids(&all_issues(&other).await.unwrap()), [first, second]);
    assert_eq!(other.get(first.into()).await.unwrap().status, Status::InProgress);

    other.close().await;
    let copy = directory.path().join("copy.db");
    fs::copy(files.join("queue.db"), &copy).unwrap();
    apply(&store, add(3, Classification::Bug), at(4)).await.unwrap();
    fs::remove_dir_all(&files).unwrap();
    fs::create_dir_all(&files).unwrap();
    fs::rename(&copy, files.join("queue.db")).unwrap();
    apply(&store, add(4, Classification::Bug), at(5)).await.unwrap();
    let expected: Vec<_> = (1..=4).map(number).collect();
    assert_eq!(sorted(ids(&all_issues(&store).await.unwrap())), expected);
    assert_eq!(sorted(ids(&all_issues(&open(&directory)).await.unwrap())), expected);
}

/// `cp` writes an old copy, or another queue, over the files of an open database. What `issues.json` has beyond comes
/// back from there, or stays there.
#[tokio::test]
async fn a_database_that_is_written_over_loses_nothing_published() {
    const FILES: [&str; 3] = ["queue.db", "queue.db-wal", "queue.db-shm"];
    let copy = |from: &Path, to: &Path| {
        for name in FILES {
            fs::copy(from.join(name), to.join(name)).unwrap();
        }
    };
    let [directory, other, old] = [(); 3].map(|()| directory());
    let files = |directory: &TempDir| directory.path().join(".ait/issues.json");
    let foreign = open(&other);
    apply(&foreign, add(90, Classification::Bug), at(1)).await.unwrap();
    let file = directory.path().join("issues.json");
    let store = open(&directory);
    let publish = async || store.maintenance().publish().await;
    apply(&store, add(1, Classification::Bug), at(1)).await.unwrap();
    copy(&files(&directory), old.path());
    for n in 2..=5 {
        apply(&store, add(n, Classification::Bug), at(n.into())).await.unwrap();
    }
    publish().await.unwrap();
    copy(old.path(), &files(&directory));
    apply(&store, add(6, Classification::Bug), at(6)).await.unwrap();
    let expected: Vec<_> = (1..=6).map(number).collect();
    assert_eq!(sorted(ids(&all_issues(&store).await.unwrap())), expected);
    publish().await.unwrap();
    let published = fs::read(&file).unwrap();

    copy(&files(&other), &files(&directory));
    apply(&store, add(7, Classification::Bug), at(7)).await.unwrap();
    assert!(publish().await.is_err(), "a file of another queue is written over");
    assert_eq!(fs::read(&file).unwrap(), published);
}

fn sorted(mut ids: Vec<IssueId>) -> Vec<IssueId> {
    ids.sort_unstable();
    ids
}

/// `issues.json` follows the changes, and an edit of it reaches the store without undoing what agents did meanwhile.
#[tokio::test]
async fn the_file_follows_changes_and_edits_are_merged() {
    let directory = directory();
    let file = directory.path().join("issues.json");
    let store = open(&directory);
    for n in 1..=2 {
        apply(&store, add(n, Classification::Bug), at(n.into())).await.unwrap();
    }
    store.close().await;
    let written = fs::read_to_string(&file).unwrap();
    assert_eq!(format::parse(written.clone()).unwrap().issues.len(), 2);

    let store = open(&directory);
    apply(&store, claim(None), at(10)).await.unwrap();
    // The editor began before the claim.
    fs::write(&file, written.replacen("\"title\": \"", "\"title\": \"edited: ", 1)).unwrap();
    let issue = store.get(number(1).into()).await.unwrap();
    assert!(issue.title.as_str().starts_with("edited: "), "{issue:?}");
    assert_eq!(issue.status, Status::InProgress);
    store.close().await;
    let shown = fs::read_to_string(&file).unwrap();
    assert!(shown.contains("edited: ") && shown.contains("in_progress"), "{shown}");

    // An invalid file stays as it is, and agents go on.
    fs::write(&file, "{").unwrap();
    let store = open(&directory);
    apply(&store, add(3, Classification::Bug), at(11)).await.unwrap();
    store.close().await;
    assert_eq!(fs::read_to_string(&file).unwrap(), "{");
    assert_eq!(all_issues(&store).await.unwrap().len(), 3);
}

/// Without a database, the issues of the file are read and nothing is written; the first change takes them over.
#[tokio::test]
async fn a_file_alone_is_read_without_a_trace() {
    let directory = directory();
    let text = issue_json(&number(7).to_string(), "from the file", "created").to_string();
    fs::write(directory.path().join("issues.json"), format!("{{\"issues\": [{text}]}}")).unwrap();
    let store = open(&directory);
    assert_eq!(ids(&all_issues(&store).await.unwrap()), [number(7)]);
    assert!(!directory.path().join(".ait").exists());
    apply(&store, add(8, Classification::Bug), at(1)).await.unwrap();
    assert_eq!(ids(&all_issues(&open(&directory)).await.unwrap()), [number(7), number(8)]);
}

/// A row that is not what was written is named, and is never shown as an issue.
#[tokio::test]
async fn a_damaged_row_is_named() {
    let directory = directory();
    let store = open(&directory);
    for n in 1..=2 {
        apply(&store, add(n, Classification::Bug), at(n.into())).await.unwrap();
    }
    store.close().await;
    drop(store);
    let database = directory.path().join(".ait/issues.json/queue.db");
    // The last connection moves the log into the database when it is closed.
    until("the database is closed", || !database.with_extension("db-wal").exists());
    let bytes = fs::read(&database).unwrap();
    let title = b"\"classification\": \"bug\"";
    let place = bytes.windows(title.len()).rposition(|window| window == title).unwrap();
    let mut damaged = bytes.clone();
    damaged[place + title.len() - 2] = b'q';
    fs::write(&database, damaged).unwrap();
    let store = open(&directory);
    let error = all_issues(&store).await.unwrap_err();
    assert!(matches!(error, StoreError::Damaged(_)), "{error}");
    assert!(error.to_string().contains("is not what was written"), "{error}");
}
