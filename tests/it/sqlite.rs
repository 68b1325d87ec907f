//! The store in a SQLite database under the suites that every store passes.

use std::sync::Arc;

use agent_issue_tracker::store::{SqliteStore, Store};
use proptest::prelude::*;
use tempfile::TempDir;

use crate::support::commands::any_command;
use crate::support::{directory, directory_in_memory};
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
