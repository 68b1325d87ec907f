//! The PostgreSQL store passes the store conformance suite on a real server.

use std::sync::Arc;

use agent_issue_tracker::domain::Classification;
use agent_issue_tracker::store::Store;
use proptest::prelude::*;
use tokio_postgres::AsyncMessage;

use crate::support::PATIENCE;
use crate::support::commands::{add, any_command, at, claim, review};
use crate::support::pgbouncer::Pooler;
use crate::support::postgres::{open, project, shared};
use crate::support::stores::apply;
use crate::{conformance, lease_conformance, review_gate};

#[tokio::test]
async fn postgres_store_passes_the_suite() {
    let Some(url) = project() else { return };
    conformance::exercise(&open(&url)).await;
    let Some(many) = project() else { return };
    conformance::claim_from_many_tasks(Arc::new(open(&many))).await;
    conformance::number_own_changes(Arc::new(open(&many))).await;
    let Some(reviews) = project() else { return };
    review_gate::give_reviews_by_policy(&open(&reviews)).await;
    assert_eq!(open(&many).id().await, open(&many).id().await);
    assert_ne!(open(&many).id().await, open(&url).id().await);
}

/// Clients of a pooler share connections, also with other processes.
#[tokio::test]
async fn postgres_store_behind_a_pooler_passes_the_suite() {
    let Some(server) = shared() else { return };
    let Some(pooler) = Pooler::start(&server) else { return };
    conformance::exercise(&open(&pooler.project())).await;
    conformance::claim_from_many_tasks(Arc::new(open(&pooler.project()))).await;
    conformance::number_own_changes(Arc::new(open(&pooler.project()))).await;
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
async fn postgres_events_keep_their_numbers_after_a_restart() {
    let Some(url) = project() else { return };
    conformance::keep_events(|| open(&url)).await;
}

/// Before a process ends, it numbers its last event and notifies other processes.
#[tokio::test]
async fn postgres_stores_number_their_events_before_they_end() {
    let Some(server) = shared() else { return };
    let url = server.project();
    let store = open(&url);
    apply(&store, claim(None), at(0)).await.unwrap();
    let schema = url.split_once("schema=").unwrap().1;
    let (client, mut connection) =
        tokio_postgres::connect(&server.url("ait"), tokio_postgres::NoTls).await.unwrap();
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Some(Ok(message)) = std::future::poll_fn(|cx| connection.poll_message(cx)).await {
            let _ = sender.send(message);
        }
    });
    let channel = format!(
        "ait_{:016x}",
        xxhash_rust::xxh3::xxh3_64(format!("ait changes {schema}").as_bytes())
    );
    client.batch_execute(&format!("LISTEN {channel}")).await.unwrap();
    apply(&store, add(1, Classification::Bug), at(1)).await.unwrap();
    assert!(store.close().await);
    let unnumbered =
        format!("SELECT count(*) FROM {schema}.events WHERE number IS NULL AND body IS NOT NULL");
    let unnumbered: i64 = client.query_one(&unnumbered, &[]).await.unwrap().get(0);
    assert_eq!(unnumbered, 0);
    let message = receiver.try_recv().unwrap();
    assert!(matches!(message, AsyncMessage::Notification(_)), "{message:?}");
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

/// A claim reads a few index entries, however many issues are ready and whichever plan the server picks.
#[tokio::test]
async fn claims_in_a_large_project_read_few_index_entries() {
    const READY: u64 = 20_000;
    let Some(server) = shared() else { return };
    let url = server.project();
    let schema = url.split_once("schema=").unwrap().1;
    open(&url).make_schema().await.unwrap();
    let client = server.connect().await;
    let fill = "INSERT INTO {s}.issues (id, position, status, kind, priority, modified, parked, question, authors, active) \
        SELECT lpad(to_hex(n), 32, '0')::uuid, n::bigint << 20, n % 2 * 2, n % 3, 2, n, false, false, '{a}', 0 \
        FROM generate_series(1, 40000) n; \
        INSERT INTO {s}.issue_texts SELECT id, json_build_object('id', id, 'title', 'Issue', 'description', '', \
        'classification', (ARRAY['bug', 'improvement', 'feature'])[kind + 1], 'createdAt', '2026-01-31T09:30:00.000Z', \
        'modifiedAt', '2026-01-31T09:30:00.000Z', 'status', CASE status WHEN 0 THEN 'created' ELSE 'completed' END, \
        'history', '[]'::json, 'comments', '[]'::json)::text, '{a}', 'a', 0, 0, 0, '{}' FROM {s}.issues; \
        SELECT setval('{s}.event_seq', 40001);";
    client.batch_execute(&fill.replace("{s}", schema)).await.unwrap();
    for table in ["issues", "issue_texts"] {
        client.batch_execute(&format!("VACUUM ANALYZE {schema}.{table}")).await.unwrap();
    }
    let read = "SELECT coalesce(sum(idx_tup_read), 0)::bigint FROM pg_stat_user_indexes WHERE schemaname = $1";
    let read = async || client.query_one(read, &[&schema]).await.unwrap().get::<_, i64>(0);
    let before = read().await;
    let store = open(&url);
    for nth in 0..20 {
        let command = if nth % 2 == 0 { claim(None) } else { review() };
        assert!(apply(&store, command, at(nth)).await.unwrap().is_some());
    }
    // The connections report their statistics when they end.
    drop(store);
    let begun = std::time::Instant::now();
    while read().await < before + 20 {
        assert!(begun.elapsed() < PATIENCE, "the server does not report its reads");
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let read = (read().await - before).cast_unsigned();
    assert!(read < READY / 4, "20 claims read {read} index entries");
}

proptest! {
    // Each command is synced to disk, so few cases are enough.
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn postgres_store_matches_the_model(commands in prop::collection::vec(any_command(), 1..80)) {
        if let Some(url) = project() {
            conformance::matches_the_model(&open(&url), &commands)?;
        }
    }
}
