//! Stores on a simulated disk, and simple changes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agent_issue_tracker::domain::{
    AgentName, Classification, Command, Description, Issue, IssueId, Query, Timestamp, Title,
};
use agent_issue_tracker::store::files::StoreOptions;
use agent_issue_tracker::store::files::fs::FileSystem;
use agent_issue_tracker::store::{Probe, SqliteStore, State, Store, StoreError};

use super::disk::Disk;
pub use super::server_context::server_context;

pub const NEVER: Duration = Duration::from_secs(36_000);

pub fn add() -> Command {
    Command::AddIssue {
        id: IssueId::from(uuid::Uuid::new_v4()),
        title: Title::try_from("t").unwrap(),
        description: Description::try_from("").unwrap(),
        classification: Classification::Bug,
        details: Box::default(),
        agent: AgentName::try_from("a").unwrap(),
    }
}

pub fn now() -> Timestamp {
    Timestamp::parse("2026-01-31T09:30:00.000Z").unwrap()
}

/// Reads the whole state of a store into memory.
pub trait WholeState {
    fn state(&self) -> impl Future<Output = Result<State, StoreError>>;
}

impl<S: Store + ?Sized> WholeState for S {
    fn state(&self) -> impl Future<Output = Result<State, StoreError>> {
        State::read(self)
    }
}

/// Commits one command and returns its outcome.
pub async fn apply(
    store: &dyn Store,
    command: Command,
    now: Timestamp,
) -> Result<Option<Arc<Issue>>, StoreError> {
    let mut outcomes = store.commit(vec![command], now).await?.outcomes;
    assert_eq!(outcomes.len(), 1);
    Ok(outcomes.remove(0))
}

pub async fn all_issues(store: &dyn Store) -> Result<Vec<Arc<Issue>>, StoreError> {
    Ok(store.list(Query { take: usize::MAX, ..Query::default() }).await?.issues)
}

pub async fn ids(store: &dyn Store) -> Vec<IssueId> {
    all_issues(store).await.unwrap().iter().map(|issue| issue.id).collect()
}

/// Returns the known error that prevents reads or changes, if any.
pub async fn check(store: &dyn Store) -> Result<(), StoreError> {
    store.health(Probe::Known).await.trouble.map_or(Ok(()), Err)
}

/// Returns options of a store that publishes only on request.
pub fn quiet() -> StoreOptions {
    StoreOptions {
        publish_after: NEVER,
        reread_after: Duration::ZERO,
        reads_in_place: true,
        last_publish_bytes: 0,
        ..Default::default()
    }
}

/// Opens a store that publishes only on request and when it is closed.
pub fn open(directory: &Path, disk: &Arc<Disk>) -> SqliteStore {
    open_with(directory, disk, quiet())
}

pub fn open_with(directory: &Path, disk: &Arc<Disk>, options: StoreOptions) -> SqliteStore {
    let disk: Arc<dyn FileSystem> = Arc::clone(disk) as _;
    SqliteStore::with(directory.join("issues.json"), disk, options)
}
