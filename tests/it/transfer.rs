//! Migration of everything from one store to another: issues, leases, unknown keys, and events with their numbers.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};

use agent_issue_tracker::domain::{
    ClaimTerms, Classification, ClientId, Command, Counts, EventKind, FieldValue, Issue,
    IssueChange, IssueId, IssueRef, Lease, Page, Query, Resolution, Status, Timestamp, Title,
    UnknownKeys,
};
use agent_issue_tracker::store::clients::Clients;
use agent_issue_tracker::store::transfer::{
    Compared, Transfer, TransferError, TransferTarget, compare,
};
use agent_issue_tracker::store::{
    Committed, EventPosition, Events, Probe, SnapshotVisitor, SqliteStore, State, Store,
    StoreError, StoreHealth, StoreId, Subset,
};
use async_trait::async_trait;
use proptest::prelude::*;
use serde_json::Value;
use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::support::commands::{
    add, agent, answer, any_command, ask, at, check, claim, close, complete, import, number,
    reopen, return_issue, review, say, usage,
};
use crate::support::disk::{Disk, FaultyDuty};
use crate::support::runs::{assert_snapshot, run};
use crate::support::scene::Process;
use crate::support::stores::{WholeState, apply, open};
use crate::support::trouble::{EIO, Fault};
use crate::support::{Client, directory, directory_in_memory, until};

pub async fn take_over(source: &dyn Store, target: &dyn TransferTarget) -> Result<(), StoreError> {
    target.take_over(&Transfer::of(source).await?).await
}

fn client(name: &str) -> ClientId {
    ClientId::new(name)
}

fn claim_with(issue: IssueId, name: &str) -> Command {
    let terms = ClaimTerms { client: Some(client(name)), ..ClaimTerms::default() };
    let issue = Some(issue.into());
    Command::GetNextIssue { issue, classification: None, agent: agent(), terms }
}

/// Commits an event of each kind.
pub async fn make_every_kind(store: &dyn Store) {
    let lapse = |issue| {
        let (reason, client) = ("gone".to_owned(), Some(client("one")));
        Command::LapseClaim { issue, entry: 1, reason, client }
    };
    let ids: Vec<_> = (100..110).map(number).collect();
    let first = || ids[0].into();
    let (from, to) = (client("one"), client("two"));
    let mut commands: Vec<_> = (100..110).map(|n| add(n, Classification::Bug)).collect();
    commands.extend([
        import(200, Classification::Feature, Status::Closed),
        claim_with(ids[0], "one"),
        Command::TakeUpClaim { issue: ids[0], agent: agent(), from, to },
        claim_with(ids[1], "one"),
        lapse(ids[1]),
        claim_with(ids[2], "three"),
        claim_with(ids[3], "four"),
        return_issue(ids[3].into()),
        check(ids[4].into()),
        usage(ids[4].into()),
        complete(ids[4].into()),
        say(ids[5].into()),
        ask(ids[5].into()),
        answer(ids[5].into()),
        close(ids[6].into(), Resolution::Closed),
        close(ids[7].into(), Resolution::Rejected),
        reopen(ids[7].into()),
        review(),
        say(first()),
        Command::RemoveIssue { issue: ids[8], next: Some(ids[9]), agent: "restore".into() },
    ]);
    for (millis, command) in (5000..).zip(commands) {
        apply(store, command, at(millis)).await.unwrap();
    }
    let change = r#"{"priority": 1, "labels": ["a"]}"#;
    let change = serde_json::from_str::<Value>(change).unwrap();
    let edited = store.get(ids[9].into()).await.unwrap();
    let mut theirs = serde_json::to_value(&*edited).unwrap();
    theirs["title"] = "edited \u{0} by \"hand\" ü".into();
    theirs["of others"] = change;
    let theirs: Issue = serde_json::from_str(&theirs.to_string()).unwrap();
    let keys: UnknownKeys = serde_json::from_str(r#"{"of":"others","n":[1,2.50]}"#).unwrap();
    let title = Some(Title::try_from("changed").unwrap());
    let change =
        IssueChange { title, values: vec![FieldValue::Priority(None)], ..IssueChange::default() };
    let inserted = Issue { id: number(300), ..Issue::clone(&edited) };
    for command in [
        Command::ChangeIssue { issue: ids[5].into(), change: change.into(), agent: agent() },
        Command::MergeEdit { theirs: Arc::new(theirs), base: Some(edited) },
        Command::SetUnknownKeys { keys, agent: "hand".into() },
        Command::PatchUnknownKey {
            key: "pages".into(),
            patch: serde_json::json!({ "putOff": { "stale": { "at": at(6000), "until": null } } }),
            agent: agent(),
        },
        Command::InsertIssue { issue: Arc::new(inserted), next: Some(ids[0]), agent: "b".into() },
    ] {
        apply(store, command, at(6000)).await.unwrap();
    }
}

pub async fn run_all(store: &dyn Store, commands: &[Command], from: i64) {
    for (millis, command) in (from..).zip(commands) {
        match apply(store, command.clone(), at(millis)).await {
            Ok(_) | Err(StoreError::Refused(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// Migrates from one store to another and checks that both stay equal, also after the same further commands.
pub async fn move_and_go_on(
    source: &dyn Store,
    target: &dyn TransferTarget,
    open_again: impl AsyncFn() -> Box<dyn TransferTarget>,
    commands: &[Command],
) -> Compared {
    // A store that was opened while the target was empty sees the migrated issues.
    let early = open_again().await;
    assert_eq!(early.state().await.unwrap().issues.len(), 0);
    take_over(source, target).await.unwrap();
    let compared = compare(source, target).await.unwrap();
    let again = open_again().await;
    assert_eq!(compare(source, &*again).await.unwrap(), compared);
    assert_eq!(compare(source, &*early).await.unwrap(), compared);
    assert_eq!(again.counts().await.unwrap(), source.counts().await.unwrap());
    for (millis, command) in (10_000..).zip(commands) {
        let expected = apply(source, command.clone(), at(millis)).await;
        let given = apply(&*again, command.clone(), at(millis)).await;
        match (expected, given) {
            (Ok(expected), Ok(given)) => assert_eq!(given, expected, "{command:?}"),
            (Err(StoreError::Refused(_)), Err(StoreError::Refused(_))) => {}
            (expected, given) => panic!("{command:?} returned {given:?}, not {expected:?}"),
        }
    }
    let after = compare(source, target).await.unwrap();
    assert!(commands.is_empty() || after.newest > compared.newest);
    assert_eq!(compare(source, &*early).await.unwrap(), after);
    assert_eq!(target.counts().await.unwrap(), source.counts().await.unwrap());
    after
}

pub fn open_files(directory: &Path) -> SqliteStore {
    open(directory, &Disk::new(FaultyDuty::Nothing))
}

/// Returns commands that change both stores after the migration.
pub fn more() -> Vec<Command> {
    vec![
        claim(None),
        add(400, Classification::Bug),
        claim(None),
        review(),
        complete(number(400).into()),
        return_issue(number(100).into()),
        claim(Some(Classification::Bug)),
    ]
}

#[tokio::test]
async fn every_event_kind_is_migrated() {
    let from = directory_in_memory();
    let source = open_files(from.path());
    make_every_kind(&source).await;
    let events = source.events(0, usize::MAX).await.unwrap().events;
    let kinds: BTreeSet<_> = events.iter().map(|event| event.event.kind.word()).collect();
    assert_eq!(kinds, BTreeSet::from(EventKind::WORDS));
    let directory = directory_in_memory();
    let path = directory.path();
    let target = open_files(path);
    let again = async || Box::new(open_files(path)) as Box<dyn TransferTarget>;
    let compared = move_and_go_on(&source, &target, again, &more()).await;
    assert!(compared.leases >= 1 && compared.oldest == 1, "{compared:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_history_is_migrated(
        before in prop::collection::vec(any_command(), 0..60),
        after in prop::collection::vec(any_command(), 1..30),
    ) {
        Runtime::new().unwrap().block_on(async {
            let from = directory_in_memory();
            let source = open_files(from.path());
            run_all(&source, &before, 0).await;
            let directory = directory_in_memory();
            let path = directory.path();
            let again = async || Box::new(open_files(path)) as Box<dyn TransferTarget>;
            let commands: Vec<_> =
                [add(50, Classification::Bug)].into_iter().chain(after).collect();
            move_and_go_on(&source, &open_files(path), again, &commands).await;
        });
    }
}

/// A store whose first events are pruned.
pub struct Pruned {
    _directory: tempfile::TempDir,
    store: SqliteStore,
    /// The number of pruned events.
    pruned_count: u64,
}

/// Returns a store with events of every kind, without the first half of them.
pub async fn pruned() -> Pruned {
    let directory = directory_in_memory();
    let store = open_files(directory.path());
    make_every_kind(&store).await;
    let pruned_count = store.state().await.unwrap().position.number / 2;
    assert!(pruned_count > 1);
    Pruned { _directory: directory, store, pruned_count }
}

#[async_trait]
impl Store for Pruned {
    async fn id(&self) -> StoreId {
        self.store.id().await
    }

    async fn commit(
        &self,
        commands: Vec<Command>,
        now: Timestamp,
    ) -> Result<Committed, StoreError> {
        self.store.commit(commands, now).await
    }

    async fn get(&self, reference: IssueRef) -> Result<Arc<Issue>, StoreError> {
        self.store.get(reference).await
    }

    async fn list(&self, query: Query) -> Result<Page, StoreError> {
        self.store.list(query).await
    }

    async fn counts(&self) -> Result<Counts, StoreError> {
        self.store.counts().await
    }

    async fn snapshot(&self, visitor: Arc<Mutex<dyn SnapshotVisitor>>) -> Result<(), StoreError> {
        self.store.snapshot(visitor).await
    }

    async fn subset(&self, subset: Subset) -> Result<State, StoreError> {
        self.store.subset(subset).await
    }

    async fn leases(&self) -> Result<Vec<(IssueId, Lease)>, StoreError> {
        self.store.leases().await
    }

    async fn events(&self, after: u64, limit: usize) -> Result<Events, StoreError> {
        let read = self.store.events(after.max(self.pruned_count), limit).await?;
        Ok(Events { oldest: self.pruned_count + 1, ..read })
    }

    fn watch(&self) -> watch::Receiver<EventPosition> {
        self.store.watch()
    }

    fn clients(&self) -> Arc<dyn Clients> {
        self.store.clients()
    }

    async fn health(&self, probe: Probe) -> StoreHealth {
        self.store.health(probe).await
    }

    async fn close(&self) -> bool {
        self.store.close().await
    }
}

/// The target numbers events from the oldest one of the source.
#[tokio::test]
async fn event_numbers_continue_after_pruning() {
    let to = directory_in_memory();
    let source = pruned().await;
    let open = || SqliteStore::new(to.path().join("issues.json"));
    let again = async || Box::new(open()) as Box<dyn TransferTarget>;
    let compared = move_and_go_on(&source, &open(), again, &more()).await;
    assert!(compared.oldest > 1, "{compared:?}");
}

/// A store of only an `issues.json` has issues but no events.
#[tokio::test]
async fn a_file_without_a_log_is_migrated() {
    let (from, to) = (directory_in_memory(), directory_in_memory());
    let source = open_files(from.path());
    run_all(&source, &[add(1, Classification::Bug), claim(None), add(2, Classification::Bug)], 0)
        .await;
    source.maintenance().publish().await.unwrap();
    drop(source);
    std::fs::remove_dir_all(from.path().join(".ait")).unwrap();
    let source = open_files(from.path());
    let path = to.path();
    let again = async || Box::new(open_files(path)) as Box<dyn TransferTarget>;
    let compared = move_and_go_on(&source, &open_files(path), again, &[]).await;
    assert_eq!((compared.issues, compared.oldest, compared.newest), (2, 1, 0));
    apply(&open_files(path), claim(None), at(9)).await.unwrap();
    assert_eq!(open_files(path).events(0, 9).await.unwrap().newest.number, 1);
}

#[tokio::test]
async fn a_store_that_is_not_empty_is_refused() {
    let from = directory_in_memory();
    let source = open_files(from.path());
    make_every_kind(&source).await;
    let refused = |result: Result<(), StoreError>| {
        let error = result.unwrap_err().to_string();
        assert!(error.contains("is not empty"), "{error}");
    };
    let directory = directory_in_memory();
    let target = open_files(directory.path());
    apply(&target, add(1, Classification::Bug), at(0)).await.unwrap();
    refused(take_over(&source, &target).await);
    assert_eq!(target.counts().await.unwrap().total(), 1);
    let directory = directory_in_memory();
    let file = directory.path().join("issues.json");
    std::fs::write(&file, r#"{"issues": [], "of": "others"}"#).unwrap();
    refused(take_over(&source, &open_files(directory.path())).await);
    std::fs::write(&file, r#"{"issues": []}"#).unwrap();
    take_over(&source, &open_files(directory.path())).await.unwrap();
    refused(take_over(&source, &open_files(directory.path())).await);
}

/// Checks that a migration is refused if the source changes, and that a second attempt succeeds.
pub async fn refuse_changes_meanwhile(target: &dyn TransferTarget) {
    let from = directory_in_memory();
    let source = open_files(from.path());
    make_every_kind(&source).await;
    let transfer = Transfer::of(&source).await.unwrap();
    apply(&source, add(1, Classification::Bug), at(0)).await.unwrap();
    let error = target.take_over(&transfer).await.unwrap_err();
    assert!(error.to_string().contains("the source was changed meanwhile"), "{error}");
    assert!(target.state().await.unwrap().issues.is_empty());
    assert!(target.events(0, 9).await.unwrap().events.is_empty());
    take_over(&source, target).await.unwrap();
    compare(&source, target).await.unwrap();
    // `compare` finds a difference.
    apply(&source, say(number(1).into()), at(1)).await.unwrap();
    apply(target, claim_with(number(1), "x"), at(1)).await.unwrap();
    let differs = compare(&source, target).await.unwrap_err();
    assert!(matches!(differs, TransferError::Differs(_)), "{differs}");
}

#[tokio::test]
async fn a_source_that_changes_is_not_migrated() {
    let directory = directory_in_memory();
    refuse_changes_meanwhile(&open_files(directory.path())).await;
}

async fn small_source(directory: &Path) -> SqliteStore {
    let source = open_files(directory);
    run_all(&source, &[add(1, Classification::Bug), claim(None), add(2, Classification::Bug)], 0)
        .await;
    source
}

/// Returns true if everything was migrated. Panics if only a part was.
async fn is_moved(source: &dyn Store, directory: &Path) -> bool {
    let target = open_files(directory);
    let state = target.state().await.unwrap();
    if state.issues.is_empty() && state.position.number == 0 {
        // A second attempt succeeds, even with files that the first one left.
        take_over(source, &target).await.unwrap();
        compare(source, &target).await.unwrap();
        return false;
    }
    compare(source, &target).await.unwrap();
    true
}

#[tokio::test]
async fn a_fault_or_crash_at_any_call_migrates_all_or_nothing() {
    let from = directory_in_memory();
    let source = small_source(from.path()).await;
    for fault in [Fault::Once, Fault::From, Fault::Death] {
        let mut moved = [0; 2];
        for n in 1.. {
            let directory = directory_in_memory();
            let process = Process::start(directory.path(), Disk::new(FaultyDuty::Nothing));
            process.disk.trouble.with(EIO);
            process.disk.trouble.begin(fault(n));
            let result = take_over(&source, &*process.store).await;
            let call = process.disk.trouble.failed();
            let is_dead = process.disk.trouble.is_dead();
            process.kill().await;
            let is_moved = is_moved(&source, directory.path()).await;
            moved[usize::from(is_moved)] += 1;
            let is_consistent = match &result {
                Ok(()) => is_moved,
                Err(StoreError::Uncertain(_)) => true,
                Err(_) => !is_moved || is_dead,
            };
            assert!(is_consistent, "call {n}, {call:?}: {result:?}, but moved: {is_moved}");
            if call.is_none() {
                assert!(result.is_ok() && n > 10, "{result:?}");
                break;
            }
        }
        assert!(moved[0] > 5 && moved[1] > 0, "{moved:?}");
    }
}

/// Returns the events of a project as its log shows them, without the position hashes, which differ between logs.
fn log_of(directory: &Path, file: &str) -> Vec<Value> {
    let log = run(directory, &["--file", file, "log", "--json", "-n", "1000"]).ok();
    let event = |line: &str| {
        let mut event: Value = serde_json::from_str(line).unwrap();
        event["position"] = Value::Null;
        event
    };
    log.lines().map(event).collect()
}

#[test]
fn the_command_migrates_to_another_file() {
    let place = directory();
    let path = place.path();
    run(path, &["add", "one"]).ok();
    run(path, &["next", "-a", "dev"]).ok();
    let moved = run(path, &["migrate", "--from", "issues.json", "--to", "other.json"]);
    assert_snapshot("migrate", path, &moved);
    assert_eq!(log_of(path, "other.json"), log_of(path, "issues.json"));
    let published = std::fs::read(path.join("other.json")).unwrap();
    assert_eq!(published, std::fs::read(path.join("issues.json")).unwrap());
    run(path, &["--file", "other.json", "doctor"]).ok();
    let again = run(path, &["migrate", "--from", "issues.json", "--to", "other.json"]);
    assert_snapshot("migrate_not_empty", path, &again);
    let same = run(path, &["migrate", "--from", "issues.json", "--to", "./issues.json"]);
    assert!(same.refusal().contains("name the same store"));
    let unknown = run(path, &["migrate", "--from", "issues.json", "--to", "mysql://h/d"]);
    assert!(unknown.refusal().contains("is not the URL of a PostgreSQL database"));
}

#[test]
fn a_file_that_a_server_uses_is_not_migrated() {
    let place = directory();
    let path = place.path();
    run(path, &["add", "one"]).ok();
    let server = Client::start(path);
    let migrate = || run(path, &["migrate", "--from", "issues.json", "--to", "other.json"]);
    until("the server is listed", || run(path, &["status"]).ok().contains("stdio"));
    let refused = migrate().refusal();
    assert!(refused.contains("(stdio) uses"), "{refused}");
    assert!(!path.join("other.json").exists());
    drop(server);
    migrate().ok();
}
