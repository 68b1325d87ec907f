//! `ait init`: collects what it depends on, and chooses the port that clients are told.

use std::env;
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};

use super::OpenStore;
use super::http_server::file_of;
use super::open_database;
use super::port::{BindOutcome, Ports, USUAL};
use super::port_reservations::PortReservations;
use crate::cli::{self, InitArguments, Output};
use crate::config::{self, Config, FILE_NAME, Source, Sourced, StoreUrl};
use crate::git::Git;
use crate::hooks::{self, ASK_LIMIT, HooksDir, Operation};
use crate::processes::Registry;
use crate::setup::{HostEnv, Project};
use crate::store::Probe;
use crate::store::files::StoreOptions;

/// Sets up the project around a directory, or removes that again.
///
/// # Errors
///
/// A file cannot be read, edited or written, or no port is free.
pub async fn init(
    command: &InitArguments,
    config: &Config,
    working_directory: &Path,
) -> Result<cli::ExitStatus> {
    if let Some(database) = config.database.as_ref().filter(|_| !command.remove) {
        let store = open_database(&database.value, config).map_err(|why| anyhow!(why))?;
        if !command.dry_run
            && let Some(why) = store.health(Probe::Known).await.trouble
        {
            tracing::warn!("the database cannot be used yet: {}", why.reason());
        }
    }
    let program = env::current_exe().context("the path of this program is not known")?;
    let pins = PortReservations::of_user();
    let directory = config.project();
    let port = if command.http { Some(port(config, &pins).await?) } else { None };
    let project = Project { port, ..project(config, working_directory, &program) };
    let is_flag = |database: &Sourced<StoreUrl>| matches!(database.source, Source::Flag(_));
    if config.database.as_ref().is_some_and(is_flag) && !command.names_setup() {
        return cli::set_store(command, &project, &Output::stdout());
    }
    let has_hooks = command.remove && has_hooks(&project).await;
    let ended = cli::set_up(command, &project, has_hooks, &Output::stdout());
    if let Some(port) = port.filter(|port| config::pinned_port(&directory) == Some(*port))
        && let Err(error) = pins.reserve(port, &directory)
    {
        tracing::debug!("other projects do not know that port {port} is pinned: {error}");
    }
    ended
}

/// Returns the project around a directory, whose clients start `program`.
pub(super) fn project(config: &Config, working_directory: &Path, program: &Path) -> Project {
    let env = HostEnv::new(|name| env::var_os(name), env::home_dir());
    Project {
        database: config
            .database
            .as_ref()
            .filter(|database| !matches!(database.source, Source::File(_)))
            .map(|database| database.value.without_password()),
        root: config.location.project(working_directory),
        command: env.command(program),
        env,
        store: config.location.path.clone(),
        is_store_named: config.location.is_named,
        settings: config.project().join(FILE_NAME),
        port: None,
        needs_token: config.token.is_some() || config.token_file.is_some(),
    }
}

/// Returns true if `ait hooks remove` would find something to remove.
async fn has_hooks(project: &Project) -> bool {
    let Ok(directory) = HooksDir::find(&Git::new(&project.root, ASK_LIMIT)).await else {
        return false;
    };
    let planned = hooks::plan(&directory, &project.command, Operation::Remove, true);
    planned.is_ok_and(|planned| !planned.changes.is_empty())
}

/// Chooses the port that clients are told: the one that the project pins or the command line names, else the one on
/// which the store is served, else a default one that is free and that no other project pins.
async fn port(config: &Config, pins: &PortReservations) -> Result<u16> {
    let pinned = config.port.as_ref().filter(|port| port.value.0 != 0);
    let wanted = match pinned.map(|port| (port.value.0, &port.source)) {
        Some((port, Source::File(_))) => return Ok(port),
        Some((port, Source::Flag(_))) => Some(port),
        _ => None,
    };
    let OpenStore { tracker, maintenance, .. } = OpenStore::new(config, StoreOptions::for_cli());
    let ports = Ports {
        wanted,
        is_guarded: config.token.is_some() || config.token_file.is_some(),
        defers: false,
        default_ports: USUAL,
        address: config.bind.value.0,
        project: config.project(),
        store_id: Some(tracker.store_id().await),
        registry: Registry::for_store(&file_of(maintenance.as_ref(), config).await),
        pins: pins.clone(),
    };
    let attempt = ports.bind_port().await;
    tracker.close().await;
    match attempt.with_context(|| format!("cannot listen on {}", ports.address))? {
        BindOutcome::Bound { listener, .. } => Ok(listener.port()?),
        BindOutcome::Served { port, .. }
        | BindOutcome::Deferred { port, .. }
        | BindOutcome::Guarded { port, .. } => Ok(port),
        BindOutcome::Taken { port, why } => {
            bail!("port {port} {why}: pin a free one, with `port = NUMBER` in {FILE_NAME}")
        }
    }
}
