//! Stores on a test's disk, and the plainest changes.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use agent_issue_tracker::domain::{
    AgentName, Classification, Command, Description, IssueId, Query, Timestamp, Title,
};
use agent_issue_tracker::store::json::JsonStoreOptions;
use agent_issue_tracker::store::{JsonStore, Store};

use super::disk::Disk;

pub fn add() -> Command {
    Command::AddIssue {
        id: IssueId::from(uuid::Uuid::new_v4()),
        title: Title::try_from("t").unwrap(),
        description: Description::try_from("").unwrap(),
        classification: Classification::Bug,
        agent: AgentName::try_from("a").unwrap(),
    }
}

pub fn now() -> Timestamp {
    Timestamp::parse("2026-01-31T09:30:00.000Z").unwrap()
}

pub async fn ids(store: &JsonStore) -> Vec<IssueId> {
    let all = Query { take: usize::MAX, ..Query::default() };
    store.list(all).await.unwrap().issues.iter().map(|issue| issue.id).collect()
}

/// A store that brings `issues.json` up to date at its end only.
pub fn open(directory: &Path, disk: &Arc<Disk>) -> JsonStore {
    let options =
        JsonStoreOptions { checkpoint_after: Duration::from_secs(3600), ..Default::default() };
    JsonStore::with(directory.join("issues.json"), Arc::clone(disk) as _, options)
}
