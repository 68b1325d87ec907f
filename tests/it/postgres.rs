//! The store in PostgreSQL: what every store must do, on a real server.

use std::sync::Arc;

use agent_issue_tracker::store::Store;
use proptest::prelude::*;

use crate::support::commands::any_command;
use crate::support::pgbouncer::Pooler;
use crate::support::postgres::{open, project, shared};
use crate::{conformance, lease_conformance};

#[tokio::test]
async fn postgres_store_passes_the_suite() {
    let Some(url) = project() else { return };
    conformance::exercise(&open(&url)).await;
    let Some(many) = project() else { return };
    conformance::claim_from_many_tasks(Arc::new(open(&many))).await;
    assert_eq!(open(&many).id().await, open(&many).id().await);
    assert_ne!(open(&many).id().await, open(&url).id().await);
}

/// Clients of a pooler share connections, also those of other processes.
#[tokio::test]
async fn postgres_store_behind_a_pooler_passes_the_suite() {
    let Some(server) = shared() else { return };
    let Some(pooler) = Pooler::start(&server) else { return };
    conformance::exercise(&open(&pooler.project())).await;
    conformance::claim_from_many_tasks(Arc::new(open(&pooler.project()))).await;
    let url = pooler.project();
    conformance::keep_events(|| open(&url)).await;
    let url = pooler.project();
    conformance::push_changes(&open(&url), &open(&url)).await;
    lease_conformance::exercise(&open(&pooler.project())).await;
    let url = pooler.project();
    lease_conformance::race_lapses_with_take_ups([Arc::new(open(&url)), Arc::new(open(&url))])
        .await;
}

#[tokio::test]
async fn events_and_their_numbers_survive_restarts_of_postgres_stores() {
    let Some(url) = project() else { return };
    conformance::keep_events(|| open(&url)).await;
}

#[tokio::test]
async fn changes_through_postgres_are_pushed_to_watchers() {
    let Some(url) = project() else { return };
    conformance::push_changes(&open(&url), &open(&url)).await;
    let Some(url) = project() else { return };
    let url = format!("{url}&listen=off");
    conformance::push_changes(&open(&url), &open(&url)).await;
}

#[tokio::test]
async fn closed_postgres_store_refuses_changes_but_can_be_read() {
    let Some(url) = project() else { return };
    conformance::refuse_changes_after_the_end(&open(&url)).await;
}

#[tokio::test]
async fn postgres_store_keeps_leases() {
    let Some(url) = project() else { return };
    lease_conformance::exercise(&open(&url)).await;
    let store = open(&url);
    let exercised = move || lease_conformance::exercise_clients(&store);
    tokio::task::spawn_blocking(exercised).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lapse_and_a_take_up_in_postgres_never_both_win() {
    let Some(url) = project() else { return };
    lease_conformance::race_lapses_with_take_ups([Arc::new(open(&url)), Arc::new(open(&url))])
        .await;
}

proptest! {
    // Each command is synced to the disk.
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn postgres_store_matches_the_model(commands in prop::collection::vec(any_command(), 1..80)) {
        if let Some(url) = project() {
            conformance::matches_the_model(&open(&url), &commands)?;
        }
    }
}
