//! The read model.

use std::fs;
use std::sync::Arc;

use agent_issue_tracker::domain::{Classification, Command, HAND_EDIT, Issue, Order, Query};
use agent_issue_tracker::read_model::ReadModel;
use agent_issue_tracker::store::{SqliteStore, Store};
use agent_issue_tracker::tracker::{NewIssue, Tracker};

use serde_json::json;

use crate::support::commands::{add, at, claim, number};
use crate::support::directory_in_memory;
use crate::support::stores::apply;

#[test]
fn read_model_survives_a_panicking_reader() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let directory = directory_in_memory();
        let store = SqliteStore::new(directory.path().join("issues.json"));
        let tracker = Tracker::new(Arc::new(store));
        let read_model = ReadModel::new(tracker.clone());
        for count in 1..4 {
            let (title, text, agent) = ("t".try_into(), "".try_into(), "a".try_into());
            let issue = NewIssue::new(title.unwrap(), text.unwrap(), Classification::Bug);
            tracker.add_issue(issue, agent.unwrap()).await.unwrap();
            let broken = read_model.clone();
            let broken = tokio::spawn(async move { broken.read(|_| panic!("on purpose")).await });
            assert!(broken.await.unwrap_err().is_panic());
            let seen = read_model.read(|view| view.summaries().len()).await;
            assert_eq!(seen.unwrap(), count);
        }
    });
}

/// Each read shows what the store has, whatever another process did to it.
#[tokio::test]
async fn read_model_shows_what_the_store_has() {
    let directory = directory_in_memory();
    let file = directory.path().join("issues.json");
    let other = SqliteStore::new(&file);
    let tracker = Tracker::new(Arc::new(SqliteStore::new(&file)));
    let read_model = ReadModel::new(tracker.clone());
    let is_current = async |what: &str| {
        let all = Query { order: Order::Filed, take: usize::MAX, ..Query::default() };
        let issues = tracker.list_issues(all).await.unwrap().issues;
        let expected: Vec<_> =
            issues.iter().map(|issue| (issue.id, issue.title.clone(), issue.status)).collect();
        let counts = tracker.counts().await.unwrap();
        let shown = read_model.read(move |view| {
            let shown = view.summaries().iter();
            let shown = shown.map(|one| (one.id, one.title.to_string(), one.status));
            (shown.collect::<Vec<_>>(), view.counts())
        });
        assert_eq!(shown.await.unwrap(), (expected, counts), "{what}");
    };
    is_current("nothing").await;
    for n in 0..3 {
        apply(&other, add(n, Classification::Bug), at(i64::from(n))).await.unwrap();
        is_current("a new issue").await;
    }
    let claimed = apply(&other, claim(None), at(9)).await.unwrap().unwrap();
    is_current("a claim").await;
    let title = "Another title".to_owned();
    let theirs = Issue { title, ..Issue::clone(&claimed) }.into();
    let edit = Command::MergeEdit { theirs, base: Some(Arc::clone(&claimed)) };
    let more = [edit, add(3, Classification::Bug), add(4, Classification::Bug)];
    other.commit(more.into(), at(10)).await.unwrap();
    is_current("several changes").await;
    let issue = Issue { id: number(5), ..Issue::clone(&claimed) }.into();
    let insert = Command::InsertIssue { issue, next: Some(number(2)), agent: HAND_EDIT.to_owned() };
    apply(&other, insert, at(11)).await.unwrap();
    is_current("an issue between others").await;
    let next = Some(number(2));
    let remove = Command::RemoveIssue { issue: number(1), next, agent: "restore".to_owned() };
    apply(&other, remove, at(12)).await.unwrap();
    is_current("a removed issue").await;
    apply(&other, claim(None), at(13)).await.unwrap().unwrap();
    is_current("a claim after that").await;
}

/// Issues that stand in `issues.json` alone are read once, and again when the file changes.
#[tokio::test]
async fn read_model_keeps_what_a_file_without_changes_has() {
    let directory = directory_in_memory();
    let file = directory.path().join("issues.json");
    let write = |title: &str| {
        let time = "2026-01-01T00:00:00.000Z";
        let issue = json!({ "id": number(0), "title": title, "description": "", "classification": "bug",
            "createdAt": time, "modifiedAt": time, "status": "created", "history": [], "comments": [] });
        fs::write(&file, json!({ "issues": [issue] }).to_string()).unwrap();
    };
    let tracker = Tracker::new(Arc::new(SqliteStore::new(&file)));
    let read_model = ReadModel::new(tracker.clone());
    let place = async || {
        let first = read_model.read(|view| {
            let first = view.summaries().iter().next().unwrap();
            (first.title.to_string(), std::ptr::from_ref(first).addr())
        });
        first.await.unwrap()
    };
    write("One");
    let first = place().await;
    assert_eq!((first.0.as_str(), &first), ("One", &place().await));
    write("Another");
    assert_eq!(place().await.0, "Another");
}
