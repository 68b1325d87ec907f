//! What is around a store that has nothing around it.

use std::path::PathBuf;
use std::sync::Arc;

use agent_issue_tracker::doctor::{Around, Subject};
use agent_issue_tracker::mcp::Surroundings;
use agent_issue_tracker::setup::Machine;
use agent_issue_tracker::store::Store;

use super::stores::now;

pub fn surroundings(store: &Arc<dyn Store>) -> Surroundings {
    let (path, project) = (PathBuf::from("/nowhere/issues.json"), PathBuf::from("/nowhere"));
    let (reason, settings) = ("named".to_owned(), Err("there are none".to_owned()));
    let machine = Machine::default();
    let around = Around { root: project, machine, is_named: false, found: None };
    let store = Arc::clone(store);
    let maintenance = None;
    let subject = Subject { path, reason, store, maintenance, settings, around, now: now() };
    Surroundings { settings: Vec::new(), subject, command: "ait".to_owned() }
}
