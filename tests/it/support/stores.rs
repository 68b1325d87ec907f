//! Stores on a test's disk, and the plainest changes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use agent_issue_tracker::doctor::{Around, Subject};
use agent_issue_tracker::domain::{
    AgentName, Classification, Command, Description, IssueId, Query, Timestamp, Title,
};
use agent_issue_tracker::mcp::Surroundings;
use agent_issue_tracker::setup::Machine;
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

/// What is around a store that has nothing around it.
pub fn surroundings(store: &Arc<dyn Store>) -> Surroundings {
    let (path, project) = (PathBuf::from("/nowhere/issues.json"), PathBuf::from("/nowhere"));
    let (reason, settings) = ("named".to_owned(), Err("there are none".to_owned()));
    let machine = Machine::default();
    let around = Around { root: project, machine, is_named: false, found: None };
    let store = Arc::clone(store);
    let subject = Subject { path, reason, store, settings, around, now: now() };
    Surroundings { settings: Vec::new(), subject, command: "ait".to_owned() }
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
