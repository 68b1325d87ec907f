//! A server context for a store without a project.

use std::path::PathBuf;
use std::sync::Arc;

use agent_issue_tracker::doctor::{CheckContext, ProjectContext};
use agent_issue_tracker::mcp::ServerContext;
use agent_issue_tracker::setting::SettingsFile;
use agent_issue_tracker::setup::{HostEnv, Project};
use agent_issue_tracker::store::Store;

use super::stores::now;

pub fn server_context(store: &Arc<dyn Store>) -> ServerContext {
    let (path, project) = (PathBuf::from("/nowhere/issues.json"), PathBuf::from("/nowhere"));
    let (reason, settings) = ("named".to_owned(), Err("there are none".to_owned()));
    let machine = HostEnv::default();
    let working_directory = project.clone();
    let project =
        ProjectContext { root: project, machine, is_named: false, found: None, working_directory };
    let store = Arc::clone(store);
    let maintenance = None;
    let database = None;
    let context = CheckContext {
        path,
        reason,
        database,
        store,
        maintenance,
        settings,
        project,
        tools: agent_issue_tracker::mcp::TOOLS,
        now: now(),
    };
    let project = Project {
        root: context.project.root.clone(),
        env: context.project.machine.clone(),
        command: "ait".to_owned(),
        store: context.path.clone(),
        is_store_named: false,
        database: None,
        settings: context.project.root.join("ait.toml"),
        port: None,
        needs_token: false,
    };
    ServerContext {
        settings: Vec::new(),
        settings_file: SettingsFile::default(),
        context,
        project,
        command: "ait".to_owned(),
    }
}
