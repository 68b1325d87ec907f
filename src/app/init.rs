//! `ait init`: what it has to know of this machine, and the port that agents are told.

use std::env;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::OpenStore;
use super::http_side::file_of;
use super::pins::Pins;
use super::port::{Attempt, Ports, USUAL};
use crate::cli::{self, InitArguments, Output, Project};
use crate::config::{self, Config, FILE_NAME, Source};
use crate::processes::Registry;
use crate::setup::Machine;
use crate::store::json::JsonStoreOptions;

/// Sets the project up around a directory, or takes that back.
///
/// # Errors
///
/// What kept it from being done.
pub async fn init(
    command: &InitArguments,
    config: &Config,
    working_directory: &Path,
) -> Result<cli::Ending> {
    let machine = Machine::new(|name| env::var_os(name), env::home_dir());
    let program = env::current_exe().context("where this program lies is not known")?;
    let (pins, directory) = (Pins::of_user(), config.project());
    let port = if command.http { Some(port(config, &pins).await?) } else { None };
    let project = Project {
        root: config.location.project(working_directory),
        command: machine.command(&program),
        machine,
        store: config.location.path.clone(),
        is_store_named: config.location.is_named,
        settings: directory.join(FILE_NAME),
        port,
        needs_token: config.token.is_some() || config.token_file.is_some(),
    };
    let ended = cli::set_up(command, &project, &mut Output::stdout());
    if let Some(port) = port.filter(|port| config::pinned_port(&directory) == Some(*port))
        && let Err(error) = pins.note(port, &directory)
    {
        tracing::debug!("other projects do not know that port {port} is pinned: {error}");
    }
    ended
}

/// The port that agents are told: the one that the project pins or the command line names, else the one on
/// which the store is served, else a usual one that nobody has and no other project pins.
async fn port(config: &Config, pins: &Pins) -> Result<u16> {
    let pinned = config.port.as_ref().filter(|port| port.value.0 != 0);
    let wanted = match pinned.map(|port| (port.value.0, &port.source)) {
        Some((port, Source::File(_))) => return Ok(port),
        Some((port, Source::Flag(_))) => Some(port),
        _ => None,
    };
    let OpenStore { tracker, maintenance, .. } =
        OpenStore::new(config, JsonStoreOptions::for_command());
    let ports = Ports {
        wanted,
        is_guarded: config.token.is_some() || config.token_file.is_some(),
        usual: USUAL,
        address: config.bind.value.0,
        project: config.project(),
        store_id: Some(tracker.store_id().await),
        registry: Registry::beside(&file_of(&maintenance, config).await),
        pins: pins.clone(),
    };
    let attempt = ports.attempt().await;
    tracker.close().await;
    match attempt.with_context(|| format!("cannot listen on {}", ports.address))? {
        Attempt::Bound { listener, .. } => Ok(listener.local_addr()?.port()),
        Attempt::Served { port, .. } | Attempt::Guarded { port, .. } => Ok(port),
        Attempt::Taken { port, why } => {
            bail!("port {port} {why}: pin a free one, with `port = NUMBER` in {FILE_NAME}")
        }
    }
}
