//! Errors of the PostgreSQL store when the database fails, and its recovery.

use std::num::NonZeroUsize;

use agent_issue_tracker::domain::{AgentName, ClaimTerms, Classification, Command, ReviewPolicy};
use agent_issue_tracker::store::postgres::Password;
use agent_issue_tracker::store::{
    PostgresOptions, PostgresStore, Probe, Store, StoreError, Subset,
};
use futures::future::join_all;

use crate::support::commands::{add, at, claim, number, say};
use crate::support::directory;
use crate::support::postgres::{Server, open, project, shared};
use crate::support::runs::run;
use crate::support::stores::{WholeState, apply};
use crate::{conformance, lease_conformance};

fn is_about(error: &StoreError, words: &[&str]) -> bool {
    let text = error.to_string();
    words.iter().all(|word| text.contains(word))
}

#[tokio::test]
async fn the_store_recovers_when_a_stopped_server_restarts() {
    let Some(server) = Server::start(&[]) else { return };
    let store = open(&server.project());
    apply(&store, add(1, Classification::Bug), at(0)).await.unwrap();
    server.stop("INT");
    let error = apply(&store, claim(None), at(1)).await.unwrap_err();
    assert!(matches!(error, StoreError::Away(_)), "{error}");
    let error = store.counts().await.unwrap_err();
    assert!(matches!(error, StoreError::Away(_)), "{error}");
    assert!(error.code().is_recoverable());
    assert!(store.health(Probe::Known).await.trouble.is_some());
    server.run();
    assert!(apply(&store, claim(None), at(2)).await.unwrap().is_some());
    assert!(store.health(Probe::Known).await.trouble.is_none());
}

#[tokio::test]
async fn an_earlier_schema_is_left_alone() {
    let Some(server) = shared() else { return };
    let url = server.project();
    open(&url).make_schema().await.unwrap();
    let schema = url.split_once("schema=").unwrap().1;
    let client = server.connect().await;
    client.batch_execute(&format!("UPDATE {schema}.meta SET version = 11")).await.unwrap();
    let store = open(&url);
    let error = apply(&store, add(1, Classification::Bug), at(0)).await.unwrap_err();
    assert!(matches!(&error, StoreError::Earlier(what) if what.ends_with(schema)), "{error}");
    assert!(matches!(store.counts().await.unwrap_err(), StoreError::Earlier(_)));
    let directory = directory();
    let report = run(directory.path(), &["--store", &url, "doctor"]);
    assert!(report.out.contains("`ait backup FILE` with the version that made it"), "{report:?}");

    client.batch_execute(&format!("ALTER SCHEMA {schema} RENAME TO {schema}_away")).await.unwrap();
    apply(&store, add(1, Classification::Bug), at(1)).await.unwrap();
}

#[tokio::test]
async fn a_newer_schema_is_left_alone() {
    let Some(server) = shared() else { return };
    let url = server.project();
    open(&url).make_schema().await.unwrap();
    let schema = url.split_once("schema=").unwrap().1;
    let client = server.connect().await;
    client.batch_execute(&format!("UPDATE {schema}.meta SET version = 999")).await.unwrap();
    let store = open(&url);
    let error = apply(&store, add(1, Classification::Bug), at(0)).await.unwrap_err();
    assert!(matches!(error, StoreError::Newer(_)), "{error}");
    assert!(matches!(store.counts().await.unwrap_err(), StoreError::Newer(_)));

    // A process that runs while a newer one migrates the schema gets the same error.
    let url = server.project();
    let schema = url.split_once("schema=").unwrap().1;
    let store = open(&url);
    apply(&store, add(1, Classification::Bug), at(0)).await.unwrap();
    let migrate = format!("ALTER TABLE {schema}.issues DROP COLUMN active");
    client.batch_execute(&migrate).await.unwrap();
    let error = apply(&store, add(2, Classification::Bug), at(1)).await.unwrap_err();
    assert!(matches!(error, StoreError::Newer(_)), "{error}");
}

#[tokio::test]
async fn processes_that_migrate_at_once_agree() {
    let Some(server) = shared() else { return };
    let url = server.project();
    let stores: Vec<_> = (0..6).map(|_| open(&url)).collect();
    let migrated = futures::future::join_all(stores.iter().map(PostgresStore::make_schema)).await;
    assert!(migrated.iter().all(Result::is_ok), "{migrated:?}");
    apply(&stores[0], add(1, Classification::Bug), at(0)).await.unwrap();
    assert_eq!(stores[5].counts().await.unwrap().total(), 1);
}

#[tokio::test]
async fn missing_rights_are_named() {
    let Some(server) = shared() else { return };
    let url = server.project();
    let schema = url.split_once("schema=").unwrap().1.to_owned();
    open(&url).make_schema().await.unwrap();
    let client = server.connect().await;
    let role = format!("r_{schema}");
    let grants = format!(
        "CREATE ROLE {role} LOGIN; GRANT USAGE ON SCHEMA {schema} TO {role}; \
         GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}"
    );
    client.batch_execute(&grants).await.unwrap();
    let store = open(&format!("{}?schema={schema}", server.url(&role)));
    assert_eq!(store.counts().await.unwrap().total(), 0);
    let error = apply(&store, add(1, Classification::Bug), at(0)).await.unwrap_err();
    assert!(is_about(&error, &["permission denied", "rights"]), "{error}");
    // This role cannot number events, so it does not see an event without a number.
    let owner = open(&url);
    for n in 1..3 {
        apply(&owner, add(n, Classification::Bug), at(0)).await.unwrap();
        assert_eq!(owner.events(0, 10).await.unwrap().newest.number, u64::from(n));
    }
    // An open store would number the event again.
    assert!(owner.close().await);
    drop(owner);
    let take_number =
        format!("UPDATE {schema}.events SET number = NULL, totals = NULL WHERE number = 2");
    client.batch_execute(&take_number).await.unwrap();
    assert_eq!(store.events(0, 10).await.unwrap().newest.number, 1);
    assert_eq!(store.state().await.unwrap().issues.len(), 1);
    assert_eq!(store.counts().await.unwrap().total(), 2);
    // The role has no access to another project.
    let other = server.project();
    open(&other).make_schema().await.unwrap();
    let other = other.split_once("schema=").unwrap().1;
    let error = open(&format!("{}?schema={other}", server.url(&role))).counts().await.unwrap_err();
    assert!(is_about(&error, &["permission denied"]), "{error}");
}

/// The grants in docs/postgres.md are enough for a role that is not the owner.
#[tokio::test]
async fn the_least_rights_suffice() {
    let Some(server) = shared() else { return };
    let worker = async || {
        let url = server.project();
        open(&url).make_schema().await.unwrap();
        let schema = url.split_once("schema=").unwrap().1;
        open(&format!("{}?schema={schema}", server.url(&server.worker(&url).await)))
    };
    conformance::exercise(&worker().await).await;
    lease_conformance::exercise(&worker().await).await;
    let store = worker().await;
    let exercised = move || lease_conformance::exercise_clients(&store);
    tokio::task::spawn_blocking(exercised).await.unwrap();
    assert!(worker().await.health(Probe::Trial).await.trouble.is_none());
}

/// Requests share a transaction, but an error in one does not fail the others.
#[tokio::test]
async fn a_failed_request_does_not_fail_its_batch() {
    let Some(server) = shared() else { return };
    let url = server.project();
    let schema = url.split_once("schema=").unwrap().1;
    let store = open(&url);
    apply(&store, add(0, Classification::Bug), at(0)).await.unwrap();
    let client = server.connect().await;
    let refuse = format!("ALTER TABLE {schema}.events ADD CHECK (body NOT LIKE '%issue 4%')");
    client.batch_execute(&refuse).await.unwrap();
    let adds =
        |ids: std::ops::Range<u32>| ids.map(|n| apply(&store, add(n, Classification::Bug), at(1)));
    for (n, added) in (1..9).zip(join_all(adds(1..9)).await) {
        match added {
            Ok(_) => assert_ne!(n, 4),
            Err(error) => {
                assert!(n == 4 && matches!(error, StoreError::NotSaved(_)), "{n}: {error}");
            }
        }
    }
    // Another connection locks issue 0.
    client.batch_execute(&format!("BEGIN; SELECT FROM {schema}.issues FOR UPDATE")).await.unwrap();
    let freed = async {
        for added in join_all(adds(10..15)).await {
            added.unwrap();
        }
        client.batch_execute("COMMIT").await.unwrap();
    };
    let ((), commented) = tokio::join!(freed, apply(&store, say(number(0).into()), at(2)));
    commented.unwrap();
}

/// PostgreSQL cannot store the NUL character, which an agent name may contain.
#[tokio::test]
async fn an_agent_with_nul_in_its_name_can_work() {
    let Some(url) = project() else { return };
    let store = open(&url);
    let agent = AgentName::try_from("a\0b").unwrap();
    let terms = ClaimTerms { max_claims: NonZeroUsize::new(1), ..ClaimTerms::default() };
    for n in 0..2 {
        apply(&store, add(n, Classification::Bug), at(0)).await.unwrap();
    }
    let work =
        Command::GetNextIssue { issue: None, classification: None, agent: agent.clone(), terms };
    let claimed = apply(&store, work.clone(), at(1)).await.unwrap().unwrap();
    assert_eq!(claimed.holder().unwrap().agent, agent.as_str());
    let error = apply(&store, work, at(2)).await.unwrap_err();
    assert!(matches!(error, StoreError::Refused(_)), "{error}");
    let held = store.subset(Subset::HeldBy(agent.clone())).await.unwrap();
    assert!(held.issues.get(claimed.id).is_some());
    let claimable = store.subset(Subset::Claimable(vec![agent.clone()])).await.unwrap();
    assert_eq!(claimable.issues.len(), 1);
    let terms = ClaimTerms { review: ReviewPolicy::NotAuthor, ..ClaimTerms::default() };
    let review = Command::GetNextReviewItem { agent, terms };
    assert!(apply(&store, review, at(3)).await.unwrap().is_none());
}

#[tokio::test]
async fn a_schema_may_have_the_name_of_a_reserved_word() {
    let Some(server) = shared() else { return };
    let store = open(&format!("{}?schema=user", server.url("ait")));
    conformance::exercise(&store).await;
    let known = store.health(Probe::Trial).await;
    assert!(known.trouble.is_none(), "{known:?}");
    assert_eq!(known.database.unwrap().missing_indexes, Vec::<String>::new());
}

#[tokio::test]
async fn a_read_only_database_is_reported_and_readable() {
    let Some(server) = shared() else { return };
    let url = server.project();
    let store = open(&url);
    apply(&store, add(1, Classification::Bug), at(0)).await.unwrap();
    assert_eq!(store.events(0, 10).await.unwrap().newest.number, 1);
    let read_only = open(&format!("{url}&options=-c%20default_transaction_read_only%3Don"));
    let error = apply(&read_only, claim(None), at(1)).await.unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly(_)), "{error}");
    assert_eq!(read_only.counts().await.unwrap().total(), 1);
    assert_eq!(read_only.state().await.unwrap().issues.len(), 1);
    assert_eq!(read_only.events(0, 10).await.unwrap().events.len(), 1);
}

#[tokio::test]
async fn health_names_missing_indexes_bloat_and_old_snapshots() {
    let Some(server) = shared() else { return };
    let url = server.project();
    let schema = url.split_once("schema=").unwrap().1;
    let store = open(&url);
    store.make_schema().await.unwrap();
    let known = async || store.health(Probe::Known).await.database.unwrap();
    assert_eq!(known().await.missing_indexes, Vec::<String>::new());
    let client = server.connect().await;
    client.batch_execute(&format!("DROP INDEX {schema}.issues_ready")).await.unwrap();
    assert_eq!(known().await.missing_indexes, ["issues_ready"]);
    let hold = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1 FROM pg_class";
    client.batch_execute(hold).await.unwrap();
    let begun = std::time::Instant::now();
    while known().await.oldest_snapshot_s < 1 {
        assert!(begun.elapsed() < crate::support::PATIENCE, "the old snapshot is not reported");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    client.batch_execute("COMMIT").await.unwrap();
    let fill = format!(
        "ALTER TABLE {schema}.links SET (autovacuum_enabled = false); INSERT INTO {schema}.links \
         SELECT gen_random_uuid(), 0, gen_random_uuid() FROM generate_series(1, 30000); DELETE FROM {schema}.links"
    );
    client.batch_execute(&fill).await.unwrap();
    let begun = std::time::Instant::now();
    while known().await.bloated_tables != ["links"] {
        assert!(begun.elapsed() < crate::support::PATIENCE, "the bloat is not reported");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn a_password_error_names_pgpass_and_hides_the_password() {
    let Some(server) = Server::start(&[]) else { return };
    let client = server.connect().await;
    client.batch_execute("CREATE ROLE guarded LOGIN SUPERUSER PASSWORD 'right'").await.unwrap();
    server.require_password("guarded");
    client.batch_execute("SELECT pg_reload_conf()").await.unwrap();
    let url = server.url("guarded");
    let options = |password: &str| {
        PostgresOptions::parse(&url).unwrap().with_password(Some(Password::new(password)))
    };
    let error = loop {
        // The server may not have reloaded its rules yet.
        match PostgresStore::new(options("wr0ng")).make_schema().await {
            Ok(()) => tokio::task::yield_now().await,
            Err(error) => break error,
        }
    };
    assert!(is_about(&error, &["password", "~/.pgpass"]), "{error}");
    assert!(!error.to_string().contains("wr0ng") && !format!("{error:?}").contains("wr0ng"));
    PostgresStore::new(options("right")).make_schema().await.unwrap();
}
