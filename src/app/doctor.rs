//! `ait doctor`: assembles what the doctor examines.

use std::env;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use tokio::task::spawn_blocking;

use super::OpenStore;
use super::port::USUAL;
use crate::cli::{self, DoctorArguments, Output};
use crate::config::settings::FILE;
use crate::config::{Config, FILE_NAME, StoreLocation};
use crate::doctor::{CheckContext, ProjectContext, Settings};
use crate::mcp;
use crate::setup::HostEnv;
use crate::store::files::StoreOptions;
use crate::sync::{self, SyncSettings};

/// How long the doctor waits for the settings before it examines without them.
const SETTINGS_WITHIN: Duration = Duration::from_millis(1_000);

/// Examines a store, even if the settings are invalid.
///
/// # Errors
///
/// The output cannot be written, or nothing could be salvaged.
pub async fn doctor(
    command: &DoctorArguments,
    location: StoreLocation,
    working_directory: &Path,
    config: impl FnOnce() -> Result<Config, String> + Send + 'static,
) -> Result<cli::ExitStatus> {
    let project = project_context(&location, working_directory);
    let StoreLocation { path, reason, .. } = location;
    let config = match tokio::time::timeout(SETTINGS_WITHIN, spawn_blocking(config)).await {
        Ok(config) => config?,
        Err(_) => Err(
            "the settings cannot be read: the disk, or a pipe in place of a file, does not respond"
                .to_owned(),
        ),
    };
    if let Ok(config) = &config
        && config.database.is_some()
    {
        let opened = OpenStore::new(config, StoreOptions::default());
        return run(command, context(config, opened, working_directory)).await;
    }
    let settings = config.map(|config| settings(&config));
    let allows_network = settings.as_ref().is_ok_and(|settings| settings.allows_network);
    // These options never read on the calling thread, so a hanging disk blocks only a background thread.
    let options = StoreOptions { allows_network, ..StoreOptions::default() };
    let OpenStore { store, tracker, maintenance } = OpenStore::at(&path, options);
    let now = tracker.now();
    let database = None;
    let tools = mcp::TOOLS;
    let context =
        CheckContext { path, reason, database, store, maintenance, settings, project, tools, now };
    run(command, context).await
}

async fn run(command: &DoctorArguments, context: CheckContext) -> Result<cli::ExitStatus> {
    let output = Output::stdout();
    let ended = cli::run_doctor(command, context, &output).await;
    output.flush()?;
    ended
}

/// Returns what the doctor examines when the settings are valid.
pub(super) fn context(
    config: &Config,
    opened: OpenStore,
    working_directory: &Path,
) -> CheckContext {
    let project = project_context(&config.location, working_directory);
    let path = config.location.path.clone();
    let reason = config.store_reason();
    let OpenStore { store, tracker, maintenance } = opened;
    let now = tracker.now();
    let database = config.database.as_ref().map(|url| url.value.to_string());
    let settings = Ok(settings(config));
    let tools = mcp::TOOLS;
    CheckContext { path, reason, database, store, maintenance, settings, project, tools, now }
}

fn project_context(location: &StoreLocation, working_directory: &Path) -> ProjectContext {
    let root = location.project(working_directory);
    // Clients started from this shell have the same environment; others may not.
    let is_by_environment = env::var_os(FILE.variable).is_some_and(|file| !file.is_empty());
    let found = (!is_by_environment).then(|| StoreLocation::found_from(&root).path);
    let machine = HostEnv::new(|name| env::var_os(name), env::home_dir());
    let working_directory = working_directory.to_owned();
    ProjectContext { root, machine, is_named: location.is_named, found, working_directory }
}

fn settings(config: &Config) -> Settings {
    let file = config.project().join(FILE_NAME);
    let token = config.token.as_ref();
    let idle_sync = |sync: &SyncSettings| {
        let problem = sync::connect(sync, &|name| env::var(name).ok(), &config.project()).err()?;
        Some(format!("the sync {} cannot run: {problem}", sync.name))
    };
    Settings {
        idle_syncs: config.syncs.iter().filter_map(idle_sync).collect(),
        file: file.exists().then_some(file),
        allows_network: config.allows_network(),
        port: config.port.as_ref().map(|port| (port.value.0, port.source.to_string())),
        default_ports: USUAL,
        address: config.bind.value.0,
        address_by: config.bind.source.to_string(),
        token_file: config.token_file.as_ref().map(|file| file.value.0.clone()),
        token: token.map(|token| (token.value.0.clone(), token.source.to_string())),
    }
}
