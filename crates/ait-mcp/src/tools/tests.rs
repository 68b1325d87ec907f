//! Tests of what all tools have in common.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::options::Toolsets;
use crate::testing::{call_with, file_issue};
use crate::waiting::WaitingClient;
use ait_domain::{AgentName, ClaimProof, Classification, Facts, IssueChange, Status};
use ait_store::Store;
use ait_store::testing::{Reads, TestStore};
use ait_tracker::{BulkChange, ClaimKind, Tracker};

/// How long an answer may wait for what it shows besides the change.
const PATIENCE: Duration = Duration::from_secs(10);

/// The tools that change issues, each with its arguments and the status in which it finds the first issue and leaves
/// it. `change_issues` is [`Tracker::change_many`], which a test below calls.
fn changes(id: &str, other: &str) -> Vec<(&'static str, Value, Status, Status)> {
    use Status::{Closed, Completed, Created, InProgress, InReview, Rejected};

    let new = json!({ "title": "new", "description": "", "classification": "bug" });
    let on = |more: Value| {
        let mut arguments = json!({ "issue_id": id, "agent": "b" });
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        arguments
    };
    let comment = json!({ "comment": "done" });
    let add = json!({ "title": "new", "description": "", "classification": "bug", "agent": "b" });
    let close = json!({ "comment": "done", "resolution": "closed" });
    let undo = json!({ "change": "1", "agent": "b", "dry_run": false });
    vec![
        ("add_issue", add, Created, Created),
        ("add_issues", json!({ "issues": [new.clone(), new], "agent": "b" }), Created, Created),
        ("get_next_issue", json!({ "agent": "b" }), Created, InProgress),
        ("get_next_issue", json!({ "agent": "b", "wait_seconds": 9 }), Created, InProgress),
        ("get_next_issue", on(json!({})), Created, InProgress),
        ("return_issue", on(comment.clone()), InProgress, Created),
        ("complete_issue", on(comment), InProgress, Completed),
        ("get_next_review_item", json!({ "agent": "b" }), Completed, InReview),
        ("close_issue", on(close), Created, Closed),
        ("update_issue", on(json!({ "priority": 1 })), Created, Created),
        ("ask_human", on(json!({ "question": "which?" })), InProgress, Created),
        ("link_issues", on(json!({ "kind": "related", "to": [other] })), Created, Created),
        ("undo_change", undo, Created, Rejected),
    ]
}

/// Files two issues, and brings the first one into a status. Returns their ids.
async fn prepare(tracker: &Tracker, status: Status) -> [String; 2] {
    let first = file_issue(tracker).await.id;
    let other = file_issue(tracker).await.id;
    let agent = AgentName::try_from("b").unwrap();
    match status {
        Status::InProgress => {
            tracker.claim_issue(first.into(), agent).await.unwrap();
        }
        Status::Completed => {
            let comment = "done".try_into().unwrap();
            let proof = ClaimProof::default();
            tracker
                .complete_issue(first.into(), comment, agent, proof, Facts::default())
                .await
                .unwrap();
        }
        _ => {}
    }
    [first.to_string(), other.to_string()]
}

#[tokio::test(start_paused = true)]
async fn a_change_stands_if_nothing_can_be_read_after_its_commit() {
    for at in 0..changes("", "").len() {
        for reads in [Reads::FailAfterCommit, Reads::StallAfterCommit] {
            let store = Arc::new(TestStore::new(|_| ()));
            let tracker = Tracker::new(Arc::clone(&store) as Arc<dyn Store>);
            let before = changes("", "")[at].2;
            let [id, other] = prepare(&tracker, before).await;
            let (tool, arguments, _, after) = changes(&id, &other).swap_remove(at);
            let newest = tracker.log_bounds().await.unwrap().newest.number;
            store.set_reads(reads);
            let begun = Instant::now();
            let waiting = WaitingClient::default();
            let answer = call_with(Toolsets::ALL, &tracker, tool, arguments, waiting).await;
            assert!(begun.elapsed() < PATIENCE, "{tool} {reads:?}: {:?}", begun.elapsed());
            let answer = answer.unwrap_or_else(|failure| panic!("{tool} {reads:?}: {failure:?}"));
            store.set_reads(Reads::Work);
            assert!(tracker.log_bounds().await.unwrap().newest.number > newest, "{tool}");
            let issue = tracker.get_issue(id.parse().unwrap()).await.unwrap();
            assert_eq!(issue.status, after, "{tool} {reads:?}");
            drop(answer);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_bulk_change_stands_if_its_numbers_cannot_be_read() {
    for reads in [Reads::FailAfterCommit, Reads::StallAfterCommit] {
        let store = Arc::new(TestStore::new(|_| ()));
        let tracker = Tracker::new(Arc::clone(&store) as Arc<dyn Store>);
        let id = file_issue(&tracker).await.id;
        let classification = Some(Classification::Feature);
        let change = IssueChange { classification, ..IssueChange::default() };
        let bulk = BulkChange { change, ..BulkChange::default() };
        let agent = "b".try_into().unwrap();
        store.set_reads(reads);
        let proof = ClaimProof::default();
        let outcome = tracker.change_many(&[id], &bulk, &agent, proof, false).await.unwrap();
        assert_eq!((outcome.changed.len(), outcome.events), (1, None));
    }
}

/// A claim whose reads after the commit do not end lapses if its caller goes meanwhile.
#[tokio::test(start_paused = true)]
async fn a_claim_lapses_if_its_caller_goes_during_the_reads_after_it() {
    let store = Arc::new(TestStore::new(|_| ()));
    let tracker = Tracker::new(Arc::clone(&store) as Arc<dyn Store>);
    let [id, _] = prepare(&tracker, Status::Created).await;
    store.set_reads(Reads::StallAfterCommit);
    let arguments = json!({ "agent": "b" });
    let waiting = WaitingClient::default();
    let call = call_with(Toolsets::ALL, &tracker, "get_next_issue", arguments, waiting);
    assert!(tokio::time::timeout(Duration::from_secs(1), call).await.is_err());
    store.set_reads(Reads::Work);
    tracker.close().await;
    assert_eq!(tracker.get_issue(id.parse().unwrap()).await.unwrap().status, Status::Created);
    let next = tracker.claim_next(ClaimKind::Work(None), "c".try_into().unwrap()).await;
    assert_eq!(next.unwrap().map(|claimed| claimed.issue.id.to_string()), Some(id));
}
