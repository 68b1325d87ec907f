//! Migration of a file store to PostgreSQL, and back.

use std::process::Stdio;
use std::time::Instant;

use agent_issue_tracker::domain::Classification;
use agent_issue_tracker::store::transfer::{TransferTarget, compare};
use agent_issue_tracker::store::{SqliteStore, Store};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::support::commands::{add, any_command, at, claim};
use crate::support::postgres::{Server, open, project, shared};
use crate::support::runs::run;
use crate::support::stores::apply;
use crate::support::{PATIENCE, ait, directory, directory_in_memory};
use crate::transfer::{
    make_every_kind, more, move_and_go_on, open_files, pruned, refuse_changes_meanwhile, run_all,
    take_over,
};

fn files(directory: &tempfile::TempDir) -> SqliteStore {
    SqliteStore::new(directory.path().join("issues.json"))
}

proptest! {
    // Each command is synced to disk, so few cases are enough.
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_history_migrates_to_postgres_and_back(
        before in prop::collection::vec(any_command(), 0..60),
        after in prop::collection::vec(any_command(), 1..30),
    ) {
        let Some(url) = project() else { return Ok(()) };
        Runtime::new().unwrap().block_on(async {
            let (one, other) = (directory_in_memory(), directory_in_memory());
            let source = files(&one);
            run_all(&source, &before, 0).await;
            let again = async || Box::new(open(&url)) as Box<dyn TransferTarget>;
            let commands: Vec<_> =
                [add(50, Classification::Bug)].into_iter().chain(after.clone()).collect();
            let database = open(&url);
            move_and_go_on(&source, &database, again, &commands).await;
            let again = async || Box::new(files(&other)) as Box<dyn TransferTarget>;
            let commands: Vec<_> =
                [add(51, Classification::Bug)].into_iter().chain(after).collect();
            move_and_go_on(&database, &files(&other), again, &commands).await;
        });
    }
}

#[tokio::test]
async fn every_event_kind_migrates_to_postgres_and_back() {
    let Some(url) = project() else { return };
    let (one, other) = (directory_in_memory(), directory_in_memory());
    let source = files(&one);
    make_every_kind(&source).await;
    let again = async || Box::new(open(&url)) as Box<dyn TransferTarget>;
    let database = open(&url);
    let compared = move_and_go_on(&source, &database, again, &more()).await;
    assert!(compared.leases >= 1 && compared.oldest == 1, "{compared:?}");
    let again = async || Box::new(files(&other)) as Box<dyn TransferTarget>;
    let back = move_and_go_on(&database, &files(&other), again, &[]).await;
    assert_eq!(back, compared);
}

#[tokio::test]
async fn event_numbers_continue_in_postgres_after_pruning() {
    let Some(url) = project() else { return };
    let other = directory_in_memory();
    let source = pruned().await;
    let again = async || Box::new(open(&url)) as Box<dyn TransferTarget>;
    let database = open(&url);
    let compared = move_and_go_on(&source, &database, again, &more()).await;
    assert!(compared.oldest > 1, "{compared:?}");
    let again = async || Box::new(files(&other)) as Box<dyn TransferTarget>;
    assert_eq!(move_and_go_on(&database, &files(&other), again, &[]).await, compared);
}

/// After its whole log is removed, a file store has issues without events and no events for their numbers.
#[tokio::test]
async fn issues_without_events_migrate_to_postgres() {
    let Some(url) = project() else { return };
    let (one, other) = (directory_in_memory(), directory_in_memory());
    let source = files(&one);
    run_all(&source, &[add(1, Classification::Bug), claim(None), add(2, Classification::Bug)], 0)
        .await;
    source.maintenance().publish().await.unwrap();
    drop(source);
    std::fs::remove_dir_all(one.path().join(".ait")).unwrap();
    let source = files(&one);
    let again = async || Box::new(open(&url)) as Box<dyn TransferTarget>;
    let database = open(&url);
    let compared = move_and_go_on(&source, &database, again, &[]).await;
    assert_eq!((compared.issues, compared.oldest, compared.newest), (2, 1, 0));
    let commands = [claim(None), add(3, Classification::Bug), claim(None)];
    let again = async || Box::new(files(&other)) as Box<dyn TransferTarget>;
    let compared = move_and_go_on(&database, &files(&other), again, &commands).await;
    assert_eq!((compared.issues, compared.oldest, compared.newest), (3, 1, 3));
}

#[tokio::test]
async fn a_source_that_changes_is_not_migrated_to_postgres() {
    let Some(url) = project() else { return };
    refuse_changes_meanwhile(&open(&url)).await;
}

#[tokio::test]
async fn a_database_that_is_not_empty_is_refused() {
    let Some(url) = project() else { return };
    let from = directory_in_memory();
    let (database, source) = (open(&url), open_files(from.path()));
    make_every_kind(&source).await;
    apply(&database, add(1, Classification::Bug), at(0)).await.unwrap();
    let error = take_over(&source, &database).await.unwrap_err().to_string();
    assert!(error.contains("is not empty"), "{error}");
    assert_eq!(database.counts().await.unwrap().total(), 1);
}

/// The role of an agent has the rights that a migration needs.
#[tokio::test]
async fn the_least_rights_suffice_for_a_migration() {
    let Some(server) = shared() else { return };
    let url = server.project();
    open(&url).make_schema().await.unwrap();
    let role = server.worker(&url).await;
    let schema = url.split_once("schema=").unwrap().1;
    let database = open(&format!("{}?schema={schema}", server.url(&role)));
    let from = directory_in_memory();
    let source = open_files(from.path());
    make_every_kind(&source).await;
    take_over(&source, &database).await.unwrap();
    compare(&source, &database).await.unwrap();
}

#[test]
fn the_command_migrates_to_postgres_and_back() {
    let Some(server) = shared() else { return };
    let url = server.project().replace("ait@", "ait:s3cret@");
    let place = directory();
    let path = place.path();
    for title in ["one", "two", "three"] {
        run(path, &["add", title]).ok();
    }
    run(path, &["next", "-a", "dev"]).ok();
    let log = run(path, &["log", "--json", "-n", "100"]).ok();
    let moved = run(path, &["migrate", "--from", "issues.json", "--to", &url]);
    assert!(!moved.out.contains("s3cret") && !moved.log.contains("s3cret"), "{moved:?}");
    let moved = moved.ok();
    assert!(moved.contains("3 issues, 4 events, 1 to 4"), "{moved}");
    assert!(moved.contains("verified"), "{moved}");
    assert_eq!(run(path, &["--store", &url, "log", "--json", "-n", "100"]).ok(), log);
    let events = run(path, &["--store", &url, "log", "--json", "--after", "3"]).ok();
    assert_eq!(events.lines().count(), 1, "{events}");
    run(path, &["--store", &url, "add", "four"]).ok();
    // Both stores now have issues, so neither can be a target.
    for (from, to) in [("issues.json", &*url), (&url, "issues.json")] {
        let refused = run(path, &["migrate", "--from", from, "--to", to]).refusal();
        assert!(
            refused.contains("nothing was moved") && refused.contains("not empty"),
            "{refused}"
        );
    }
    let back = run(path, &["migrate", "--from", &url, "--to", "back.json", "--json"]).ok();
    let mut report: Value = serde_json::from_str(&back).unwrap();
    let expected = json!({
        "issues": 4, "leases": 0, "events": 5, "oldestEvent": 1, "newestEvent": 5, "verified": true,
    });
    let report = report.as_object_mut().unwrap();
    assert!(!report.remove("from").unwrap().to_string().contains("s3cret"));
    assert!(report.remove("to").unwrap().to_string().contains("back.json"));
    assert_eq!(Value::Object(report.clone()), expected);
    let shown = run(path, &["--file", "back.json", "list", "--json"]).ok();
    assert_eq!(run(path, &["--store", &url, "list", "--json"]).ok(), shown);
    assert!(std::fs::read_to_string(path.join("back.json")).unwrap().contains("four"));
    run(path, &["--file", "back.json", "doctor"]).ok();
}

/// A migration killed halfway leaves the database empty, and the next attempt succeeds.
#[tokio::test(flavor = "multi_thread")]
async fn a_killed_migration_leaves_the_database_empty() {
    let Some(server) = Server::start(&[]) else { return };
    let url = server.project();
    let schema = url.split_once("schema=").unwrap().1.to_owned();
    let place = directory();
    let path = place.path();
    run(path, &["add", "one"]).ok();
    run(path, &["next"]).ok();
    open(&url).make_schema().await.unwrap();
    let mut client = server.connect().await;
    let held = client.transaction().await.unwrap();
    let lock = format!("LOCK TABLE {schema}.issue_texts IN ACCESS EXCLUSIVE MODE");
    held.batch_execute(&lock).await.unwrap();
    let mut moving = ait(path);
    moving.args(["migrate", "--from", "issues.json", "--to", &url]);
    let mut moving = moving.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let waits = "SELECT count(*) FROM pg_locks WHERE NOT granted";
    let begun = Instant::now();
    while held.query_one(waits, &[]).await.unwrap().get::<_, i64>(0) == 0 {
        assert!(begun.elapsed() < PATIENCE && moving.try_wait().unwrap().is_none());
    }
    moving.kill().unwrap();
    moving.wait().unwrap();
    held.rollback().await.unwrap();
    let database = open(&url);
    assert_eq!(database.counts().await.unwrap().total(), 0);
    assert_eq!(database.events(0, 9).await.unwrap().events, []);
    tokio::task::block_in_place(|| {
        run(path, &["migrate", "--from", "issues.json", "--to", &url]).ok()
    });
    compare(&SqliteStore::new(path.join("issues.json")), &open(&url)).await.unwrap();
}

/// The command lets the project use the target, and the files say where their queue went, until it comes back.
#[test]
fn a_migrated_project_uses_the_new_store_in_both_directions() {
    let Some(url) = project() else { return };
    let directory = directory();
    let path = directory.path();
    run(path, &["add", "one", "-a", "a"]).ok();
    let migrate = |from: &str, to: &str, yes: &[&str]| {
        run(path, &[&["migrate", "--from", from, "--to", to][..], yes].concat()).ok()
    };
    let moved = migrate("issues.json", &url, &["--yes"]);
    assert!(moved.contains("uses postgres://") && moved.contains("from now on"), "{moved}");
    let listed = |arguments: &[&str]| run(path, &[arguments, &["list"]].concat());
    assert!(listed(&[]).ok().contains("one"));
    assert!(
        std::fs::read_to_string(path.join("ait.toml")).unwrap().contains("store = \"postgres://")
    );
    let refused = listed(&["--file", "issues.json"]).refusal();
    assert!(refused.contains("was moved to postgres://"), "{refused}");
    run(path, &["add", "two", "-a", "a"]).ok();
    // Without an answer the project stays with its store, and the command says what to do.
    let other = migrate(&url, "other.json", &[]);
    assert!(other.contains("set ISSUES_FILE="), "{other}");
    migrate(&url, "issues.json", &["--yes"]);
    assert!(!path.join("ait.toml").exists());
    let back = listed(&[]).ok();
    assert!(back.contains("one") && back.contains("two"), "{back}");
    assert_eq!(run(path, &["status"]).code, 0);
    for command in [&["list"][..], &["add", "three", "-a", "a"], &["status"]] {
        let refused = run(path, &[&["--store", &url][..], command].concat());
        let said = refused.out + &refused.log;
        assert!(said.contains("was moved to") && said.contains("issues.json"), "{said}");
        assert!(said.contains("SET moved_to = NULL"), "{said}");
    }
}
